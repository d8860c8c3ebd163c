"""Third-party policies: torch modules, Stable-Baselines3 models, ONNX files, plain functions.

Each becomes a `Policy` on raw observations. Stable-Baselines3 is never imported: a model is
recognised by its attributes. Its observation normaliser, if it has one, is part of the policy.
"""

import copy
import logging
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from spacil.errors import ConfigError, DataError
from spacil.functional.sensitivity import BatchFunction
from spacil.policies.file import conditions_in
from spacil.policies.onnx import read_onnx
from spacil.policies.policy import OwnFrame, Policy, guarded, refuse_nonfinite
from spacil.policies.rsl_rl import from_actor, is_actor
from spacil.storage import parse_json

_logger = logging.getLogger(__name__)

_SLOPES_WITHIN_0_1 = (nn.Tanh, nn.ReLU, nn.Identity, nn.Dropout, nn.Flatten)
"""Activations (dropout as it is in evaluation) under which the certificate is sound."""


def from_memory(policy: object) -> Policy | None:
    """A Stable-Baselines3 model or the policy inside one, a torch module or a function.

    A module maps raw observations [B, S] to mean actions [B, A]; a function does so with float32
    arrays of numpy. None for anything else.
    """
    inner = getattr(policy, "policy", policy)
    marks = ("obs_to_tensor", "observation_space", "action_space")
    if isinstance(inner, nn.Module) and all(hasattr(inner, name) for name in marks):
        return _from_sb3(policy)
    if is_actor(policy):
        return from_actor(policy)
    if isinstance(policy, nn.Module):
        name = type(policy).__name__
        frozen = _frozen_copy(policy, name)
        floats = (p.dtype for p in frozen.parameters() if p.dtype.is_floating_point)
        dtype = next(floats, torch.float32)
        if dtype.itemsize < torch.float32.itemsize:  # slopes are not known to three digits
            frozen, dtype = frozen.float(), torch.float32
        weights = certifiable_weights(frozen)
        return Policy(
            name=name,
            kind="module",
            mean=guarded(lambda states: frozen(states.to(dtype)), name),
            num_states=None if weights is None else weights[0].shape[1],
            num_actions=None if weights is None else weights[-1].shape[0],
            dtype=dtype,
            weights=weights,
        )
    if callable(policy):
        name, call = getattr(policy, "__name__", type(policy).__name__), policy
        act = guarded(lambda states: _answer(call, states.to(torch.float32, copy=True)), name)
        return Policy(name, "callable", act, has_gradients=False)
    return None


def from_onnx(path: Path) -> Policy:
    """An ONNX file with one input, the raw observations, and one output, the actions."""
    opened = read_onnx(path, torch.get_num_threads())
    return Policy(
        name=str(path),
        kind="onnx",
        mean=guarded(lambda states: _answer(opened.act, states), str(path)),
        num_states=opened.num_states,
        num_actions=opened.num_actions,
        has_gradients=False,
        task=opened.task,
        conditions=conditions_in(parse_json(opened.conditions.encode(), path), path),
        path=str(path),
    )


# --- Stable-Baselines3 ------------------------------------------------------------------------


def _from_sb3(model: Any) -> Policy:
    """The mean action of a model in memory, on raw observations.

    A model trained behind VecNormalize reads normalised observations; without its statistics a
    different policy would be measured.
    """
    inner = getattr(model, "policy", model)
    name = f"{type(model).__name__} ({type(inner).__name__})"
    num_states = _only_axis(inner.observation_space, "observations", name)
    num_actions = _only_axis(inner.action_space, "actions", name)
    policy: Any = _frozen_copy(inner, name)
    mean = guarded(_sb3_mean(policy), name)
    own = _vec_normalize_frame(model, mean)
    # One number per action, or noise that depends on the state and is not known.
    log_std: Any = getattr(policy, "log_std", None)
    is_squashed = policy.squash_output
    has_other_std = is_squashed or getattr(log_std, "shape", None) != (num_actions,)
    # The usual MlpPolicy, whose features are the observation, can be certified.
    body: Any = getattr(getattr(policy, "mlp_extractor", None), "policy_net", None)
    head: Any = getattr(policy, "action_net", None)
    is_plain = type(getattr(policy, "features_extractor", None)).__name__ == "FlattenExtractor"
    is_mlp = is_plain and isinstance(body, nn.Sequential) and isinstance(head, nn.Linear)
    if own is None and getattr(model, "env", inner) is None:
        _logger.warning(
            "%s was loaded without an env and is taken to read raw observations; if it was trained "
            "behind VecNormalize, load it with that env, or another policy is measured",
            name,
        )
    return Policy(
        name=name,
        kind="stable-baselines3",
        mean=mean if own is None else lambda states: own.mean(own.normalize(states)),
        num_states=num_states,
        num_actions=num_actions,
        action_bounds=_bounds(policy.action_space),
        own=own,
        std=None if has_other_std else log_std.detach().exp(),
        weights=certifiable_weights(nn.Sequential(body, head))
        if is_mlp and not is_squashed
        else None,
    )


