"""R^c as a config asks for it: form, estimator, units, mixing and state subset."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import Tensor

from spacil.config.groups import TrainConfig
from spacil.nets.discriminator import Discriminator
from spacil.nets.policy import GaussianPolicy
from spacil.penalties.policy_terms import ball_start, num_summed, per_state, random_share, times
from spacil.seeding import Streams
from spacil.smoothness.cost_penalty import (
    Path,
    along_both,
    along_response,
    along_state,
    exact_cost_penalty,
    gradient_penalty,
    mix,
    pgd_cost_penalty,
    r1_penalty,
)
from spacil.smoothness.policy_penalty import Penalty

Pairs = tuple[Tensor, Tensor]
"""normalised states [B, S] and actions [B, A] of the same rows"""


@dataclass(frozen=True)
class Sides:
    """Who is judged by whom: a discriminator between a policy's pairs and the demonstrations'."""

    discriminator: Discriminator
    policy: GaussianPolicy
    agent: Pairs
    expert: Pairs


@dataclass(frozen=True)
class DrawnPairs:
    """All that is random about R^c: where it is measured, and where an ascent starts from."""

    states: Tensor
    """[B, S] normalised"""
    actions: Tensor
    """[B, A] as the discriminator reads them"""
    offset: Tensor | None
    """[B, S], where pgd starts"""
    num_meant: int
    """For how many pairs of the agent these stand"""


def draw_pairs(sides: Sides, config: TrainConfig, streams: Streams) -> DrawnPairs:
    """A random share of the agent's pairs, mixed with demonstrations; for r1, of these alone."""
    settings = config.cost_penalty
    if settings.cost_penalty_form == "r1":
        states, actions = _share(sides.expert, sides.discriminator, config, streams)
    else:
        agent = _share(sides.agent, sides.discriminator, config, streams)
        mixing = settings.cost_penalty_mixing
        states, actions = mix(agent, sides.expert, mixing, streams.mixing)
    offset = None
    if settings.cost_penalty_estimator == "pgd" and settings.cost_penalty_form in _PATHS:
        offset = ball_start(states, config.ball, streams)
    return DrawnPairs(states, actions, offset, len(sides.agent[0]))


def cost_penalty(
    discriminator: Discriminator, policy: GaussianPolicy, drawn: DrawnPairs, config: TrainConfig
) -> Penalty:
    """R^c on drawn pairs, in the form the config asks for."""
    states, actions = drawn.states, drawn.actions
    match config.cost_penalty.cost_penalty_form:
        case "gp":
            return lambda: gradient_penalty(discriminator.logits_agent_is_high, states, actions)
        case "r1":
            return lambda: r1_penalty(discriminator.logits_agent_is_high, states, actions)
        case form:
            return _in_ball(discriminator, _PATHS[form](policy, (states, actions)), drawn, config)


_PATHS: Mapping[str, Callable[[GaussianPolicy, Pairs], Path]] = {
    "response": lambda policy, pairs: along_response(policy.mean_of_normalized, pairs[0]),
    "both": lambda policy, pairs: along_both(policy.mean_of_normalized),
    "state": lambda policy, pairs: along_state(pairs[1]),
}


def _in_ball(
    discriminator: Discriminator, path: Path, drawn: DrawnPairs, config: TrainConfig
) -> Penalty:
    """The worst change of the cost along a path, exactly or by ascent."""
    cost, states, offset = discriminator.cost, drawn.states, drawn.offset
    scale, ball = config.cost_penalty.cost_penalty_scale, config.ball
    factor: float = num_summed(scale, drawn.num_meant)
    if offset is None:
        factor *= 1.0 if scale == "lipschitz" else ball.ball_radius
        return times(factor, lambda: exact_cost_penalty(cost, path, states))
    return times(
        factor,
        lambda: pgd_cost_penalty(
            cost,
            path,
            states,
            offset,
            ball.ball_radius,
            ball.ball_num_steps,
            ball.ball_step_rule,
            ball.ball_step_size,
            per_state(scale),
        ),
    )


def _share(
    pairs: Pairs, discriminator: Discriminator, config: TrainConfig, streams: Streams
) -> Pairs:
    """A random share of the pairs, with the actions as the discriminator reads them.

    Outside the action bounds it reads a constant: no gradient there would say anything.
    """
    states, actions = pairs
    fraction = config.policy_penalty.penalty_state_fraction
    rows = random_share(len(states), fraction, streams.subset)
    if rows is not None:
        rows = rows.to(states.device)
        states, actions = states[rows], actions[rows]
    return states, actions.clamp(discriminator.action_low, discriminator.action_high)
