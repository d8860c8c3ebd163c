"""R^pi as a run's settings name it: which terms, on which states, in which units.

A term without weight is never drawn for and never built, so it costs nothing and draws nothing.
What is random about a term is drawn outside an update (`draw_rows`) and handed in (`build`).
"""

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from spacil.config.penalty_terms import PenaltyKind, WeightedTerm, parse_term
from spacil.config.settings import PolicyPenaltyConfig
from spacil.config.train_config import TrainConfig
from spacil.errors import ConfigError
from spacil.functional.gaussian import log_prob
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams
from spacil.smoothness.policy_penalty import (
    Penalty,
    exact_policy_penalty,
    frobenius_policy_penalty,
    lcp_policy_penalty,
    pgd_policy_penalty,
    times,
)
from spacil.smoothness.state_subset import ball_start, num_summed, per_state, random_subset
from spacil.smoothness.temporal_penalty import (
    caps_penalty,
    cats_penalty,
    discount_weights,
    rows_with_successor,
    steps_into_episode,
)
from spacil.types import RolloutBatch

Arguments = Mapping[str, Any]
"""Arguments of a term by name, from the table in config/penalty_terms.py"""


@dataclass(frozen=True)
class PenaltyRows:
    """States that may carry a policy penalty, and what a term may read beside them."""

    states: Tensor
    """[B, S] normalised"""
    actions: Tensor | None = None
    """[B, A] raw, as sampled there; lcp reads them"""
    successors: Tensor | None = None
    """[B, S] normalised, one step later in the same episode; temporal terms read them"""
    weights: Tensor | None = None
    """[B] of mean 1, or None: all states alike"""
    noise: Tensor | None = None
    """[B, S], what the term draws at random: where pgd starts, the noise of caps"""
    num_meant: int | None = None
    """How many states these are a random subset of; None: they are all"""

    def pick(self, rows: Tensor) -> "PenaltyRows":
        """Some of the rows. Weights keep their size, so that a random subset stays unbiased."""
        named: dict[str, Any] = vars(self)
        tensors = {name: value for name, value in named.items() if isinstance(value, Tensor)}
        picked: dict[str, Any] = {name: value[rows] for name, value in tensors.items()}
        return replace(self, **picked)


@dataclass(frozen=True)
class DrawnTerms:
    """The terms of one iteration: names with arguments, the rows each was drawn, their weights."""

    names: tuple[str, ...] = ()
    """Terms without their weights, e.g. `caps:noise=0.3`"""
    rows: tuple[PenaltyRows, ...] = ()
    weights: tuple[float | Tensor, ...] = ()

    def on(self, device: torch.device) -> "DrawnTerms":
        """With weights that a recorded piece can read anew in each round."""
        weights = tuple(torch.full((), float(w), device=device) for w in self.weights)
        return replace(self, weights=weights)

    def __add__(self, others: "DrawnTerms") -> "DrawnTerms":
        """These terms, then the others."""
        return DrawnTerms(
            self.names + others.names, self.rows + others.rows, self.weights + others.weights
        )


def rows_of_batch(
    rollout: RolloutBatch, normalized_states: Tensor, steps_before: Tensor, config: TrainConfig
) -> Callable[[PenaltyKind], PenaltyRows]:
    """The rows of a batch that a kind of penalty can use.

    `steps_before` [N] is how far the live episodes were when the batch began.
    """
    device = normalized_states.device
    is_cut = (rollout.terminated | rollout.truncated).to(device)
    discount = config.policy_penalty.penalty_discount

    def rows_for(kind: PenaltyKind) -> PenaltyRows:
        ages = weights = None
        if discount:
            ages = steps_into_episode(is_cut, steps_before).flatten()
        found = PenaltyRows(normalized_states, rollout.flat_actions.to(device))
        if kind.rows == "with_successor":
            rows = rows_with_successor(is_cut)
            successors = normalized_states[rows + is_cut.shape[1]]
            found = replace(found.pick(rows), successors=successors)
            ages = None if ages is None else ages[rows]
        if ages is not None:
            weights = discount_weights(ages, discount).to(normalized_states)
        return replace(found, weights=weights)

    return rows_for


