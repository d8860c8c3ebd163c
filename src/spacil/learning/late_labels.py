"""What a teacher says of commands that are executed later than they are given.

The command of step t is executed in the true state of step t + d, so that is where the teacher is
asked. The student decides with what it sees at t: a state that may be late and noisy, and the
commands on their way, which tell where the env will be by then.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from spacil.config.settings import ConditionsConfig
from spacil.envs.conditions import EnvUnderConditions
from spacil.envs.episodes import EpisodeTotals, collect_around
from spacil.envs.vector_env import Step
from spacil.functional.sensitivity import BatchFunction

Rows = tuple[Tensor, Tensor, Tensor]
"""Inputs [B, S'], the states [B, S] in which their commands are executed, and how many rows further
on the successor is [B], 0 where there is none"""


class Witness(EnvUnderConditions):
    """Remembers the true states and the delays since it was last asked."""

    def reset(self, first_episode: int = 0) -> Tensor:
        """Begin anew, and forget."""
        observations = super().reset(first_episode)
        self._seen = [self._now()]
        return observations

    def load_state(self, state: Mapping[str, Tensor]) -> Tensor:
        """Continue from a saved state."""
        observations = super().load_state(state)
        self._seen = [self._now()]
        return observations

    def step(self, actions: Tensor, active: Tensor | None = None) -> Step:
        """Step, and remember."""
        step = super().step(actions, active)
        self._seen.append(self._now())
        return step

    def testimony(self) -> tuple[Tensor, Tensor]:
        """True states [T + 1, N, S] and delays of commands [T + 1, N]; the last are kept."""
        states, delays = (torch.stack(column) for column in zip(*self._seen, strict=True))
        del self._seen[:-1]
        return states, delays

    def _now(self) -> tuple[Tensor, Tensor]:
        return self.true_observations.clone(), self.action_delays.clone()


def late_rows(
    inputs: Tensor, truth: Tensor, delays: Tensor, is_over: Tensor, is_played: Tensor | None = None
) -> Rows:
    """Pair what the student sees [T, N, S'] with the state in which its command is executed.

    `truth` [T + 1, N, S], `delays` [T + 1, N], `is_over` [T, N] where a step ends an episode.
    Commands that are executed after the end of their episode, or of the batch, are left out.
    """
    num_steps, num_envs = is_over.shape
    due = torch.arange(num_steps).unsqueeze(1) + delays[:-1]
    is_known = due <= num_steps
    due = due.clamp(max=num_steps)
    num_ends = torch.cat([torch.zeros(1, num_envs, dtype=torch.int64), is_over.cumsum(0)])
    is_known &= num_ends.gather(0, due) == num_ends[:-1]
    if is_played is not None:
        is_known &= is_played
    number = is_known.flatten().cumsum(0).view_as(is_known)
    is_followed = is_known[:-1] & is_known[1:] & ~is_over[:-1]
    ahead = torch.zeros_like(number)
    ahead[:-1] = (number[1:] - number[:-1]) * is_followed
    targets = truth.gather(0, due.unsqueeze(-1).expand(-1, -1, truth.shape[-1]))
    return inputs[is_known], targets[is_known], ahead[is_known]


def rows_of_wave(env: Witness, played: EpisodeTotals) -> tuple[Rows, Tensor]:
    """The rows of one episode in every env, just played, and its true states [B, S]."""
    truth, delays = env.testimony()
    steps, lengths = torch.arange(len(truth) - 1).unsqueeze(1), torch.from_numpy(played.lengths)
    is_played = steps < lengths
    inputs = torch.zeros(*is_played.shape, played.states.shape[-1])
    inputs[is_played] = played.states
    rows = late_rows(inputs, truth, delays, steps >= lengths - 1, is_played)
    return rows, truth[:-1][is_played]


def teachers_rows(
    env: EnvUnderConditions, act: BatchFunction, num_steps: int, generator: torch.Generator
) -> Rows:
    """Let the teacher act undisturbed, and show the student that as it would look to it.

    While the state of step t is seen, the commands on their way are those up to the one executed
    when the next command will be.
    """
    conditions, num_states = env.conditions, env.env.spec.num_states
    plain = EnvUnderConditions(env.env, ConditionsConfig(), env.seeds, inputs=env.inputs)
    no_noise = torch.zeros(num_steps // env.num_envs, env.num_envs, env.spec.num_actions)
    played, _ = collect_around(
        plain, lambda seen: act(seen[:, :num_states]), no_noise, plain.reset()
    )
    seen = torch.cat([played.states, played.last_states.unsqueeze(0)])
    lag = torch.zeros(env.num_envs, dtype=torch.int64)
    for low, high in (conditions.range_of("action"), conditions.range_of("observation")):
        lag += torch.randint(low, high + 1, lag.shape, generator=generator)
    rows = (torch.arange(len(seen)).unsqueeze(1) + lag).clamp(max=len(seen) - 1)
    later = seen.gather(0, rows.unsqueeze(-1).expand_as(seen))
    commands = slice(num_states, num_states + env.num_commands * env.spec.num_actions)
    inputs = seen.clone()
    inputs[..., commands] = later[..., commands]
    is_over = played.terminated | played.truncated
    truth, lags = seen[..., :num_states], lag.expand(len(seen), -1)
    return late_rows(inputs[:-1], truth, lags, is_over)
