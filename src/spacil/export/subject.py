"""The policy to export: found, played in its env, and asked about states worth comparing on."""

import contextlib
import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from spacil import storage
from spacil.config.general import RunConfig
from spacil.demos.common_frame import CommonFrame
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import EnvSpec, ResetSeeds
from spacil.errors import ConfigError, SpacilError
from spacil.measuring.evaluate import EVALUATION_ENVS, Evaluation, evaluation_of, play_mean_actions
from spacil.measuring.frames import choose_frame
from spacil.nets.policy import GaussianPolicy
from spacil.policies.file import Which, load_policy, policy_document, require_fit
from spacil.runs.inputs import task_to_play
from spacil.user_code import task_named_in_file


@dataclass(frozen=True)
class Subject:
    """A policy of ours and what its holder knows about it."""

    policy: GaussianPolicy
    task: str | None
    provenance: Mapping[str, Any]
    common_frame: CommonFrame | None

    @property
    def policy_hash(self) -> str:
        """SHA-256 over sizes, weights, normaliser and bounds."""
        document = policy_document(self.policy, self.task or "")
        return storage.content_hash(self.policy.state_dict(), document)


@dataclass(frozen=True)
class Played:
    """The policy in its env, with mean actions."""

    spec: EnvSpec
    states: Tensor
    """[B, S] raw, every state it acted in"""
    evaluation: Evaluation
    frame: str | None
    """What the standard deviations of J are those of; None where there is no common frame"""


def subject_of(policy: object, which: Which) -> Subject:
    """A run, policy file, expert, agent or policy of ours; anything else is refused."""
    if isinstance(policy, str | Path):
        if ":" in str(policy) and not Path(policy).exists():
            raise ConfigError(
                f"{policy}: only spacil's own policies can be exported; spacil smooth {policy} "
                "--task NAME distils this one into one of them"
            )
        policy = load_policy(policy, which)
    inner = getattr(policy, "policy", policy)
    if not isinstance(inner, GaussianPolicy):
        raise ConfigError(
            f"cannot export a {type(policy).__name__}: only spacil's own policies (a run folder, a "
            "policy file, a bundled expert, an agent) can be written without a tracer; "
            "spacil.smooth distils any other into one"
        )
    config = getattr(policy, "config", None)
    known = {} if config is None else {"algorithm": config.algorithm, "seed": config.run.seed}
    return Subject(
        policy=copy.deepcopy(inner).cpu().requires_grad_(False),  # one in training goes on
        task=getattr(policy, "task", None) or getattr(config, "task", None),
        provenance=getattr(policy, "provenance", known),
        common_frame=getattr(policy, "common_frame", None),
    )


def play(subject: Subject, source: object, env: Any, episodes: int, seed: int) -> Played | str:
    """The policy in an env; or why it was not played, where nobody named one that should work."""
    if episodes < 1:
        return "it was not played (episodes is 0)"
    if env is not None:
        return _played(subject, env, episodes, seed)
    if subject.task is None:
        return "nobody says which task it is for: pass --task"
    task = task_named_in_file(
        subject.task, source if isinstance(source, str | Path) else "the policy"
    )
    try:
        if isinstance(source, str | Path):
            task = task_to_play(task, source)
        return _played(subject, task, episodes, seed)
    except SpacilError as error:
        return f"its task cannot be played here: {error}"


def _played(subject: Subject, env_source: Any, episodes: int, seed: int) -> Played:
    policy = subject.policy
    env = make_vector_env(
        env_source,
        min(episodes, EVALUATION_ENVS),
        ResetSeeds(seed, "evaluate"),
        RunConfig().simulation_threads,
    )
    with contextlib.closing(env):
        require_fit(policy, env.spec, env.spec.task)
        frame = choose_frame(None, subject.common_frame, env.spec.task)
        if frame is not None and frame.num_states != policy.num_states:
            frame = None
        totals = play_mean_actions(policy, env, 0, episodes)
    evaluation = evaluation_of(policy, totals, frame)
    return Played(env.spec, totals.states, evaluation, None if frame is None else frame.source)


def states_to_check(subject: Subject, played: Played | str, count: int) -> Tensor:
    """[count, S] float32: up to half of them visited, where it was played, the others drawn.

    Those drawn lie up to tens of standard deviations from the mean, so that the clipping of states
    and of actions has its turn.
    """
    generator = torch.Generator().manual_seed(0)
    visited = torch.empty(0, subject.policy.num_states)
    if isinstance(played, Played):
        rows = torch.randperm(len(played.states), generator=generator)[: count // 2]
        visited = played.states[rows].to(torch.float32)
    num_drawn = count - len(visited)
    normalizer = subject.policy.normalizer
    directions = torch.randn(num_drawn, subject.policy.num_states, generator=generator)
    spreads = 10 ** (3 * torch.rand(num_drawn, 1, generator=generator) - 1.5)
    drawn = normalizer.mean + normalizer.std * directions * spreads
    states = torch.cat([visited, drawn.to(torch.float32)])
    return states[torch.randperm(count, generator=generator)]
