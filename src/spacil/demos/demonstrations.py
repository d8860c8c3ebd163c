"""Demonstrations: whole episodes of someone who can do the task.

A `Demonstrations` record never changes; `first`, `subsample` and the other methods return new
records whose provenance says what was done. `file` reads and writes files, `check` looks at the
content.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from spacil.config.checks import number, whole_number
from spacil.config.settings import ActionKind, columns_of
from spacil.demos.episode import (
    FIELDS,
    OPTIONAL,
    Episode,
    EpisodeArrays,
    episodes_from_arrays,
)
from spacil.demos.formats.npz import STEPWISE
from spacil.demos.metadata import DemoMetadata
from spacil.errors import ConfigError, DataError, keywords_for_flags
from spacil.plain_text import count
from spacil.seeding import stream
from spacil.storage import content_hash
from spacil.types import ExpertBatch


@dataclass(frozen=True, eq=False, repr=False)
class Demonstrations:
    """E episodes with M steps in all; the flat tensors are those of all episodes in a row."""

    episodes: tuple[Episode, ...]
    """At least one; all of them have the same columns."""
    metadata: DemoMetadata = field(default_factory=DemoMetadata)
    source: str = "demonstrations"
    """Where the record was read from, for messages; no part of the content."""
    columns: str = ""
    """Columns of the observation that are known, as 0-7 or 0,2,5-9, the others are 0; all of them
    where none are named."""

    def __post_init__(self) -> None:
        if not self.episodes:
            raise DataError(f"{self.source}: holds no episodes")
        for name in ("observations", "executed_actions", *OPTIONAL):
            first_column = 0 if name.startswith("initial") else 1
            tensors = [getattr(episode, name) for episode in self.episodes]
            widths = [None if x is None else tuple(x.shape[first_column:]) for x in tensors]
            if len(kinds := set(widths)) > 1:
                raise DataError(
                    f"{self.source}: {name} has columns {sorted(map(str, kinds))} in different "
                    "episodes; expected the same in all"
                )

    def __repr__(self) -> str:
        """One line; a notebook should not fill with tensors."""
        steps = f"{self.num_episodes} episodes, {self.num_steps} steps"
        returns = "" if self.returns is None else f", return {float(self.returns.mean()):.2f}"
        return f"Demonstrations({self.metadata.task or 'no task'}: {steps}{returns})"

    # --- made from arrays, and from others

    @classmethod
    def from_arrays(
        cls,
        observations: EpisodeArrays,
        executed_actions: EpisodeArrays | None = None,
        *,
        actions: EpisodeArrays | None = None,
        rewards: EpisodeArrays | None = None,
        terminations: EpisodeArrays | None = None,
        truncations: EpisodeArrays | None = None,
        next_observations: EpisodeArrays | None = None,
        next_is_terminal: EpisodeArrays | None = None,
        initial_qpos: EpisodeArrays | None = None,
        initial_qvel: EpisodeArrays | None = None,
        metadata: DemoMetadata | None = None,
        source: str = "demonstrations",
    ) -> "Demonstrations":
        """Make a record of one array per episode: as many observations as actions, or one more.

        `executed_actions` are those the env was given; `actions` the expert's unclipped ones,
        where known; `next_observations` with `next_is_terminal` what followed thinned steps.
        Without actions, each observation but the last of an episode is a step, unless other arrays
        tell the number of steps. Without flags every episode counts as truncated. Casts are
        recorded.
        """
        given = locals()
        arrays = {name: given[name] for name in FIELDS if given[name] is not None}
        episodes, changes = episodes_from_arrays(arrays, source)
        metadata = metadata or DemoMetadata()
        for change in changes:
            metadata = metadata.with_change(**change)
        return cls(episodes, metadata, source)

    @classmethod
    def from_tensors(
        cls, tensors: Mapping[str, Any], metadata: DemoMetadata, source: str
    ) -> "Demonstrations":
        """Make a record of flat arrays or tensors, as `tensors` returns them."""
        unknown = sorted(tensors.keys() - FIELDS.keys() - {"episode_lengths"})
        missing = sorted({"observations", "episode_lengths"} - tensors.keys())
        if unknown or missing:
            wrong = f"unknown tensors {unknown}" if unknown else f"no tensor {missing}"
            raise DataError(f"{source}: {wrong}; demonstrations have {', '.join(FIELDS)}")
        arrays = {name: np.atleast_1d(np.asarray(tensor)) for name, tensor in tensors.items()}
        given = arrays.pop("episode_lengths")
        stepwise = next((arrays[name] for name in STEPWISE if name in arrays), None)
        # In Python integers: others wrap round on hostile lengths.
        is_plain = given.ndim == 1 and given.dtype.kind in "iu"
        lengths = given.tolist() if is_plain else [-1]
        if stepwise is None and sum(lengths) == len(arrays["observations"]):
            lengths = [length - 1 for length in lengths]  # in states, one more than steps
        num_steps = (
            len(arrays["observations"]) - len(lengths) if stepwise is None else len(stepwise)
        )
        if sum(lengths) != num_steps or min(lengths, default=0) < 0:
            raise DataError(
                f"{source}: episode_lengths add up to {sum(lengths)}, but there are {num_steps} "
                f"{'steps' if stepwise is None else 'actions'}"
            )
        has_finals = len(arrays["observations"]) == num_steps + len(lengths)
        split: dict[str, EpisodeArrays] = {}
        for name, array in arrays.items():
            if name.startswith("initial"):
                split[name] = list(array)
                continue
            ends = np.cumsum([n + (has_finals and name == "observations") for n in lengths])
            if len(array) != ends.max(initial=0):
                raise DataError(
                    f"{source}: {name} has shape {array.shape}, expected {ends.max(initial=0)} "
                    f"rows ({len(lengths)} episodes, {num_steps} steps)"
                )
            split[name] = np.split(array, ends[:-1])
        return cls.from_arrays(**split, metadata=metadata, source=source)

    @classmethod
    def concatenate(cls, parts: Sequence["Demonstrations"]) -> "Demonstrations":
        """Put the episodes of all parts in a row; the parts must come from one env.

        Optional tensors stay when every part has them; what is left out is recorded.
        """
        if not parts:
            raise DataError("nothing to concatenate: at least one record is needed")
        metadata = DemoMetadata.of_parts([(part.metadata, part.num_episodes) for part in parts])
        episodes = [episode for part in parts for episode in part.episodes]
        if any(part.is_thinned for part in parts):
            episodes = [episode.with_successors() for episode in episodes]
        if len({part.columns for part in parts}) > 1:
            raise DataError("the parts know different columns, so they cannot be put together")
        held = [{name for name in OPTIONAL if getattr(e, name) is not None} for e in episodes]
        if lacking := sorted(set[str]().union(*held) - held[0].intersection(*held)):
            metadata = metadata.with_change("leave_out_tensors_some_parts_lack", names=lacking)
            episodes = [episode.with_tensors(**dict.fromkeys(lacking)) for episode in episodes]
        sources = " + ".join(part.source for part in parts)
        return cls(tuple(episodes), metadata, sources, parts[0].columns)

    # --- what it holds

    @property
    def num_episodes(self) -> int:
        return len(self.episodes)

    @property
    def num_steps(self) -> int:
        return int(self.episode_lengths.sum())

    @property
    def num_states(self) -> int:
        return self.episodes[0].observations.shape[1]

    @property
    def num_actions(self) -> int:
        return self.episodes[0].executed_actions.shape[1]

    @property
    def dims(self) -> tuple[int, int | None]:
        """Of a state and of an action; None where the actions are not known."""
        return self.num_states, self.num_actions or None

    @property
    def is_thinned(self) -> bool:
        """Whether steps were left out: the row after a step is that of a later one."""
        return self.episodes[0].next_observations is not None

    @property
    def has_successors(self) -> bool:
        """Whether anything is known to follow a state."""
        ends = [episode.with_successors().next_is_terminal for episode in self.episodes]
        return not all(bool(end.all()) for end in ends if end is not None)

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 over the metadata and every tensor: equal hash, equal demonstrations."""
        return content_hash(self.tensors(), self.metadata.as_document())

    @cached_property
    def episode_lengths(self) -> Tensor:
        """[E] int64"""
        return torch.tensor([len(episode) for episode in self.episodes])

    @cached_property
    def episode_of_step(self) -> Tensor:
        """[M] int64"""
        return torch.repeat_interleave(torch.arange(self.num_episodes), self.episode_lengths)

    @cached_property
    def step_in_episode(self) -> Tensor:
        """[M] int64, counted from 0"""
        return torch.cat([torch.arange(len(episode)) for episode in self.episodes])

    @cached_property
    def observations(self) -> Tensor:
        """[M+E, S], one more per episode than actions."""
        return torch.cat([episode.observations for episode in self.episodes])

    @cached_property
    def executed_actions(self) -> Tensor:
        """[M, A]; [M, 0] where they are not known."""
        return torch.cat([episode.executed_actions for episode in self.episodes])

    @cached_property
    def actions(self) -> Tensor | None:
        """[M, A], or None where raw actions are not known."""
        return self._flat("actions")

    @cached_property
    def rewards(self) -> Tensor | None:
        """[M], or None where they are not known."""
        return self._flat("rewards")

    @property
    def terminations(self) -> Tensor:
        """[M] bool, true on the last step of an episode that the task ended."""
        return torch.cat([episode.step_flags["terminations"] for episode in self.episodes])

    @property
    def truncations(self) -> Tensor:
        """[M] bool, true on the last step of an episode that was cut."""
        return torch.cat([episode.step_flags["truncations"] for episode in self.episodes])

    @cached_property
    def states(self) -> Tensor:
        """[M, S] float32, the observations that actions were taken in."""
        return torch.cat([episode.observations[:-1] for episode in self.episodes]).float()

    @cached_property
    def next_states(self) -> Tensor:
        """[M, S] float32, the observation that followed each of `states`."""
        following = [episode.with_successors().next_observations for episode in self.episodes]
        return torch.cat([rows for rows in following if rows is not None]).float()

    @property
    def state_mean(self) -> Tensor:
        """[S] float64"""
        return self.states.double().mean(dim=0)

    @property
    def state_std(self) -> Tensor:
        """[S] float64, of the population."""
        return self.states.double().std(dim=0, correction=0)

    @property
    def returns(self) -> Tensor | None:
        """[E] float64, the sum of each episode's rewards; None without rewards."""
        if self.rewards is None:
            return None
        zeros = torch.zeros(self.num_episodes, dtype=torch.float64)
        return zeros.index_add(0, self.episode_of_step, self.rewards.double())

    @property
    def action_change(self) -> float | None:
        """E |a_{t+1} - a_t| of the executed actions, mean over episodes.

        None where steps or actions were left out of the record, and where no episode has two.
        """
        actions, lengths = self.executed_actions.double(), self.episode_lengths
        is_long, is_within = lengths > 1, self.step_in_episode[1:] > 0
        if self.is_thinned or not self.num_actions or not bool(is_long.any()):
            return None
        changes = torch.linalg.vector_norm(actions[1:] - actions[:-1], dim=-1)[is_within]
        episodes = self.episode_of_step[1:][is_within]
        totals = changes.new_zeros(self.num_episodes).index_add(0, episodes, changes)
        return float((totals[is_long] / (lengths[is_long] - 1)).mean())

    def tensors(self) -> dict[str, Tensor]:
        """Return the flat tensors that are there, by field name, as files hold them."""
        flat = {name: self._flat(name) for name in ("observations", "executed_actions", *OPTIONAL)}
        flat |= {"terminations": self.terminations, "truncations": self.truncations}
        flat["episode_lengths"] = self.episode_lengths
        if not self.num_actions:
            del flat["executed_actions"]
        return {name: tensor for name, tensor in flat.items() if tensor is not None}

    def expert_batch(self, which: ActionKind) -> ExpertBatch:
        """Return all steps, with raw or executed actions; never one for the other."""
        actions = self.executed_actions if which == "executed" else self.actions
        if actions is None:
            raise DataError(
                f"{self.source}: holds executed actions only, raw ones were asked for; "
                "use executed actions on both sides, or record the expert again"
            )
        ends = [episode.with_successors().next_is_terminal for episode in self.episodes]
        terminated = torch.cat([end for end in ends if end is not None])
        return ExpertBatch(self.states, actions.float(), self.next_states, terminated)

    # --- parts and variations of it

    @keywords_for_flags()
    def first(self, num_episodes: int | None, start: int = 0) -> "Demonstrations":
        """Keep so many episodes from episode `start` on, or all of them (None)."""
        start, rest = whole_number("start", start, 0), max(0, self.num_episodes - start)
        wanted = max(1, rest) if num_episodes is None else num_episodes
        if (wanted := whole_number("num_episodes", wanted)) > rest:
            raise DataError(
                f"{self.source}: {count(wanted, 'episode')} asked for, {rest} there from episode "
                f"{start} on (the first is 0)"
            )
        if wanted == self.num_episodes:
            return self
        details = {"num_episodes": wanted, **({"start": start} if start else {})}
        metadata = self.metadata.with_change("keep_first_episodes", **details)
        return replace(self, episodes=self.episodes[start : start + wanted], metadata=metadata)

    @keywords_for_flags()
    def subsample(self, every: int, offset: int = 0) -> "Demonstrations":
        """Keep every n-th step of each episode, from step `offset`; returns and ends are kept.

        Fewer and less similar steps from the same episodes, as in the GAIL paper's experiments.
        What followed each kept step is kept beside it.
        """
        every, offset = whole_number("every", every), whole_number("offset", offset, 0)
        if offset >= every:
            raise ConfigError(
                f"cannot keep every {every}-th step from step {offset} on; expected 1 or more, and "
                "a first step below that"
            )
        if every == 1:
            return self
        details = {"every": every, **({"offset": offset} if offset else {})}
        metadata = self.metadata.with_change("subsample", **details)
        thinned = tuple(episode.thinned(every, offset) for episode in self.episodes)
        return replace(self, episodes=thinned, metadata=metadata)

    def without_actions(self) -> "Demonstrations":
        """Keep the states alone."""
        if not self.num_actions:
            return self
        episodes = tuple(
            episode.with_tensors(executed_actions=episode.executed_actions[:, :0], actions=None)
            for episode in self.episodes
        )
        metadata = self.metadata.with_change("leave_out_actions")
        return replace(self, episodes=episodes, metadata=metadata)

    def as_single_states(self) -> "Demonstrations":
        """Keep the states alone, and forget what followed each: nothing is known to.

        The first of an episode of more than one is left out. It is passed once, and kept beside
        every n-th one it would stand for n: a policy that stays at the start would be like it.
        """
        later = [e.thinned(1, 1) for e in self.without_actions().episodes]
        episodes = tuple(
            episode.with_tensors(
                next_observations=episode.observations[:-1],
                next_is_terminal=torch.ones(len(episode), dtype=torch.bool),
            )
            for episode in later
        )
        metadata = self.metadata.with_change("single_states")
        return replace(self, episodes=episodes, metadata=metadata)

    def in_columns(self, columns: str, num_states: int) -> "Demonstrations":
        """Keep these columns of an observation of so many, and no actions.

        The record holds them alone, in their order, or the others too.
        """
        known = list(columns_of(columns))
        width = len(known) if self.num_states == len(known) else num_states
        if not known or known[-1] >= num_states or self.num_states != width:
            raise DataError(
                f"{self.source}: columns {columns or '(none)'} are asked for, the observation has "
                f"{num_states} and the record {self.num_states}; name those of the observation "
                "that the record holds, counted from 0, as 0-7 or 0,2,5-9"
            )
        read = list(range(width)) if width == len(known) else known

        def widened(tensor: Tensor | None) -> Tensor | None:
            if tensor is None:
                return None
            whole = tensor.new_zeros(len(tensor), num_states)
            whole[:, known] = tensor[:, read]
            return whole

        episodes = tuple(
            episode.with_tensors(
                observations=widened(episode.observations),
                next_observations=widened(episode.next_observations),
            )
            for episode in self.without_actions().episodes
        )
        metadata = self.metadata.with_change("keep_columns", columns=columns, of=num_states)
        return replace(self, episodes=episodes, metadata=metadata, columns=columns)

    @property
    def is_known(self) -> Tensor:
        """[S] bool, the columns that were demonstrated."""
        known = torch.full((self.num_states,), not self.columns)
        known[list(columns_of(self.columns))] = True
        return known

    def completed(self, states: Tensor, next_states: Tensor) -> "Demonstrations":
        """Give every step these states and successors, [M, S] in all."""
        lengths = self.episode_lengths.tolist()
        episodes = tuple(
            episode.with_successors().with_tensors(
                observations=torch.cat([rows, episode.observations[-1:].to(rows)]),
                next_observations=following,
            )
            for episode, rows, following in zip(
                self.episodes, states.split(lengths), next_states.split(lengths), strict=True
            )
        )
        return replace(self, episodes=episodes)

    def with_actions(self, actions: Tensor) -> "Demonstrations":
        """Give every step an executed action, [M, A] in all."""
        parts = actions.split(self.episode_lengths.tolist())
        episodes = tuple(
            episode.with_tensors(executed_actions=part, actions=None)
            for episode, part in zip(self.episodes, parts, strict=True)
        )
        return replace(self, episodes=episodes)

    def without_nonfinite_episodes(self) -> "Demonstrations":
        """Keep the episodes whose observations and actions are all finite; record the others."""
        dropped = [index for index, e in enumerate(self.episodes) if not e.is_finite()]
        if not dropped:
            return self
        metadata = self.metadata.with_change("drop_nonfinite_episodes", episodes=dropped)
        kept = tuple(e for index, e in enumerate(self.episodes) if index not in dropped)
        return replace(self, episodes=kept, metadata=metadata)

    @keywords_for_flags()
    def with_observation_noise(self, noise: float, seed: int) -> "Demonstrations":
        """Add Gaussian noise to every observation, `noise` standard deviations of its column.

        Actions stay those taken in the undisturbed state, as a sensor would see it. The successors
        of a thinned record are observations of their own, with draws of their own.
        """
        noise = number("noise", noise, "0 or more", lambda value: value >= 0)
        if noise == 0:
            return self
        generator = stream(whole_number("seed", seed, 0), "demonstration-noise")
        scale = noise * self.state_std
        noisy: dict[str, Sequence[Tensor]] = {}
        for name, extra in (("observations", 1), ("next_observations", 0)):
            if (flat := self._flat(name)) is not None:
                draws = torch.randn(flat.shape, generator=generator, dtype=torch.float64)
                disturbed = (flat + scale * draws).to(flat.dtype)
                noisy[name] = disturbed.split((self.episode_lengths + extra).tolist())
        return replace(
            self,
            episodes=tuple(
                episode.with_tensors(**{name: parts[index] for name, parts in noisy.items()})
                for index, episode in enumerate(self.episodes)
            ),
            metadata=self.metadata.with_change("add_observation_noise", noise=noise, seed=seed),
        )

    def _flat(self, name: str) -> Tensor | None:
        """Join one field of all episodes; a start state gives one row each."""
        parts = [getattr(episode, name) for episode in self.episodes]
        if parts[0] is None:
            return None
        return torch.stack(parts) if name.startswith("initial") else torch.cat(parts)
