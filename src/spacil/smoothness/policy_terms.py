"""R^pi as a run's settings name it: which terms, on which states, in which units.

A term without weight is never drawn for and never built, so it costs nothing and draws nothing.
What is random about a term is drawn outside an update (`draw_terms`) and handed in (`build_terms`).
"""

import functools
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from spacil.config.penalty_terms import PenaltyKind, WeightedTerm, parse_term, parse_terms, words_of
from spacil.config.settings import PolicyPenaltyConfig
from spacil.config.train_config import TrainConfig
from spacil.errors import ConfigError
from spacil.functional.sensitivity import BatchFunction, random_offset
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams, stream
from spacil.smoothness.policy_penalty import (
    Penalty,
    missed_actions,
    rows_with_successor,
    times,
)
from spacil.types import ExpertBatch, RolloutBatch


@dataclass(frozen=True)
class FoundWeights:
    """What weight searches have found so far; None where none searches."""

    spatial: float | None = None
    """Weight of the first term"""
    temporal: float | None = None
    """Weight of the config's temporal term, which need not be among its terms"""


NOTHING_FOUND = FoundWeights()


def terms_at(
    config: PolicyPenaltyConfig, iteration: int, found: FoundWeights = NOTHING_FOUND
) -> tuple[WeightedTerm, ...]:
    """The terms with weight: the config's along its ramp.

    Found weights take the place of the first term's and of the temporal term's; the others keep
    their proportion to the first one.
    """
    scale = 1.0 if found.spatial is None else found.spatial / config.first_weight
    terms = {term.name: replace(term, weight=scale * term.weight) for term in config.terms}
    if found.spatial is not None:  # not scale times its weight, which is another float
        first = config.terms[0]
        terms[first.name] = replace(first, weight=found.spatial)
    if found.temporal is not None:
        temporal = config.temporal_term
        terms.pop(temporal.name, None)
        terms[temporal.name] = replace(temporal, weight=found.temporal)
    share = share_at(config, iteration)
    whole = (replace(term, weight=share * term.weight) for term in terms.values())
    return tuple(term for term in whole if term.weight > 0)


def with_weights(
    terms: Sequence[WeightedTerm], given: Mapping[Any, float]
) -> tuple[WeightedTerm, ...]:
    """Give penalties other weights by name: 0 removes a penalty, a new name adds one."""
    found = {term.name: term for term in terms}
    for term in parse_terms(words_of(given)):
        found[term.name] = replace(found.get(term.name, term), weight=term.weight)
    return tuple(term for term in found.values() if term.weight > 0)


def share_at(config: PolicyPenaltyConfig, iteration: int) -> float:
    """What the policy penalty has of its weight along its ramp."""
    ramp = config.penalty_ramp_iterations
    return iteration / ramp if iteration < ramp else 1.0


MAX_ROWS = 1_500
ENOUGH_PAIRS = 300
"""Below these beta shrinks with their number: few pairs, followed closely, mislead (50 pairs of
HalfCheetah: 4279 with the anchor, 4419 without)."""

ANCHOR = "anchor"
"""Term that is drawn from a setting of its own (`Anchor`) and is no penalty a user names."""


@dataclass(frozen=True)
class PenaltyRows:
    """States that may carry a policy penalty, and what a term may read beside them."""

    states: Tensor
    """[B, S] normalised"""
    actions: Tensor | None = None
    """[B, A] raw, as sampled there; lcp reads them"""
    successors: Tensor | None = None
    """[B, S] normalised, one step later in the same episode; temporal terms read them"""
    noise: Tensor | None = None
    """[B, S], what the term draws at random: where pgd starts, the noise of caps"""
    dim_weights: Tensor | None = None
    """[A], what an action dim that is missed counts; the anchor reads it"""
    num_meant: int | None = None
    """How many states these are a random subset of; None: they are all"""

    def pick(self, rows: Tensor) -> "PenaltyRows":
        """Some of the rows."""
        tensors = {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}
        return replace(self, **{name: value[rows] for name, value in tensors.items()})  # type: ignore[arg-type]  # num_meant is no tensor


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
    rollout: RolloutBatch, normalized_states: Tensor, kind: PenaltyKind
) -> PenaltyRows:
    """The rows of a batch that a kind of penalty can use."""
    device = normalized_states.device
    found = PenaltyRows(normalized_states, rollout.flat_actions.to(device))
    if not kind.is_temporal:
        return found
    is_cut = (rollout.terminated | rollout.truncated).to(device)
    rows = rows_with_successor(is_cut)
    return replace(found.pick(rows), successors=normalized_states[rows + is_cut.shape[1]])


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
    if fraction is None:
        fraction = config.penalty_states.penalty_state_fraction
    drawn = []
    for term in terms:
        rows, arguments = rows_for(term.kind), term.arguments
        num_rows = len(rows.states)
        subset = random_subset(num_rows, fraction, streams.subset)
        if subset is not None:
            rows = replace(rows.pick(subset.to(rows.states.device)), num_meant=num_rows)
        if "start" in arguments:
            rows = replace(rows, noise=ball_start(rows.states, policy, arguments, streams))
        elif "noise" in term.kind.asks:
            noise = torch.randn(rows.states.shape, generator=streams.ball).to(rows.states)
            rows = replace(rows, noise=arguments.get("noise", 1.0) * noise)
        drawn.append(rows)
    names = tuple(term.unweighted for term in terms)
    return DrawnTerms(names, tuple(drawn), tuple(term.weight for term in terms))


