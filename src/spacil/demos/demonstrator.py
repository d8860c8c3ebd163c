"""The demonstrator's numbers, to stand beside those of a policy that learned from it."""

from typing import Any

from spacil.demos.common_frame import CommonFrame, recorded_evaluation
from spacil.demos.demonstrations import Demonstrations

DEMONSTRATOR_KEYS = (
    "average_return",
    "return_std",
    "smoothness_j",
    "smoothness_j_own",
    "smoothness_j_effective",
)
"""As in the evaluations of a run"""


def demonstrator_row(
    demos: Demonstrations | None, frame: CommonFrame | None
) -> dict[str, float | None] | None:
    """Return and smoothness; J only where it was recorded in the run's frame. None: not known."""
    if demos is None or frame is None or demos.returns is None:
        return None
    measured: dict[str, Any] = dict(recorded_evaluation(demos, frame))
    row: dict[str, float | None] = {key: measured.get(key) for key in DEMONSTRATOR_KEYS}
    return row | {
        "average_return": float(demos.returns.mean()),
        "return_std": float(demos.returns.std(correction=0)),
    }
