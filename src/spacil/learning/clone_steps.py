"""A quick clone: so many Adam steps, whatever the number of demonstrations.

An epoch of 300 pairs is three steps, and forty of them clone nothing; counted in steps, few
demonstrations are cloned as thoroughly as many. The squared error is differentiated by hand, and
the penalty, which needs a graph and costs most, rests on every few minibatches at a multiple of its
weight: the same loss in expectation. Otherwise it is `cloner.py`: the same student, minibatches,
held-out episodes, and the policy that did best on them.
"""

import copy
from collections.abc import Iterator

import torch
from torch import Tensor

from spacil.config.flat import with_settings
from spacil.engine.mlp_passes import add_parameter_cotangent, forward_trace
from spacil.engine.torch_threads import one_torch_thread
from spacil.learning.cloner import (
    Cloner,
    Terms,
    finite_losses,
    fit_spread,
    keep_if_best,
    losses_on,
)
from spacil.learning.objectives import total
from spacil.learning.pairs import Pairs
from spacil.nets.policy import GaussianPolicy

PENALTY_INTERVAL = 8
"""Minibatches from one that carries the penalty to the next."""
CHECK_INTERVAL = 100
"""Steps between two looks at the held-out pairs."""
CHECK_ROWS = 500
"""Held-out pairs that carry the penalty in a look, at most, evenly spaced."""


def clone_in_steps(cloner: Cloner, num_steps: int) -> GaussianPolicy:
    """`num_steps` Adam steps; returns the policy of the lowest held-out loss, on the CPU.

    `cloner.counters` then count looks, not epochs.
    """
    terms = tuple(term for term in cloner.config.policy_penalty.terms if term.weight > 0)
    # A second thread would be waited for longer than it helps: minibatches are small.
    with one_torch_thread():
        for step, rows in zip(range(1, num_steps + 1), _minibatches(cloner), strict=False):
            carries_penalty = bool(terms) and step % PENALTY_INTERVAL == 0
            _step(cloner, rows, terms if carries_penalty else ())
            if step % CHECK_INTERVAL == 0 or step == num_steps:
                _look(cloner, terms)
    return copy.deepcopy(cloner.policy)


def _minibatches(cloner: Cloner) -> Iterator[Tensor]:
    """Rows of the taught pairs, shuffled anew after each pass; never ends."""
    size, device = len(cloner.taught.actions), cloner.taught.actions.device
    while True:
        order = torch.randperm(size, generator=cloner.streams.minibatch).to(device)
        yield from order.split(cloner.config.bc.clone_minibatch)


def _step(cloner: Cloner, rows: Tensor, terms: Terms) -> None:
    """One Adam step on E|a - mu|^2, and on penalties at `PENALTY_INTERVAL` times their weight."""
    student, optimizer, pairs = cloner.student, cloner.optimizer, cloner.taught.pick(rows)
    optimizer.zero_grad()
    if terms:
        summands = losses_on(cloner, pairs, cloner.config, terms)
        del summands["imitation"]
        (PENALTY_INTERVAL * total(summands)).backward()
    with torch.no_grad():
        layers = student.mean_net.tanh_layers
        trace = forward_trace(layers, pairs.rows.states * student.normalizer.mask)
        slopes = optimizer.gradients
        gradients = list(zip(slopes[::2], slopes[1::2], strict=True))
        cotangent = (2 / len(rows)) * (trace.output - pairs.actions)
        add_parameter_cotangent(layers, trace, cotangent, gradients)
    optimizer.step()


@torch.no_grad()
def _look(cloner: Cloner, terms: Terms) -> None:
    """Fit the spread, and keep the student if its held-out loss is the lowest so far."""
    fit_spread(cloner)
    cloner.counters.iteration += 1
    loss = None
    if cloner.has_heldout:
        student, heldout = cloner.student, cloner.heldout
        errors = heldout.actions - student.mean_of_normalized(heldout.rows.states)
        summands = {"imitation": float(errors.square().sum(-1).mean())}
        if terms:
            config = with_settings(cloner.config, {"penalty_state_fraction": 1.0})
            penalized = losses_on(cloner, _some(heldout), config, terms)
            summands = {name: float(value) for name, value in penalized.items()} | summands
        loss = sum(finite_losses(summands).values())
    keep_if_best(cloner, loss)


def _some(pairs: Pairs) -> Pairs:
    stride = -(-len(pairs.actions) // CHECK_ROWS)
    return pairs.pick(torch.arange(0, len(pairs.actions), stride, device=pairs.actions.device))
