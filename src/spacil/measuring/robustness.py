"""Actors wrapped: what a policy is worth under noise, attack and delay, or behind a filter.

Each disturbance is played over whole episodes from the same starts. The env's state stays true;
only what the policy sees, or when its action arrives, is disturbed. The attack is the
maximal-action-difference attack: cheap, and weaker than one that knows the value of states (Robust
Sarsa). So a return under it is no lower bound on what a worse enemy would leave.

Filters and delays remember the episode so far, so they are made anew for every wave:

    play(env, partial(with_low_pass, act, 0.2), num_episodes)

A filter begins at rest at the first action: an actor that always wants the same gets it from the
first step on. It works on what the actor wants; hand it a clipping actor where it is to work on
what could be executed.
"""

import math
from collections import deque
from functools import partial
from typing import Any

import torch
from torch import Tensor

from spacil.envs.conditions import EnvUnderConditions, disturbed
from spacil.envs.episodes import Actor, MakeActor, Trajectory, play
from spacil.envs.vector_env import VectorEnv
from spacil.errors import ConfigError
from spacil.functional.sensitivity import BatchFunction
from spacil.measuring.margins import measure_margins
from spacil.measuring.played import played_episodes
from spacil.seeding import stream

NOISE_LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
"""Half widths of uniform noise, in standard deviations of each feature (the CATS protocol)"""
DELAYS = (1, 2, 3)
ATTACK_STEPS = 10
_ATTACK_STEP = 0.25
"""Step in radii: ten such steps cross the ball, and have time to come to rest on its faces"""


def measure_robustness(
    env: VectorEnv,
    act: Actor,
    mean_action: BatchFunction,
    feature_std: Tensor,
    attack_radius: float | None,
    num_episodes: int,
    seed: int,
) -> dict[str, Any]:
    """Every disturbance by name; the attack is None where no radius is known for the task.

    `mean_action` is what acts, with gradients; `feature_std` is [S], raw.
    """
    low, high = torch.from_numpy(env.spec.action_low), torch.from_numpy(env.spec.action_high)

    def executed_action(states: Tensor) -> Tensor:
        actions = mean_action(states)
        return actions.clamp(low.to(actions), high.to(actions))

    episodes: list[tuple[str, float, list[Trajectory]]] = []
    for level in NOISE_LEVELS:
        # The same draws at every level, only wider: the curve shows the width, not the luck.
        noisy = with_noise(act, level * feature_std, stream(seed, "observation-noise"))
        shaken = play(env, partial(lambda actor: actor, noisy), num_episodes)
        episodes.append(("observation_noise", level, shaken))
    for steps in DELAYS:
        seen_late = play(env, partial(with_observation_delay, act, steps), num_episodes)
        episodes.append(("observation_delay", steps, seen_late))
        executed_late = play_delayed(env, lambda: act, steps, num_episodes)
        episodes.append(("action_delay", steps, executed_late))
    if attack_radius is not None:
        radius, draws = attack_radius * feature_std, stream(seed, "attack")
        attacked = with_attack(act, executed_action, radius, draws)
        attacked_episodes = play(env, lambda: attacked, num_episodes)
        episodes.append(("action_difference_attack", attack_radius, attacked_episodes))
    points: dict[str, list[dict[str, float | None]]] = {}
    for name, level, played in episodes:
        found = played_episodes(played, env.spec)
        known = vars(found) | vars(found.action_signal) | {"level": level}
        names = ("level", "average_return", "return_std", "spectrum_score")
        points.setdefault(name, []).append({key: known[key] for key in names})
    (attack,) = points.pop("action_difference_attack", [None])
    return {
        "num_episodes": num_episodes,
        **points,
        "action_difference_attack": attack,
        "margins": measure_margins(env, act, feature_std, num_episodes, seed),
    }


def play_delayed(
    env: VectorEnv, make_actor: MakeActor, steps: int, num_episodes: int
) -> list[Trajectory]:
    """Whole episodes whose actions come `steps` later than they do anyway.

    A policy that sees its commands sees those that it gave, not those that came through.
    """
    if isinstance(env, EnvUnderConditions):
        return play(disturbed(env, later=steps), make_actor, num_episodes)
    return play(env, lambda: with_action_delay(make_actor(), steps), num_episodes)


