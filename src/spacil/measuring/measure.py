"""How smooth any policy is: gather states, then measure everything that can be measured there.

    report = spacil.measure_smoothness("runs/spacil/Hopper-v4/seed0-...")
    report = spacil.measure_smoothness(my_module, states)
    report = spacil.measure_smoothness(sb3_model, env="Hopper-v4", robustness=True)

The call is not named `spacil.smoothness`: that is the package of the penalties and metrics, and a
package that can also be called is one that type checkers refuse, that reads as two things, and
that would have to import upwards through the rooms.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from spacil.config.groups import RunConfig
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import bundled_demos, load_demos
from spacil.envs.registry import built_in_task, make_vector_env, task_named_in_file
from spacil.envs.vector_env import EnvSpec, ResetSeeds, VectorEnv
from spacil.errors import ConfigError
from spacil.measuring.fixed_states import FixedStates, checked_states, demonstrated_states
from spacil.measuring.lens import (
    Lens,
    ball_estimates,
    certificate_summary,
    cost_summaries,
    frame_summaries,
    make_lens,
)
from spacil.measuring.options import SmoothnessOptions
from spacil.measuring.played import (
    action_spread,
    played_episodes,
    policy_actor,
    reference_actors,
)
from spacil.measuring.report import (
    BallEstimates,
    CertificateSummary,
    CostSummaries,
    FrameSummaries,
    PlayedEpisodes,
    SmoothnessReport,
)
from spacil.measuring.robustness import Robustness, measure_robustness
from spacil.policies.file import Which
from spacil.policies.open import open_policy
from spacil.policies.source import PolicySource, check_is_function, check_widths
from spacil.sampling.episodes import Actor, Trajectory, all_states, play
from spacil.seeding import stream

MAX_ENVS = 50
INACTIVE_SPREAD = 0.01
"""Below one percent of the half range, over all states measured, a policy counts as inactive."""
_ESTIMATOR_STATES = 1_000
_ESTIMATOR_STATES_BY_DIFFERENCES = 200


@dataclass(frozen=True)
class Measurement:
    """A report, and what pictures of it need."""

    report: SmoothnessReport
    trajectories: list[Trajectory]
    """Empty where nothing was played"""
    lens: Lens
    spec: EnvSpec | None


def measure_smoothness(
    policy: object,
    states: ArrayLike | Tensor | None = None,
    *,
    env: Any = None,
    demonstrations: Demonstrations | str | Path | None = None,
    which: Which = "best",
    episodes: int = SmoothnessOptions.episodes,
    seed: int = SmoothnessOptions.seed,
    sampled: bool = SmoothnessOptions.sampled,
    robustness: bool = SmoothnessOptions.robustness,
    attack_radius: float | None = SmoothnessOptions.attack_radius,
    max_states: int = SmoothnessOptions.max_states,
) -> SmoothnessReport:
    """Every smoothness number of a policy that can be known from what is given.

    `policy`: a run folder, a policy or ONNX file, one of our policies or agents, a torch module
    or a function on raw observations, a Stable-Baselines3 model.
    `states` [B, S]: measure there. With states alone nothing is simulated.
    `env`: what any spacil env can be made from; the policy plays in it. A policy that knows its
    task plays in that one when neither states nor env are given.
    `demonstrations`: define the common frame and, without `states`, the fixed states; by default
    those bundled with the task. The other settings are those of `SmoothnessOptions`.
    """
    options = SmoothnessOptions(episodes, seed, sampled, robustness, attack_radius, max_states)
    source = open_policy(policy, which)
    if env is None and states is None and source.task is not None:
        is_file = isinstance(policy, str | Path)
        env = task_named_in_file(source.task, policy) if is_file else source.task
    fixed = None
    if states is not None:
        tensor = states if isinstance(states, Tensor) else torch.as_tensor(states)
        fixed = FixedStates(checked_states(tensor.detach().cpu(), "states"), "states")
    demos = find_demonstrations(demonstrations, env, source)
    return measure(source, fixed, env, demos, options).report


def find_demonstrations(
    given: Demonstrations | str | Path | None, env: Any, source: PolicySource
) -> Demonstrations | None:
    """Those given, or the ones bundled with the task; None where there are none."""
    if isinstance(given, Demonstrations):
        return given
    if given is not None:
        return load_demos(given)
    task = env if isinstance(env, str) else source.task if env is None else None
    if task is None or task not in bundled_demos():
        return None
    return replace(load_demos(task), source=f"bundled demonstrations of {task}")


def measure(
    source: PolicySource,
    fixed: FixedStates | None,
    env_source: Any,
    demos: Demonstrations | None,
    options: SmoothnessOptions,
) -> Measurement:
    """The report, by a policy's own episodes where there is an env, and at fixed states."""
    if fixed is None and demos is not None:
        fixed = demonstrated_states(demos)
    if fixed is None and env_source is None:
        raise ConfigError(
            f"{source.name}: nowhere to measure: pass --task to play, or --states or --demos"
        )
    if demos is not None:
        check_widths(source, demos.num_states, demos.num_actions, demos.source)
    if fixed is not None:
        check_widths(source, fixed.states.shape[1], None, fixed.origin)
    if env_source is None:
        return _measured(source, fixed, demos, options, None)
    with _env_for(env_source, options) as env:
        check_widths(source, env.spec.num_states, env.spec.num_actions, env.spec.task)
        return _measured(source, fixed, demos, options, env)


