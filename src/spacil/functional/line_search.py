"""Find a fraction of a step that improves a loss and stays inside a trust region."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Reason = Literal["accepted", "no improvement", "kl", "nan", "no direction"]

REGION_TARGET = 0.99
"""Aim just inside the bound, so that rounding does not push the step outside."""
REGION_SLACK = 0.9
"""A step that uses less of the region than this is stretched onto the bound, once."""
MAX_STRETCH = 4.0
"""The quadratic model of the KL is trusted no further than this."""


@dataclass(frozen=True)
class SearchResult:
    is_accepted: bool
    fraction: float
    """Of the full step; 0 when nothing was accepted."""
    kl: float
    loss: float
    num_tries: int
    reason: Reason
    """`accepted`, or what was wrong with the last candidate."""


def search(
    move: Callable[[float], float],
    loss: Callable[[], float],
    loss_before: float,
    max_kl: float,
    max_tries: int,
    shrink: float,
) -> SearchResult:
    """Rescale onto the KL bound, then shrink until the loss improves.

    `move(fraction)` puts the parameters there and returns the KL; `loss()` is evaluated where
    they are. On acceptance they stay there; otherwise the caller restores them.

    Halving the step until the KL fits would waste half the region on average. The KL grows with
    the square of a small step, so sqrt(max_kl / kl) lands on the bound in one or two tries.
    """
    fraction = 1.0
    reason: Reason = "no improvement"
    may_stretch = True
    for tries in range(1, max_tries + 1):
        kl = move(fraction)
        if not math.isfinite(kl):
            reason, may_stretch = "nan", False
            fraction *= 0.5
            continue
        if kl > max_kl:
            reason, may_stretch = "kl", False
            fraction *= REGION_TARGET * math.sqrt(max_kl / kl)
            continue
        if may_stretch and 0 < kl < REGION_SLACK * max_kl and tries < max_tries:
            may_stretch = False
            fraction *= min(REGION_TARGET * math.sqrt(max_kl / kl), MAX_STRETCH)
            continue
        may_stretch = False
        loss_here = loss()
        if loss_here < loss_before:
            return SearchResult(True, fraction, kl, loss_here, tries, "accepted")
        reason = "no improvement" if math.isfinite(loss_here) else "nan"
        fraction *= shrink
    return SearchResult(False, 0.0, 0.0, loss_before, max_tries, reason)
