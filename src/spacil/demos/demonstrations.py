"""Demonstrations: whole episodes of someone who can do the task.

A `Demonstrations` record is checked when it is made and never changes; `first`, `subsample` and
the other methods return new records whose provenance says what was done. States and actions are
raw: nothing here normalises or clips. `file` reads and writes files, `check` looks at the content.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import torch
from torch import Tensor

from spacil.demos.arrays import EpisodeArrays, tensors_from_arrays
from spacil.demos.episode import Episode
from spacil.demos.metadata import DemoMetadata
from spacil.demos.schema import FIELDS, check_structure
from spacil.demos.selection import (
    acted_rows,
    episode_of_step,
    first_steps,
    keep_every,
    select_episodes,
    successors,
    sum_groups,
)
from spacil.errors import ConfigError, DataError
from spacil.storage import content_hash
from spacil.types import ExpertBatch

ActionKind = Literal["raw", "executed"]


@dataclass(frozen=True, eq=False, repr=False)
class Demonstrations:
    """E episodes with M steps in all, stored one after the other."""

    observations: Tensor
    """[M+E, S] raw states, float32 or float64, one more per episode than actions."""
    executed_actions: Tensor
    """[M, A] float32 or float64, what the env was given."""
    terminations: Tensor
    """[M] bool"""
    truncations: Tensor
    """[M] bool"""
    episode_lengths: Tensor
    """[E] int64"""
    actions: Tensor | None = None
    """[M, A] float32 or float64, the expert's unclipped mean action; None where not known."""
    rewards: Tensor | None = None
    """[M] float64 or float32, for reports; imitation never learns from them."""
    next_observations: Tensor | None = None
    """[M, S] float32 or float64, what followed each step of a thinned record, whose next row is
    that of a later step; None where the next row is the next observation."""
    next_is_terminal: Tensor | None = None
    """[M] bool, beside `next_observations`: whether the task ended there."""
    initial_qpos: Tensor | None = None
    """[E, nq] float64: with `initial_qvel`, the physics state an episode can be replayed from."""
    initial_qvel: Tensor | None = None
    """[E, nv] float64"""
    metadata: DemoMetadata = field(default_factory=DemoMetadata)
    source: str = "demonstrations"
    """Where the record was read from, for messages; no part of the content."""

    def __post_init__(self) -> None:
        check_structure(self.tensors(), self.source)

    def __repr__(self) -> str:
        """One line; a notebook should not fill with tensors."""
        steps = f"{self.num_episodes} episodes, {len(self.executed_actions)} steps"
        returns = "" if self.returns is None else f", return {float(self.returns.mean()):.2f}"
        return f"Demonstrations({self.metadata.task or 'no task'}: {steps}{returns})"

    @classmethod
    def from_arrays(
        cls,
        observations: EpisodeArrays,
        executed_actions: EpisodeArrays,
        *,
        actions: EpisodeArrays | None = None,
        rewards: EpisodeArrays | None = None,
        terminations: EpisodeArrays | None = None,
        truncations: EpisodeArrays | None = None,
        initial_qpos: EpisodeArrays | None = None,
        initial_qvel: EpisodeArrays | None = None,
        metadata: DemoMetadata | None = None,
        source: str = "demonstrations",
    ) -> "Demonstrations":
        """A record from one array per episode: as many observations as actions, or one more.

        `executed_actions` are those the env was given; `actions` the expert's unclipped ones,
        where known. Without flags every episode counts as truncated. Casts are recorded.
        """
        given = {
            "observations": observations,
            "executed_actions": executed_actions,
            "actions": actions,
            "rewards": rewards,
            "terminations": terminations,
            "truncations": truncations,
            "initial_qpos": initial_qpos,
            "initial_qvel": initial_qvel,
        }
        arrays = {name: episodes for name, episodes in given.items() if episodes is not None}
        return cls.from_named_arrays(arrays, metadata or DemoMetadata(), source)

    @classmethod
    def from_named_arrays(
        cls,
        arrays: Mapping[str, EpisodeArrays],
        metadata: DemoMetadata,
        source: str = "demonstrations",
    ) -> "Demonstrations":
        """As `from_arrays`, for arrays that come in a map by field name."""
        tensors, changes = tensors_from_arrays(arrays, source)
        return cls(**tensors, metadata=metadata.with_changes(changes), source=source)

    @classmethod
    def concatenate(cls, parts: Sequence["Demonstrations"]) -> "Demonstrations":
        """The episodes of all parts in order; the parts must come from one env.

        Optional tensors stay when every part has them; what is left out is recorded.
        """
        if not parts:
            raise DataError("nothing to concatenate: at least one record is needed")
        metadata = DemoMetadata.of_parts([(part.metadata, part.num_episodes) for part in parts])
        all_tensors = [part.tensors() for part in parts]
        if any(part.next_observations is not None for part in parts):
            all_tensors = [
                {**tensors, **successors(tensors)} if part.has_true_successors else tensors
                for part, tensors in zip(parts, all_tensors, strict=True)
            ]
        kept = set(all_tensors[0]).intersection(*all_tensors)
        left_out = sorted(set().union(*all_tensors) - kept)
        if left_out:
            metadata = metadata.with_change("leave_out_tensors_some_parts_lack", names=left_out)
        tensors = {name: torch.cat([part[name] for part in all_tensors]) for name in kept}
        return cls(**tensors, metadata=metadata, source=" + ".join(part.source for part in parts))

    def tensors(self) -> dict[str, Tensor]:
        """The tensors that are there, by field name."""
        values = {field.name: getattr(self, field.name) for field in FIELDS}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def num_episodes(self) -> int:
        return len(self.episode_lengths)

    @property
    def num_steps(self) -> int:
        return len(self.executed_actions)

    @property
    def num_states(self) -> int:
        return self.observations.shape[1]

    @property
    def num_actions(self) -> int:
        return self.executed_actions.shape[1]

    @property
    def content_hash(self) -> str:
        """SHA-256 over the metadata and every tensor: equal hash, equal demonstrations."""
        return content_hash(self.tensors(), self.metadata.as_document())

    @property
    def states(self) -> Tensor:
        """[M, S] float32, the observations that actions were taken in."""
        return self.observations[acted_rows(self.episode_lengths)].float()

    @property
    def next_states(self) -> Tensor:
        """[M, S] float32, the observation that followed each of `states`."""
        return successors(self.tensors())["next_observations"].float()

    @property
    def has_true_successors(self) -> bool:
        """False where a record was thinned and what followed its steps was not kept."""
        return self.next_observations is not None or not self.metadata.is_thinned

    @property
    def state_mean(self) -> Tensor:
        """[S] float64"""
        return self._states_for_statistics().mean(dim=0)

    @property
    def state_std(self) -> Tensor:
        """[S] float64, of the population."""
        return self._states_for_statistics().std(dim=0, correction=0)

    @property
    def returns(self) -> Tensor | None:
        """[E] float64, the sum of each episode's rewards; None without rewards."""
        if self.rewards is None:
            return None
        episodes = episode_of_step(self.episode_lengths)
        return sum_groups(self.rewards.double(), episodes, self.num_episodes)

    def episode(self, index: int) -> Episode:
        if not 0 <= index < self.num_episodes:
            raise DataError(f"{self.source}: no episode {index}; there are {self.num_episodes}")
        length = int(self.episode_lengths[index])
        first = int(first_steps(self.episode_lengths)[index])
        steps = slice(first, first + length)
        return Episode(
            observations=self.observations[first + index : first + index + length + 1],
            executed_actions=self.executed_actions[steps],
            actions=None if self.actions is None else self.actions[steps],
            rewards=None if self.rewards is None else self.rewards[steps],
            is_terminated=bool(self.terminations[steps].any()),
            is_truncated=bool(self.truncations[steps].any()),
            initial_qpos=None if self.initial_qpos is None else self.initial_qpos[index],
            initial_qvel=None if self.initial_qvel is None else self.initial_qvel[index],
        )

    def expert_batch(self, which: ActionKind) -> ExpertBatch:
        """All steps, with raw or executed actions; never one for the other."""
        if which not in get_args(ActionKind):
            raise ConfigError(f"no action kind '{which}'; choose raw or executed")
        actions = self.executed_actions if which == "executed" else self.actions
        if actions is None:
            raise DataError(
                f"{self.source}: holds executed actions only, raw ones were asked for; "
                "use executed actions on both sides, or record the expert again"
            )
        terminated = successors(self.tensors())["next_is_terminal"]
        return ExpertBatch(self.states, actions.float(), self.next_states, terminated)

    def first(self, num_episodes: int, start: int = 0) -> "Demonstrations":
        """So many episodes from episode `start` on; more than there are is refused."""
        if num_episodes < 1:
            raise ConfigError(f"cannot keep {num_episodes} episodes; ask for 1 or more")
        if start < 0:
            raise ConfigError(f"the first episode is {start}, expected 0 or more")
        if start + num_episodes > self.num_episodes:
            noun = "episode" if num_episodes == 1 else "episodes"
            where = f" from episode {start} on (the first is 0)" if start else ""
            raise DataError(
                f"{self.source}: {num_episodes} {noun}{where} asked for, {self.num_episodes} there"
            )
        if num_episodes == self.num_episodes:
            return self
        indices = torch.arange(self.num_episodes)
        is_kept = (indices >= start) & (indices < start + num_episodes)
        details = {"num_episodes": num_episodes, **({"start": start} if start else {})}
        metadata = self.metadata.with_change("keep_first_episodes", **details)
        return self._with(select_episodes(self.tensors(), is_kept), metadata)

    def subsample(self, every: int, offset: int = 0) -> "Demonstrations":
        """Every n-th step of each episode, from step `offset`; returns and ends are kept.

        Fewer and less similar steps from the same episodes, as in the GAIL paper's experiments.
        What followed each kept step is kept beside it.
        """
        if every < 1:
            raise ConfigError(f"cannot keep every {every}-th step; ask for 1 or more")
        if not 0 <= offset < every:
            raise ConfigError(
                f"the first step to keep is {offset}, expected 0 to {every - 1} "
                f"where every {every}-th step is kept"
            )
        if every == 1:
            return self
        details = {"every": every, **({"offset": offset} if offset else {})}
        metadata = self.metadata.with_change("subsample", **details)
        return self._with(keep_every(self.tensors(), every, offset), metadata)

    def without_nonfinite_episodes(self) -> "Demonstrations":
        """The episodes whose observations and actions are all finite; the rest is recorded."""
        is_bad = self.nonfinite_episodes()
        if not is_bad.any():
            return self
        dropped = torch.nonzero(is_bad).flatten().tolist()
        metadata = self.metadata.with_change("drop_nonfinite_episodes", episodes=dropped)
        return self._with(select_episodes(self.tensors(), ~is_bad), metadata)

    def nonfinite_episodes(self) -> Tensor:
        """[E] bool, episodes with a NaN or an infinity where imitation would read it."""
        lengths = self.episode_lengths
        is_bad = torch.zeros(self.num_episodes, dtype=torch.bool)
        for tensor, rows_per_episode in (
            (self.observations, lengths + 1),
            (self.executed_actions, lengths),
            (self.actions, lengths),
            (self.next_observations, lengths),
        ):
            if tensor is not None:
                episodes = episode_of_step(rows_per_episode)
                is_bad[episodes[~tensor.float().isfinite().all(dim=1)]] = True
        return is_bad

    def _states_for_statistics(self) -> Tensor:
        if self.num_steps == 0:
            raise DataError(f"{self.source}: no steps, so the states have no mean")
        return self.states.double()

    def _with(self, tensors: Mapping[str, Tensor], metadata: DemoMetadata) -> "Demonstrations":
        return Demonstrations(**tensors, metadata=metadata, source=self.source)
