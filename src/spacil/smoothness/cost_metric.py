"""How smooth the learned cost is (the paper's Definition 2 and eq:cost_reg), state by state.

Three constants of c(s, a), each the norm of a gradient at (s, mu(s)):

in_state    how fast the cost changes when the state it reads moves
in_action   how fast it changes when the action moves
response    how fast it changes when only the state that the *policy* reads moves:
            |grad_s c(s0, mu(s))| at s = s0, what the paper's cost penalty bounds

Callables in, numbers out: no network, no penalty, nothing that trains.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from spacil.functional.inner_product import inner
from spacil.functional.spectral import BatchFunction

CostFunction = Callable[[Tensor, Tensor], Tensor]
"""states [B, S], actions [B, A] -> cost, or the logit it is made of [B]"""


@dataclass(frozen=True)
class CostGradients:
    """The three gradients at each state."""

    in_state: Tensor
    """[B, S]"""
    in_action: Tensor
    """[B, A]"""
    response: Tensor
    """[B, S]"""


@dataclass(frozen=True)
class CostConstants:
    """Mean local Lipschitz constants of the cost; log keys equal the field names."""

    cost_lipschitz_state: float
    cost_lipschitz_action: float
    cost_lipschitz_response: float


def cost_gradients(cost: CostFunction, mean_action: BatchFunction, states: Tensor) -> CostGradients:
    """All three by one pass through the policy and one through the cost, there and back."""
    policy_reads = states.detach().requires_grad_()
    cost_reads = states.detach().clone().requires_grad_()
    with torch.enable_grad():
        actions = mean_action(policy_reads)
        taken = actions.detach().requires_grad_()
        in_state, in_action = torch.autograd.grad(
            cost(cost_reads, taken).sum(), (cost_reads, taken), materialize_grads=True
        )
        if not actions.requires_grad:  # a policy that ignores its state responds to nothing
            return CostGradients(in_state, in_action, torch.zeros_like(in_state))
        pulled = inner([actions], [in_action])
        (response,) = torch.autograd.grad(pulled, policy_reads, materialize_grads=True)
    return CostGradients(in_state, in_action, response)


def cost_constants(cost: CostFunction, mean_action: BatchFunction, states: Tensor) -> CostConstants:
    """Means over `states`, cheap enough for every iteration: about one forward and two backward.

    Per unit of the states handed in, so in the policy's own frame inside a training loop.
    """
    gradients = cost_gradients(cost, mean_action, states)
    return CostConstants(
        cost_lipschitz_state=_mean_norm(gradients.in_state),
        cost_lipschitz_action=_mean_norm(gradients.in_action),
        cost_lipschitz_response=_mean_norm(gradients.response),
    )


def _mean_norm(rows: Tensor) -> float:
    return float(torch.linalg.vector_norm(rows, dim=-1).mean())
