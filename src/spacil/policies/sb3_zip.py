"""Stable-Baselines3's own files, read without running a pickle and without the library.

The .zip holds its networks as tensors, which torch reads with `weights_only`, and as JSON what kind
of policy they are. Only the usual MlpPolicy of PPO, A2C, SAC, TD3 and DDPG is rebuilt from that;
anything else is refused rather than guessed. Statistics of VecNormalize are in a pickle: its
instructions are listed, none is carried out, and the numbers stand among them.
"""

import io
import json
import logging
import pickletools
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from spacil.errors import DataError
from spacil.foreign import Arrays, read_foreign
from spacil.policies.policy import OwnFrame, Policy, guarded
from spacil.policies.third_party import certifiable_weights, normalizing_frame

_logger = logging.getLogger(__name__)
_MAX_BYTES = 2**28
"""Most bytes of networks, so that a small file cannot fill the memory"""
_ACTIVATIONS = {each.__name__: each for each in (nn.Tanh, nn.ReLU, nn.ELU, nn.SiLU, nn.GELU)}
_LAYOUTS = {
    "stable_baselines3.common.policies": ("mlp_extractor.policy_net", "action_net", "Tanh"),
    "stable_baselines3.sac.policies": ("actor.latent_pi", "actor.mu", "ReLU"),
    "stable_baselines3.td3.policies": ("actor.mu", "", "ReLU"),
}
"""Module of the policy's class -> its hidden layers, its last one (where that is apart), and the
activation that it has unless told"""
_STATISTICS = """\
{path}: not the statistics that VecNormalize.save writes today ({reason}). These two lines write \
them in a form that is read, and --vecnormalize takes that file:
    v = VecNormalize.load("{path}", venv)
    numpy.savez("statistics.npz", mean=v.obs_rms.mean, var=v.obs_rms.var, epsilon=v.epsilon, \
clip=v.clip_obs)"""


def open_sb3_zip(path: Path, statistics: Path | None, refusal: str) -> Policy:
    """The policy of a .zip, on raw observations; `refusal` says what to do where it is unusual."""
    try:
        tensors, about = read_foreign(_read_zip, path, "torch")
        net, low, high, is_squashed = _rebuilt(tensors, about)
    except (KeyError, ValueError, DataError) as error:
        raise DataError(f"{refusal}\n(It is no usual MlpPolicy: {error})") from None

    def mean(states: Tensor) -> Tensor:
        actions: Tensor = net(states)
        return low + 0.5 * (actions.tanh() + 1) * (high - low) if is_squashed else actions

    weights, log_std, own = certifiable_weights(net), tensors.get("log_std"), None
    num_states = next(net.parameters()).shape[1]
    act = guarded(mean, str(path))
    if statistics is not None:
        own = _frame_of(statistics, num_states, act)
    else:
        _logger.warning(
            "%s is taken to read raw observations; if it was trained behind VecNormalize, give its "
            "statistics with --vecnormalize FILE, or another policy is measured",
            path,
        )
    return Policy(
        name=str(path),
        kind="stable-baselines3",
        mean=act if own is None else lambda states: own.mean(own.normalize(states)),
        num_states=num_states,
        num_actions=len(low),
        action_bounds=(low, high),
        own=own,
        # One number per action, or noise that depends on the state and is not known.
        std=None if log_std is None or log_std.shape != low.shape else _tensor(log_std).exp(),
        weights=None if is_squashed else weights,
        path=str(path),
    )


