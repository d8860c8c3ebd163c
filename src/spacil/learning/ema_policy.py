"""The policy that is evaluated and handed out: an exponential mean over iterations.

Near the edge of what the penalty allows, single policies fail on some episodes while their mean
does not (docs/results/recipe.md). The mean never acts in training, so it changes nothing there.
"""

import copy

import torch

from spacil.nets.policy import GaussianPolicy


class EmaPolicy:
    """The mean of the policy's parameters, under the newest normaliser."""

    def __init__(self, policy: GaussianPolicy, decay: float) -> None:
        self.policy = copy.deepcopy(policy).requires_grad_(False)
        self.policy.normalizer.refresh()
        self.decay = decay

    @torch.no_grad()
    def update(self, policy: GaussianPolicy, num_moves: int) -> None:
        """Follow the policy's move number `num_moves`, the first being 1.

        The mean keeps nothing of itself at first, then n / (n + 1) up to its decay: a policy that
        has not moved is its own mean.
        """
        kept = 0.0 if num_moves <= 1 else min(self.decay, num_moves / (num_moves + 1))
        for mean, newest in zip(self.policy.parameters(), policy.parameters(), strict=True):
            mean.lerp_(newest.detach(), 1 - kept)
        self.policy.normalizer.load_state_dict(policy.normalizer.state_dict())
        self.policy.normalizer.refresh()