def build_terms(
    policy: GaussianPolicy, drawn: DrawnTerms, config: TrainConfig, unit: Tensor | None = None
) -> dict[str, Penalty]:
    """Each term on its rows, what it maximises over frozen at the current policy.

    Changes of the action count per `unit` [A]; those along time are then of executed actions.
    """
    return {
        name.partition(":")[0]: _build(name, policy, rows, config, unit)
        for name, rows in zip(drawn.names, drawn.rows, strict=True)
    }


def _build(
    name: str,
    policy: GaussianPolicy,
    rows: PenaltyRows,
    config: TrainConfig,
    unit: Tensor | None,
) -> Penalty:
    """Call the function of the table on what its row asks for."""
    if name == ANCHOR:
        assert rows.actions is not None
        return functools.partial(
            missed_actions, policy, rows.states, rows.actions, rows.dim_weights
        )
    term = parse_term(name)
    kind, arguments = term.kind, term.arguments

    def mean_in_units(states: Tensor) -> Tensor:
        mean = policy.mean_of_normalized(states)
        if unit is None:
            return mean
        return (policy.clip(mean) if kind.is_temporal else mean) / unit

    inputs: dict[str, Any] = {asked: getattr(rows, asked) for asked in ("states", *kind.asks)}
    if any(each is None for each in inputs.values()):
        raise ConfigError(
            f"--penalty {term.name} reads sampled actions or the states one step later, which "
            f"{config.algorithm} does not have: use exact, pgd or frobenius"
        )
    build = kind.build
    if not isinstance(build, str):

        def own() -> Tensor:
            """A user's own function, on tensors of its own.

            Gradients are on also in a line search, so that it may differentiate in the states.
            """
            if not len(rows.states):
                return rows.states.new_zeros(())
            with torch.enable_grad():
                value = build(mean_in_units, *(each.detach() for each in inputs.values()))
            if not isinstance(value, Tensor) or value.numel() != 1:
                raise ConfigError(f"penalty {term.name!r} returned {value!r}, expected one number")
            return value.reshape(())

        return own
    if "actions" in inputs:
        # As the policy would have sampled them with a spread of one unit: by the same noise.
        with torch.no_grad():
            mean = policy.mean_of_normalized(rows.states)
            noise = (inputs["actions"] - mean) * (-policy.log_std).exp()
            inputs["actions"] = mean_in_units(rows.states) + noise
    penalty = resolved(term, mean_in_units, *inputs.values())
    return times(share_meant(arguments, rows.num_meant, len(rows.states)), penalty)


def resolved(term: WeightedTerm, mean_action: BatchFunction, *inputs: Tensor) -> Penalty:
    """The function of the term's row on states and on what else it asks for, with its arguments."""
    arguments, read_when_drawn = term.arguments, ("start", "noise")
    keywords = {key: value for key, value in arguments.items() if key not in read_when_drawn}
    penalty: Penalty = pkgutil.resolve_name(f"spacil.{term.kind.build}")(
        mean_action, *inputs, **keywords
    )
    return penalty


def random_subset(size: int, fraction: float, generator: torch.Generator) -> Tensor | None:
    """A fresh random subset of `size` rows: a mean over it is unbiased. All of them: None."""
    if fraction == 1 or size == 0:
        return None
    return torch.randperm(size, generator=generator)[: max(1, round(fraction * size))]


def ball_start(
    states: Tensor, policy: GaussianPolicy, arguments: Mapping[str, Any], streams: Streams
) -> Tensor:
    """Where an ascent starts, [B, S]; masked dims stay where they are."""
    radius, start, mask = arguments["radius"], arguments["start"], policy.normalizer.mask
    return random_offset(states, radius, start, streams.ball, mask)


def share_meant(arguments: Mapping[str, Any], num_meant: int | None, num_states: int) -> float:
    """Factor by which a printed sum over a subset stands for the sum over all states."""
    is_sum = num_meant is not None and arguments.get("scale") == "paper-sum"
    return num_meant / num_states if is_sum and num_meant else 1


class Anchor:
    """A term of the policy step that holds the mean action to the demonstrated ones.

        beta * E |r|^2 / sum_k Var(a_k),    r = mu(s) - a

    on demonstrated pairs drawn anew in each iteration, from a stream of its own: beta times the
    fraction of the demonstrated actions' variance that the mean action misses.
    """

    def __init__(self, expert: ExpertBatch, policy: GaussianPolicy, beta: float, seed: int) -> None:
        """`expert` holds raw states and executed actions, on the policy's device."""
        self.states, self.actions = expert.states, policy.clip(expert.actions)
        self.generator = stream(seed, ANCHOR)
        self.trust: Tensor | None = None
        """[A], how far labels that stand in for demonstrated actions count"""
        self.beta = beta * min(1.0, len(self.states) / ENOUGH_PAIRS)
        self.variance = float(self.actions.var(0, correction=0).sum())

    def relabel(
        self, actions: Tensor, trust: Tensor, states: Tensor | None = None, **_: Tensor
    ) -> None:
        """Hold to these labels [M, A] from now on, each dim as far as it is trusted [A].

        `states` [M, S]: in other states than so far.
        """
        if states is not None:
            self.states = states.to(self.states, copy=True)
        self.actions, self.trust = actions.to(self.actions, copy=True), trust.to(self.actions)
        self.variance = float(self.actions.var(0, correction=0).sum())

    def draw(self, policy: GaussianPolicy) -> DrawnTerms:
        """Some of the pairs as a term of the policy step; none without weight."""
        if self.beta == 0 or self.variance == 0:
            return DrawnTerms()
        rows = torch.randperm(len(self.states), generator=self.generator)[:MAX_ROWS]
        rows = rows.to(self.states.device)
        states = policy.normalize(self.states[rows])
        drawn = PenaltyRows(states, self.actions[rows], dim_weights=self.trust)
        return DrawnTerms((ANCHOR,), (drawn,), (self.beta / self.variance,))
