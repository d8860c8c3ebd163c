"""R^c as a run's settings name it: form, estimator, units, mixing and state subset."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import Tensor

from spacil.config.settings import CostPenaltyConfig
from spacil.config.train_config import TrainConfig
from spacil.nets.discriminator import Discriminator
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams
from spacil.smoothness.cost import (
    CostFunction,
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
from spacil.smoothness.state_subset import ball_start, num_summed, per_state, random_subset

WEIGHT_AT_ONE_PAIR, WEIGHT_DECAY = 7.5, 0.75
"""lambda_2 of `by-pairs` is at most 7.5 M^-0.75 with M pairs: 0.1 at 300, 0.01 at 6,000
(docs/results/recipe.md)."""

StatesAndActions = tuple[Tensor, Tensor]
"""normalised states [B, S] and actions [B, A] of the same rows"""


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


def cost_weight(settings: CostPenaltyConfig, num_pairs: int) -> float:
    """lambda_2 with so many demonstrated pairs."""
    if settings.cost_weight == "fixed":
        return settings.lambda_cost
    return min(settings.lambda_cost, float(WEIGHT_AT_ONE_PAIR * num_pairs**-WEIGHT_DECAY))


def draw_pairs(
    discriminator: Discriminator,
    policy: GaussianPolicy,
    agent: StatesAndActions,
    expert: StatesAndActions,
    config: TrainConfig,
    streams: Streams,
) -> DrawnPairs:
    """A random subset of the agent's pairs, mixed with demonstrations; for r1, of these alone."""
    form, arguments = config.cost_penalty.form, config.cost_penalty.arguments
    if form == "r1":
        states, actions = _subset(expert, discriminator, config, streams)
    else:
        ours = _subset(agent, discriminator, config, streams)
        states, actions = mix(ours, expert, arguments["mixing"], streams.mixing)
    offset = None
    if arguments.get("estimator") == "pgd":
        offset = ball_start(states, policy.normalizer.mask, arguments, streams)
    return DrawnPairs(states, actions, offset, len(agent[0]))


def cost_penalty(
    discriminator: Discriminator, policy: GaussianPolicy, drawn: DrawnPairs, config: TrainConfig
) -> Tensor:
    """R^c on drawn pairs, in the form the config asks for, with a graph."""
    states, actions, mask = drawn.states, drawn.actions, policy.normalizer.mask
    logits = on_live_dims(discriminator.logits_agent_is_high, mask)
    match config.cost_penalty.form:
        case "gp":
            return gradient_penalty(logits, states, actions)
        case "r1":
            return r1_penalty(logits, states, actions)
        case form:
            cost = on_live_dims(discriminator.cost, mask)
            return _in_ball(cost, _PATHS[form](policy, (states, actions)), drawn, config)


def on_live_dims(function: CostFunction, mask: Tensor) -> CostFunction:
    """The function without slope in state dims that the normaliser masks to 0."""
    return lambda states, actions: function(states * mask, actions)


_PATHS: Mapping[str, Callable[[GaussianPolicy, StatesAndActions], Path]] = {
    "response": lambda policy, pairs: along_response(policy.mean_of_normalized, pairs[0]),
    "both": lambda policy, pairs: along_both(policy.mean_of_normalized),
    "state": lambda policy, pairs: along_state(pairs[1]),
}


def _in_ball(cost: CostFunction, path: Path, drawn: DrawnPairs, config: TrainConfig) -> Tensor:
    """The worst change of the cost along a path, exactly or by ascent."""
    states, offset = drawn.states, drawn.offset
    arguments = config.cost_penalty.arguments
    scale = arguments["scale"]
    factor: float = num_summed(scale, drawn.num_meant)
    if offset is None:
        factor *= 1.0 if scale == "lipschitz" else arguments["radius"]
        return _times(factor, exact_cost_penalty(cost, path, states))
    found = pgd_cost_penalty(
        cost,
        path,
        states,
        offset,
        arguments["radius"],
        arguments["steps"],
        arguments["rule"],
        arguments["step_size"],
        per_state(scale),
    )
    return _times(factor, found)


def _times(factor: float, value: Tensor) -> Tensor:
    return value if factor == 1 else factor * value


def _subset(
    pairs: StatesAndActions, discriminator: Discriminator, config: TrainConfig, streams: Streams
) -> StatesAndActions:
    """A random subset of the pairs, with the actions as the discriminator reads them.

    Outside the action bounds it reads a constant: no gradient there would say anything.
    """
    states, actions = pairs
    fraction = config.penalty_states.penalty_state_fraction
    rows = random_subset(len(states), fraction, streams.subset)
    if rows is not None:
        rows = rows.to(states.device)
        states, actions = states[rows], actions[rows]
    return states, actions.clamp(discriminator.action_low, discriminator.action_high)
