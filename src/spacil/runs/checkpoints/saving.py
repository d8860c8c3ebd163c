"""A state of a run on disk: as the best one, as a checkpoint, or both.

These are two folders, a kill may come between them, and a best one may come long before the next
checkpoint is due. A resume then goes back to before that best, and what is computed again may end
differently, on another machine or with fewer iterations. So the best as of the newest checkpoint
stays beside a later one, and a resume returns to it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from spacil.runs.checkpoints import checkpoint
from spacil.runs.checkpoints.names import (
    BEST,
    best_as_of,
    iteration_of,
    latest_name,
    names_in,
    point_latest_at,
    repair_latest,
)
from spacil.runs.ownership import Confirm, unchallenged

State = tuple[Mapping[str, Tensor], Mapping[str, Any], Mapping[str, Any]]
"""Tensors, document and provenance of a checkpoint"""


def write_state(
    checkpoints_dir: Path,
    iteration: int,
    state: State,
    *,
    is_best: bool,
    is_due: bool,
    confirm: Confirm = unchallenged,
) -> None:
    """Write the best, then the checkpoint; `confirm` is that of `checkpoint.write`."""
    if is_best:
        # Besides it stay the former best and the one that a resume would return to.
        checkpoint.write_best(checkpoints_dir, iteration, *state, confirm, keep=3)
    if is_due:
        checkpoint.write(checkpoints_dir, iteration, *state, confirm=confirm)
    confirm()
    _prune_bests(checkpoints_dir)


def repair(checkpoints_dir: Path, iteration: int) -> None:
    """Return from what a kill left ahead of the checkpoint that a run resumes from."""
    repair_latest(checkpoints_dir, iteration)
    best = best_as_of(checkpoints_dir / BEST, iteration)
    if best is not None and best != latest_name(checkpoints_dir / BEST):
        point_latest_at(checkpoints_dir / BEST, best)
    _prune_bests(checkpoints_dir)


def _prune_bests(checkpoints_dir: Path) -> None:
    """Keep the best and, until a checkpoint has come as far, the one to return to."""
    folder = checkpoints_dir / BEST
    names = names_in(folder)
    saved = next(iter(names_in(checkpoints_dir)), None)
    kept = {latest_name(folder)}
    if saved is not None:
        kept.add(best_as_of(folder, iteration_of(saved)))
    if kept & set(names):  # a damaged hint names none of them
        checkpoint.prune(folder / name for name in names if name not in kept)
