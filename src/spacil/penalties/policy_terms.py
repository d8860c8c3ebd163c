"""R^pi as a config asks for it: estimator, units, spread, discount, ramp and state subset.

A penalty without weight is never built, so it draws nothing from any stream.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from spacil.config.groups import BallConfig, PolicyPenaltyConfig, TrainConfig
from spacil.errors import ConfigError
from spacil.functional.ball import random_offset
from spacil.functional.gaussian import log_prob
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams
from spacil.smoothness.policy_penalty import (
    Penalty,
    Scale,
    exact_policy_penalty,
    frobenius_policy_penalty,
    lcp_policy_penalty,
    pgd_policy_penalty,
)
from spacil.smoothness.temporal_penalty import (
    caps_penalty,
    cats_penalty,
    discount_weights,
    rows_with_successor,
    steps_into_episode,
)
from spacil.types import RolloutBatch

TEMPORAL_ESTIMATORS = frozenset({"cats", "caps"})


def ramped_weight(config: PolicyPenaltyConfig, iteration: int) -> float:
    """lambda_policy, reached linearly from 0 over the ramp."""
    return config.lambda_policy * ramp(config, iteration)


def ramp(config: PolicyPenaltyConfig, iteration: int) -> float:
    """The share of its weight that the policy penalty has, from 0 to 1."""
    if iteration >= config.penalty_ramp_iterations:
        return 1.0
    return iteration / config.penalty_ramp_iterations


@dataclass(frozen=True)
class PenaltyRows:
    """States that may carry the policy penalty, and what an estimator may read beside them."""

    states: Tensor
    """[B, S] normalised"""
    actions: Tensor | None = None
    """[B, A] raw, as sampled there; lcp reads them"""
    successors: Tensor | None = None
    """[B, S] normalised, one step later in the same episode; cats and caps read them"""
    weights: Tensor | None = None
    """[B] of mean 1, or None: all states alike"""
    noise: Tensor | None = None
    """[B, S], what the estimator draws at random: where pgd starts, the noise of caps"""
    num_meant: int | None = None
    """Of how many states these are a random share; None: they are all"""

    def pick(self, rows: Tensor) -> "PenaltyRows":
        """Some of the rows. Weights keep their size, so that a random share stays unbiased."""
        named: dict[str, Any] = vars(self)
        tensors = {name: value for name, value in named.items() if isinstance(value, Tensor)}
        picked: dict[str, Any] = {name: value[rows] for name, value in tensors.items()}
        return replace(self, **picked)


def penalty_rows(
    rollout: RolloutBatch, normalized_states: Tensor, steps_before: Tensor, config: TrainConfig
) -> PenaltyRows:
    """The rows of a batch that the config's estimator can use.

    `steps_before` [N] is how far the live episodes were when the batch began.
    """
    settings, device = config.policy_penalty, normalized_states.device
    is_cut = (rollout.terminated | rollout.truncated).to(device)
    ages = weights = None
    if settings.penalty_discount:
        ages = steps_into_episode(is_cut, steps_before).flatten()
    found = PenaltyRows(normalized_states, rollout.flat_actions.to(device))
    if settings.policy_penalty_estimator in TEMPORAL_ESTIMATORS:
        rows = rows_with_successor(is_cut)
        successors = normalized_states[rows + is_cut.shape[1]]
        found = replace(found.pick(rows), successors=successors)
        ages = None if ages is None else ages[rows]
    if ages is not None:
        weights = discount_weights(ages, config.returns.gamma).to(normalized_states)
    return replace(found, weights=weights)


def draw_share(rows: PenaltyRows, config: TrainConfig, streams: Streams) -> PenaltyRows:
    """All that is random about R^pi: a share of the rows, and the estimator's own draws on it."""
    settings = config.policy_penalty
    num_rows = len(rows.states)
    share = random_share(num_rows, settings.penalty_state_fraction, streams.subset)
    if share is not None:
        rows = replace(rows.pick(share.to(rows.states.device)), num_meant=num_rows)
    match settings.policy_penalty_estimator:
        case "pgd":
            return replace(rows, noise=ball_start(rows.states, config.ball, streams))
        case "caps":
            noise = torch.randn(rows.states.shape, generator=streams.ball).to(rows.states)
            return replace(rows, noise=settings.caps_noise_std * noise)
    return rows


def policy_penalty(policy: GaussianPolicy, share: PenaltyRows, config: TrainConfig) -> Penalty:
    """R^pi on a drawn share, what it maximises over frozen at the current policy."""
    settings = config.policy_penalty
    is_own = settings.penalty_sigma == "policy"
    subject = _Subject(policy, policy.log_std if is_own else torch.zeros_like(policy.log_std))
    penalty = _POLICY_ESTIMATORS[settings.policy_penalty_estimator](subject, share, config)
    num_states = share.num_meant or len(share.states)
    return times(num_summed(settings.policy_penalty_scale, num_states), penalty)


