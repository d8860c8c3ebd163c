"""Changes to whole records that leave a trace in their provenance: a record in, a record out."""

from collections.abc import Iterable
from dataclasses import replace

import torch
from torch import Tensor

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.selection import episode_of_step
from spacil.errors import ConfigError, DataError
from spacil.seeding import stream


def with_flagged_ends(demos: Demonstrations) -> Demonstrations:
    """Every episode ends with a flag; one that had none counts as truncated.

    Without a step there is no end to flag, so an empty episode is refused.
    """
    lengths = demos.episode_lengths
    if (lengths == 0).any():
        episode = int(lengths.argmin())
        raise DataError(
            f"{demos.source}: episode {episode} is empty, which this format cannot hold"
        )
    is_flagged = torch.zeros(demos.num_episodes, dtype=torch.bool)
    is_flagged[episode_of_step(lengths)[demos.terminations | demos.truncations]] = True
    is_open = ~is_flagged
    if not is_open.any():
        return demos
    truncations = demos.truncations.clone()
    truncations[(lengths.cumsum(0) - 1)[is_open]] = True
    episodes = torch.nonzero(is_open).flatten().tolist()
    metadata = demos.metadata.with_change("mark_open_ends_as_truncated", episodes=episodes)
    return replace(demos, truncations=truncations, metadata=metadata)


def with_rewards(demos: Demonstrations) -> Demonstrations:
    """Zeros where the rewards are not known."""
    if demos.rewards is not None:
        return demos
    rewards = torch.zeros(demos.num_steps, dtype=torch.float64)
    return replace(demos, rewards=rewards, metadata=demos.metadata.with_change("zero_rewards"))


def without_tensors(demos: Demonstrations, names: Iterable[str]) -> Demonstrations:
    """The record without some optional tensors."""
    left_out = [name for name in names if getattr(demos, name) is not None]
    if not left_out:
        return demos
    metadata = demos.metadata.with_change("leave_out_tensors", names=left_out)
    tensors = {key: value for key, value in demos.tensors().items() if key not in left_out}
    return Demonstrations(**tensors, metadata=metadata, source=demos.source)


def with_observation_noise(demos: Demonstrations, noise: float, seed: int) -> Demonstrations:
    """Gaussian noise on every observation, `noise` standard deviations of its column.

    Actions stay those taken in the undisturbed state, as a sensor would see it. The successors
    of a thinned record are observations of their own, with draws of their own.
    """
    if not 0 <= noise < float("inf"):
        raise ConfigError(f"the observation noise is {noise}, expected 0 or more")
    if noise == 0:
        return demos
    generator = stream(seed, "demonstration-noise")
    scale = noise * demos.state_std

    def noisy(observations: Tensor) -> Tensor:
        draws = torch.randn(observations.shape, generator=generator, dtype=torch.float64)
        return (observations + scale * draws).to(observations.dtype)

    following = demos.next_observations
    return replace(
        demos,
        observations=noisy(demos.observations),
        next_observations=None if following is None else noisy(following),
        metadata=demos.metadata.with_change("add_observation_noise", noise=noise, seed=seed),
    )


def with_task(demos: Demonstrations, task: str) -> Demonstrations:
    """The record under the task that a person named because its source did not."""
    metadata = replace(demos.metadata, task=task).with_change("name_task", task=task)
    return replace(demos, metadata=metadata)


def has_repeated_finals(demos: Demonstrations) -> bool:
    """Whether each final observation only repeats the one before, as where the source had none."""
    final_rows = (demos.episode_lengths + 1).cumsum(0) - 1
    return torch.equal(demos.observations[final_rows], demos.observations[final_rows - 1])
