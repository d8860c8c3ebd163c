"""Filters on a policy's actions: what smoothing after the fact gives, beside a smooth policy.

Each wraps an actor and remembers the episode so far, so it is made anew for every wave:

    play(env, partial(with_low_pass, act, 0.2), num_episodes)

A filter begins at rest at the first action: an actor that always wants the same gets it from the
first step on. It works on what the actor wants; hand it a clipping actor where it is to work on
what could be executed.
"""

import math
from collections import deque
from typing import Literal

import torch
from torch import Tensor

from spacil.envs.episodes import Actor
from spacil.errors import ConfigError

Order = Literal[1, 2]


def with_moving_average(act: Actor, strength: float) -> Actor:
    """Exponential moving average: a_t = strength a_{t-1} + (1 - strength) u_t."""
    if not 0 <= strength < 1:
        raise ConfigError(f"the moving average's strength is {strength}, expected 0 to below 1")
    return _filtered(act, wanted=(1 - strength,), given=(strength,))


def with_low_pass(act: Actor, cutoff: float, order: Order = 1) -> Actor:
    """Butterworth low-pass by the bilinear transform; `cutoff` as a fraction of Nyquist, 0 to 1.

    At the cutoff the gain is 1 / sqrt(2). With k = tan(pi cutoff / 2):

    order 1   (1 + k) a_t = k (u_t + u_{t-1}) + (1 - k) a_{t-1}
    order 2   (1 + k sqrt(2) + k^2) a_t = k^2 (u_t + 2 u_{t-1} + u_{t-2})
                                          + 2 (1 - k^2) a_{t-1} - (1 - k sqrt(2) + k^2) a_{t-2}
    """
    if not 0 < cutoff < 1:
        raise ConfigError(f"the low-pass cutoff is {cutoff} of Nyquist, expected between 0 and 1")
    k = math.tan(math.pi * cutoff / 2)
    if order == 1:
        scale = 1 + k
        return _filtered(act, (k / scale, k / scale), ((1 - k) / scale,))
    root = k * math.sqrt(2)
    scale = 1 + root + k**2
    return _filtered(
        act,
        (k**2 / scale, 2 * k**2 / scale, k**2 / scale),
        (2 * (1 - k**2) / scale, -(1 - root + k**2) / scale),
    )


def _filtered(act: Actor, wanted: tuple[float, ...], given: tuple[float, ...]) -> Actor:
    """a_t = sum_i wanted_i u_{t-i} + sum_i given_i a_{t-1-i}; the coefficients add up to 1."""
    inputs: deque[Tensor] = deque(maxlen=len(wanted))
    outputs: deque[Tensor] = deque(maxlen=len(given))

    def act_filtered(states: Tensor) -> Tensor:
        action = act(states).clone()  # the actor may answer into the same memory again
        if not outputs:  # at rest where the episode begins
            inputs.extend([action] * len(wanted))
            outputs.extend([action] * len(given))
        inputs.appendleft(action)
        filtered = torch.zeros_like(action)
        for factor, past in zip((*wanted, *given), (*inputs, *outputs), strict=True):
            filtered += factor * past
        outputs.appendleft(filtered)
        return filtered

    return act_filtered
