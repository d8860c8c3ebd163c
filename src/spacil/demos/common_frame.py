"""The common frame of J: the unit of length that a task's demonstrations give each state dim.

Policies of one task compare only in one frame. A run's is that of the demonstrations as they were
given, before any episode or step was left out or disturbed; it is kept with the policy, and every
later measurement of that policy reads it from there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import bundled_demos, load_demos
from spacil.errors import DataError
from spacil.nets.policy import moving_std
from spacil.plain_text import shown
from spacil.storage import content_hash

FRAME_PREFIX = "frame."
"""Prefix of the frame's tensors in a checkpoint or a policy file."""
FRAME_KEY = "common_frame"
"""Key of the frame in their documents."""

_STD = f"{FRAME_PREFIX}std"
DEMONSTRATOR_KEYS = (
    "average_return",
    "return_std",
    "smoothness_j",
    "smoothness_j_own",
    "smoothness_j_effective",
    "action_fluctuation",
)
"""Numbers of a demonstrator, named as in the evaluations of a run"""

IN_THE_COMMON_FRAME = ("smoothness_j", "smoothness_j_effective")
"""Those of them that compare in one frame only"""


@dataclass(frozen=True, eq=False)
class CommonFrame:
    """Standard deviations of demonstrated states, and where they are from."""

    std: Tensor
    """[S] float64, in raw units; zero on dims that the demonstrations hold still."""
    source: str
    """Words without a path: equal runs in different folders keep equal frames."""

    def __post_init__(self) -> None:
        is_vector = self.std.ndim == 1 and self.std.dtype == torch.float64
        if not is_vector or not bool((self.std.isfinite() & (self.std >= 0)).all()):
            raise DataError(
                f"{self.source}: {self.std.dtype} {tuple(self.std.shape)} is no common frame, "
                "expected finite standard deviations, float64 [S]"
            )

    @classmethod
    def of(cls, demos: Demonstrations, source: str | None = None) -> "CommonFrame":
        """Measure the finite episodes of demonstrations as they were given."""
        task = demos.metadata.task or "an unnamed task"
        words = f"{demos.num_episodes} episodes, hash {demos.content_hash[:8]}"
        std = moving_std(demos.without_nonfinite_episodes().states)
        return cls(std, source or shown(f"demonstrations of {task} ({words})"))

    def with_history(self, num_states: int) -> "CommonFrame":
        """Pad for a policy that sees its past too: slopes count in what the sensors say now."""
        return replace(self, std=torch.cat([self.std, self.std.new_zeros(num_states)])[:num_states])

    def with_columns_of(self, found: Demonstrations) -> "CommonFrame":
        """Give the columns that were not demonstrated a unit, too: their spread as it was found."""
        return replace(self, std=torch.where(found.is_known, self.std, moving_std(found.states)))

    @property
    def num_states(self) -> int:
        return len(self.std)

    @property
    def is_live(self) -> Tensor:
        """[S] bool; a dim that the demonstrations hold still gives no unit of length."""
        return self.std > 0

    @property
    def content_hash(self) -> str:
        """Hash of the numbers alone."""
        return content_hash({"std": self.std}, {})

    def is_same_as(self, other: "CommonFrame") -> bool:
        """Compare up to rounding, which differs between machines."""
        is_same_size = len(self.std) == len(other.std)
        return is_same_size and torch.allclose(self.std, other.std, rtol=1e-9, atol=0)


def bundled_frame(task: str | None) -> CommonFrame | None:
    """Return the frame of the demonstrations bundled with a task; None without any."""
    if task is None or task not in bundled_demos():
        return None
    return CommonFrame.of(load_demos(task), f"bundled demonstrations of {task}")


def recorded_evaluation(demos: Demonstrations, frame: CommonFrame) -> Mapping[str, Any]:
    """Return the demonstrator's own evaluation from its file, if its J is one of this frame.

    It was measured in the frame of the whole file, so it says nothing about edited
    demonstrations or in the frame of others: empty then.
    """
    provenance = demos.metadata.provenance
    evaluation = provenance.get("evaluation")
    if not isinstance(evaluation, dict) or provenance.get("changes"):
        return {}
    return evaluation if CommonFrame.of(demos).is_same_as(frame) else {}


def demonstrator_row(
    demos: Demonstrations | None, frame: CommonFrame | None, task: str
) -> dict[str, float | None] | None:
    """Collect the demonstrator's numbers, in the frame of a run that learned from it.

    A demonstrator that is shown in part, thinned or under noise stays as smooth as before: J is the
    one of the whole record, where that is known and in this frame. None: not known.
    """
    if demos is None or frame is None or demos.returns is None:
        return None
    # A frame is that of all a run was given: that of the bundled episodes says what these are from.
    bundled = bundled_frame(task)
    whole = load_demos(task) if bundled is not None and bundled.is_same_as(frame) else demos
    measured = recorded_evaluation(whole, frame)
    change = demos.action_change
    return {key: measured.get(key) for key in DEMONSTRATOR_KEYS} | {
        "average_return": float(demos.returns.mean()),
        "return_std": float(demos.returns.std(correction=0)),
        "action_fluctuation": whole.action_change if change is None else change,
    }


# --- in files


def frame_tensors(frame: CommonFrame | None) -> dict[str, Tensor]:
    """Tensors that a file keeps."""
    return {} if frame is None else {_STD: frame.std.cpu().contiguous()}


def frame_document(frame: CommonFrame | None) -> dict[str, str] | None:
    """Entry that a file keeps in its document, under `FRAME_KEY`."""
    return None if frame is None else {"source": frame.source, "hash": frame.content_hash}


def read_frame(
    tensors: Mapping[str, Tensor], document: Mapping[str, Any], file: object
) -> CommonFrame | None:
    """Find the frame among a file's tensors and entries; None where it has none."""
    match tensors.get(_STD), document.get(FRAME_KEY):
        case None, None:
            return None
        case Tensor() as std, {"source": str(source), "hash": str(digest)}:
            frame = CommonFrame(std, shown(source))
            if frame.content_hash == digest:
                return frame
    raise DataError(f"{file}: its common frame was changed or damaged")


def without_frame(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Leave out the frame's tensors."""
    return {name: value for name, value in tensors.items() if not name.startswith(FRAME_PREFIX)}
