"""Policies that rsl_rl trained: an actor in memory, or the checkpoint of a run. Not imported.

A checkpoint is read with torch's `weights_only`, which runs no code. It does not say which
activation its MLP has: the runner's config beside it does (`params/agent.yaml`), which Isaac Lab
and mjlab write.
"""

import re
from collections.abc import Mapping
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from spacil.errors import DataError
from spacil.functional.sensitivity import BatchFunction
from spacil.policies.policy import OwnFrame, Policy, guarded, refuse_nonfinite

ACTIVATIONS = {
    "elu": nn.ELU,
    "selu": nn.SELU,
    "relu": nn.ReLU,
    "lrelu": nn.LeakyReLU,
    "tanh": nn.Tanh,
    "gelu": nn.GELU,
    "swish": nn.SiLU,
    "mish": nn.Mish,
}
CONFIG = "params/agent.yaml"
EPSILON = 1e-2
"""What rsl_rl's normaliser adds to a standard deviation"""
_LAYOUTS = (("mlp.", "obs_normalizer."), ("actor.", "actor_obs_normalizer."))
"""Prefixes of the MLP and its normaliser: since rsl_rl 4, and before"""


def is_actor(policy: object) -> bool:
    """Whether it is the actor of an rsl_rl runner (`runner.get_inference_policy()`)."""
    return isinstance(policy, nn.Module) and all(
        hasattr(policy, name) for name in ("obs_groups", "mlp", "obs_normalizer", "distribution")
    )


def from_actor(actor: Any) -> Policy:
    """The mean action of an MLP actor on its observation groups, put together in their order."""
    name, kind = type(actor).__name__, type(actor.distribution).__name__
    if actor.is_recurrent or kind not in ("NoneType", "GaussianDistribution"):
        raise DataError(
            f"{name} ({kind}): only an MLP with a Gaussian is read; pass a function of the raw "
            "observations that returns the mean action"
        )
    refuse_nonfinite(actor, name)
    activation = next((type(part) for part in actor.mlp if not isinstance(part, nn.Linear)), nn.ELU)
    return _policy(actor.state_dict(), activation, name)


def from_checkpoint(path: Path) -> Policy:
    """`model_1500.pt` of an rsl_rl run."""
    try:
        saved: Any = torch.load(path, map_location="cpu", weights_only=True)
        tensors: dict[str, Tensor] = saved.get("actor_state_dict") or saved["model_state_dict"]
    except Exception as error:
        raise DataError(
            f"{path}: is no checkpoint of rsl_rl that holds weights alone "
            f"({type(error).__name__}); expected model_*.pt of a runner, with actor_state_dict"
        ) from error
    config = next(
        (p / CONFIG for p in (path.parent, *path.parents) if (p / CONFIG).is_file()), None
    )
    words = "" if config is None else config.read_text(encoding="utf-8", errors="replace")
    found = re.search(
        r"^(?:actor|policy):(?:\n[ \t].*)*?\n[ \t]+activation: *['\"]?(\w+)", words, re.M
    )
    if found is None or found[1] not in ACTIVATIONS:
        raise DataError(
            f"{path}: which activation its actor has is not known; expected {CONFIG} of the run, "
            f"in its folder or above, with one of {', '.join(ACTIVATIONS)}"
        )
    return _policy(tensors, ACTIVATIONS[found[1]], str(path))


def _policy(saved: Mapping[str, Tensor], activation: type[nn.Module], name: str) -> Policy:
    tensors = {key: tensor.detach().float().cpu() for key, tensor in saved.items()}
    prefix, of_normalizer = next(
        (layout for layout in _LAYOUTS if f"{layout[0]}0.weight" in tensors), ("", "")
    )
    weights = [
        t for key, t in tensors.items() if prefix and re.fullmatch(prefix + r"\d+\.weight", key)
    ]
    biases = [
        t for key, t in tensors.items() if prefix and re.fullmatch(prefix + r"\d+\.bias", key)
    ]
    widths = [weight.shape for weight in weights]
    fits = all(b.shape == w[:1] for b, w in zip(biases, widths, strict=False))
    chained = all(a[0] == b[1] for a, b in pairwise(widths))
    if not weights or len(biases) != len(weights) or not fits or not chained:
        raise DataError(f"{name}: no MLP actor in it; expected {_LAYOUTS[0][0]}0.weight and so on")
    layers = [nn.Linear(width[1], width[0]) for width in widths]
    for layer, weight, bias in zip(layers, weights, biases, strict=True):
        layer.weight.data, layer.bias.data = weight.clone(), bias.clone()
    parts = chain.from_iterable((layer, activation()) for layer in layers[:-1])
    net = nn.Sequential(*parts, layers[-1]).eval().requires_grad_(False)
    refuse_nonfinite(net, name)
    num_states, num_actions = widths[0][1], widths[-1][0]
    shift, scale = torch.zeros(num_states), torch.ones(num_states)
    if f"{of_normalizer}_std" in tensors:
        shift = tensors[f"{of_normalizer}_mean"].flatten()
        scale = (tensors[f"{of_normalizer}_std"].flatten() + EPSILON).reciprocal()
    std = tensors.get("distribution.std_param", tensors.get("std"))
    if (log_std := tensors.get("distribution.log_std_param", tensors.get("log_std"))) is not None:
        std = log_std.exp()

    def normalize(states: Tensor) -> Tensor:
        return (states - shift) * scale

    mean: BatchFunction = guarded(lambda states: net(normalize(states)), name)
    return Policy(
        name=name,
        kind="rsl_rl",
        mean=mean,
        num_states=num_states,
        num_actions=num_actions,
        own=OwnFrame(normalize, net, scale, float("inf")),
        std=std if std is not None and std.shape == (num_actions,) else None,
    )
