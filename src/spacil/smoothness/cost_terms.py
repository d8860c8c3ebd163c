"""R^c as a run's settings name it: form, estimator, units, mixing and state subset."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import Tensor

from spacil.config.settings import CostPenaltyConfig
from spacil.config.train_config import TrainConfig
from spacil.functional.spectral import BatchFunction
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
from spacil.smoothness.policy_terms import (
    ball_start,
    num_states_summed,
    per_state,
    random_subset,
)

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
    """A random subset of the agent's pairs, mixed with demonstrations; for r1, of these alone.

    Actions are as the discriminator reads them: outside the action bounds it reads a constant, and
    no gradient there would say anything.
    """
    form, arguments = config.cost_penalty.form, config.cost_penalty.arguments
    states, actions = expert if form == "r1" else agent
    fraction = config.penalty_states.penalty_state_fraction
    rows = random_subset(len(states), fraction, streams.subset)
    if rows is not None:
        rows = rows.to(states.device)
        states, actions = states[rows], actions[rows]
    actions = actions.clamp(discriminator.action_low, discriminator.action_high)
    if form != "r1":
        states, actions = mix((states, actions), expert, arguments["mixing"], streams.mixing)
    offset = None
    if arguments.get("estimator") == "pgd":
        offset = ball_start(states, policy.normalizer.mask, arguments, streams)
    return DrawnPairs(states, actions, offset, len(agent[0]))


def cost_penalty(
    discriminator: Discriminator, policy: GaussianPolicy, drawn: DrawnPairs, config: TrainConfig
) -> Tensor:
    """R^c on drawn pairs, in the form the config asks for, with a graph."""
    states, actions, mask = drawn.states, drawn.actions, policy.normalizer.mask
    form, arguments = config.cost_penalty.form, config.cost_penalty.arguments
    if form in _OF_LOGITS:
        logits = on_live_dims(discriminator.logits_agent_is_high, mask)
        return _OF_LOGITS[form](logits, states, actions)
    cost = on_live_dims(discriminator.cost, mask)
    path, scale = _PATHS[form](policy.mean_of_normalized, states, actions), arguments["scale"]
    factor: float = num_states_summed(scale, drawn.num_meant)
    if drawn.offset is None:
        factor *= 1.0 if scale == "lipschitz" else arguments["radius"]
        found = exact_cost_penalty(cost, path, states)
    else:
        ascent = {name: arguments[name] for name in ("radius", "steps", "rule", "step_size")}
        found = pgd_cost_penalty(cost, path, states, drawn.offset, **ascent, scale=per_state(scale))
    return found if factor == 1 else factor * found


def on_live_dims(function: CostFunction, mask: Tensor) -> CostFunction:
    """The function without slope in state dims that the normaliser masks to 0."""
    return lambda states, actions: function(states * mask, actions)


_OF_LOGITS: Mapping[str, Callable[[CostFunction, Tensor, Tensor], Tensor]] = {
    "gp": gradient_penalty,
    "r1": r1_penalty,
}
_PATHS: Mapping[str, Callable[[BatchFunction, Tensor, Tensor], Path]] = {
    "response": lambda mean_action, states, actions: along_response(mean_action, states),
    "both": lambda mean_action, states, actions: along_both(mean_action),
    "state": lambda mean_action, states, actions: along_state(actions),
}
"""Form of R^c -> its penalty on the logits, or its path"""
