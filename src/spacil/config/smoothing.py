"""Settings of the two smoothness penalties."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from spacil.config.checks import require, require_ranges
from spacil.config.penalty_terms import (
    COST_FORMS,
    WeightedTerm,
    all_arguments,
    parse_arguments,
    parse_terms,
)

FIRST_TEMPORAL_WEIGHT = 0.03
"""Weight of cats where a target of the action change starts its search: a tenth of it moved
HalfCheetah's action change by 4 %, and all of it cost a quarter of the return
(docs/results/recipe.md)."""


@dataclass(frozen=True)
class PolicyPenaltyConfig:
    """The smoothness penalties on the policy (eq:policy_reg), each with its own weight."""

    penalty: tuple[str, ...] = ()
    """One or more NAME=WEIGHT, e.g. `exact=0.1 cats=1`. A NAME alone has the weight of its own
    paper; arguments follow a colon, e.g. `caps=1:noise=0.2`. --lambda-policy W (lambda_1) is short
    for `exact=W`."""
    penalty_weight: Literal["fixed", "auto"] = "fixed"
    """fixed: the weight that --penalty says, or that a target finds. auto: it starts there, or up
    to ten times as high where an unpenalised clone has a J below 1.8, and rises to at most five
    times its start while the states that the policy visits stay like the demonstrated ones and J is
    above a share of the clone's (0.38 of it with 300 demonstrated pairs, 0.3 with 6,000); it falls
    when they do not. The env's reward is not read."""
    penalty_ramp_iterations = 0
    penalty_start = 0
    penalty_discount = 0.0

    def __post_init__(self) -> None:
        require_ranges(self, {})
        # One spelling per term, so that equal runs have equal settings: exact=.10 is exact=0.1.
        object.__setattr__(self, "penalty", tuple(map(str, parse_terms(self.penalty))))

    @property
    def terms(self) -> tuple[WeightedTerm, ...]:
        return parse_terms(self.penalty)

    @property
    def first_weight(self) -> float:
        """Weight of the term that a search moves; 0 without one."""
        return self.terms[0].weight if self.terms else 0.0

    def first_weight_among(self, terms: Sequence[WeightedTerm]) -> float:
        """Weight of the same term among `terms`, those of an iteration; 0 where it has none."""
        first = self.terms[0].name if self.terms else None
        return next((term.weight for term in terms if term.name == first), 0.0)

    @property
    def temporal_term(self) -> WeightedTerm:
        """Term whose weight a target of the action change moves: the first one along time."""
        found = [term for term in self.terms if term.kind.rows == "with_successor"]
        return found[0] if found else WeightedTerm("cats", FIRST_TEMPORAL_WEIGHT)


@dataclass(frozen=True)
class ScheduledPenaltyConfig(PolicyPenaltyConfig):
    __doc__ = PolicyPenaltyConfig.__doc__

    penalty_ramp_iterations: int = 0
    """Iterations over which the weights grow linearly from 0."""
    penalty_start: int = 0
    """Iterations before the penalties have any weight; until then the run is the one without them,
    bit for bit, and a warm start clones without them."""
    penalty_discount: float = 0.0
    """Weight the states of the policy penalty by this number to the power t, counted from the start
    of their episode, as the text below eq:policy_reg does with gamma; weights average 1. 0: all
    alike."""

    def __post_init__(self) -> None:
        super().__post_init__()
        counts = "penalty_ramp_iterations penalty_start"
        require_ranges(self, {"0 or more": counts, "in [0, 1]": "penalty_discount"})


@dataclass(frozen=True)
class PenaltyStatesConfig:
    """Where both penalties are measured."""

    penalty_state_fraction: float = 0.25
    """Fraction of the states, drawn anew each iteration, that carry the penalties: an unbiased
    estimate of all of them at that fraction of the time."""

    def __post_init__(self) -> None:
        require_ranges(self, {"in (0, 1]": "penalty_state_fraction"})


@dataclass(frozen=True)
class CostPenaltyConfig:
    """The smoothness penalty on the learned cost (eq:cost_reg)."""

    lambda_cost: float = 0.0
    """Weight of the cost penalty (lambda_2)."""
    cost_weight: Literal["fixed", "by-pairs"] = "fixed"
    """fixed: lambda_cost. by-pairs: lambda_cost, but at most 7.5 M^-0.75 with M demonstrated
    pairs: a discriminator memorises few of them, and many need little penalty."""
    cost_penalty_form: str = "r1"
    """What may change little when the state moves to s~: response: c(s, pi(s~)), as in eq:cost_reg;
    both: c(s~, pi(s~)); state: c(s~, a). Or a gradient penalty on the logits in (s, a): gp: keep
    the gradient's length near 1 (WGAN-GP); r1: keep it small on the demonstrations. Arguments
    follow a colon, e.g. `response:estimator=pgd`. gail takes gp and r1."""

    def __post_init__(self) -> None:
        require_ranges(self, {"0 or more": "lambda_cost"})
        name, *words = self.cost_penalty_form.split(":")
        require(name in COST_FORMS, "cost_penalty_form", name, ", ".join(COST_FORMS))
        given = parse_arguments(words, COST_FORMS[name], f"--cost-penalty-form {name}")
        text = ":".join([name, *(f"{key}={value}" for key, value in given)])
        object.__setattr__(self, "cost_penalty_form", text)

    @property
    def form(self) -> str:
        """Name of the form, without its arguments."""
        return self.cost_penalty_form.partition(":")[0]

    @property
    def arguments(self) -> dict[str, Any]:
        """Every argument of the form by name."""
        known, words = COST_FORMS[self.form], self.cost_penalty_form.split(":")[1:]
        return all_arguments(known, parse_arguments(words, known, "--cost-penalty-form"))
