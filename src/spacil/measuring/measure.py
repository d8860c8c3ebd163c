"""How smooth any policy is: find what to measure it against, then measure everything.

    report = spacil.measure_smoothness("runs/spacil/Hopper-v4/seed0-...")
    report = spacil.measure_smoothness(my_module, states=states)
    report = spacil.measure_smoothness(sb3_model, "Hopper-v4", robustness=True)

The call is not named `spacil.smoothness`: that is the package of the penalties and metrics, and a
package that can also be called is one that type checkers refuse, that reads as two things, and
that would have to import upwards through the rooms.
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from spacil.config.settings import Count, CountFrom0, Group, Positive
from spacil.demos.common_frame import CommonFrame
from spacil.demos.conditions import under_conditions
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import bundled_demos, load_demos
from spacil.demos.findings import require_finite
from spacil.demos.formats.npz import read_arrays
from spacil.envs.episodes import Trajectory, all_states, play
from spacil.envs.registry import built_in_task
from spacil.envs.vector_env import VectorEnv
from spacil.errors import ConfigError, DataError
from spacil.foreign import read_foreign
from spacil.measuring.at_states import (
    FrameSummaries,
    ball_estimates,
    certificate_summary,
    cost_summaries,
    episode_trace,
    frame_summaries,
)
from spacil.measuring.evaluate import evaluation_env
from spacil.measuring.frames import FrameFacts, choose_frame, feature_std_of, frame_facts
from spacil.measuring.played import (
    PlayedEpisodes,
    action_spread,
    played_episodes,
    policy_actor,
    reference_actors,
)
from spacil.measuring.robustness import measure_robustness
from spacil.plain_text import Shown
from spacil.policies.file import Which, bundled_experts
from spacil.policies.open import load_expert, open_policy
from spacil.policies.policy import Kind, Policy, known_task
from spacil.seeding import stream
from spacil.smoothness.action_signal import SPECTRUM_CONVENTION

Trace = Callable[[], dict[str, Any]]
"""Makes the arrays that are drawn"""
INACTIVE_SPREAD = 0.01
"""Below one percent of the half range, over all states measured, a policy counts as inactive."""
_ESTIMATOR_STATES = 1_000
_ESTIMATOR_STATES_BY_DIFFERENCES = 200
_NAMES_OF_STATES = ("states", "observations", "obs")


class SmoothnessOptions(Group):
    """How to measure; the defaults take seconds."""

    episodes: Count = 20
    """Number of whole episodes of the policy, and of each reference."""
    seed: CountFrom0 = 0
    """Seed of the start states and of every draw; no training run uses them."""
    sampled: bool = False
    """Act with samples of the policy's Gaussian; J is that of its mean at the states visited."""
    robustness: bool = False
    """Also play under observation noise, attack and delay: about 13 times the episodes."""
    attack_radius: Positive | None = None
    """Radius of the attack, in standard deviations of each feature; by default the task's usual
    one."""
    max_states: Count = 20_000
    """Measure at most so many states, a random choice of them, on trajectories and fixed ones."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.attack_radius is not None and not self.robustness:
            raise ConfigError("--attack-radius is read with --robustness only: add it")


@dataclass(frozen=True)
class ReferenceEpisodes(PlayedEpisodes):
    """Somebody to compare a policy with, on the same starts."""

    smoothness_j: float | None
    """Mean J in the common frame on its own trajectories; None without that frame"""


@dataclass(frozen=True)
class SmoothnessReport(Shown):
    """What `spacil smoothness` reports. Lower is smoother.

    The same keys for every kind of policy; a number that cannot be known is None, never left out.
    """

    printed_by = "spacil.cli.smoothness:print_report"

    source: str
    kind: Kind
    derivative: Literal["exact", "finite differences"]
    task: str | None
    seed: int
    acting: Literal["mean", "sampled"]
    provenance: Mapping[str, Any]
    on_trajectories: FrameSummaries | None
    on_fixed_states: FrameSummaries | None
    fixed_states_from: str | None
    common_frame: FrameFacts | None
    estimators: Mapping[str, Any]
    certificate: Mapping[str, float | None] | None
    """None for anything but an MLP of tanh or ReLU"""
    cost: Mapping[str, Any] | None
    """None for a policy that comes without a discriminator"""
    played: PlayedEpisodes | None
    references: Mapping[str, ReferenceEpisodes] | None
    """zero_action, random and, for a task with a bundled expert, demonstrator"""
    action_spread: float
    """Standard deviation of the executed actions, in half ranges, over all states measured"""
    is_inactive: bool
    """Whether the policy hardly acts: perfectly smooth, and of no use"""
    robustness: Mapping[str, Any] | None
    """Numbers by disturbance and level"""

    @property
    def headline(self) -> FrameSummaries:
        """On its own trajectories; on the fixed states where none were played."""
        chosen = self.on_trajectories or self.on_fixed_states
        assert chosen is not None
        return chosen

    @property
    def smoothness_j(self) -> float | None:
        """Mean J in the common frame; None without demonstrations to define it."""
        return None if self.headline.common is None else self.headline.common.mean

    @property
    def smoothness_j_own(self) -> float:
        """Mean J per unit of the policy's own normalised state."""
        return self.headline.own.mean

    def as_document(self) -> dict[str, Any]:
        """JSON-able; the headline numbers on top, under the keys that `spacil evaluate` uses."""
        document, names = asdict(self), [field.name for field in fields(PlayedEpisodes)]
        played = document.pop("played") or dict.fromkeys(names)
        headline = asdict(self.headline)
        means = {
            f"smoothness_j_{frame}": headline[frame] and headline[frame]["mean"]
            for frame in ("own", "raw", "common", "effective")
        }
        return {
            "smoothness_j": self.smoothness_j,
            **means,
            "measured_on": "trajectories" if self.on_trajectories else "fixed states",
            **played,
            "action_fluctuation": (played["action_signal"] or {}).get("action_fluctuation"),
            **document,
            "conventions": {"spectrum_score": SPECTRUM_CONVENTION},
        }