def refuse_undiscounted(config: PolicyPenaltyConfig) -> None:
    """`penalty_discount` says nothing to a function that does not read the weights of states."""
    for term in config.terms:
        if config.penalty_discount and not term.kind.reads_weights:
            raise ConfigError(
                f"--penalty-discount does not reach the penalty {term.name!r}, a function of your "
                "own: give it a keyword-only parameter, (mean_action, states, *, weights), or "
                "leave the discount out"
            )


def draw_terms(
    terms: Sequence[WeightedTerm],
    rows_for: Callable[[PenaltyKind], PenaltyRows],
    policy: GaussianPolicy,
    config: TrainConfig,
    streams: Streams,
    fraction: float | None = None,
) -> DrawnTerms:
    """All that is random about the terms: a subset of rows each, and their own draws on it.

    `fraction` of the rows, by default that of the config.
    """
    drawn = [
        draw_rows(rows_for(term.kind), term, policy, config, streams, fraction) for term in terms
    ]
    names = tuple(term.unweighted for term in terms)
    return DrawnTerms(names, tuple(drawn), tuple(term.weight for term in terms))


def draw_rows(
    rows: PenaltyRows,
    term: WeightedTerm,
    policy: GaussianPolicy,
    config: TrainConfig,
    streams: Streams,
    fraction: float | None = None,
) -> PenaltyRows:
    """A random subset of the rows, and what the term draws for each of them."""
    num_rows, arguments = len(rows.states), term.arguments
    if fraction is None:
        fraction = config.penalty_states.penalty_state_fraction
    subset = random_subset(num_rows, fraction, streams.subset)
    if subset is not None:
        rows = replace(rows.pick(subset.to(rows.states.device)), num_meant=num_rows)
    if term.kind.draws == "ball_start":
        start = ball_start(rows.states, policy.normalizer.mask, arguments, streams)
        return replace(rows, noise=start)
    if term.kind.draws == "noise":
        noise = torch.randn(rows.states.shape, generator=streams.ball).to(rows.states)
        return replace(rows, noise=arguments["noise"] * noise)
    return rows


def build_terms(
    policy: GaussianPolicy, drawn: DrawnTerms, config: TrainConfig, log_std: Tensor | None = None
) -> dict[str, Penalty]:
    """Each term on its rows, what it maximises over frozen at the current policy.

    `log_std` [A] takes the place of the spread that a term names.
    """
    return {
        name.partition(":")[0]: _build(name, policy, rows, config, log_std)
        for name, rows in zip(drawn.names, drawn.rows, strict=True)
    }


def _build(
    name: str,
    policy: GaussianPolicy,
    rows: PenaltyRows,
    config: TrainConfig,
    log_std: Tensor | None,
) -> Penalty:
    if name in _NOT_OF_SMOOTHNESS:
        return _imported(_NOT_OF_SMOOTHNESS[name])(policy, rows)
    term = parse_term(name)
    kind, arguments = term.kind, term.arguments
    if log_std is None:
        is_own = arguments["sigma"] == "policy"
        log_std = policy.log_std if is_own else torch.zeros_like(policy.log_std)
    subject = PenalizedPolicy(policy, log_std)
    if not isinstance(kind.build, str):
        read = rows if kind.rows == "with_successor" else replace(rows, successors=None)
        return OwnPenalty(kind.build, subject.mean_in_stds, read, kind.reads_weights)
    if (term.name == "lcp" and rows.actions is None) or (
        kind.rows == "with_successor" and rows.successors is None
    ):
        raise ConfigError(
            f"--penalty {term.name} reads sampled actions or the states one step later, which "
            f"{config.algorithm} does not have: use exact, pgd or frobenius"
        )
    return _imported(kind.build)(subject, rows, arguments)


