"""Fit a policy's mean to labels, with smoothness penalties: cloning, warm start, `smooth`.

    E |(mu(s) - label) / unit|^2 + sum of weight * R^pi

The squared error is differentiated by hand. A penalty needs a graph and costs most, so it may rest
on every few minibatches at a multiple of its weight: the same loss in expectation.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from spacil.config.penalty_terms import POLICY_PENALTIES, PenaltyKind, WeightedTerm
from spacil.config.train_config import TrainConfig
from spacil.engine.device import one_torch_thread
from spacil.engine.mlp_passes import Adam, add_parameter_cotangent, forward_trace
from spacil.errors import DivergedError
from spacil.learning.policy_step import total
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams
from spacil.smoothness.policy_terms import PenaltyRows, build_terms, draw_terms

Terms = Sequence[WeightedTerm]

SPREAD_FLOOR = 1e-3
"""Smallest fitted spread, in units: the logarithm of a perfect fit's would be infinite."""
CHECK_ROWS = 500
"""Most rows, evenly spaced, on which a penalty is measured between steps."""


@dataclass(frozen=True)
class LabelledRows:
    """States, and the mean actions asked for there: any between two bounds [B, A]."""

    rows: PenaltyRows
    """Normalised states, and what a penalty may read beside them"""
    lowest: Tensor
    highest: Tensor
    """The same as `lowest` where one action is right"""
    has_successor: Tensor | None = None
    """[B] bool; None: all rows have one"""

    def __len__(self) -> int:
        return len(self.lowest)

    def pick(self, chosen: Tensor) -> "LabelledRows":
        has_successor = None if self.has_successor is None else self.has_successor[chosen]
        lowest, highest = self.lowest[chosen], self.highest[chosen]
        return LabelledRows(self.rows.pick(chosen), lowest, highest, has_successor)

    def errors(self, mean: Tensor) -> Tensor:
        """Distance [B, A] to the nearest action asked for."""
        return mean - mean.clamp(self.lowest, self.highest)