def _sb3_mean(policy: Any) -> BatchFunction:
    """The mode of the action distribution, in the units of the env, before clipping."""
    low, high = _bounds(policy.action_space)
    has_distribution = hasattr(policy, "get_distribution")

    def mean(states: Tensor) -> Tensor:
        actions: Tensor = (
            policy.get_distribution(states).mode()
            if has_distribution
            else policy(states, deterministic=True)
        )
        # Squashed policies return actions in [-1, 1], which their `predict` rescales.
        return low + 0.5 * (actions + 1) * (high - low) if policy.squash_output else actions

    return mean


def _vec_normalize_frame(model: Any, mean: BatchFunction) -> OwnFrame | None:
    find = getattr(model, "get_vec_normalize_env", None)
    wrapper = find() if callable(find) else None
    if wrapper is None or not wrapper.norm_obs:
        return None
    rms = wrapper.obs_rms
    return normalizing_frame(rms.mean, rms.var, wrapper.epsilon, wrapper.clip_obs, mean)


def normalizing_frame(
    shift: Any, variance: Any, epsilon: float, clip: float, mean: BatchFunction
) -> OwnFrame:
    """Statistics of VecNormalize in front of a policy's mean action."""
    shift = torch.as_tensor(shift, dtype=torch.float32)
    scale = (torch.as_tensor(variance, dtype=torch.float64) + epsilon).rsqrt().float()

    def normalize(states: Tensor) -> Tensor:
        normalized: Tensor = ((states - shift) * scale).clamp(-clip, clip)
        return normalized

    return OwnFrame(normalize, mean, scale, clip)


def _bounds(space: Any) -> tuple[Tensor, Tensor]:
    return torch.as_tensor(space.low), torch.as_tensor(space.high)


def _only_axis(space: Any, noun: str, name: str) -> int:
    shape = getattr(space, "shape", None)
    if shape is None or len(shape) != 1 or not hasattr(space, "low"):
        raise ConfigError(f"{name}: its {noun} are {space}; only a Box of shape (n,) is supported")
    return int(shape[0])


# --- torch ------------------------------------------------------------------------------------


def certifiable_weights(module: nn.Module) -> tuple[Tensor, ...] | None:
    """The weights of a plain Sequential of linear layers, tanh and ReLU; None for anything else.

    By exact type: what a module of another class computes is not known from its layers, even where
    its `forward` only calls a Sequential, and a bound must not guess.
    """
    layers = [module]
    while any(type(layer) is nn.Sequential for layer in layers):
        nested = (layer if type(layer) is nn.Sequential else [layer] for layer in layers)
        layers = list(chain.from_iterable(nested))
    if not all(type(layer) is nn.Linear or type(layer) in _SLOPES_WITHIN_0_1 for layer in layers):
        return None
    weights = tuple(layer.weight.detach() for layer in layers if isinstance(layer, nn.Linear))
    return weights or None


def _frozen_copy(module: nn.Module, name: str) -> nn.Module:
    """Measured instead of the original: on the CPU, in evaluation mode, without gradients."""
    refuse_nonfinite(module, name)
    # Stable-Baselines3 keeps its last distribution, whose graph cannot be copied.
    kept = (getattr(part, "action_dist", None) for part in module.modules())
    memo = {id(last): copy.copy(last) for last in kept if last is not None}
    try:
        frozen = copy.deepcopy(module, memo)
    except Exception as error:
        raise DataError(
            f"{name}: cannot be copied ({type(error).__name__}: {error}); "
            "pass a function that calls it instead"
        ) from error
    for parameter in frozen.parameters():  # TorchScript has no `requires_grad_`
        parameter.detach_()
    return frozen.cpu().eval()


def _answer(function: Callable[..., object], states: Tensor) -> object:
    """A numeric array as a tensor of its precision; anything else unchanged, to be refused."""
    actions = function(states.detach().numpy())
    array: NDArray[Any] = np.asarray(actions.detach() if isinstance(actions, Tensor) else actions)
    if array.dtype.kind not in "fiu":
        return actions
    return torch.from_numpy(array.astype(np.float64 if array.dtype == np.float64 else np.float32))
