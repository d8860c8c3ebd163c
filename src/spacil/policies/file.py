"""Policies on disk: one file of their own, or inside the checkpoints of a run.

A policy file holds the networks' tensors, the normaliser among them, and a JSON document that
says how to build it. Nothing in a file names code to import.
"""

import difflib
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from spacil import storage
from spacil.config.settings import ConditionsConfig
from spacil.demos.common_frame import (
    FRAME_KEY,
    frame_document,
    frame_tensors,
    read_frame,
    without_frame,
)
from spacil.demos.file import bundled_files
from spacil.errors import ConfigError, DataError
from spacil.nets.policy import GaussianPolicy
from spacil.plain_text import shown
from spacil.policies.policy import Policy, own_policy
from spacil.runs import checkpoint
from spacil.runs.folder import named_runs
from spacil.runs.state import with_prefix

FORMAT, FORMAT_VERSION = "spacil-policy", 1
SUFFIX = ".policy.safetensors"

Which = Literal["best", "last"]


def bundled_experts() -> dict[str, Traversable]:
    """The packaged policies by task name."""
    return bundled_files(SUFFIX)


def write_policy_file(policy: Policy, task: str, path: Path) -> None:
    """Write one self-contained file, atomically."""
    document: dict[str, Any] = {"task": task, **policy.policy.sizes}
    document["provenance"] = dict(policy.provenance)
    tensors = policy.policy.state_dict() | frame_tensors(policy.common_frame)
    if policy.common_frame is not None:
        document[FRAME_KEY] = frame_document(policy.common_frame)
    if policy.conditions.is_on:
        document["conditions"] = asdict(policy.conditions)
    storage.save_sealed(path, tensors, document, FORMAT, FORMAT_VERSION)


def read_policy_file(path: Path) -> Policy:
    """The policy in a file of `write_policy_file`."""
    sealed = storage.load_sealed(path, FORMAT, FORMAT_VERSION)
    tensors, document = sealed.tensors, sealed.document
    return own_policy(
        build_policy(document, without_frame(tensors), path),
        str(path),
        task=document["task"] or None,
        provenance=document.get("provenance", {}),
        common_frame=read_frame(tensors, document, path),
        conditions=conditions_in(document.get("conditions", {}), path),
        path=str(path),
    )


def policy_in_checkpoint(found: checkpoint.Checkpoint, source: Path, which: Which) -> Policy:
    """The policy in a checkpoint: of the best one what is handed out, of others the newest.

    The one that `--smoothest` hands out was evaluated earlier, and is kept beside the newest.
    """
    document: Any = found.document.get("policy")
    is_best = source.name == checkpoint.BEST if source.is_file() else which == "best"
    prefix, iteration = "policy.", found.iteration
    match found.document.get("best"):
        case {"iteration": int(chosen)} if is_best and with_prefix(found.tensors, "chosen."):
            prefix, iteration = "chosen.", chosen
    provenance: dict[str, Any] = {"iteration": iteration, "content_hash": found.content_hash}
    match found.document.get("config"):
        case {"algorithm": str(algorithm), "seed": int(seed)}:
            provenance |= {"algorithm": algorithm, "seed": seed}
    return own_policy(
        build_policy(document, with_prefix(found.tensors, prefix), source),
        str(source),
        task=document["task"] or None,
        provenance=provenance,
        common_frame=read_frame(found.tensors, found.document, source),
        conditions=conditions_in(found.document.get("config", {}), source),
        path=str(source),
    )


def conditions_in(settings: object, source: Path) -> ConditionsConfig:
    """The conditions among settings; none in a file from before there were any."""
    try:
        given = {str(name): value for name, value in dict(settings).items()}  # type: ignore[call-overload]
        names = [each.name for each in fields(ConditionsConfig) if each.name in given]
        return ConditionsConfig(**{name: given[name] for name in names})
    except (TypeError, ValueError, ConfigError) as error:
        raise DataError(f"{source}: the conditions of the policy are damaged: {error}") from None


def build_policy(
    document: Mapping[str, Any], tensors: Mapping[str, Tensor], source: Path
) -> GaussianPolicy:
    """A policy ready for evaluation; tensors that do not match the document are refused."""
    try:
        num_states, num_actions = int(document["num_states"]), int(document["num_actions"])
        hidden = [int(width) for width in document["hidden"]]
        if not isinstance(document["task"], str):
            raise ValueError(f"task {document['task']!r}")
        require_held([num_states, *hidden, num_actions], tensors)
        policy = GaussianPolicy(num_states, [0.0] * num_actions, [0.0] * num_actions, hidden)
        for name, tensor in policy.state_dict().items():  # `load_state_dict` casts silently
            if name in tensors and tensors[name].dtype != tensor.dtype:
                raise ValueError(f"{name} is {tensors[name].dtype}, expected {tensor.dtype}")
        policy.load_state_dict(dict(tensors))
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise DataError(
            f"{source}: the policy's tensors do not match its description: {error}"
        ) from None
    policy.normalizer.refresh()
    numbers = [*policy.parameters(), *policy.normalizer.buffers()]
    if not all(bool(torch.isfinite(tensor).all()) for tensor in numbers):
        raise DataError(f"{source}: the policy has weights that are not finite")
    if not bool((policy.action_low <= policy.action_high).all()):
        raise DataError(f"{source}: the policy has a lower action bound above its upper bound")
    return policy.requires_grad_(False)


def require_held(sizes: Sequence[int], tensors: Mapping[str, Tensor]) -> None:
    """Refuse widths that ask for more numbers than there are: so far they are words in a file."""
    num_needed = sum(map(math.prod, itertools.pairwise(sizes)))
    if min(sizes) < 1 or num_needed > sum(tensor.numel() for tensor in tensors.values()):
        raise ValueError(f"sizes {shown(sizes)} need more numbers than the file holds")


def checkpoint_of(path: Path, which: Which) -> checkpoint.Checkpoint:
    """Read a checkpoint file, or the `which` one of a run folder."""
    if checkpoint.is_checkpoint(path):
        return checkpoint.read(path)
    read = {"best": checkpoint.best, "last": checkpoint.newest}[which]
    if (found := read(path / "checkpoints")) is not None:
        return found
    close = difflib.get_close_matches(str(path), bundled_experts(), n=1)
    hint = f"; did you mean the bundled expert {close[0]}?" if close else named_runs(path)
    wrong = f"has no {which} checkpoint" if path.exists() else "no such file or folder"
    raise DataError(
        f"{path}: {wrong}: expected a run folder with one (--which takes best or last), a "
        f"checkpoint or a policy file ({SUFFIX}){hint}"
    )
