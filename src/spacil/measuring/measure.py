"""How smooth any policy is: find what to measure it against, then measure everything.

    report = spacil.measure_smoothness("runs/spacil/Hopper-v4/seed0-...")
    report = spacil.measure_smoothness(my_module, states)
    report = spacil.measure_smoothness(sb3_model, env="Hopper-v4", robustness=True)

The call is not named `spacil.smoothness`: that is the package of the penalties and metrics, and a
package that can also be called is one that type checkers refuse, that reads as two things, and
that would have to import upwards through the rooms.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from spacil.demos.common_frame import CommonFrame
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import bundled_demos, load_demos
from spacil.errors import ConfigError, keywords_for_flags
from spacil.measuring.evaluate import evaluation_env
from spacil.measuring.fixed_states import FixedStates, checked_states, demonstrated_states
from spacil.measuring.frames import choose_frame
from spacil.measuring.measurement import Measurement, measurement_of
from spacil.measuring.options import SmoothnessOptions
from spacil.measuring.report import SmoothnessReport
from spacil.policies.file import Which
from spacil.policies.open import open_policy
from spacil.policies.policy import Policy, known_task


@dataclass(frozen=True)
class Ground:
    """What a policy is measured against, besides an env."""

    fixed: FixedStates | None
    common_frame: CommonFrame | None


@keywords_for_flags()
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
    `demonstrations`: define the common frame and, without `states`, the fixed states. By default
    the frame is the one kept with the policy; else both come from the demonstrations bundled
    with the task. The other settings are those of `SmoothnessOptions`.
    """
    if which not in get_args(Which):
        raise ConfigError(f"which is {which!r}, expected best or last")
    options = SmoothnessOptions(episodes, seed, sampled, robustness, attack_radius, max_states)
    source = open_policy(policy, which)
    if env is None and states is None:
        env = known_task(source)
    fixed = None if states is None else FixedStates(_as_states(states), "states")
    return measure(source, find_ground(source, fixed, demonstrations, env), env, options).report


def _as_states(states: object) -> Tensor:
    """[B, S], finite; a task or env in this place is a frequent slip."""
    if isinstance(states, str | Path) or callable(states) or hasattr(states, "observation_space"):
        shown = repr(str(states)) if isinstance(states, str | Path) else type(states).__name__
        raise ConfigError(
            f"states is {shown}, expected an array [B, S]: to play in an env pass env={shown}, "
            "for demonstrations pass demonstrations=..."
        )
    try:
        tensor = states if isinstance(states, Tensor) else torch.as_tensor(np.asarray(states))
    except (TypeError, ValueError, RuntimeError) as error:
        raise ConfigError(f"states is no array of numbers [B, S]: {error}") from None
    return checked_states(tensor.detach().cpu(), "states")


def find_ground(
    source: Policy,
    fixed: FixedStates | None,
    demonstrations: Demonstrations | str | Path | None,
    env: Any,
) -> Ground:
    """The states and the frame: given ones first, then the policy's own, then the bundled ones."""
    task = env if isinstance(env, str) else source.task if env is None else None
    given = _loaded(demonstrations)
    demos = given
    if demos is None and task in bundled_demos():
        demos = replace(load_demos(str(task)), source=f"bundled demonstrations of {task}")
    if demos is not None:
        source.require_widths(demos.num_states, demos.num_actions, demos.source)
    frame = choose_frame(given, source.common_frame, task)
    if frame is not None:
        source.require_widths(frame.num_states, None, frame.source)
    if fixed is None and demos is not None:
        fixed = demonstrated_states(demos)
    if fixed is not None:
        source.require_widths(fixed.states.shape[1], None, fixed.origin)
    return Ground(fixed, frame)


def measure(
    source: Policy, ground: Ground, env_source: Any, options: SmoothnessOptions
) -> Measurement:
    """On a policy's own episodes where there is an env, and at the fixed states."""
    if ground.fixed is None and env_source is None:
        raise ConfigError(
            f"{source.name}: nowhere to measure: pass --task to play, or --states or --demos"
        )
    if env_source is None:
        return measurement_of(source, ground.fixed, ground.common_frame, options, None)
    with evaluation_env(env_source, options.episodes, options.seed) as env:
        source.require_widths(env.spec.num_states, env.spec.num_actions, env.spec.task)
        return measurement_of(source, ground.fixed, ground.common_frame, options, env)


def _loaded(given: Demonstrations | str | Path | None) -> Demonstrations | None:
    return given if given is None or isinstance(given, Demonstrations) else load_demos(given)
