"""The demonstrator's numbers, to stand beside those of a policy that learned from it."""

from typing import Any

import torch

from spacil.demos.common_frame import CommonFrame, bundled_frame, recorded_evaluation
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import load_demos

DEMONSTRATOR_KEYS = (
    "average_return",
    "return_std",
    "smoothness_j",
    "smoothness_j_own",
    "smoothness_j_effective",
    "action_fluctuation",
)
"""As in the evaluations of a run"""

IN_THE_COMMON_FRAME = ("smoothness_j", "smoothness_j_effective")
"""Those that stand beside numbers of the same frame only"""


def demonstrator_row(
    demos: Demonstrations | None, frame: CommonFrame | None, task: str
) -> dict[str, float | None] | None:
    """Return and smoothness, beside a run on these demonstrations in this common frame.

    Whoever is shown in part, thinned or under noise stays as smooth as before: J is the one of the
    whole record, where that is known and its J is in this frame. None: not known.
    """
    if demos is None or frame is None or demos.returns is None:
        return None
    whole = _whole_record(demos, frame, task)
    measured: dict[str, Any] = dict(recorded_evaluation(whole, frame))
    row: dict[str, float | None] = {key: measured.get(key) for key in DEMONSTRATOR_KEYS}
    change = action_change_in(demos)
    return row | {
        "average_return": float(demos.returns.mean()),
        "return_std": float(demos.returns.std(correction=0)),
        "action_fluctuation": action_change_in(whole) if change is None else change,
    }


def _whole_record(demos: Demonstrations, frame: CommonFrame, task: str) -> Demonstrations:
    """What these are a part of, as far as it is known.

    A run's frame is that of all it was given, so that of the bundled episodes says that these are
    from them.
    """
    bundled = bundled_frame(task)
    return load_demos(task) if bundled is not None and bundled.is_same_as(frame) else demos


def action_change_in(demos: Demonstrations) -> float | None:
    """E |a_{t+1} - a_t| of the executed actions, mean over episodes.

    None where steps were left out of the record, and where no episode has two.
    """
    actions, lengths = demos.executed_actions.double(), demos.episode_lengths
    is_long = lengths > 1
    if demos.is_thinned or not bool(is_long.any()):
        return None
    changes = torch.linalg.vector_norm(actions[1:] - actions[:-1], dim=-1)
    episodes = demos.episode_of_step[1:]
    is_within = demos.step_in_episode[1:] > 0
    totals = changes.new_zeros(len(lengths)).index_add(0, episodes[is_within], changes[is_within])
    return float((totals[is_long] / (lengths[is_long] - 1)).mean())
