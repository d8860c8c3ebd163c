"""A bound that no pair of states breaks: an upper bound on the global Lipschitz constant.

J is measured at states; between them nothing is promised. For a plain MLP whose activation has
slopes in [0, 1] (tanh, ReLU) two bounds can be promised. The layer product multiplies spectral
norms. ECLipsE-Fast (Xu and Sivaranjani, 2024) passes one matrix from layer to layer and is never
above the product. Both are loose, which is why each is told with its looseness.

Computed in float64 and valid up to its rounding. Other architectures are refused by the caller:
a bound for a network that is not the one bounded would be worse than none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Certificate:
    """Upper bounds on |mu(s) - mu(s')| / |s - s'| over all pairs of states."""

    bound: float
    """ECLipsE-Fast"""
    layer_product: float


def certify(weights: Sequence[Tensor]) -> Certificate:
    """Both bounds for weights [out, in], first layer first."""
    return Certificate(eclipse_fast_bound(weights), layer_product_bound(weights))


def layer_product_bound(weights: Sequence[Tensor]) -> float:
    """prod_i |W_i|_2"""
    norms = [torch.linalg.matrix_norm(weight.double(), ord=2) for weight in weights]
    return float(torch.stack(norms).prod())


def eclipse_fast_bound(weights: Sequence[Tensor]) -> float:
    """X_0 = I;  M = W_i X^-1 W_i^T,  l = 2 / lambda_max(M),  X_i = l I - (l^2 / 4) M;
    L = sqrt(lambda_max(W_L X^-1 W_L^T)).

    X_i is positive definite with smallest eigenvalue 1 / lambda_max(M), so the inverse exists
    and the bound is at most the layer product.
    """
    *hidden, last = (weight.detach().double() for weight in weights)
    inverse = None
    for weight in hidden:
        passed = _sandwich(weight, inverse)
        top = torch.linalg.eigvalsh(passed)[-1]
        if top <= 0:  # a layer of zeros: the function is constant
            return 0.0
        scale = 2 / top
        matrix = scale * torch.eye(len(passed), dtype=torch.float64) - (scale**2 / 4) * passed
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(matrix))
    top = torch.linalg.eigvalsh(_sandwich(last, inverse))[-1]
    return float(top.clamp_min(0).sqrt())


def _sandwich(weight: Tensor, inverse: Tensor | None) -> Tensor:
    """W X^-1 W^T, symmetric to the last bit."""
    product = weight @ weight.T if inverse is None else weight @ inverse @ weight.T
    return (product + product.T) / 2
