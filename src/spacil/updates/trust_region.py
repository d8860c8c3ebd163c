"""The TRPO step: natural gradient by conjugate gradient, then a search inside the KL bound."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from spacil.config import TrustRegionConfig
from spacil.errors import DivergedError
from spacil.functional import flat_params
from spacil.functional.conjugate_gradient import conjugate_gradient
from spacil.functional.gaussian import kl_old_new
from spacil.functional.line_search import SearchResult, search
from spacil.functional.mlp_passes import forward_trace, parameter_cotangent, parameter_tangent
from spacil.nets.policy import GaussianPolicy
from spacil.updates.objectives import PolicyLoss, total


@dataclass(frozen=True)
class TrustRegionReport:
    """What the step did; logged as it is."""

    kl: float
    """Mean KL(old, new) over all states of the batch, at the accepted parameters"""
    improvement: float
    """Decrease of the penalised loss"""
    step_fraction: float
    """Accepted share of the natural-gradient step; 0 when the old parameters were restored"""
    line_search_tries: int
    line_search_reason: str
    is_accepted: bool
    cg_steps: int
    cg_residual: float
    has_positive_curvature: bool
    summands: dict[str, float]
    """The loss before the step, by name"""


class FisherProduct:
    """v -> (F + damping) v, the Gauss-Newton curvature of KL(old, new) at the old parameters.

    For a Gaussian with a shared log std, F = J^T diag(1 / (B std^2)) J on the mean network and
    2 on each log std. One forward-mode and one reverse-mode pass over cached activations.
    """

    def __init__(self, policy: GaussianPolicy, network_inputs: Tensor, damping: float) -> None:
        self._layers = [(w.detach(), b.detach()) for w, b in policy.mean_net.weights_and_biases]
        self._like = policy.update_parameters()
        self._trace = forward_trace(self._layers, network_inputs)
        self._precision = (-2 * policy.log_std.detach()).exp() / len(network_inputs)
        self._damping = damping

    def __call__(self, vector: Tensor) -> Tensor:
        *network, log_std = flat_params.unflatten(vector, self._like)
        direction = list(zip(network[::2], network[1::2], strict=True))
        tangent = parameter_tangent(self._layers, self._trace, direction)
        pairs = parameter_cotangent(self._layers, self._trace, tangent.mul_(self._precision))
        product = [tensor for pair in pairs for tensor in pair]
        return flat_params.flatten([*product, 2 * log_std]).add_(vector, alpha=self._damping)


def step(
    policy: GaussianPolicy,
    loss: PolicyLoss,
    normalized_states: Tensor,
    config: TrustRegionConfig,
    subset_generator: torch.Generator,
) -> TrustRegionReport:
    """Move the policy to lower `loss` within KL(old, new) <= max_kl, or leave it bit for bit.

    Gradient and search use the penalised loss; the curvature is the KL's alone.
    """
    parameters = policy.update_parameters()
    inputs = normalized_states * policy.normalizer.mask
    mean = policy.mean_net(inputs)
    old_mean, old_log_std = mean.detach(), policy.log_std.detach().clone()
    summands = loss(mean, policy.log_std)
    total_loss = total(summands)
    g = flat_params.flatten(torch.autograd.grad(total_loss, parameters))
    loss_before = float(total_loss.detach())
    _require_finite(loss_before, g)

    curvature_inputs = _random_subset(inputs, config.fisher_state_fraction, subset_generator)
    solution = conjugate_gradient(
        FisherProduct(policy, curvature_inputs, config.cg_damping), -g, config.cg_steps
    )
    # x^T A x from the residual the solver tracks: A x = b - r.
    squared_length = float(solution.x.dot(-g - solution.residual_vector))
    old = flat_params.flatten(parameters).detach().clone()
    if not squared_length > 0:
        result = SearchResult(False, 0.0, 0.0, loss_before, 0, "no direction")
    else:
        full_step = solution.x * (2 * config.max_kl / squared_length) ** 0.5

        @torch.no_grad()
        def move(fraction: float) -> float:
            nonlocal mean
            flat_params.assign(parameters, torch.add(old, full_step, alpha=fraction))
            mean = policy.mean_net(inputs)
            return float(kl_old_new(old_mean, old_log_std, mean, policy.log_std).mean())

        @torch.no_grad()
        def loss_here() -> float:
            return float(total(loss(mean, policy.log_std)))

        result = search(
            move,
            loss_here,
            loss_before,
            config.max_kl,
            config.line_search_tries,
            config.line_search_shrink,
        )
        if not result.is_accepted:
            flat_params.assign(parameters, old)
    return TrustRegionReport(
        kl=result.kl,
        improvement=loss_before - result.loss,
        step_fraction=result.fraction,
        line_search_tries=result.num_tries,
        line_search_reason=result.reason,
        is_accepted=result.is_accepted,
        cg_steps=solution.num_steps,
        cg_residual=solution.residual,
        has_positive_curvature=solution.is_positive,
        summands={name: float(value.detach()) for name, value in summands.items()},
    )


def _random_subset(rows: Tensor, fraction: float, generator: torch.Generator) -> Tensor:
    """A seeded share of the rows; all of them draw nothing."""
    if fraction == 1:
        return rows
    size = max(1, round(fraction * len(rows)))
    return rows[torch.randperm(len(rows), generator=generator)[:size].to(rows.device)]


def _require_finite(loss: float, gradient: Tensor) -> None:
    if not math.isfinite(loss) or not bool(torch.isfinite(gradient).all()):
        num_bad = int((~torch.isfinite(gradient)).sum())
        raise DivergedError(
            f"policy step: loss is {loss}, {num_bad} of {gradient.numel()} gradient entries "
            "are not finite; the parameters were left as they were"
        )