_NOT_OF_SMOOTHNESS = {"anchor": "smoothness.anchor:anchor"}
"""Terms that are drawn from a setting of their own and are no penalty a user names."""


@functools.cache
def _imported(path: str) -> Callable[..., Penalty]:
    module, _, function = path.partition(":")
    found: Callable[..., Penalty] = getattr(importlib.import_module(f"spacil.{module}"), function)
    return found


@dataclass(frozen=True)
class PenalizedPolicy:
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


@dataclass(frozen=True)
class OwnPenalty:
    """A user's own function of the policy and the states.

    It gets tensors of its own, and gradients that are on also in a line search, so that it may
    differentiate in the states.
    """

    function: Callable[..., Tensor]
    mean_action: Callable[[Tensor], Tensor]
    rows: PenaltyRows
    reads_weights: bool = False

    def __call__(self) -> Tensor:
        rows = self.rows
        if not len(rows.states):
            return rows.states.new_zeros(())
        read = [states.detach() for states in (rows.states, rows.successors) if states is not None]
        weights = {}
        if self.reads_weights:
            alike = rows.states.new_ones(len(rows.states))
            weights = {"weights": alike if rows.weights is None else rows.weights.detach()}
        with torch.enable_grad():
            value = self.function(self.mean_action, *read, **weights)
        if not isinstance(value, Tensor) or value.numel() != 1:
            name = getattr(self.function, "__name__", "penalty")
            raise ConfigError(f"penalty {name!r} returned {value!r}, expected one number")
        return value.reshape(())


# --- the rows of the table in config/penalty_terms.py


def exact(subject: PenalizedPolicy, rows: PenaltyRows, arguments: Arguments) -> Penalty:
    penalty = exact_policy_penalty(subject.mean_in_stds, rows.states, rows.weights)
    factor = arguments["radius"] ** 2 if arguments["scale"] != "lipschitz" else 1.0
    return times(_num_summed(rows, arguments), times(factor, penalty))


def pgd(subject: PenalizedPolicy, rows: PenaltyRows, arguments: Arguments) -> Penalty:
    assert rows.noise is not None
    penalty = pgd_policy_penalty(
        subject.mean_in_stds,
        rows.states,
        rows.noise,
        arguments["radius"],
        arguments["steps"],
        arguments["rule"],
        arguments["step_size"],
        per_state(arguments["scale"]),
        rows.weights,
    )
    return times(_num_summed(rows, arguments), penalty)


def frobenius(subject: PenalizedPolicy, rows: PenaltyRows, arguments: Arguments) -> Penalty:
    return frobenius_policy_penalty(subject.mean_in_stds, rows.states, rows.weights)


def lcp(subject: PenalizedPolicy, rows: PenaltyRows, arguments: Arguments) -> Penalty:
    assert rows.actions is not None
    actions = subject.with_this_spread(rows.states, rows.actions)
    return lcp_policy_penalty(subject.log_prob, rows.states, actions, rows.weights)


def cats(subject: PenalizedPolicy, rows: PenaltyRows, arguments: Arguments) -> Penalty:
    assert rows.successors is not None
    return cats_penalty(subject.mean_in_stds, rows.states, rows.successors, rows.weights)


def caps(subject: PenalizedPolicy, rows: PenaltyRows, arguments: Arguments) -> Penalty:
    assert rows.successors is not None and rows.noise is not None
    return caps_penalty(
        subject.mean_in_stds,
        rows.states,
        rows.successors,
        rows.noise,
        arguments["temporal"],
        arguments["spatial"],
        rows.weights,
    )


def _num_summed(rows: PenaltyRows, arguments: Arguments) -> int:
    return num_summed(arguments["scale"], rows.num_meant or len(rows.states))
