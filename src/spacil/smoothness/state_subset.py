"""What both penalties share: a random subset of the states, a start in the ball, the units."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from spacil.functional.ball import random_offset
from spacil.seeding import Streams
from spacil.smoothness.policy_penalty import Scale


def random_subset(size: int, fraction: float, generator: torch.Generator) -> Tensor | None:
    """A fresh random subset of `size` rows: a mean over it is unbiased. All of them: None."""
    if fraction == 1 or size == 0:
        return None
    return torch.randperm(size, generator=generator)[: max(1, round(fraction * size))]


def ball_start(
    states: Tensor, mask: Tensor, arguments: Mapping[str, Any], streams: Streams
) -> Tensor:
    """Where an ascent starts, [B, S]; masked dims stay where they are."""
    return random_offset(states, arguments["radius"], arguments["start"], streams.ball, mask)


def per_state(scale: Scale) -> Scale:
    """The unit of one state's term: a printed sum is a number of states times a printed mean."""
    return "paper-mean" if scale == "paper-sum" else scale


def num_summed(scale: Scale, num_states: int) -> int:
    """By what a mean over states is multiplied; a subset of them stands for them all."""
    return num_states if scale == "paper-sum" else 1