@dataclass(frozen=True)
class _Subject:
    """The policy whose smoothness is asked for, with the spread it has inside the penalty."""

    policy: GaussianPolicy
    log_std: Tensor
    """[A], zeros or the policy's own parameter"""

    def mean_in_stds(self, states: Tensor) -> Tensor:
        """mu / sigma: a change of it by 1 is a change of the action by one spread."""
        return self.policy.mean_of_normalized(states) * (-self.log_std).exp()

    def log_prob(self, states: Tensor, actions: Tensor) -> Tensor:
        return log_prob(actions, self.policy.mean_of_normalized(states), self.log_std)

    @torch.no_grad()
    def with_this_spread(self, states: Tensor, actions: Tensor) -> Tensor:
        """The policy's actions as it would have sampled them with this spread: the same noise."""
        mean = self.policy.mean_of_normalized(states)
        return mean + (actions - mean) * (self.log_std - self.policy.log_std).exp()


PolicyEstimator = Callable[[_Subject, PenaltyRows, TrainConfig], Penalty]


def _exact(subject: _Subject, rows: PenaltyRows, config: TrainConfig) -> Penalty:
    penalty = exact_policy_penalty(subject.mean_in_stds, rows.states, rows.weights)
    is_printed = config.policy_penalty.policy_penalty_scale != "lipschitz"
    return times(config.ball.ball_radius**2 if is_printed else 1.0, penalty)


def _pgd(subject: _Subject, rows: PenaltyRows, config: TrainConfig) -> Penalty:
    ball = config.ball
    return pgd_policy_penalty(
        subject.mean_in_stds,
        rows.states,
        _given(rows.noise, "a start for its ascent", config),
        ball.ball_radius,
        ball.ball_num_steps,
        ball.ball_step_rule,
        ball.ball_step_size,
        per_state(config.policy_penalty.policy_penalty_scale),
        rows.weights,
    )


def _frobenius(subject: _Subject, rows: PenaltyRows, config: TrainConfig) -> Penalty:
    return frobenius_policy_penalty(subject.mean_in_stds, rows.states, rows.weights)


def _lcp(subject: _Subject, rows: PenaltyRows, config: TrainConfig) -> Penalty:
    sampled = _given(rows.actions, "sampled actions", config)
    actions = subject.with_this_spread(rows.states, sampled)
    return lcp_policy_penalty(subject.log_prob, rows.states, actions, rows.weights)


def _cats(subject: _Subject, rows: PenaltyRows, config: TrainConfig) -> Penalty:
    successors = _given(rows.successors, "the states one step later", config)
    return cats_penalty(subject.mean_in_stds, rows.states, successors, rows.weights)


def _caps(subject: _Subject, rows: PenaltyRows, config: TrainConfig) -> Penalty:
    successors = _given(rows.successors, "the states one step later", config)
    settings = config.policy_penalty
    return caps_penalty(
        subject.mean_in_stds,
        rows.states,
        successors,
        _given(rows.noise, "noise", config),
        settings.caps_temporal_weight,
        settings.caps_spatial_weight,
        rows.weights,
    )


def _given(rows: Tensor | None, what: str, config: TrainConfig) -> Tensor:
    if rows is None:
        estimator = config.policy_penalty.policy_penalty_estimator
        raise ConfigError(
            f"--policy-penalty-estimator {estimator} reads {what}, which {config.algorithm} "
            "does not have: use exact, pgd or frobenius"
        )
    return rows


_POLICY_ESTIMATORS: Mapping[str, PolicyEstimator] = {
    "exact": _exact,
    "pgd": _pgd,
    "frobenius": _frobenius,
    "lcp": _lcp,
    "cats": _cats,
    "caps": _caps,
}


# --- what both penalties share


def random_share(size: int, fraction: float, generator: torch.Generator) -> Tensor | None:
    """A fresh random share of `size` rows: a mean over them is unbiased. All of them: None."""
    if fraction == 1 or size == 0:
        return None
    return torch.randperm(size, generator=generator)[: max(1, round(fraction * size))]


def ball_start(states: Tensor, ball: BallConfig, streams: Streams) -> Tensor:
    return random_offset(states, ball.ball_radius, ball.ball_start, streams.ball)


def per_state(scale: Scale) -> Scale:
    """The unit of one state's term: a printed sum is a number of states times a printed mean."""
    return "paper-mean" if scale == "paper-sum" else scale


def num_summed(scale: Scale, num_states: int) -> int:
    """By what a mean over states is multiplied; a share of them stands for them all."""
    return num_states if scale == "paper-sum" else 1


def times(factor: float, penalty: Penalty) -> Penalty:
    return penalty if factor == 1 else lambda: factor * penalty()