def measure_smoothness(
    policy: object,
    env: Any = None,
    *,
    states: ArrayLike | Tensor | None = None,
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
    `demonstrations`: define the common frame and, without `states`, the fixed states. By default
    the frame is the one kept with the policy; else both come from the demonstrations bundled
    with the task. The other settings are those of `SmoothnessOptions`.
    """
    if which not in get_args(Which):
        raise ConfigError(f"which is {which!r}, expected best or last")
    if isinstance(env, Tensor | np.ndarray):
        raise ConfigError("the second argument is an env, as everywhere: pass states as states=...")
    options = SmoothnessOptions(episodes, seed, sampled, robustness, attack_radius, max_states)
    opened = open_policy(policy, which)
    if env is None and states is None:
        env = known_task(opened)
    fixed = None
    if states is not None:
        try:
            array = states if isinstance(states, Tensor) else torch.as_tensor(np.asarray(states))
        except (TypeError, ValueError, RuntimeError) as error:
            raise ConfigError(
                f"states is no array of numbers [B, S] ({error}): pass demonstrations as "
                "demonstrations=..."
            ) from None
        fixed = _checked_states(array.detach().cpu(), "states"), "states"
    return measure(opened, fixed, demonstrations, env, options)[0]


# --- states that do not depend on the policy


FixedStates = tuple[Tensor, str]
"""Raw states [B, S], and where they are from. On its own trajectories a policy is measured where
it goes, and a fallen one goes to a quiet place; on fixed states all are asked the same."""


def load_states(path: Path) -> FixedStates:
    """From an npz file with an array `states`, `observations` or `obs`; or from demonstrations."""
    if path.suffix.lower() != ".npz":
        demos = load_demos(path)
        require_finite(demos)
        return demos.states, demos.source
    if not path.is_file():
        raise DataError(f"{path}: there is no such file; check the path")
    arrays, notes = read_foreign(read_arrays, path)
    array = next((arrays[name] for name in _NAMES_OF_STATES if name in arrays), None)
    if array is None:
        names, held = " or ".join(_NAMES_OF_STATES), sorted([*arrays, *notes["ignored"]])
        raise DataError(f"{path}: has no array named {names}; it has {held}")
    return _checked_states(torch.from_numpy(array), str(path)), str(path)


def _checked_states(states: Tensor, origin: str) -> Tensor:
    """[B, S], finite, at least one; anything else is refused."""
    if states.ndim == 3:  # [episodes, steps, S]
        states = states.flatten(0, 1)
    if states.ndim != 2 or 0 in states.shape:
        raise DataError(f"{origin}: states have shape {tuple(states.shape)}, expected (B, S)")
    states = states if states.dtype.is_floating_point else states.to(torch.float32)
    is_bad = ~torch.isfinite(states).all(-1)
    if bool(is_bad.any()):
        raise DataError(
            f"{origin}: {int(is_bad.sum())} of {len(states)} states are not finite, "
            f"first in row {int(is_bad.nonzero()[0])}"
        )
    return states


# --- measuring


def measure(
    policy: Policy,
    fixed: FixedStates | None,
    demonstrations: Demonstrations | str | Path | None,
    env_source: Any,
    options: SmoothnessOptions,
) -> tuple[SmoothnessReport, Trace | None]:
    """Measure on a policy's own episodes where there is an env, and at the fixed states.

    What is given comes first, then the frame of the policy, then what is bundled. Returned beside
    the report: the first episode step by step, for pictures.
    """
    task = policy.task if env_source is None else env_source
    task = task if isinstance(task, str) else None
    if isinstance(demonstrations, str | Path):
        demonstrations = load_demos(demonstrations)
    demos = demonstrations
    if demos is None and task in bundled_demos():
        demos = replace(load_demos(str(task)), source=f"bundled demonstrations of {task}")
    if demos is not None:
        seen = replace(policy.conditions, sensor_noise=0.0)
        demos = under_conditions(demos, seen, options.seed)
        policy.require_widths(demos.num_states, demos.num_actions, demos.source)
        fixed = fixed or (demos.states, demos.source)
    frame = choose_frame(demonstrations and demos, policy.common_frame, task)
    if frame is not None:
        policy.require_widths(frame.num_states, None, frame.source)
    if fixed is not None:
        policy.require_widths(fixed[0].shape[1], None, fixed[1])
    played = references = robustness = None
    trajectories: list[Trajectory] = []
    with contextlib.ExitStack() as stack:
        env = None
        act = policy_actor(policy, options.sampled, stream(options.seed, "sampled-actions"))
        if env_source is not None:
            opened = evaluation_env(
                env_source, options.episodes, options.seed, inputs=policy.conditions, frame=frame
            )
            env = stack.enter_context(opened)
            policy.require_env(env.spec)
            policy.fitted_to(env.spec, env.reset())
            trajectories = play(env, lambda: act, options.episodes)
        elif fixed is None:
            raise ConfigError(
                f"{policy.name}: nowhere to measure: pass --task to play, or --states or --demos"
            )
        elif options.robustness:
            raise ConfigError(f"{policy.name}: --robustness plays episodes, so it needs a --task")
        given = [all_states(trajectories) if env else None, None if fixed is None else fixed[0]]
        at_states = [
            None
            if states is None
            else _subset(states, options.max_states, options.seed).to(policy.dtype)
            for states in given
        ]
        first = next(states for states in at_states if states is not None)
        answered = policy.require_function(first)
        bounds = env.spec.bounds_on(env.device) if env else policy.action_bounds
        feature_std = feature_std_of(first, frame).to(first.dtype)
        policy = policy.with_derivatives(feature_std)
        if env is not None:
            played = played_episodes(trajectories, env.spec)
            references = _references(env, frame, options)
        if env is not None and options.robustness:
            own, known = policy.own_frame, built_in_task(env.spec)
            robustness = measure_robustness(
                env,
                act,
                lambda states: own.mean(own.normalize(states.to(policy.dtype))),
                feature_std,
                options.attack_radius or (None if known is None else known.attack_radius),
                options.episodes,
                options.seed,
            )
            source = "the states it visited" if frame is None else frame.source
            robustness["feature_std_from"] = source
        policy.require_function(first, answered)  # it may remember, and change late
    at = [
        None if states is None else frame_summaries(policy, states, frame, bounds)
        for states in at_states
    ]
    limit = _ESTIMATOR_STATES if policy.has_gradients else _ESTIMATOR_STATES_BY_DIFFERENCES
    few = _subset(first, limit, options.seed)
    actions = torch.cat([t.actions for t in trajectories]) if env else policy.act(first)
    spread = action_spread(actions, bounds)
    report = SmoothnessReport(
        source=policy.name,
        kind=policy.kind,
        derivative="exact" if policy.has_gradients else "finite differences",
        task=None if env is None else env.spec.task,
        seed=options.seed,
        acting="sampled" if options.sampled else "mean",
        provenance=policy.provenance,
        on_trajectories=at[0],
        on_fixed_states=at[1],
        fixed_states_from=None if fixed is None else fixed[1],
        common_frame=frame_facts(frame, policy.own_frame.scale),
        estimators=ball_estimates(policy, few, stream(options.seed, "ball")),
        certificate=certificate_summary(policy, frame, [each for each in at if each]),
        cost=cost_summaries(policy.cost, policy, first, frame) if policy.cost else None,
        played=played,
        references=references,
        action_spread=spread,
        is_inactive=spread < INACTIVE_SPREAD,
        robustness=robustness,
    )
    if not trajectories:
        return report, None
    return report, lambda: episode_trace(policy, trajectories[0], frame, bounds)


def _references(
    env: VectorEnv, frame: CommonFrame | None, options: SmoothnessOptions
) -> dict[str, ReferenceEpisodes]:
    """Episodes of others from the same starts; the mean action of two is a constant."""
    actors = reference_actors(env.spec, stream(options.seed, "random-policy"))
    task, expert = built_in_task(env.spec), None
    if task is not None and task.name in bundled_experts():
        expert = load_expert(task.name)
        actors["demonstrator"] = expert.act
    found = {}
    for name, actor in actors.items():
        trajectories = play(env, lambda actor=actor: actor, options.episodes)  # type: ignore[misc]
        j: float | None = None  # random and zero actions are none of the state
        if name == "demonstrator" and expert is not None:
            states = _subset(all_states(trajectories), options.max_states, options.seed)
            common = frame_summaries(expert, states.to(expert.dtype), frame, None).common
            j = None if common is None else common.mean
        played = played_episodes(trajectories, env.spec)
        found[name] = ReferenceEpisodes(**vars(played), smoothness_j=j)
    return found


def _subset(states: Tensor, limit: int, seed: int) -> Tensor:
    """All of them, or a random choice of so many."""
    if len(states) <= limit:
        return states
    rows = torch.randperm(len(states), generator=stream(seed, "subset"))[:limit]
    return states[rows.sort().values]