def with_noise(act: Actor, half_width: Tensor, generator: torch.Generator) -> Actor:
    """The policy sees s + u, u uniform in +-half_width [S], fresh at every step."""

    def disturbed(states: Tensor) -> Tensor:
        uniform = 2 * torch.rand(states.shape, generator=generator, dtype=states.dtype) - 1
        return act(states + uniform * half_width.to(states))

    return disturbed


def with_attack(
    act: Actor, executed_action: BatchFunction, radius: Tensor, generator: torch.Generator
) -> Actor:
    """The policy sees the state within +-radius [S] at which what it does changes most."""

    def disturbed(states: Tensor) -> Tensor:
        return act(states + worst_offset(executed_action, states, radius.to(states), generator))

    return disturbed


def worst_offset(
    executed_action: BatchFunction, states: Tensor, radius: Tensor, generator: torch.Generator
) -> Tensor:
    """Signed ascent on |a(s + offset) - a(s)|^2 in a box, [N, S]; a is the clipped mean action.

    On the unclipped one it would spend itself on changes that no motor feels. From a random
    corner: at no offset the gradient is zero, and the ascent would not move.
    """
    with torch.no_grad():
        centre = executed_action(states)
    signs = torch.randint(2, states.shape, generator=generator).to(states) * 2 - 1
    offset = signs * radius
    for _ in range(ATTACK_STEPS):
        with torch.enable_grad():
            moving = offset.detach().requires_grad_()
            change = (executed_action(states + moving) - centre).square().sum()
            if not change.requires_grad:  # a constant policy: nothing to attack
                return offset
            (gradient,) = torch.autograd.grad(change, moving)
        offset = offset + _ATTACK_STEP * radius * gradient.sign()
        offset = offset.clamp(-radius, radius)
    return offset.detach()


def with_observation_delay(act: Actor, steps: int) -> Actor:
    """The policy sees the state of `steps` steps ago; before that, the first one."""
    seen: deque[Tensor] = deque(maxlen=steps + 1)

    def delayed(states: Tensor) -> Tensor:
        seen.append(states)
        return act(seen[0])

    return delayed


def with_action_delay(act: Actor, steps: int) -> Actor:
    """The env gets the action of `steps` steps ago; before that, none (zero)."""
    decided: deque[Tensor] = deque(maxlen=steps + 1)

    def delayed(states: Tensor) -> Tensor:
        decided.append(act(states))
        return decided[0] if len(decided) > steps else torch.zeros_like(decided[0])

    return delayed


# --- filters


def with_moving_average(act: Actor, strength: float) -> Actor:
    """Exponential moving average: a_t = strength a_{t-1} + (1 - strength) u_t."""
    if not 0 <= strength < 1:
        raise ConfigError(f"the moving average's strength is {strength}, expected 0 to below 1")
    return _filtered(act, 1 - strength, 0.0, strength)


def with_low_pass(act: Actor, cutoff: float) -> Actor:
    """First-order Butterworth by the bilinear transform; `cutoff` as a fraction of Nyquist, 0 to 1.

    At the cutoff the gain is 1 / sqrt(2). With k = tan(pi cutoff / 2):

    (1 + k) a_t = k (u_t + u_{t-1}) + (1 - k) a_{t-1}
    """
    if not 0 < cutoff < 1:
        raise ConfigError(f"the low-pass cutoff is {cutoff} of Nyquist, expected between 0 and 1")
    k = math.tan(math.pi * cutoff / 2)
    return _filtered(act, k / (1 + k), k / (1 + k), (1 - k) / (1 + k))


def _filtered(act: Actor, new: float, old: float, kept: float) -> Actor:
    """a_t = new u_t + old u_{t-1} + kept a_{t-1}; the coefficients add up to 1."""
    wanted: Tensor | None = None
    given: Tensor | None = None

    def act_filtered(states: Tensor) -> Tensor:
        nonlocal wanted, given
        action = act(states).clone()  # the actor may answer into the same memory again
        if wanted is None or given is None:  # at rest where the episode begins
            wanted = given = action
        given, wanted = new * action + old * wanted + kept * given, action
        return given

    return act_filtered
