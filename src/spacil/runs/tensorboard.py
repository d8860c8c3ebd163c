"""TensorBoard beside metrics.jsonl: the same numbers, in groups, over env steps.

Derived from the records: if it is missing or fails, one warning says so and the run continues.
"""

import contextlib
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_logger = logging.getLogger(__name__)

_GROUPS: Mapping[str, tuple[str, ...]] = {
    "evaluation": (
        *("average_return", "return_", "num_episodes", "mean_length"),
        *("smoothness_j", "action_fluctuation", "is_best"),
    ),
    "rollout": ("episodes_finished", "train_", "reward_mean"),
    "discriminator": ("disc_", "max_abs_logit", "is_saturated", "warn_saturated"),
    "cost": ("cost_",),
    "value": ("value_", "explained_variance"),
    "target": ("smoothness_target", "target_", "is_target_met", "fluctuation_", "is_fluctuation_"),
    "smoothest": ("constraint_", "is_constraint_met", "share_", "smoothest_", "is_smoothest"),
    "cloning": ("loss_imitation", "heldout_", "chosen_iteration"),
    "time": ("seconds_",),
}
"""Group -> how the names in it start; every other number is about the policy's step."""


def tag_of(name: str) -> str:
    """`group/name`, as TensorBoard folds tags."""
    for group, starts in _GROUPS.items():
        if name.startswith(starts):
            return f"{group}/{name}"
    return f"policy/{name}"


def step_of(record: Mapping[str, Any]) -> int:
    """Env steps, which runs of other batch sizes share; epochs of a run that takes no steps."""
    return int(record.get("env_steps") or record["iteration"])


class TensorBoard:
    """The numbers of each record as scalars, flushed every iteration; stops at the first error."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._first_step: int | None = None
        self._writer: Any = None
        self._has_failed = False

    def write(self, record: Mapping[str, Any]) -> None:
        if self._has_failed:
            return
        try:
            writer = self._open()
            for name, value in record.items():
                if isinstance(value, int | float) and name not in ("iteration", "env_steps"):
                    writer.add_scalar(tag_of(name), value, step_of(record))
            writer.add_scalar("time/iteration", record["iteration"], step_of(record))
            writer.flush()
        except Exception as error:  # a derived output must never end a run
            self._has_failed = True
            _logger.warning("no TensorBoard output (metrics.jsonl has everything): %s", error)

    def forget_after(self, last: Mapping[str, Any] | None) -> None:
        """Make TensorBoard hide what an earlier process wrote after the record `last`."""
        self.close()
        self._first_step = 0 if last is None else step_of(last) + 1

    def close(self) -> None:
        if self._writer is not None:
            with contextlib.suppress(Exception):
                self._writer.close()
            self._writer = None

    def _open(self) -> Any:
        if self._writer is None:
            # Imported on first use: it is slow, and may be missing.
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(str(self._folder), purge_step=self._first_step)
        return self._writer
