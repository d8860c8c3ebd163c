"""Settings of the two smoothness penalties."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from spacil import paper
from spacil.config.checks import require
from spacil.config.penalty_terms import WeightedTerm, parse_terms

FIRST_TEMPORAL_WEIGHT = 0.03
"""Of cats, where a fluctuation target starts its search: a tenth of it moved HalfCheetah's action
change by 4 %, and all of it cost a quarter of the return (docs/results/recipe.md)."""


@dataclass(frozen=True)
class PolicyPenaltyConfig:
    """The smoothness penalties on the policy (eq:policy_reg), each with its own weight."""

    penalty: tuple[str, ...] = ("exact=0.03",)
    """One or more NAME=WEIGHT, e.g. `exact=0.1 cats=1`. A NAME alone has the weight of its own
    paper. --lambda-policy W (lambda_1) is short for `exact=W`. Units: policy_penalty_scale."""
    policy_penalty_scale: Literal["lipschitz", "paper-mean", "paper-sum"] = "lipschitz"
    """Of exact and pgd. lipschitz: weight on E[sigma_max^2]; paper-mean: on E[|dmu|^2] as printed,
    which is epsilon^2 smaller; paper-sum: summed over the states of the batch."""
    penalty_ramp_iterations: int = 0
    """The weights grow linearly from 0 over this many iterations."""
    penalty_start: int = 0
    """Iterations before the penalties have any weight; until then the run is the one without them,
    bit for bit, and a warm start clones without them."""
    penalty_sigma: Literal["fixed", "policy"] = "fixed"
    """Spread of the policies compared (sigma): fixed to 1, as in app:algo_hyper_params, or the
    policy's own, so that a wider policy counts as smoother."""
    penalty_discount: bool = False
    """Weight the states of the policy penalty by gamma^t, t counted from the start of their
    episode, as the text below eq:policy_reg says; weights average 1."""
    caps_noise_std: float = 0.2
    """Standard deviation of the noise of caps, in normalised state units (its sigma)."""
    caps_temporal_weight: float = 0.1
    """Weight of the temporal term inside caps (its lambda_T)."""
    caps_spatial_weight: float = 0.5
    """Weight of the noise term inside caps (its lambda_S)."""

    def __post_init__(self) -> None:
        ramp = self.penalty_ramp_iterations
        require(ramp >= 0, "penalty_ramp_iterations", ramp, "0 or more")
        require(self.penalty_start >= 0, "penalty_start", self.penalty_start, "0 or more")
        require(self.caps_noise_std > 0, "caps_noise_std", self.caps_noise_std, "above 0")
        for name in ("caps_temporal_weight", "caps_spatial_weight"):
            require(getattr(self, name) >= 0, name, getattr(self, name), "0 or more")
        terms = parse_terms(self.penalty)
        # One spelling per term, so that equal runs have equal settings: exact=.10 is exact=0.1.
        object.__setattr__(self, "penalty", tuple(str(term) for term in terms))
        for term in terms:
            require(
                self.policy_penalty_scale == "lipschitz" or term.kind.has_printed_scale,
                "policy_penalty_scale",
                self.policy_penalty_scale,
                f"lipschitz with --penalty {term}: the printed scales belong to the paper's "
                "penalty (exact, pgd)",
            )

    @property
    def terms(self) -> tuple[WeightedTerm, ...]:
        return parse_terms(self.penalty)

    @property
    def first_weight(self) -> float:
        """Of the term a wish starts its search from; 0 without one."""
        return self.terms[0].weight if self.terms else 0.0

    def first_weight_among(self, terms: Sequence[WeightedTerm]) -> float:
        """Of the same term among `terms`, those of an iteration; 0 where it has none."""
        first = self.terms[0].name if self.terms else None
        return next((term.weight for term in terms if term.name == first), 0.0)

    @property
    def temporal_term(self) -> WeightedTerm:
        """Where the search for a fluctuation target starts: the first term along time."""
        found = [term for term in self.terms if term.kind.rows == "with_successor"]
        return found[0] if found else WeightedTerm("cats", FIRST_TEMPORAL_WEIGHT)


