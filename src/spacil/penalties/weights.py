"""Which policy penalties have weight in an iteration, and how much."""

from spacil.config.penalty_terms import WeightedTerm
from spacil.config.smoothing import PolicyPenaltyConfig


def terms_at(
    config: PolicyPenaltyConfig, iteration: int, found_weight: float | None = None
) -> tuple[WeightedTerm, ...]:
    """The terms with weight: the config's along its ramp.

    `found_weight` takes the place of the first term's weight, as a wish finds it; the others keep
    their proportion to it.
    """
    share = ramp(config, iteration)
    first = config.first_weight
    scale = 1.0 if found_weight is None else found_weight / first
    weighted = [
        WeightedTerm(
            term.name,
            (found_weight if found_weight is not None and i == 0 else scale * term.weight) * share,
        )
        for i, term in enumerate(config.terms)
    ]
    return tuple(term for term in weighted if term.weight > 0)


def scaled_terms(config: PolicyPenaltyConfig, factor: float) -> tuple[str, ...]:
    """Every term at a fraction of its weight, as a config keeps them."""
    return tuple(str(WeightedTerm(term.name, factor * term.weight)) for term in config.terms)


def ramp(config: PolicyPenaltyConfig, iteration: int) -> float:
    """The fraction of its weight that the policy penalty has, from 0 to 1."""
    if iteration >= config.penalty_ramp_iterations:
        return 1.0
    return iteration / config.penalty_ramp_iterations
