"""Turns whatever a user has into a policy that can be measured.

A run folder, a saved agent, a checkpoint folder, a policy file or an ONNX file; in memory, a spacil
policy or agent, a `torch.nn.Module`, a Stable-Baselines3 model or a plain function; and
`module:name` of any of these.

Opening a file never imports code. Only a `module:name` that the user typed does.
"""

import copy
import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import nn

from spacil.config.algorithms import ALGORITHMS, from_table
from spacil.errors import ConfigError, DataError
from spacil.nets.normalizer import CLIP
from spacil.nets.policy import GaussianPolicy
from spacil.plain_text import shown
from spacil.policies import third_party
from spacil.policies.file import (
    SavedPolicy,
    Which,
    bundled_experts,
    checkpoint_of,
    load_policy,
    policy_of,
)
from spacil.policies.source import OwnFrame, PolicySource, guarded, refuse_nonfinite
from spacil.runs.checkpoints import checkpoint
from spacil.runs.state import first_non_finite, with_prefix
from spacil.smoothness.cost_metric import CostFunction
from spacil.user_code import import_typed

_MODULE_AND_NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_PICKLED = (".zip", ".pt", ".pth", ".pkl", ".pickle")


def open_policy(policy: object, which: Which = "best") -> PolicySource:
    """Any policy as one record; `which` selects the checkpoint of a run folder."""
    if isinstance(policy, PolicySource):
        return policy
    if isinstance(policy, str | Path):
        return _from_text(str(policy), which)
    if isinstance(policy, GaussianPolicy):
        return _of_policy(policy, "policy")
    if isinstance(policy, SavedPolicy):
        return _of_saved(policy, "policy")
    if isinstance(inner := getattr(policy, "policy", None), GaussianPolicy):
        task = getattr(getattr(policy, "config", None), "task", None)
        frame = getattr(policy, "common_frame", None)
        found = _of_policy(inner, f"{type(policy).__name__} agent", task)
        return replace(found, common_frame=frame)
    if third_party.is_sb3(policy):
        return third_party.from_sb3(policy)
    if isinstance(policy, nn.Module):
        return third_party.from_module(policy)
    if callable(policy):
        return third_party.from_callable(policy)
    raise ConfigError(
        f"cannot measure a {type(policy).__name__}: pass a run folder, a policy or ONNX file, a "
        "torch module, a Stable-Baselines3 model, or a function from states to actions"
    )


def _from_text(text: str, which: Which) -> PolicySource:
    path = Path(text)
    if not path.exists() and _MODULE_AND_NAME.fullmatch(text):
        return open_policy(_imported(text))
    if path.suffix.lower() == ".onnx":
        return third_party.from_onnx(path)
    if path.is_file() and path.suffix.lower() in _PICKLED:
        raise DataError(_recipe(path))
    if path.is_file() or (not path.exists() and text in bundled_experts()):
        return _of_saved(load_policy(text), text)
    found = checkpoint_of(path, which)
    saved = policy_of(found, path, which)
    cost = _cost_of(found, saved.policy, path)
    return replace(_of_saved(saved, text), cost=cost)


def _recipe(path: Path) -> str:
    """Why a file of pickles is not opened, and three lines for somebody who trusts it."""
    refusal = f"{path}: files of this kind hold pickles, which can run code, and are never opened"
    if path.suffix.lower() != ".zip":
        return (
            f"{refusal}; if you trust it, load it in a module of your own, and name the loaded "
            "model as module:name or pass it to spacil.measure_smoothness"
        )
    return "\n".join(
        [
            f"{refusal}. If you trust it, put this into my_model.py:",
            "    from stable_baselines3 import PPO  # or the algorithm that wrote it",
            f'    model = PPO.load("{path}")  # behind VecNormalize: env=VecNormalize.load(...)',
            "and name it in place of the file: my_model:model, with --task NAME",
        ]
    )


def _of_saved(saved: SavedPolicy, name: str) -> PolicySource:
    found = _of_policy(saved.policy, name, saved.task, saved.provenance)
    return replace(found, common_frame=saved.common_frame)


def _of_policy(
    policy: GaussianPolicy,
    name: str,
    task: str | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> PolicySource:
    policy = copy.deepcopy(policy).cpu().requires_grad_(False)
    refuse_nonfinite(policy, name)
    first, *rest = (weight for weight, _ in policy.mean_net.weights_and_biases)
    return PolicySource(
        name=name,
        kind="spacil",
        mean=guarded(policy.mean, name),
        num_states=policy.num_states,
        num_actions=policy.num_actions,
        dtype=policy.log_std.dtype,
        action_bounds=(policy.action_low, policy.action_high),
        own=OwnFrame(
            policy.normalize, policy.mean_of_normalized, policy.normalizer.scale, float(CLIP)
        ),
        std=policy.log_std.exp(),
        weights=(first * policy.normalizer.mask, *rest),
        task=task,
        provenance=dict(provenance or {}),
    )


def _cost_of(
    found: checkpoint.Checkpoint, policy: GaussianPolicy, path: Path
) -> CostFunction | None:
    """The cost its adversary learned; None for a run that has none."""
    tensors = with_prefix(found.tensors, "discriminator.")
    if not tensors:
        return None
    if (name := first_non_finite(tensors)) is not None:
        raise DataError(f"{path}: the discriminator's {name!r} is not finite; nothing to measure")
    try:
        settings = found.document["config"]
        adversary = ALGORITHMS[settings["algorithm"]].adversary
        if adversary is None:
            raise ValueError(f"{settings['algorithm']} has no discriminator")
        # Checked before allocating: so far these sizes are only numbers in a file.
        sizes = [1, *(int(width) for width in settings["discriminator_hidden"]), 1]
        num_needed = sum(map(math.prod, itertools.pairwise(sizes)))
        num_held = sum(tensor.numel() for tensor in tensors.values())
        if min(sizes) < 1 or num_needed > num_held:
            raise ValueError(f"widths {shown(sizes[1:-1])} need more numbers than the file holds")
        cost: CostFunction = from_table(adversary).saved_cost(settings, policy, tensors)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise DataError(
            f"{path}: the discriminator's tensors do not match its settings: {error}"
        ) from None
    return cost


def _imported(text: str) -> object:
    """The object that `module:name` refers to; the working folder is searched too."""
    module, attribute = import_typed(text)
    found: object = module
    try:
        for part in attribute.split("."):
            found = getattr(found, part)
    except AttributeError:
        raise ConfigError(f"{text}: module {module.__name__!r} has no {attribute!r}") from None
    if isinstance(found, str | Path):
        raise ConfigError(f"{text}: is a string, expected a policy or a function")
    return found