def _read_zip(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """Tensors by name, and the JSON of the parts that say what they are."""
    with zipfile.ZipFile(path) as file:
        names = ("policy.pth", "data")
        sizes = {entry.filename: entry.file_size for entry in file.infolist()}
        if not {*names} <= sizes.keys() or sum(map(sizes.__getitem__, names)) > _MAX_BYTES:
            raise DataError(f"{path}: holds no policy.pth and data of Stable-Baselines3")
        weights, data = map(file.read, names)
    tensors = torch.load(io.BytesIO(weights), map_location="cpu", weights_only=True)
    known = json.loads(data)
    parts = ("policy_class", "policy_kwargs", "observation_space", "action_space")
    about = {
        name: {key: text for key, text in known[name].items() if key != ":serialized:"}
        for name in parts
    }
    return {name: tensor.numpy() for name, tensor in tensors.items()}, about


def _rebuilt(
    tensors: Arrays, about: Mapping[str, Mapping[str, Any]]
) -> tuple[nn.Sequential, Tensor, Tensor, bool]:
    """The actor without its squashing, the bounds of actions, and whether it squashes."""
    home, kwargs = about["policy_class"]["__module__"], about["policy_kwargs"]
    if home not in _LAYOUTS:
        raise ValueError(f"it is of {home}")
    hidden, last, usual = _LAYOUTS[home]
    is_actor_critic = last == "action_net"
    if "features_extractor_class" in kwargs:
        raise ValueError("it has a features extractor of its own")
    if not re.fullmatch(r"\[\d+\]", str(about["observation_space"].get("_shape"))):
        raise ValueError("its observations are no Box of shape (n,)")
    named = str(kwargs.get("activation_fn", usual)).removesuffix("'>").rpartition(".")[2]
    if named not in _ACTIVATIONS:
        raise ValueError(f"its activation is {named}")
    found = [name for name in tensors if re.fullmatch(rf"{re.escape(hidden)}\.\d+\.weight", name)]
    found.sort(key=lambda name: int(name.split(".")[-2]))
    found += [f"{last}.weight"] if last else []
    prefix = "mlp_extractor.policy_net." if is_actor_critic else "actor."
    used = {prefixed for name in found for prefixed in (name, name.replace("weight", "bias"))}
    read = (prefix, "action_net.", "features_extractor.", "pi_features_extractor.")
    others = {name for name in tensors if name.startswith(read)}
    if others - used - {"actor.log_std.weight", "actor.log_std.bias"}:
        raise ValueError(f"it holds {min(others - used)}")
    layers = list[nn.Module]()
    for name in found:
        weight, bias = tensors[name], tensors[name.replace("weight", "bias")]
        layers.append(layer := nn.Linear(weight.shape[1], weight.shape[0]))
        layer.load_state_dict({"weight": _tensor(weight), "bias": _tensor(bias)})
        layers.append(_ACTIVATIONS[named]())
    net = nn.Sequential(*layers[:-1]).requires_grad_(False).eval()
    low, high = (
        torch.tensor([float(number) for number in about["action_space"][name].strip("[]").split()])
        for name in ("low", "high")
    )
    if not len(low) == len(high) == len(tensors[found[-1]]):
        raise ValueError("its bounds of actions cannot be read")
    return net, low, high, not is_actor_critic or str(kwargs.get("squash_output")) == "True"


def _tensor(array: NDArray[Any]) -> Tensor:
    return torch.from_numpy(array).float()


# --- VecNormalize


def _frame_of(path: Path, num_states: int, mean: Any) -> OwnFrame:
    if not path.is_file():
        raise DataError(f"--vecnormalize {path}: there is no such file")
    found, _ = read_foreign(_read_npz if path.suffix == ".npz" else _read_pickle, path)
    if {found["mean"].shape, found["var"].shape} != {(num_states,)}:
        theirs = len(found["mean"])
        raise DataError(f"{path}: is of {theirs} observations, the policy reads {num_states}")
    return normalizing_frame(
        found["mean"], found["var"], float(found["epsilon"]), float(found["clip"]), mean
    )


def _read_npz(path: Path) -> tuple[Arrays, dict[str, Any]]:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in ("mean", "var", "epsilon", "clip")}, {}


def _read_pickle(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """The first numbers after the names of VecNormalize's fields, in the order of its writing."""
    try:
        steps = [(step.name, value) for step, value, _ in pickletools.genops(path.read_bytes())]
        names = [value if isinstance(value, str) else None for _, value in steps]
        if "VecNormalize" not in names:
            raise ValueError("it holds no VecNormalize")
        if steps[names.index("norm_obs") + 2][0] != "NEWTRUE":
            raise ValueError("it does not normalise observations: leave --vecnormalize out")
        begin = names.index("obs_rms")
        end = names.index("ret_rms", begin)
        arrays: Arrays = {}
        for name in ("mean", "var"):
            rest = (value for _, value in steps[names.index(name, begin, end) : end])
            held = next(x for x in rest if isinstance(x, bytes | bytearray) and len(x) % 8 == 0)
            arrays[name] = np.frombuffer(held, np.dtype("<f8"))
        for name, field in (("epsilon", "epsilon"), ("clip", "clip_obs")):
            arrays[name] = np.array(float(str(steps[names.index(field) + 2][1])))
        is_sound = np.isfinite(arrays["mean"]).all() and (arrays["var"] >= 0).all()
        if not is_sound or "f8" not in names[:end]:
            raise ValueError("no mean and variance of float64 stand in it")
    except (ValueError, TypeError, StopIteration, IndexError) as error:
        reason = str(error) or "its fields are in another order"
        raise DataError(_STATISTICS.format(path=path, reason=reason)) from None
    return arrays, {}