@dataclass(frozen=True)
class PenaltyStatesConfig:
    """Where both penalties are measured."""

    penalty_state_fraction: float = 0.25
    """Fraction of the states, drawn anew each iteration, that carry the penalties: an unbiased
    estimate of all of them at that fraction of the time."""

    def __post_init__(self) -> None:
        fraction = self.penalty_state_fraction
        require(0 < fraction <= 1, "penalty_state_fraction", fraction, "in (0, 1]")


@dataclass(frozen=True)
class CostPenaltyConfig:
    """The smoothness penalty on the learned cost (eq:cost_reg)."""

    lambda_cost: float = 0.01
    """Weight of the cost penalty (lambda_2). Units: cost_penalty_scale."""
    cost_weight: Literal["fixed", "by-pairs"] = "fixed"
    """fixed: lambda_cost. by-pairs: lambda_cost, but at most 7.5 M^-0.75 with M demonstrated
    pairs: a discriminator memorises few of them, and many need little penalty."""
    cost_penalty_form: Literal["response", "both", "state", "gp", "r1"] = "response"
    """What may change little when the state moves to s~: response: c(s, pi(s~)), as in eq:cost_reg;
    both: c(s~, pi(s~)); state: c(s~, a). Or a gradient penalty on the logits in (s, a): gp: keep
    the gradient's length near 1 (WGAN-GP); r1: keep it small on the demonstrations."""
    cost_penalty_scale: Literal["lipschitz", "paper-mean", "paper-sum"] = "lipschitz"
    """lipschitz: weight on E[max |dc|] / epsilon; paper-mean, paper-sum: as printed."""
    cost_penalty_estimator: Literal["exact", "pgd"] = "exact"
    """exact: gradient norm of the cost along its form, e.g. of c(s0, mu(s)) in s at s0; pgd: the
    paper's ascent. Not read by gp and r1."""
    cost_penalty_mixing: Literal["interpolate", "per_batch", "bernoulli", "none"] = "interpolate"
    """Where the penalty is measured, zeta ~ U[0, 1): between agent and demonstrations at a zeta for
    each pair; at one zeta per batch; at demonstrated states with probability zeta; or on the
    agent's alone. r1 is always measured on the demonstrations."""

    def __post_init__(self) -> None:
        require(self.lambda_cost >= 0, "lambda_cost", self.lambda_cost, "0 or more")
        require(
            self.cost_penalty_scale == "lipschitz" or self.cost_penalty_form not in ("gp", "r1"),
            "cost_penalty_scale",
            self.cost_penalty_scale,
            f"lipschitz with --cost-penalty-form {self.cost_penalty_form}: "
            "the printed scales belong to a change inside a ball",
        )


@dataclass(frozen=True)
class BallConfig:
    """Projected gradient ascent in a small ball around each state (algo:reg_maximization)."""

    ball_radius: float = paper.PENALTY_RADIUS
    """Radius of the ball, in normalised state units (epsilon)."""
    ball_num_steps: int = 10
    """Ascent steps (N of algo:reg_maximization, not given in the paper)."""
    ball_step_size: float = paper.PENALTY_STEP_SIZE
    """Step size of the raw rule (eta_delta, nu)."""
    ball_step_rule: Literal["raw", "normalized", "power"] = "power"
    """raw: step_size * gradient, as printed; normalized: steps of length 2 * radius / num_steps;
    power: jump to the sphere along the gradient."""
    ball_start: Literal["sphere", "ball", "gauss"] = "sphere"
    """Where ascent starts: on the sphere, inside the ball, or 1e-5 Gaussian noise."""

    def __post_init__(self) -> None:
        require(self.ball_radius > 0, "ball_radius", self.ball_radius, "above 0")
        require(self.ball_num_steps >= 1, "ball_num_steps", self.ball_num_steps, "1 or more")
        require(self.ball_step_size > 0, "ball_step_size", self.ball_step_size, "above 0")
