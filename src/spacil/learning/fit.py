"""One round's fit of the student: squared error to the labels, with two smoothness penalties.

    E |mu(s) - label|^2 + exact E[sigma_max(d mu / d s)] + cats E |clip(mu(s')) - clip(mu(s))|^2

all in half ranges of the actions, so that weights mean the same whatever the units of an env.

Errors and changes are those of executed actions: a teacher that switches between its bounds has
means far beyond them, and following those would cost slopes that no motor feels. The slope is not
squared: this is J itself, and where one switch is needed a steep one costs no more than a slow one.

Each fit starts at the full step size and lets it fall along a half cosine: the student that acts
next has settled, and a longer run repeats a shorter one. Later fits are longer, by the root of
the number of rounds: there is more to fit, and what is left of the error is in the details.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from spacil.config.learning import DistilConfig
from spacil.config.smoothing import PolicyPenaltyConfig
from spacil.engine.adam import Adam
from spacil.engine.mlp_passes import Layer, add_parameter_cotangent, forward_trace
from spacil.engine.slope_passes import add_slope_gradient, input_jacobian
from spacil.engine.torch_threads import one_torch_thread
from spacil.envs.vector_env import EnvSpec
from spacil.errors import ConfigError, DivergedError
from spacil.functional.spectral import top_left_vector
from spacil.learning.labelled_states import TrainingRows
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams

SPREAD_FLOOR, SPREAD_CEILING = 1e-3, 0.3
"""Of the fitted spread, in half ranges: a perfect fit's logarithm would be infinite, and a bad
one's noise would show nothing but falls."""
LAST_RATE = 0.02
"""The last step's size, of the first one's."""
LEAST_SLOPE = 0.01
"""Half ranges per normalised state: below it nothing is left to smooth, and a length has no
gradient at 0."""


@dataclass(frozen=True)
class Weights:
    """Of the two penalties, beside an error in squared half ranges."""

    exact: float
    """Per half range and unit of the normalised state"""
    cats: float
    """Per step"""

    def times(self, exact: float, cats: float) -> "Weights":
        return Weights(exact * self.exact, cats * self.cats)


def given_weights(config: PolicyPenaltyConfig) -> Weights:
    """Those of `--penalty exact=W cats=W`; one that is not named has none."""
    found = {term.name: term.weight for term in config.terms}
    if others := sorted(found.keys() - {"exact", "cats"}):
        raise ConfigError(
            f"--penalty {others[0]}: smooth takes exact, for all directions, and cats, along time"
        )
    return Weights(found.get("exact", 0.0), found.get("cats", 0.0))


@dataclass(frozen=True)
class Units:
    """What counts as one unit of each action, [A] each."""

    low: Tensor
    high: Tensor
    half_range: Tensor
    """1 where a bound is open"""

    @classmethod
    def of(cls, spec: EnvSpec) -> "Units":
        low, high = torch.from_numpy(spec.action_low), torch.from_numpy(spec.action_high)
        half = (high - low) / 2
        return cls(low, high, torch.where(torch.isfinite(half) & (half > 0), half, 1.0))