class Regression:
    """A student and the optimiser of its mean; the spread has a closed form."""

    def __init__(
        self,
        config: TrainConfig,
        student: GaussianPolicy,
        streams: Streams,
        learning_rate: float,
        minibatch: int,
        penalized_fraction: float = 1.0,
        unit: Tensor | None = None,
    ) -> None:
        """`penalized_fraction` of a minibatch carries penalties; `unit` [A] is 1 in each action."""
        self.config, self.student, self.streams = config, student, streams
        self._learning_rate, self._minibatch, self._unit = learning_rate, minibatch, unit
        self._penalized_fraction = penalized_fraction
        student.log_std.requires_grad_(False)
        self.optimizer = Adam(student.mean_net, learning_rate)

    def fit(
        self,
        labelled: LabelledRows,
        terms: Terms,
        num_steps: int,
        *,
        penalty_interval: int = 1,
        last_rate: float = 1.0,
        check_interval: int = 1,
        on_check: Callable[[], object] | None = None,
    ) -> dict[str, float]:
        """Adam steps on shuffled minibatches; returns the mean of each summand of the loss.

        The step size falls to `last_rate` of itself along a half cosine. `on_check` is called
        every `check_interval` steps and after the last one.
        """
        sums: dict[str, Tensor] = {}
        num_rows = 0
        # Minibatches are small: a second thread would be waited for longer than it helps.
        with one_torch_thread():
            rows: list[Tensor] = []
            for step in range(1, num_steps + 1):
                if not rows:  # shuffled anew for each pass
                    order = torch.randperm(len(labelled), generator=self.streams.minibatch)
                    rows = list(order.to(labelled.lowest.device).split(self._minibatch))
                chosen = rows.pop(0)
                height = (1 + math.cos(math.pi * (step - 1) / num_steps)) / 2
                self.optimizer.learning_rate = self._learning_rate * (
                    last_rate + (1 - last_rate) * height
                )
                due = terms if step % penalty_interval == 0 else ()
                losses = self._step(labelled.pick(chosen), due, penalty_interval)
                for name, loss in losses.items():
                    sums[name] = sums.get(name, 0) + loss.detach() * len(chosen)
                num_rows += len(chosen)
                if on_check and (step % check_interval == 0 or step == num_steps):
                    on_check()
        return self._finite({name: float(value) / num_rows for name, value in sums.items()})

    def _step(self, labelled: LabelledRows, terms: Terms, scale: int) -> dict[str, Tensor]:
        """One Adam step on the squared error and on penalties at `scale` times their weight."""
        self.optimizer.zero_grad()
        losses: dict[str, Tensor] = {}
        if terms:
            penalties = self._penalties(labelled, terms, self._penalized_fraction)
            (scale * total(penalties)).backward()
            losses = {name: scale * value for name, value in penalties.items()}
        with torch.no_grad():
            layers = self.student.mean_net.weights_and_biases
            trace = forward_trace(layers, labelled.rows.states * self.student.normalizer.mask)
            errors = labelled.errors(trace.output)
            cotangent = (2 / len(labelled)) * errors
            if self._unit is not None:
                errors, cotangent = errors / self._unit, cotangent / self._unit.square()
            slopes = self.optimizer.gradients
            gradients = list(zip(slopes[::2], slopes[1::2], strict=True))
            add_parameter_cotangent(layers, trace, cotangent, gradients)
            losses["imitation"] = errors.square().sum(-1).mean()
        self.optimizer.step()
        return losses

    def _penalties(
        self, labelled: LabelledRows, terms: Terms, fraction: float
    ) -> dict[str, Tensor]:
        """Each weighted penalty on some rows."""
        student = self.student

        def rows_for(kind: PenaltyKind) -> PenaltyRows:
            rows = labelled.rows
            if kind.is_temporal and labelled.has_successor is not None:
                rows = rows.pick(labelled.has_successor)
            if kind is not POLICY_PENALTIES["lcp"]:
                return rows
            # It averages over the policy's own actions, and labels are not those.
            with torch.no_grad():
                mean = student.mean_of_normalized(rows.states)
                noise = torch.randn(mean.shape, generator=self.streams.action).to(mean)
                return replace(rows, actions=mean + student.log_std.exp() * noise)

        drawn = draw_terms(terms, rows_for, student, self.config, self.streams, fraction)
        built = build_terms(student, drawn, self.config, self._unit)
        return {
            f"penalty_{name}": weight * penalty()
            for (name, penalty), weight in zip(built.items(), drawn.weights, strict=True)
        }

    @torch.no_grad()
    def losses(self, labelled: LabelledRows, terms: Terms) -> dict[str, float]:
        """Each summand without a step: the error on all rows, penalties on evenly spaced ones."""
        errors = labelled.errors(self.student.mean_of_normalized(labelled.rows.states))
        losses = {"imitation": errors.square().sum(-1).mean()}
        if terms:
            stride = -(-len(labelled) // CHECK_ROWS)
            some = torch.arange(0, len(labelled), stride, device=errors.device)
            losses = self._penalties(labelled.pick(some), terms, fraction=1.0) | losses
        return self._finite({name: float(value) for name, value in losses.items()})

    @torch.no_grad()
    def fit_spread(self, labelled: LabelledRows, ceiling: float = math.inf) -> None:
        """The spread of greatest likelihood given the mean, in units at most `ceiling`."""
        errors = labelled.errors(self.student.mean_of_normalized(labelled.rows.states))
        unit = torch.ones_like(self.student.log_std) if self._unit is None else self._unit
        std = (errors / unit).square().mean(0).sqrt().clamp(SPREAD_FLOOR, ceiling)
        self.student.log_std.copy_((std * unit).log())

    def _finite(self, losses: dict[str, float]) -> dict[str, float]:
        if not all(math.isfinite(value) for value in losses.values()):
            raise DivergedError(
                f"the loss is {losses}; a smaller --clone-learning-rate (of smooth: "
                "--fit-learning-rate) may help"
            )
        return losses
