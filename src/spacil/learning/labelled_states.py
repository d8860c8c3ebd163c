"""Every state that was visited so far, with the teacher's answer there and the state that followed.

Rows are in the order of time within one batch of live envs, so the state one step later lies a
known number of rows further on, unless the episode ended or the batch did.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from spacil.envs.episodes import EpisodeTotals
from spacil.errors import StorageError
from spacil.nets.policy import GaussianPolicy
from spacil.smoothness.temporal_penalty import rows_with_successor
from spacil.types import RolloutBatch


@dataclass(frozen=True)
class LabelledStates:
    """B rows of all rounds, the oldest first."""

    states: Tensor
    """[B, S] float32, raw"""
    labels: Tensor
    """[B, A] float32, what the teacher would have done"""
    ahead: Tensor
    """[B] int64, how many rows further on its successor is; 0 where there is none"""

    @classmethod
    def none(cls, num_states: int, num_actions: int) -> "LabelledStates":
        return cls(
            torch.empty(0, num_states),
            torch.empty(0, num_actions),
            torch.empty(0, dtype=torch.int64),
        )

    def with_round(self, played: RolloutBatch, labels: Tensor) -> "LabelledStates":
        """What was played more; `labels` [T * N, A] belong to the states it acted on."""
        is_cut = played.terminated | played.truncated
        ahead = torch.zeros(is_cut.numel(), dtype=torch.int64)
        ahead[rows_with_successor(is_cut)] = is_cut.shape[1]
        return self._with(played.flat_states, labels, ahead)

    def with_episodes(self, played: EpisodeTotals, labels: Tensor) -> "LabelledStates":
        """The same for one wave of whole episodes; `labels` [sum of lengths, A]."""
        return self._with(played.states, labels, _ahead_in_wave(torch.from_numpy(played.lengths)))

    def _with(self, states: Tensor, labels: Tensor, ahead: Tensor) -> "LabelledStates":
        return LabelledStates(
            torch.cat([self.states, states]),
            torch.cat([self.labels, labels]),
            torch.cat([self.ahead, ahead]),
        )

    def __len__(self) -> int:
        return len(self.ahead)

    def tensors(self) -> dict[str, Tensor]:
        return {"states": self.states, "labels": self.labels, "ahead": self.ahead}

    @classmethod
    def restored(cls, tensors: Mapping[str, Tensor], empty: "LabelledStates") -> "LabelledStates":
        """Those of a checkpoint, in the shapes of `empty` but for the number of rows."""
        num_rows = len(tensors["ahead"]) if "ahead" in tensors else 0
        for name, like in empty.tensors().items():
            found, expected = tensors.get(name), (num_rows, *like.shape[1:])
            if found is None or found.dtype != like.dtype or found.shape != expected:
                raise StorageError(
                    f"the checkpoint does not fit this run: its labelled {name} should be "
                    f"{like.dtype} {expected}, and are "
                    f"{'missing' if found is None else f'{found.dtype} {tuple(found.shape)}'}"
                )
        return cls(**{name: tensors[name].clone() for name in empty.tensors()})


class TrainingRows:
    """All labelled states as a fit reads them: normalised, with the row that follows."""

    def __init__(self, data: LabelledStates, student: GaussianPolicy) -> None:
        self.states = student.normalize(data.states)
        """[B, S]"""
        self.labels = data.labels
        """[B, A]"""
        self.successors = torch.arange(len(data)) + data.ahead
        """[B], the row one step later; the row itself where none is known, a change of zero"""
        self.share_followed = float((data.ahead > 0).float().mean())
        """Of the rows: what a mean over all of them must be divided by"""

    def __len__(self) -> int:
        return len(self.labels)


def _ahead_in_wave(lengths: Tensor) -> Tensor:
    """Of episodes [N] that start together: step by step, those that are still going on."""
    is_going_on = torch.arange(int(lengths.max()) + 1).unsqueeze(1) < lengths
    rows = is_going_on.flatten().cumsum(0).view_as(is_going_on)
    ahead = (rows[1:] - rows[:-1]) * is_going_on[1:]
    return ahead[is_going_on[:-1]]
