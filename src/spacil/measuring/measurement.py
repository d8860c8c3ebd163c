"""The report on one policy: play it where there is an env, and measure it at states."""

from dataclasses import dataclass
from typing import TypedDict

import torch
from torch import Tensor

from spacil.demos.common_frame import CommonFrame
from spacil.envs.episodes import Actor, Trajectory, all_states, play
from spacil.envs.registry import built_in_task
from spacil.envs.vector_env import EnvSpec, VectorEnv
from spacil.errors import ConfigError
from spacil.measuring.fixed_states import FixedStates
from spacil.measuring.frames import frame_facts
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
    ReferenceEpisodes,
    SmoothnessReport,
)
from spacil.measuring.robustness import Robustness, measure_robustness
from spacil.policies.file import bundled_experts
from spacil.policies.open import open_policy
from spacil.policies.policy import Policy
from spacil.seeding import stream

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


def measurement_of(
    source: Policy,
    fixed: FixedStates | None,
    common_frame: CommonFrame | None,
    options: SmoothnessOptions,
    env: VectorEnv | None,
) -> Measurement:
    """Everything at once; without an env nothing is played, so there must be fixed states."""
    act = policy_actor(source, options.sampled, stream(options.seed, "sampled-actions"))
    trajectories = [] if env is None else _played(source, act, env, options)
    visited = _chosen(all_states(trajectories), source, options) if trajectories else None
    given = None if fixed is None else _chosen(fixed.states, source, options)
    first = visited if visited is not None else given
    assert first is not None
    source.require_function(first)
    feature_std = _feature_std(common_frame, first)
    bounds = _bounds(source, env)
    lens = make_lens(source, feature_std, common_frame, bounds)
    robustness = None
    if options.robustness:
        std_from = "the states it visited" if common_frame is None else common_frame.source
        robustness = _robustness(env, act, source, lens, (feature_std, std_from), options)
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
        common_frame=frame_facts(common_frame, lens.frames.own_scale),
        action_spread=spread,
        is_inactive=spread < INACTIVE_SPREAD,
        played=None if env is None else played_episodes(trajectories, env.spec),
        references=None if env is None else _references(env, common_frame, options),
        robustness=robustness,
        **_at_states(source, lens, visited, given, options.seed),
    )
    return Measurement(report, trajectories, lens, None if env is None else env.spec)


def _played(
    source: Policy, act: Actor, env: VectorEnv, options: SmoothnessOptions
) -> list[Trajectory]:
    """The policy's episodes, once it is known to be a function that fits the env."""
    source.fitted_to(env.spec, env.reset())
    return _played_by(act, env, options)


def _played_by(actor: Actor, env: VectorEnv, options: SmoothnessOptions) -> list[Trajectory]:
    return play(env, lambda: actor, options.episodes)


class _AtStates(TypedDict):
    on_trajectories: FrameSummaries | None
    on_fixed_states: FrameSummaries | None
    estimators: BallEstimates
    certificate: CertificateSummary | None
    cost: CostSummaries | None


def _at_states(
    source: Policy, lens: Lens, visited: Tensor | None, given: Tensor | None, seed: int
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


def _references(
    env: VectorEnv, common_frame: CommonFrame | None, options: SmoothnessOptions
) -> dict[str, ReferenceEpisodes]:
    def reference(trajectories: list[Trajectory], j: float | None) -> ReferenceEpisodes:
        return ReferenceEpisodes(**vars(played_episodes(trajectories, env.spec)), smoothness_j=j)

    actors = reference_actors(env.spec, stream(options.seed, "random-policy"))
    # The mean action of neither depends on the state.
    found = {
        name: reference(_played_by(actor, env, options), 0.0) for name, actor in actors.items()
    }
    task = built_in_task(env.spec)
    if task is not None and task.name in bundled_experts():
        trajectories, j = _expert(task.name, env, common_frame, options)
        found["demonstrator"] = reference(trajectories, j)
    return found


def _expert(
    task: str, env: VectorEnv, common_frame: CommonFrame | None, options: SmoothnessOptions
) -> tuple[list[Trajectory], float | None]:
    """The bundled expert's episodes, and its J on them in the same frame."""
    source = open_policy(task)
    act = policy_actor(source, False, stream(options.seed, "sampled-actions"))
    trajectories = _played_by(act, env, options)
    states = _chosen(all_states(trajectories), source, options)
    feature_std = _feature_std(common_frame, states)
    lens = make_lens(source, feature_std, common_frame, _bounds(source, env))
    common = frame_summaries(lens, states).common
    return trajectories, None if common is None else common.mean


def _robustness(
    env: VectorEnv | None,
    act: Actor,
    source: Policy,
    lens: Lens,
    feature_std_and_origin: tuple[Tensor, str],
    options: SmoothnessOptions,
) -> Robustness:
    if env is None:
        raise ConfigError(f"{source.name}: --robustness plays episodes, so it needs a --task")
    task = built_in_task(env.spec)
    return measure_robustness(
        env,
        act,
        lambda states: lens.mean(lens.normalize(states.to(source.dtype))),
        *feature_std_and_origin,
        options.attack_radius or (None if task is None else task.attack_radius),
        options.episodes,
        options.seed,
    )


def _chosen(states: Tensor, source: Policy, options: SmoothnessOptions) -> Tensor:
    """All of them, or a random choice of `max_states`, in the policy's precision."""
    return _subset(states, options.max_states, options.seed).to(source.dtype)


def _subset(states: Tensor, limit: int, seed: int) -> Tensor:
    if len(states) <= limit:
        return states
    rows = torch.randperm(len(states), generator=stream(seed, "subset"))[:limit]
    return states[rows.sort().values]


def _feature_std(common_frame: CommonFrame | None, states: Tensor) -> Tensor:
    """[S], of the demonstrations, or of the states measured."""
    std = states.double().std(0, correction=0) if common_frame is None else common_frame.std
    return std.to(states.dtype)


def _bounds(source: Policy, env: VectorEnv | None) -> tuple[Tensor, Tensor] | None:
    if env is not None:
        return torch.from_numpy(env.spec.action_low), torch.from_numpy(env.spec.action_high)
    return source.action_bounds
