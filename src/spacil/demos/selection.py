"""Choosing episodes and steps out of a record's tensors: tensors in, tensors out.

Step t of episode e is action row `first_steps[e] + t` and observation row `first_steps[e] + t + e`:
each earlier episode shifts the observations by its one final observation.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from spacil.demos.schema import FIELDS, SUCCESSOR_FIELDS, TensorField


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


def successors(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What followed each step: the next observation [M, S], and whether the task ended there [M].

    Within an episode and its final observation, so that no step is followed by another episode.
    """
    if "next_observations" in tensors:
        return {name: tensors[name] for name in SUCCESSOR_FIELDS}
    rows = acted_rows(tensors["episode_lengths"])
    return {
        "next_observations": tensors["observations"][rows + 1],
        "next_is_terminal": tensors["terminations"],
    }


def keep_every(tensors: Mapping[str, Tensor], every: int, offset: int = 0) -> dict[str, Tensor]:
    """Steps offset, offset + every, ... of each episode, and its final observation.

    An episode that ends before `offset` keeps its last step. A kept step carries the rewards and
    end flags of the steps up to the next kept one, the first also of those before it, so that
    returns and ends stay what they were. What followed the step itself stays beside it.
    """
    lengths = tensors["episode_lengths"]
    tensors = {**tensors, **successors(tensors)}
    episodes = episode_of_step(lengths)
    times = torch.arange(len(episodes)) - first_steps(lengths)[episodes]
    first_kept = (lengths - 1).clamp(max=offset)
    is_kept = (times >= first_kept[episodes]) & ((times - first_kept[episodes]) % every == 0)
    num_kept_steps = sum_groups(is_kept.long(), episodes, len(lengths))
    block_of_step = (is_kept.cumsum(0) - 1).maximum(first_steps(num_kept_steps)[episodes])
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
    kept["episode_lengths"] = num_kept_steps
    for name in ("terminations", "truncations"):
        flags = torch.zeros(num_kept, dtype=torch.bool)
        flags[block_of_step[tensors[name]]] = True
        kept[name] = flags
    if "rewards" in tensors:
        kept["rewards"] = sum_groups(tensors["rewards"], block_of_step, num_kept)
    return kept


def _present(tensors: Mapping[str, Tensor]) -> list[TensorField]:
    return [field for field in FIELDS if field.name in tensors]
