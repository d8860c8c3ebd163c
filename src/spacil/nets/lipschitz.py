"""A policy that cannot be rough: its layers are kept small, whatever the update did.

tanh and the normaliser's mask have slopes within [0, 1], so the product of the layers' spectral
norms bounds the slope of the mean action everywhere, in normalised states. The bound is loose: at
the states a policy visits, its slopes are several times smaller. Clipping comes after the policy
step, so the step's bound on KL does not count it.
"""

import math
from collections.abc import Sequence

import torch

from spacil.functional.spectral import spectral_norm, with_clipped_singular_values
from spacil.nets.mlp import MLP


@torch.no_grad()
def keep_lipschitz(network: MLP, constant: float) -> None:
    """Clip the layers, in place, until the product of their spectral norms is at most `constant`.

    The largest layers give way first, to one common norm: a layer that is small is left alone.
    Within the bound nothing is touched.
    """
    weights = [weight for weight, _ in network.weights_and_biases]
    norms = [float(spectral_norm(weight)) for weight in weights]
    cap = common_cap(norms, constant)
    for weight, norm in zip(weights, norms, strict=True):
        if norm > cap:
            weight.copy_(with_clipped_singular_values(weight, cap))


def common_cap(norms: Sequence[float], product: float) -> float:
    """The c with prod_i min(norm_i, c) = product; infinity where the norms are within it."""
    if math.prod(norms) <= product:
        return math.inf
    ordered = sorted(norms, reverse=True)
    for count in range(1, len(ordered) + 1):
        # The first `count` are cut to c, the others stay.
        others = ordered[count:]
        cap = math.pow(product / math.prod(others), 1 / count)
        if not others or cap >= others[0]:
            break
    return cap