def fit(
    student: GaussianPolicy,
    optimizer: Adam,
    rows: TrainingRows,
    weights: Weights,
    units: Units,
    settings: DistilConfig,
    num_rounds: int,
    streams: Streams,
) -> dict[str, float]:
    """Adam on random minibatches; the mean of each summand of the loss over the second half.

    On one thread: matrices this small gain nothing from a second one, and where another program has
    that core, every product waits for it.
    """
    sums = torch.zeros(3)
    num_steps = round(settings.fit_steps * math.sqrt(num_rounds))
    first_counted = num_steps // 2
    num_slopes = max(1, settings.fit_minibatch // 4)  # a Jacobian costs many times an error
    with one_torch_thread():
        for step in range(num_steps):
            optimizer.learning_rate = settings.fit_learning_rate * _height(step / num_steps)
            batch = torch.randint(len(rows), (settings.fit_minibatch,), generator=streams.minibatch)
            optimizer.zero_grad()
            losses = [*_error_and_change(student, optimizer, rows, batch, weights.cats, units)]
            few = batch[:num_slopes]
            losses.append(_slope(student, optimizer, rows.states[few], weights.exact, units))
            optimizer.step()
            if step >= first_counted:
                sums += torch.stack(losses)
    mean = (sums / (num_steps - first_counted)).tolist()
    return _finite(dict(zip(("imitation", "penalty_cats", "penalty_exact"), mean, strict=True)))


@torch.no_grad()
def fit_spread(student: GaussianPolicy, states: Tensor, labels: Tensor, units: Units) -> None:
    """The student explores as far as it errs: its spread becomes that of its own errors.

    Where it already follows the teacher it acts almost exactly; where not, the noise shows it the
    states that its errors lead to.
    """
    bounds = units.low, units.high
    errors = (labels.clamp(*bounds) - student.mean(states).clamp(*bounds)) / units.half_range
    std = errors.square().mean(0).sqrt().clamp(SPREAD_FLOOR, SPREAD_CEILING)
    student.log_std.copy_((std * units.half_range).log())


@torch.no_grad()
def _error_and_change(
    student: GaussianPolicy,
    optimizer: Adam,
    rows: TrainingRows,
    batch: Tensor,
    weight: float,
    units: Units,
) -> tuple[Tensor, Tensor]:
    """Squared error and weighted temporal penalty; adds the gradient of both.

    By hand, from one pass over states and successors together: there is no graph to build.
    """
    size, layers = len(batch), student.mean_net.tanh_layers
    inputs = rows.states[torch.cat([batch, rows.successors[batch]])] * student.normalizer.mask
    trace = forward_trace(layers, inputs)
    error = _felt_error(trace.output[:size], rows.labels[batch], units) / units.half_range
    executed = trace.output.clamp(units.low, units.high)
    change = (executed[size:] - executed[:size]) / units.half_range
    # In episodes of one step no state has a successor.
    scale = weight / rows.share_followed if rows.share_followed else 0.0
    cotangent = torch.cat([error - scale * change, scale * change]) * (2 / size)
    # Beyond the bounds the executed action does not move.
    is_free = trace.output == executed
    cotangent[size:] *= is_free[size:]
    cotangent[:size] += (~is_free[:size]) * (2 / size) * scale * change
    add_parameter_cotangent(layers, trace, cotangent / units.half_range, _gradients(optimizer))
    return error.square().sum(-1).mean(), scale * change.square().sum(-1).mean()


def _felt_error(means: Tensor, labels: Tensor, units: Units) -> Tensor:
    """Distance [B, A] to the nearest mean that is executed as the label is.

    A teacher that switches between its bounds has means far beyond them. Any mean beyond the same
    bound does the same, and the student need not climb after it.
    """
    above, below = labels >= units.high, labels <= units.low
    nearest = torch.where(above, means.maximum(units.high), labels)
    return means - torch.where(below, means.minimum(units.low), nearest)


@torch.no_grad()
def _slope(
    student: GaussianPolicy, optimizer: Adam, states: Tensor, weight: float, units: Units
) -> Tensor:
    """The weighted J; adds its gradient, with both worst directions frozen (Danskin)."""
    if weight == 0:
        return states.new_zeros(())
    layers, mask = student.mean_net.tanh_layers, student.normalizer.mask
    trace = forward_trace(layers, states * mask)
    jacobians = input_jacobian(layers, trace) * mask / units.half_range.unsqueeze(-1)
    worst = top_left_vector(jacobians)
    reaction = (worst.unsqueeze(1) @ jacobians).squeeze(1)
    slope: Tensor = torch.linalg.vector_norm(reaction, dim=-1, keepdim=True)
    is_felt = slope > LEAST_SLOPE
    direction = is_felt * mask * reaction / slope.clamp_min(LEAST_SLOPE)
    outputs = worst / units.half_range * (weight / len(states))
    add_slope_gradient(layers, trace, outputs, direction, _gradients(optimizer))
    return weight * slope.clamp_min(LEAST_SLOPE).mean()


def _gradients(optimizer: Adam) -> list[Layer]:
    """Of weight and bias of each layer, which a pass adds to."""
    slopes = optimizer.gradients
    return list(zip(slopes[::2], slopes[1::2], strict=True))


def _height(progress: float) -> float:
    """A half cosine from 1 down to `LAST_RATE`."""
    return LAST_RATE + (1 - LAST_RATE) * (1 + math.cos(math.pi * progress)) / 2


def _finite(losses: dict[str, float]) -> dict[str, float]:
    if not all(math.isfinite(value) for value in losses.values()):
        raise DivergedError(
            f"smoothing: the loss is {losses}; a smaller --fit-learning-rate may help"
        )
    return losses
