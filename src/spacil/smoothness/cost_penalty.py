"""R^c: how much the learned cost can change along the policy's response (eq:cost_reg).

The cost's own state argument stays where it is; only the state the policy reads moves. The
gradient goes to the cost alone: the policy is given.
"""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from spacil.functional.ball import StepRule, maximize_in_ball
from spacil.functional.spectral import BatchFunction

CostFunction = Callable[[Tensor, Tensor], Tensor]
"""states [B, S], actions [B, A] -> cost [B]"""
Scale = Literal["lipschitz", "paper-mean", "paper-sum"]


def mix_states(agent_states: Tensor, expert_states: Tensor, generator: torch.Generator) -> Tensor:
    """zeta * expert + (1 - zeta) * agent, one zeta ~ U[0, 1) per pair, random pairing.

    One mixed state per agent state; demonstrations are drawn with replacement.
    """
    size = len(agent_states)
    partners = torch.randint(len(expert_states), (size,), generator=generator)
    zeta = torch.rand(size, 1, generator=generator, dtype=agent_states.dtype)
    zeta = zeta.to(agent_states.device)
    return torch.lerp(agent_states, expert_states[partners.to(expert_states.device)], zeta)


def exact_cost_penalty(cost: CostFunction, mean_action: BatchFunction, states: Tensor) -> Tensor:
    """E |grad_s c(s0, mu(s))| at s = s0, with its exact gradient in the cost's parameters.

    With g = grad_a c and J the Jacobian of mu, the norm is |J^T g| = <g, w> for
    w = J J^T g / |J^T g|; w frozen, <g, w> has the norm's value and its gradient. One reverse
    and one forward pass through the policy, whatever the number of actions.
    """
    points = states.detach().requires_grad_()
    with torch.enable_grad():
        actions = mean_action(points)
        read = actions.detach().requires_grad_()
        (sensitivity,) = torch.autograd.grad(cost(states, read).sum(), read, create_graph=True)
        # J^T g, kept differentiable in g: its derivative along d is J d, the forward mode.
        g = sensitivity.detach().requires_grad_()
        (pulled,) = torch.autograd.grad(actions, points, g, create_graph=True)
        direction = torch.nn.functional.normalize(pulled, dim=-1).detach()
        (response,) = torch.autograd.grad(pulled, g, direction)
    return (sensitivity * response).sum(-1).mean()


def pgd_cost_penalty(
    cost: CostFunction,
    mean_action: BatchFunction,
    states: Tensor,
    start_offset: Tensor,
    radius: float,
    num_steps: int,
    step_rule: StepRule = "power",
    step_size: float = 0.02,
    scale: Scale = "lipschitz",
) -> Tensor:
    """Ascent on |c(s, mu(s)) - c(s, mu(s + offset))| in a ball, per-state absolute values."""
    with torch.no_grad():
        actions = mean_action(states)
        centre = cost(states, actions)

    def change(moved: Tensor) -> Tensor:
        return (cost(states, mean_action(moved)) - centre).abs()

    offset = maximize_in_ball(change, states, start_offset, radius, num_steps, step_rule, step_size)
    with torch.no_grad():
        moved_actions = mean_action(states + offset)
    moved = (cost(states, moved_actions) - cost(states, actions)).abs()
    if scale == "paper-sum":
        return moved.sum()
    if scale == "paper-mean":
        return moved.mean()
    length = torch.linalg.vector_norm(offset, dim=-1).clamp_min(torch.finfo(offset.dtype).tiny)
    return moved.div(length).mean()
