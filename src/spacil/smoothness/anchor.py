"""The anchor: a term of the policy step that holds the mean action to the demonstrated ones.

    beta * E |r|^2 / sum_k Var(a_k),    r = mu(s) - a

on demonstrated pairs drawn anew in each iteration: beta times the fraction of the demonstrated
actions' variance that the mean action misses. a is the executed action: where it is at a bound, a
mean beyond the bound misses nothing.
"""

import torch

from spacil.nets.policy import GaussianPolicy
from spacil.seeding import stream
from spacil.smoothness.policy_terms import ANCHOR, DrawnTerms, PenaltyRows
from spacil.types import ExpertBatch

MAX_ROWS = 1_500
ENOUGH_PAIRS = 300
"""Below these beta shrinks with their number: few pairs, followed closely, mislead (50 pairs of
HalfCheetah: 4279 with the anchor, 4419 without)."""


class Anchor:
    """The demonstrated pairs of a run, and a random stream of its own to draw them from."""

    def __init__(self, expert: ExpertBatch, policy: GaussianPolicy, beta: float, seed: int) -> None:
        """`expert` holds raw states and executed actions, on the policy's device."""
        self.states, self.actions = expert.states, policy.clip(expert.actions)
        self.generator = stream(seed, ANCHOR)
        self.beta = beta * min(1.0, len(self.states) / ENOUGH_PAIRS)
        self.variance = float(self.actions.var(0, correction=0).sum())

    def draw(self, policy: GaussianPolicy) -> DrawnTerms:
        """Some of the pairs as a term of the policy step; none without weight."""
        if self.beta == 0 or self.variance == 0:
            return DrawnTerms()
        rows = torch.randperm(len(self.states), generator=self.generator)[:MAX_ROWS]
        rows = rows.to(self.states.device)
        drawn = PenaltyRows(policy.normalize(self.states[rows]), self.actions[rows])
        return DrawnTerms((ANCHOR,), (drawn,), (self.beta / self.variance,))