def _measured(
    source: PolicySource,
    fixed: FixedStates | None,
    demos: Demonstrations | None,
    options: SmoothnessOptions,
    env: VectorEnv | None,
) -> Measurement:
    act = policy_actor(source, options.sampled, stream(options.seed, "sampled-actions"))
    trajectories: list[Trajectory] = []
    if env is not None:
        starts = torch.as_tensor(env.reset()).to(source.dtype)
        num_actions = check_is_function(source, starts)
        # What a function answers with is known only now.
        check_widths(
            replace(source, num_actions=num_actions),
            env.spec.num_states,
            env.spec.num_actions,
            env.spec.task,
        )
        trajectories = play(env, lambda: act, options.episodes)
    visited = _chosen(all_states(trajectories), source, options) if trajectories else None
    given = None if fixed is None else _chosen(fixed.states, source, options)
    first = visited if visited is not None else given
    assert first is not None
    check_is_function(source, first)
    feature_std = _feature_std(demos, first)
    bounds = _bounds(source, env)
    lens = make_lens(source, feature_std, None if demos is None else demos.state_std, bounds)
    robustness = None
    if options.robustness:
        robustness = _robustness(env, act, source, lens, feature_std, demos, options)
    spread = action_spread(trajectories, source, first, bounds)
    report = SmoothnessReport(
        source=source.name,
        kind=source.kind,
        derivative="exact" if source.has_gradients else "finite differences",
        task=None if env is None else env.spec.task,
        seed=options.seed,
        acting="sampled" if options.sampled else "mean",
        provenance=source.provenance,
        fixed_states_from=None if fixed is None else fixed.origin,
        common_frame_from=None if demos is None else demos.source,
        action_spread=spread,
        is_inactive=spread < INACTIVE_SPREAD,
        played=None if env is None else played_episodes(trajectories, env.spec),
        references=None if env is None else _references(env, options),
        robustness=robustness,
        **_at_states(source, lens, visited, given, options.seed),
    )
    return Measurement(report, trajectories, lens, None if env is None else env.spec)


class _AtStates(TypedDict):
    on_trajectories: FrameSummaries | None
    on_fixed_states: FrameSummaries | None
    estimators: BallEstimates
    certificate: CertificateSummary | None
    cost: CostSummaries | None


def _at_states(
    source: PolicySource, lens: Lens, visited: Tensor | None, given: Tensor | None, seed: int
) -> _AtStates:
    """The part of the report that is a function of states, visited before given ones."""
    on_trajectories = None if visited is None else frame_summaries(lens, visited)
    on_fixed_states = None if given is None else frame_summaries(lens, given)
    measured = [each for each in (on_trajectories, on_fixed_states) if each is not None]
    first = visited if visited is not None else given
    assert first is not None
    limit = _ESTIMATOR_STATES if lens.is_exact else _ESTIMATOR_STATES_BY_DIFFERENCES
    weights, cost = source.weights, source.cost
    return {
        "on_trajectories": on_trajectories,
        "on_fixed_states": on_fixed_states,
        "estimators": ball_estimates(
            lens, _subset(first, limit, seed), source.std, stream(seed, "ball")
        ),
        "certificate": None
        if weights is None
        else certificate_summary(weights, lens.frames, measured),
        "cost": None if cost is None else cost_summaries(cost, lens, first),
    }


def _references(env: VectorEnv, options: SmoothnessOptions) -> dict[str, PlayedEpisodes]:
    def played(actor: Actor) -> PlayedEpisodes:
        return played_episodes(play(env, lambda: actor, options.episodes), env.spec)

    actors = reference_actors(env.spec, stream(options.seed, "random-policy"))
    return {name: played(actor) for name, actor in actors.items()}


def _robustness(
    env: VectorEnv | None,
    act: Actor,
    source: PolicySource,
    lens: Lens,
    feature_std: Tensor,
    demos: Demonstrations | None,
    options: SmoothnessOptions,
) -> Robustness:
    if env is None:
        raise ConfigError(f"{source.name}: --robustness plays episodes, so it needs a --task")
    task = built_in_task(env.spec)
    return measure_robustness(
        env,
        act,
        lambda states: lens.mean(lens.normalize(states.to(source.dtype))),
        feature_std,
        "the states it visited" if demos is None else demos.source,
        options.attack_radius or (None if task is None else task.attack_radius),
        options.episodes,
        options.seed,
    )


@contextmanager
def _env_for(env_source: Any, options: SmoothnessOptions) -> Iterator[VectorEnv]:
    # The stream of `spacil evaluate`: one seed means the same episodes there and here.
    env = make_vector_env(
        env_source,
        min(options.episodes, MAX_ENVS),
        ResetSeeds(options.seed, "evaluate"),
        RunConfig().simulation_threads,
    )
    try:
        yield env
    finally:
        env.close()


def _chosen(states: Tensor, source: PolicySource, options: SmoothnessOptions) -> Tensor:
    """All of them, or a random choice of `max_states`, in the policy's precision."""
    return _subset(states, options.max_states, options.seed).to(source.dtype)


def _subset(states: Tensor, limit: int, seed: int) -> Tensor:
    if len(states) <= limit:
        return states
    rows = torch.randperm(len(states), generator=stream(seed, "subset"))[:limit]
    return states[rows.sort().values]


def _feature_std(demos: Demonstrations | None, states: Tensor) -> Tensor:
    """[S], of the demonstrations, or of the states measured."""
    std = states.double().std(0, correction=0) if demos is None else demos.state_std
    return std.to(states.dtype)


def _bounds(source: PolicySource, env: VectorEnv | None) -> tuple[Tensor, Tensor] | None:
    if env is not None:
        return torch.from_numpy(env.spec.action_low), torch.from_numpy(env.spec.action_high)
    return source.action_bounds
