"""The policy that is evaluated and handed out: an exponential mean over iterations.

Near the edge of what the penalty allows, single policies fail on some episodes while their mean
does not (docs/results/recipe.md). The mean never acts in training, so it changes nothing there.
"""

import copy

import torch

from spacil.nets.policy import GaussianPolicy


class KeptPolicy:
    """The mean of the policy's parameters, under the newest normaliser."""

    def __init__(self, policy: GaussianPolicy, decay: float) -> None:
        self.policy = copy.deepcopy(policy).requires_grad_(False)
        self.policy.normalizer.refresh()
        self.decay = decay

    def become(self, policy: GaussianPolicy) -> None:
        """Forget the mean: a policy that has not moved is its own."""
        self.policy.load_state_dict(policy.state_dict())
        self.policy.normalizer.refresh()

    @torch.no_grad()
    def follow(self, policy: GaussianPolicy, num_moves: int) -> None:
        """After the policy's move number `num_moves`, the first being 1."""
        kept = kept_fraction(self.decay, num_moves)
        for mean, newest in zip(self.policy.parameters(), policy.parameters(), strict=True):
            mean.lerp_(newest.detach(), 1 - kept)
        self.policy.normalizer.load_state_dict(policy.normalizer.state_dict())
        self.policy.normalizer.refresh()


def kept_fraction(decay: float, num_moves: int) -> float:
    """What the mean keeps of itself: nothing at first, then n / (n + 1) up to its decay."""
    return 0.0 if num_moves <= 1 else min(decay, num_moves / (num_moves + 1))
