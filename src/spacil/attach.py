"""The exact smoothness penalty inside other people's training: a hook on an optimizer's step.

    attached = spacil.attach_penalty(optimizer, policy.mean, lambda: batch.states, weight=0.01)
    attached = spacil.attach_to_sb3(PPO("MlpPolicy", env), weight=0.01)

Just before each step the gradient of weight * E[sigma_max(d mu / d s)^2] is added to what the
optimizer is about to use. The training loop stays as it is; clipping and scaling of its own loss
have happened by then, and do not touch the penalty. Other libraries are never imported.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from spacil.errors import ConfigError, DivergedError
from spacil.functional.spectral import BatchFunction
from spacil.smoothness.policy_penalty import exact_policy_penalty

DEFAULT_STATES = 256
"""States per step that carry the penalty: a Jacobian costs many times a forward pass."""


class AttachedPenalty:
    """The penalty as it is attached; `remove()` takes it off again."""

    def __init__(
        self, optimizer: Optimizer, mean_action: BatchFunction, states: Any, weight: float
    ) -> None:
        self.weight = weight
        """May be changed at any time; 0 computes nothing"""
        self.value: float | None = None
        """E[sigma_max^2] at the last step; None before the first"""
        self._mean_action, self._states = mean_action, states
        self._handle = optimizer.register_step_pre_hook(self._add_gradient)

    def remove(self) -> None:
        self._handle.remove()

    def _add_gradient(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        # torch passes the optimizer itself as the first argument; the other can be a closure.
        if any(argument is not None for argument in (*args[1:], *kwargs.values())):
            raise ConfigError(
                f"{type(optimizer).__name__}.step was called with a closure, which computes the "
                "gradient anew and would lose the penalty's: call backward() and then step()"
            )
        states = self._states() if callable(self._states) else self._states
        if self.weight == 0 or states is None or len(states) == 0:
            return
        parameters = list(_parameters(optimizer))
        with torch.enable_grad():
            penalty = exact_policy_penalty(self._mean_action, _checked(states))()
            if not penalty.requires_grad:
                raise ConfigError("mean_action does not depend on any parameter of the optimizer")
            slopes = torch.autograd.grad(self.weight * penalty, parameters, allow_unused=True)
        if all(slope is None for slope in slopes):
            raise ConfigError("mean_action does not depend on any parameter of the optimizer")
        self.value = float(penalty.detach())
        if not np.isfinite(self.value):
            raise DivergedError(
                f"the smoothness penalty is {self.value}: a smaller weight may help"
            )
        for parameter, slope in zip(parameters, slopes, strict=True):
            if slope is None:
                continue
            parameter.grad = slope if parameter.grad is None else parameter.grad + slope


def attach_penalty(
    optimizer: Optimizer,
    mean_action: BatchFunction,
    states: Tensor | Callable[[], Tensor | None],
    *,
    weight: float,
) -> AttachedPenalty:
    """Add the exact penalty's gradient before every `optimizer.step()`.

    `mean_action`: states [B, S] -> mean actions [B, A], by parameters that the optimizer moves.
    `states`: [B, S] as the network reads them, or a function that returns those of this step;
    None or no rows: this step goes without a penalty. Slopes count per unit of these states.
    `weight`: on E[sigma_max^2]; 0.01 is a start where actions and states are of size 1.
    """
    if not 0 <= weight < float("inf"):
        raise ConfigError(f"weight is {weight}, expected a finite number of 0 or more")
    return AttachedPenalty(optimizer, mean_action, states, weight)


def attach_to_sb3(
    model: Any, *, weight: float, num_states: int = DEFAULT_STATES, seed: int = 0
) -> AttachedPenalty:
    """The same for a Stable-Baselines3 model: PPO and A2C, or SAC, TD3 and DDPG.

    Call it before `learn`. The states are a random choice from the model's own buffer, normalised
    where it normalises; the actions are in the units of the network, -1 to 1 if it squashes.
    """
    if num_states < 1:
        raise ConfigError(f"num_states is {num_states}, expected 1 or more")
    shape = getattr(getattr(model, "observation_space", None), "shape", None)
    if not shape or len(shape) != 1:
        raise ConfigError(f"{type(model).__name__}: only observations of shape (n,) are supported")
    generator = np.random.default_rng(seed)
    policy = model.policy
    if getattr(model, "rollout_buffer", None) is not None:

        def mean_action(states: Tensor) -> Tensor:
            mean: Tensor = policy.get_distribution(states).mode()
            return mean

        def states() -> Tensor | None:
            buffer = model.rollout_buffer
            rows = buffer.observations.reshape(-1, *shape)
            return _drawn(rows, len(rows), num_states, generator, model.device)

        return attach_penalty(policy.optimizer, mean_action, states, weight=weight)
    if getattr(model, "replay_buffer", None) is not None and hasattr(model, "actor"):
        return _attach_off_policy(model, weight, num_states, generator)
    raise ConfigError(
        f"{type(model).__name__}: expected a Stable-Baselines3 model with a rollout buffer (PPO, "
        "A2C) or a replay buffer and an actor (SAC, TD3, DDPG); use spacil.attach_penalty"
    )


def _attach_off_policy(
    model: Any, weight: float, num_states: int, generator: np.random.Generator
) -> AttachedPenalty:
    actor = model.actor
    options = {"deterministic": True} if hasattr(actor, "action_dist") else {}

    def mean_action(states: Tensor) -> Tensor:
        mean: Tensor = actor(states, **options)
        return mean

    def states() -> Tensor | None:
        buffer, normalizer = model.replay_buffer, model.get_vec_normalize_env()
        rows = buffer.observations.reshape(-1, *model.observation_space.shape)
        size = (buffer.buffer_size if buffer.full else buffer.pos) * buffer.n_envs
        if size == 0:
            return None
        found = _drawn(rows, size, num_states, generator, model.device)
        if normalizer is None:
            return found
        normalized = normalizer.normalize_obs(found.cpu().numpy())
        return torch.as_tensor(normalized, dtype=torch.float32, device=model.device)

    return attach_penalty(actor.optimizer, mean_action, states, weight=weight)


def _drawn(
    rows: Any, size: int, wanted: int, generator: np.random.Generator, device: Any
) -> Tensor:
    """Some of the first `size` rows, from a generator of their own: the run's draws stay."""
    chosen = generator.integers(size, size=min(wanted, size))
    return torch.as_tensor(rows[chosen], dtype=torch.float32, device=device)


def _parameters(optimizer: Optimizer) -> Iterator[Tensor]:
    for group in optimizer.param_groups:
        yield from (parameter for parameter in group["params"] if parameter.requires_grad)


def _checked(states: object) -> Tensor:
    if not isinstance(states, Tensor) or states.ndim != 2:
        shape = tuple(getattr(states, "shape", ()))
        raise ConfigError(f"states have shape {shape}, expected a tensor [B, S]")
    return states.detach()
