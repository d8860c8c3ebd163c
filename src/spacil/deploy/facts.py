"""What whoever runs an exported policy must know of it: names, units, bounds, rate, J, hashes."""

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from spacil import storage
from spacil.config.general import RunConfig
from spacil.demos.common_frame import CommonFrame
from spacil.envs.registry import built_in_task, make_vector_env
from spacil.envs.vector_env import EnvSpec, ResetSeeds
from spacil.errors import ConfigError, SpacilError
from spacil.measuring.evaluate import (
    EVALUATION_ENVS,
    Evaluation,
    evaluation_of,
    play_mean_actions,
)
from spacil.measuring.frames import choose_frame
from spacil.nets.policy import GaussianPolicy
from spacil.policies.file import (
    SavedPolicy,
    Which,
    load_policy,
    policy_document,
    require_fit,
)
from spacil.policies.onnx_export import INPUT, OPSET, OUTPUT
from spacil.runs.inputs import task_to_play
from spacil.version import __version__

FORMAT, FORMAT_VERSION = "spacil-export", 1
NOTE = (
    "actions are final, in env units: already clipped to action_low..action_high. Feed raw "
    "observations as the env returns them; the normaliser is inside. Add no tanh, scaling or noise."
)


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
        policy = load_policy(policy, which)
    inner = getattr(policy, "policy", policy)
    if not isinstance(inner, GaussianPolicy):
        raise ConfigError(
            f"cannot export a {type(policy).__name__}: only spacil's own policies (a run folder, a "
            "policy file, a bundled expert, an agent) can be written without a tracer; "
            "spacil.smooth distils any other into one"
        )
    inner = inner if isinstance(policy, SavedPolicy) else _on_cpu(inner)
    config = getattr(policy, "config", None)
    known = {} if config is None else {"algorithm": config.algorithm, "seed": config.run.seed}
    return Subject(
        policy=inner,
        task=getattr(policy, "task", None) or getattr(config, "task", None),
        provenance=getattr(policy, "provenance", known),
        common_frame=getattr(policy, "common_frame", None),
    )


def _on_cpu(policy: GaussianPolicy) -> GaussianPolicy:
    """A copy: the policy in training goes on on its device."""
    sizes = (policy.num_states, policy.action_low.tolist(), policy.action_high.tolist())
    copied = GaussianPolicy(*sizes, policy.hidden)
    copied.load_state_dict({name: value.cpu() for name, value in policy.state_dict().items()})
    copied.normalizer.refresh()
    return copied.requires_grad_(False)


def play(subject: Subject, source: object, env: Any, episodes: int, seed: int) -> Played | str:
    """The policy in an env; or why it was not played, where nobody named one that should work."""
    if episodes < 1:
        return "it was not played (episodes is 0)"
    if env is not None:
        return _played(subject, env, episodes, seed)
    if subject.task is None:
        return "nobody says which task it is for: pass --task"
    try:
        task = subject.task
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


def facts_of(subject: Subject, played: Played | str) -> dict[str, Any]:
    """One flat JSON-able document; every entry also stands in the ONNX file's metadata."""
    policy = subject.policy
    facts: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "spacil_version": __version__,
        "note": NOTE,
        "task": subject.task if isinstance(played, str) else played.spec.task,
        "onnx_opset": OPSET,
        "input_name": INPUT,
        "output_name": OUTPUT,
        "num_observations": policy.num_states,
        "num_actions": policy.num_actions,
        "dtype": "float32",
        "action_low": _numbers(policy.action_low),
        "action_high": _numbers(policy.action_high),
        "observations_ignored": (policy.normalizer.scale == 0).nonzero().flatten().tolist(),
        "policy_sha256": subject.policy_hash,
        "run_content_hash": subject.provenance.get("content_hash"),
        "algorithm": subject.provenance.get("algorithm"),
        "training_seed": subject.provenance.get("seed"),
        "iteration": subject.provenance.get("iteration"),
    }
    if isinstance(played, str):
        facts["not_measured"] = f"no dt, J and return: {played}"
    else:
        facts |= _quantities(played.spec) | _measured(played)
    return {key: value for key, value in facts.items() if value is not None}


def _measured(played: Played) -> dict[str, Any]:
    """J, and the rate that the policy was made for."""
    spec, found = played.spec, played.evaluation
    return {
        "control_dt_seconds": spec.dt,
        "control_rate_hz": None if not spec.dt else round(1 / spec.dt, 6),
        "smoothness_j": found.smoothness_j_common,
        "smoothness_j_unit": played.frame and f"action per standard deviation of {played.frame}",
        "smoothness_j_raw": found.smoothness_j_raw,
        "average_return": found.average_return,
        "num_episodes": found.num_episodes,
    }


def _quantities(spec: EnvSpec) -> dict[str, Any]:
    """Names and units, where they are known: those of built-in tasks."""
    task = built_in_task(spec)
    if task is None:
        return {}
    from spacil.envs.state_names import action_quantities, state_quantities  # loads the simulator

    states, actions = state_quantities(task), action_quantities(task)
    return {
        "observation_names": states and [quantity.name for quantity in states],
        "observation_units": states and [quantity.unit for quantity in states],
        "action_names": [quantity.name for quantity in actions],
        "action_units": [quantity.unit for quantity in actions],
    }


def as_metadata(facts: Mapping[str, Any]) -> dict[str, str]:
    """The same as texts: plain ones as they are, all others as JSON."""
    return {
        key: value if isinstance(value, str) else json.dumps(value) for key, value in facts.items()
    }


def _numbers(values: Tensor) -> list[float | None]:
    """JSON has no infinity: an open bound is null."""
    return [value if np.isfinite(value) else None for value in values.tolist()]


def states_to_check(subject: Subject, played: Played | str, count: int) -> Tensor:
    """[count, S] float32: half of them visited, where it was played, and the others drawn.

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
