"""Every state that was visited so far, with the teacher's answer there and the state that followed.

Rounds are kept apart, time-major, because only within one batch of live envs the row one step
later is known: row i is followed by row i + N, unless the episode was cut in between.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from spacil.errors import StorageError
from spacil.nets.policy import GaussianPolicy
from spacil.smoothness.temporal_penalty import rows_with_successor
from spacil.types import RolloutBatch


@dataclass(frozen=True)
class LabelledStates:
    """R rounds of T steps in N envs."""

    states: Tensor
    """[R, T, N, S] float32, raw"""
    labels: Tensor
    """[R, T, N, A] float32, what the teacher would have done"""
    is_cut: Tensor
    """[R, T, N] bool, the episode ended with this step"""

    @classmethod
    def none(cls, length: int, width: int, num_states: int, num_actions: int) -> "LabelledStates":
        return cls(
            torch.empty(0, length, width, num_states),
            torch.empty(0, length, width, num_actions),
            torch.empty(0, length, width, dtype=torch.bool),
        )

    def with_round(self, played: RolloutBatch, labels: Tensor) -> "LabelledStates":
        """One round more; `labels` [T, N, A] belong to the states it acted on."""
        is_cut = played.terminated | played.truncated
        return LabelledStates(
            torch.cat([self.states, played.states.unsqueeze(0)]),
            torch.cat([self.labels, labels.unsqueeze(0)]),
            torch.cat([self.is_cut, is_cut.unsqueeze(0)]),
        )

    def __len__(self) -> int:
        return self.is_cut.numel()

    @property
    def num_rounds(self) -> int:
        return len(self.is_cut)

    def tensors(self) -> dict[str, Tensor]:
        return {"states": self.states, "labels": self.labels, "is_cut": self.is_cut}

    @classmethod
    def restored(
        cls, tensors: Mapping[str, Tensor], num_rounds: int, empty: "LabelledStates"
    ) -> "LabelledStates":
        """Those of a checkpoint after `num_rounds` rounds, in the shapes of `empty`."""
        for name, like in empty.tensors().items():
            found, expected = tensors.get(name), (num_rounds, *like.shape[1:])
            if found is None or found.dtype != like.dtype or found.shape != expected:
                raise StorageError(
                    f"the checkpoint does not fit this run: its labelled {name} should be "
                    f"{like.dtype} {expected}, and are "
                    f"{'missing' if found is None else f'{found.dtype} {tuple(found.shape)}'}"
                )
        return cls(**{name: tensors[name].clone() for name in empty.tensors()})


class TrainingRows:
    """All labelled states as a fit reads them: flat, normalised, with the row that follows."""

    def __init__(self, data: LabelledStates, student: GaussianPolicy) -> None:
        self.num_rounds = data.num_rounds
        self.states = student.normalize(data.states.flatten(0, 2))
        """[B, S]"""
        self.labels = data.labels.flatten(0, 2)
        """[B, A]"""
        width, size = data.is_cut.shape[2], data.is_cut[0].numel()
        followed = torch.cat(
            [rows_with_successor(is_cut) + i * size for i, is_cut in enumerate(data.is_cut)]
        )
        self.successors = torch.arange(len(self.labels))
        """[B], the row one step later; the row itself where none is known, a change of zero"""
        self.successors[followed] += width
        self.share_followed = len(followed) / len(self.labels)
        """Of the rows: what a mean over all of them must be divided by"""

    def __len__(self) -> int:
        return len(self.labels)
