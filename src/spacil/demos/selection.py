"""Choosing episodes and steps out of a record's tensors: tensors in, tensors out.

Step t of episode e is action row `first_steps[e] + t` and observation row `first_steps[e] + t + e`:
each earlier episode shifts the observations by its one final observation.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from spacil.demos.schema import FIELDS, TensorField


def first_steps(lengths: Tensor) -> Tensor:
    """[E], the action row at which each episode begins."""
    return lengths.cumsum(0) - lengths


def episode_of_step(lengths: Tensor) -> Tensor:
    """[M], the episode each step belongs to."""
    return torch.repeat_interleave(torch.arange(len(lengths)), lengths)


def acted_rows(lengths: Tensor) -> Tensor:
    """[M], the observation row each action was taken in."""
    episodes = episode_of_step(lengths)
    return torch.arange(len(episodes)) + episodes


def sum_groups(values: Tensor, groups: Tensor, num_groups: int) -> Tensor:
    """[num_groups], the sum of the values of each group."""
    return torch.zeros(num_groups, dtype=values.dtype).index_add_(0, groups, values)


def select_episodes(tensors: Mapping[str, Tensor], is_chosen: Tensor) -> dict[str, Tensor]:
    """The tensors of the episodes where `is_chosen`, [E] bool, is true."""
    lengths = tensors["episode_lengths"]
    rows = {
        "episode": is_chosen,
        "step": torch.repeat_interleave(is_chosen, lengths),
        "observation": torch.repeat_interleave(is_chosen, lengths + 1),
    }
    return {field.name: tensors[field.name][rows[field.row]] for field in _present(tensors)}


def keep_every(tensors: Mapping[str, Tensor], every: int) -> dict[str, Tensor]:
    """Steps 0, every, 2*every, ... of each episode, and its final observation.

    A kept step stands for the steps up to the next kept one: it carries the sum of their rewards
    and their end flags, so that returns and ends stay what they were.
    """
    lengths = tensors["episode_lengths"]
    episodes = episode_of_step(lengths)
    steps = torch.arange(len(episodes))
    is_kept = (steps - first_steps(lengths)[episodes]) % every == 0
    block_of_step = is_kept.cumsum(0) - 1
    num_kept = int(is_kept.sum())

    final_rows = lengths.cumsum(0) + torch.arange(len(lengths))
    observation_is_kept = torch.zeros(len(tensors["observations"]), dtype=torch.bool)
    observation_is_kept[acted_rows(lengths)[is_kept]] = True
    observation_is_kept[final_rows] = True

    rows = {
        "episode": torch.arange(len(lengths)),
        "step": is_kept,
        "observation": observation_is_kept,
    }
    kept = {field.name: tensors[field.name][rows[field.row]] for field in _present(tensors)}
    kept["episode_lengths"] = (lengths + every - 1) // every
    for name in ("terminations", "truncations"):
        flags = torch.zeros(num_kept, dtype=torch.bool)
        flags[block_of_step[tensors[name]]] = True
        kept[name] = flags
    if "rewards" in tensors:
        kept["rewards"] = sum_groups(tensors["rewards"], block_of_step, num_kept)
    return kept


def _present(tensors: Mapping[str, Tensor]) -> list[TensorField]:
    return [field for field in FIELDS if field.name in tensors]
