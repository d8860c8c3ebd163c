"""R^c as a config asks for it: form, estimator, units, mixing and state subset."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import Tensor

from spacil.config import TrainConfig
from spacil.nets.discriminator import Discriminator
from spacil.nets.policy import GaussianPolicy
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
from spacil.training.penalties import ball_start, num_summed, per_state, random_share, times

Pairs = tuple[Tensor, Tensor]
"""normalised states [B, S] and actions [B, A] of the same rows"""


@dataclass(frozen=True)
class Sides:
    """Who is judged by whom: a discriminator between a policy's pairs and the demonstrations'."""

    discriminator: Discriminator
    policy: GaussianPolicy
    agent: Pairs
    expert: Pairs


def cost_penalty(sides: Sides, config: TrainConfig, streams: Streams) -> Penalty:
    """R^c on a random share of the pairs; points and start offsets are drawn here, once."""
    return _FORMS[config.cost_penalty.cost_penalty_form](sides, config, streams)


CostForm = Callable[[Sides, TrainConfig, Streams], Penalty]
MakePath = Callable[[GaussianPolicy, Pairs], Path]


def _in_ball(make_path: MakePath) -> CostForm:
    """The worst change of the cost along a path, exactly or by ascent."""

    def build(sides: Sides, config: TrainConfig, streams: Streams) -> Penalty:
        pairs = _mixed(sides, config, streams)
        path, states, cost = make_path(sides.policy, pairs), pairs[0], sides.discriminator.cost
        scale, ball = config.cost_penalty.cost_penalty_scale, config.ball
        factor: float = num_summed(scale, len(sides.agent[0]))
        if config.cost_penalty.cost_penalty_estimator == "exact":
            factor *= 1.0 if scale == "lipschitz" else ball.ball_radius
            return times(factor, lambda: exact_cost_penalty(cost, path, states))
        offset = ball_start(states, ball, streams)
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

    return build


def _gp(sides: Sides, config: TrainConfig, streams: Streams) -> Penalty:
    pairs = _mixed(sides, config, streams)
    return lambda: gradient_penalty(sides.discriminator.logits_agent_is_high, *pairs)


def _r1(sides: Sides, config: TrainConfig, streams: Streams) -> Penalty:
    pairs = _share(sides.expert, sides.discriminator, config, streams)
    return lambda: r1_penalty(sides.discriminator.logits_agent_is_high, *pairs)


_FORMS: Mapping[str, CostForm] = {
    "response": _in_ball(lambda policy, pairs: along_response(policy.mean_of_normalized, pairs[0])),
    "both": _in_ball(lambda policy, pairs: along_both(policy.mean_of_normalized)),
    "state": _in_ball(lambda policy, pairs: along_state(pairs[1])),
    "gp": _gp,
    "r1": _r1,
}


def _mixed(sides: Sides, config: TrainConfig, streams: Streams) -> Pairs:
    """Pairs between the agent's and the demonstrations', one for each of a share of the agent's."""
    agent = _share(sides.agent, sides.discriminator, config, streams)
    mixing = config.cost_penalty.cost_penalty_mixing
    states, actions = mix(agent, sides.expert, mixing, streams.mixing)
    return states, actions


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
