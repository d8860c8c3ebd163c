"""How smooth the learned cost c(s, a) is, and how to make it smoother (Definition 2, eq:cost_reg).

Measured are three constants, each the norm of a gradient at (s, mu(s)):

in_state    how fast the cost changes when the state it reads moves
in_action   how fast it changes when the action moves
response    how fast it changes when only the state that the *policy* reads moves:
            |grad_s c(s0, mu(s))| at s = s0, what the paper's cost penalty bounds

R^c, the penalty, asks for the worst change of the cost in a small ball of states; its gradient goes
to the cost alone. Forms differ in what of the pair (s, a) follows the perturbed state, a `Path`:

    response  c(s, mu(s~))    the paper's: the cost's own state argument stays where it is
    both      c(s~, mu(s~))   the cost along the policy, Definition 2 with a = mu(s)
    state     c(s~, a)        the discriminator penalty of LL-GAIL

The gradient penalties `gradient_penalty` (WGAN-GP) and `r1_penalty` look at the logits in (s, a).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from spacil.config.settings import CostPenaltyConfig
from spacil.config.train_config import TrainConfig
from spacil.functional.sensitivity import BatchFunction, StepRule, inner, maximize_in_ball
from spacil.nets.discriminator import Discriminator
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams
from spacil.smoothness.policy_penalty import Scale
from spacil.smoothness.policy_terms import ball_start, random_subset, share_meant

WEIGHT_AT_ONE_PAIR, WEIGHT_DECAY = 7.5, 0.75
"""lambda_2 of `by-pairs` is at most 7.5 M^-0.75 with M pairs: 0.1 at 300, 0.01 at 6,000
(docs/results/recipe.md)."""

CostFunction = Callable[[Tensor, Tensor], Tensor]
"""states [B, S], actions [B, A] -> cost, or the logit it is made of [B]"""


def cost_gradients(
    cost: CostFunction, mean_action: BatchFunction, states: Tensor
) -> dict[str, Tensor]:
    """The three gradients at each state, by one pass through policy and cost, there and back.

    `state` [B, S], `action` [B, A] and `response` [B, S].
    """
    policy_reads = states.detach().requires_grad_()
    cost_reads = states.detach().clone().requires_grad_()
    with torch.enable_grad():
        actions = mean_action(policy_reads)
        taken = actions.detach().requires_grad_()
        in_state, in_action = torch.autograd.grad(
            cost(cost_reads, taken).sum(), (cost_reads, taken), materialize_grads=True
        )
        response = torch.zeros_like(in_state)
        if actions.requires_grad:  # else the policy ignores its state and responds to nothing
            pulled = inner([actions], [in_action])
            (response,) = torch.autograd.grad(pulled, policy_reads, materialize_grads=True)
    return {"state": in_state, "action": in_action, "response": response}


def cost_constants(
    cost: CostFunction, mean_action: BatchFunction, states: Tensor
) -> dict[str, float]:
    """Mean local Lipschitz constants of the cost over `states`, by their log keys.

    Per unit of the states handed in, so in the policy's own frame inside a training loop.
    """
    return {
        f"cost_lipschitz_{name}": float(torch.linalg.vector_norm(rows, dim=-1).mean())
        for name, rows in cost_gradients(cost, mean_action, states).items()
    }


# --- the penalty

Path = Callable[[Tensor], tuple[Tensor, Tensor]]
"""perturbed states [B, S] -> the states and the actions handed to the cost"""
Mixing = Literal["interpolate", "per_batch", "bernoulli", "none"]


def path_of(form: str, mean_action: BatchFunction, states: Tensor, actions: Tensor) -> Path:
    """What of the pair (s, a) follows the perturbed state, in one of the forms above."""
    if form == "response":
        return lambda moved: (states, mean_action(moved))
    if form == "both":
        return lambda moved: (moved, mean_action(moved))
    return lambda moved: (moved, actions)


def mix(
    agent: Sequence[Tensor], expert: Sequence[Tensor], mixing: Mixing, generator: torch.Generator
) -> list[Tensor]:
    """zeta * expert + (1 - zeta) * agent, zeta ~ U[0, 1), random pairing with replacement.

    interpolate  a zeta for each pair
    per_batch    one zeta for all
    bernoulli    one zeta for all; each row is the demonstrator's with that probability
    none         the agent's rows; draws nothing

    `agent` holds tensors [B, ...] whose rows belong together, `expert` the same [M, ...]; the
    result has one row per agent row, all tensors mixed alike.
    """
    if mixing == "none":
        return list(agent)
    size = len(agent[0])
    partners = torch.randint(len(expert[0]), (size,), generator=generator)
    zeta = torch.rand(1 if mixing == "per_batch" else size, 1, generator=generator)
    if mixing == "bernoulli":
        zeta = zeta < torch.rand(1, 1, generator=generator)
    return [
        torch.lerp(ours, theirs[partners.to(theirs.device)], zeta.to(ours))
        for ours, theirs in zip(agent, expert, strict=True)
    ]


def exact_cost_penalty(cost: CostFunction, path: Path, states: Tensor) -> Tensor:
    """E |grad_s c(path(s))|, with its exact gradient in the cost's parameters.

    With g the gradients of c in its arguments and J the Jacobians of the path, the norm is
    |J^T g| = <g, J w> for the unit vector w along J^T g; w frozen, <g, J w> has the norm's value
    and its gradient. One reverse and one forward pass along the path, whatever its width.
    """
    points = states.detach().requires_grad_()
    with torch.enable_grad():
        arguments = path(points)
        read = [argument.detach().requires_grad_(argument.requires_grad) for argument in arguments]
        moving = [argument for argument in arguments if argument.requires_grad]
        leaves = [leaf for leaf in read if leaf.requires_grad]
        if not moving:  # a constant policy: the path stands still
            return states.new_zeros(())
        slopes = torch.autograd.grad(
            cost(*read).sum(), leaves, create_graph=True, materialize_grads=True
        )
        # J^T g, kept differentiable in g: its derivative along w is J w, the forward mode.
        g = [slope.detach().requires_grad_() for slope in slopes]
        (pulled,) = torch.autograd.grad(
            inner(moving, g), points, create_graph=True, materialize_grads=True
        )
        direction = torch.nn.functional.normalize(pulled, dim=-1).detach()
        responses = torch.autograd.grad(inner([pulled], [direction]), g, materialize_grads=True)
    along = [(slope * push).sum(-1) for slope, push in zip(slopes, responses, strict=True)]
    return torch.stack(along).sum(0).mean()


def pgd_cost_penalty(
    cost: CostFunction,
    path: Path,
    states: Tensor,
    start_offset: Tensor,
    radius: float,
    steps: int,
    rule: StepRule = "power",
    step_size: float = 0.02,
    scale: Scale = "lipschitz",
) -> Tensor:
    """Ascent on |c(path(s + offset)) - c(path(s))| in a ball, per-state absolute values."""
    with torch.no_grad():
        here = path(states)
        centre = cost(*here)

    def change(moved: Tensor) -> Tensor:
        return (cost(*path(moved)) - centre).abs()

    offset = maximize_in_ball(change, states, start_offset, radius, steps, rule, step_size)
    with torch.no_grad():
        there = path(states + offset)
    moved = (cost(*there) - cost(*here)).abs()
    if scale == "lipschitz":
        length = torch.linalg.vector_norm(offset, dim=-1)
        moved = moved / length.clamp_min(torch.finfo(offset.dtype).tiny)
    return moved.mean() * len(moved) if scale == "paper-sum" else moved.mean()


def gradient_penalty(logits: CostFunction, states: Tensor, actions: Tensor) -> Tensor:
    """E (|grad_(s, a) x| - 1)^2: WGAN-GP, two-sided, on the pairs handed in."""
    # The root's slope is infinite at zero; below this, a gradient counts as none.
    squared = _squared_gradient(logits, states, actions)
    length = squared.clamp_min(torch.finfo(squared.dtype).tiny).sqrt()
    return (length - 1).square().mean()


def r1_penalty(logits: CostFunction, states: Tensor, actions: Tensor) -> Tensor:
    """E |grad_(s, a) x|^2 on demonstrated pairs (R1 without its 1/2; the gradient penalty of AMP).

    Per unit of the states and actions handed in: normalised ones, and actions as the env has them.
    """
    return _squared_gradient(logits, states, actions).mean()


def _squared_gradient(function: CostFunction, states: Tensor, actions: Tensor) -> Tensor:
    """|grad_(s, a)|^2 at each pair, [B], with a graph."""
    pair = [states.detach().requires_grad_(), actions.detach().requires_grad_()]
    with torch.enable_grad():
        slopes = torch.autograd.grad(
            function(*pair).sum(), pair, create_graph=True, materialize_grads=True
        )
    return torch.cat(slopes, dim=-1).square().sum(-1)


# --- the penalty as a run's settings name it

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
        offset = ball_start(states, policy, arguments, streams)
    return DrawnPairs(states, actions, offset, len(agent[0]))


def cost_penalty(
    discriminator: Discriminator, policy: GaussianPolicy, drawn: DrawnPairs, config: TrainConfig
) -> Tensor:
    """R^c on drawn pairs, in the form the config asks for, with a graph."""
    states, actions, mask = drawn.states, drawn.actions, policy.normalizer.mask
    form, arguments = config.cost_penalty.form, config.cost_penalty.arguments
    logits = on_live_dims(discriminator.logits_agent_is_high, mask)
    if form == "gp":
        return gradient_penalty(logits, states, actions)
    if form == "r1":
        return r1_penalty(logits, states, actions)
    cost = on_live_dims(discriminator.cost, mask)
    path = path_of(form, policy.mean_of_normalized, states, actions)
    if drawn.offset is None:
        return exact_cost_penalty(cost, path, states)
    names = ("radius", "steps", "rule", "step_size", "scale")
    ascent = {name: arguments[name] for name in names}
    found = pgd_cost_penalty(cost, path, states, drawn.offset, **ascent)
    return share_meant(arguments, drawn.num_meant, len(states)) * found


def on_live_dims(function: CostFunction, mask: Tensor) -> CostFunction:
    """The function without slope in state dims that the normaliser masks to 0."""
    return lambda states, actions: function(states * mask, actions)
