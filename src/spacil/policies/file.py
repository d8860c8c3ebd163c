"""Policies on disk: one file of their own, or inside the checkpoints of a run.

A policy file holds the networks' tensors, the normaliser among them, and a JSON document that
says how to build it. Nothing in a file names code to import.
"""

import difflib
import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import as_file
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from spacil.demos.common_frame import (
    FRAME_KEY,
    CommonFrame,
    frame_document,
    frame_tensors,
    read_frame,
    without_frame,
)
from spacil.demos.file import bundled_files
from spacil.envs.vector_env import EnvSpec, require_dims
from spacil.errors import ConfigError, DataError
from spacil.nets.policy import GaussianPolicy
from spacil.runs.checkpoints import checkpoint
from spacil.runs.checkpoints.manifest import MANIFEST
from spacil.runs.checkpoints.names import BEST
from spacil.runs.listing import named_runs
from spacil.runs.resuming import is_run_folder
from spacil.runs.state import with_prefix
from spacil.storage import sealed_file

FORMAT = "spacil-policy"
FORMAT_VERSION = 1
_DEMONSTRATION_ENDINGS = (".npz", ".h5", ".hdf5", ".csv")
SUFFIX = ".policy.safetensors"

Which = Literal["best", "last"]

_DOCUMENT_KEYS = {"task", "num_states", "hidden", "num_actions", "provenance", FRAME_KEY}


@dataclass(frozen=True)
class SavedPolicy:
    """A policy and what is known about it."""

    policy: GaussianPolicy
    task: str
    """Name of the task it is for; empty where nobody says"""
    provenance: Mapping[str, Any]
    common_frame: CommonFrame | None = None
    """The frame of the run it is from; None where it was not kept"""

    @property
    def predict(self) -> Callable[..., Any]:
        """`load_policy(...).predict(observations)`: that of `GaussianPolicy`."""
        return self.policy.predict


def policy_document(policy: GaussianPolicy, task: str) -> dict[str, Any]:
    """What is needed to rebuild the policy, besides its tensors."""
    return {
        "task": task,
        "num_states": policy.num_states,
        "hidden": policy.hidden,
        "num_actions": policy.num_actions,
    }


def save_policy(
    policy: object,
    path: str | Path,
    task: str | None = None,
    provenance: Mapping[str, Any] | None = None,
    common_frame: CommonFrame | None = None,
) -> None:
    """Write one self-contained file, atomically: `save_policy(agent, "x.policy.safetensors")`.

    `policy`: an agent, what `load_policy` returned, or the policy of either, which needs the name
    of its task. `provenance` is any JSON-able note on where it is from. The frame of its J is kept
    too, where there is one.
    """
    saved = saved_policy(policy)
    task = task or saved.task
    if not task:
        raise ConfigError(
            'save_policy: a bare policy does not know its task: pass task="Hopper-v4"'
        )
    provenance = saved.provenance if provenance is None else provenance
    document = {**policy_document(saved.policy, task), "provenance": dict(provenance)}
    tensors = {name: value.cpu() for name, value in saved.policy.state_dict().items()}
    frame = saved.common_frame if common_frame is None else common_frame
    if frame is not None:
        document[FRAME_KEY] = frame_document(frame)
        tensors |= frame_tensors(frame)
    sealed_file.save(Path(path), tensors, document, FORMAT, FORMAT_VERSION)


def saved_policy(policy: object, which: Which = "best") -> SavedPolicy:
    """A policy of spacil's with all that its holder knows about it.

    `policy`: what `load_policy` takes or returns, an agent, or the policy of one.
    """
    if isinstance(policy, SavedPolicy):
        return policy
    if isinstance(policy, str | Path):
        return load_policy(policy, which)
    inner = getattr(policy, "policy", policy)  # of an agent
    if not isinstance(inner, GaussianPolicy):
        raise ConfigError(
            f"a {type(policy).__name__} is no policy of spacil's: pass a run folder, a policy "
            "file, an agent or what load_policy returned; spacil.smooth distils any other policy "
            "into one"
        )
    config = getattr(policy, "config", None)
    provenance = {} if config is None else {"algorithm": config.algorithm, "seed": config.run.seed}
    task, frame = getattr(config, "task", ""), getattr(policy, "common_frame", None)
    return SavedPolicy(inner, task, provenance, frame)


def load_expert(task: str) -> SavedPolicy:
    """The policy that recorded a task's bundled demonstrations: `load_expert("Hopper-v4")`."""
    bundled = bundled_experts()
    if task not in bundled:
        names = ", ".join(sorted(bundled)) or "none"
        raise DataError(f"no expert is bundled for '{task}'; bundled tasks: {names}")
    with as_file(bundled[task]) as path:
        return load_policy(path)


def bundled_experts() -> dict[str, Traversable]:
    """The packaged policies by task name."""
    return bundled_files(SUFFIX)


def load_policy(source: str | Path, which: Which = "best") -> SavedPolicy:
    """The policy of a file, of a run folder (`best` or `last`), or of a checkpoint folder.

    A task's name means its bundled expert.
    """
    path = Path(source)
    if not path.exists() and str(source) in bundled_experts():
        return load_expert(str(source))
    if ":" in str(source) and not path.exists():
        raise ConfigError(
            f"{source}: a policy of a module is none that spacil can rebuild: "
            f"`spacil smooth {source} --task NAME` distils it into one"
        )
    if path.suffix.lower() == ".onnx":
        raise DataError(
            f"{path}: an ONNX file is no policy that spacil can rebuild: spacil smoothness "
            "measures it, and spacil smooth distils it into one that can be saved and exported"
        )
    if path.is_file():
        _refuse_demonstrations(path)
        tensors, document = sealed_file.load(path, FORMAT, FORMAT_VERSION)
        policy = build_policy(document, without_frame(tensors), path)
        frame = read_frame(tensors, document, path)
        return SavedPolicy(policy, document["task"], document.get("provenance", {}), frame)
    return policy_of(checkpoint_of(path, which), path, which)


def _refuse_demonstrations(path: Path) -> None:
    """By the ending alone: no policy is ever saved under one of these."""
    if path.suffix.lower() in _DEMONSTRATION_ENDINGS:
        raise DataError(
            f"{path}: not a policy file; these look like demonstrations: "
            f"`spacil demos check {path}` reads them"
        )


def policy_of(found: checkpoint.Checkpoint, source: Path, which: Which) -> SavedPolicy:
    """The policy in a checkpoint: of the best one what is handed out, of others the newest."""
    document = found.document.get("policy")
    if not isinstance(document, dict):
        raise DataError(f"{source}: the checkpoint does not describe a policy")
    is_best = source.parent.name == BEST if _is_checkpoint(source) else which == "best"
    chosen = _chosen_iteration(found) if is_best else None
    provenance = {
        "iteration": found.iteration if chosen is None else chosen,
        "content_hash": found.content_hash,
        **_run_of(found),
    }
    name = "policy." if chosen is None else "chosen."
    policy = build_policy(document, with_prefix(found.tensors, name), source)
    frame = read_frame(found.tensors, found.document, source)
    return SavedPolicy(policy, document["task"], provenance, frame)


def _chosen_iteration(found: checkpoint.Checkpoint) -> int | None:
    """Of the evaluated policy that --smoothest hands out, kept beside the newest; None without.

    An agent is saved when its user says so, often later than the iteration it hands out.
    """
    match found.document.get("best"):
        case {"iteration": int(iteration)} if with_prefix(found.tensors, "chosen."):
            return iteration
    return None


def _run_of(found: checkpoint.Checkpoint) -> dict[str, Any]:
    """Algorithm and seed of the run, as far as the checkpoint says; a policy needs neither."""
    match found.document.get("config"):
        case {"algorithm": str(algorithm), "seed": int(seed)}:
            return {"algorithm": algorithm, "seed": seed}
    return {}


def require_fit(policy: GaussianPolicy, spec: EnvSpec, source: object) -> None:
    """Refuse to run a policy in an env of other sizes."""
    ours = (policy.num_states, policy.num_actions)
    require_dims(source, ours, (spec.num_states, spec.num_actions), spec.task)


def build_policy(
    document: Mapping[str, Any], tensors: Mapping[str, Tensor], source: Path
) -> GaussianPolicy:
    """A policy ready for evaluation; tensors that do not match the document are refused."""
    try:
        if unknown := sorted(document.keys() - _DOCUMENT_KEYS):
            raise ValueError(f"unknown entries {unknown}: made by a newer spacil?")
        num_states, num_actions = int(document["num_states"]), int(document["num_actions"])
        hidden = [int(width) for width in document["hidden"]]
        sizes = [num_states, *hidden, num_actions]
        if min(sizes) < 1 or not isinstance(document["task"], str):
            raise ValueError(f"sizes {sizes}, task {document['task']!r}")
        # Checked before allocating: so far these sizes are only numbers in a file.
        num_needed = sum(map(math.prod, itertools.pairwise(sizes)))
        if num_needed > sum(tensor.numel() for tensor in tensors.values()):
            raise ValueError(f"sizes {sizes} need more numbers than the file holds")
        policy = GaussianPolicy(num_states, [0.0] * num_actions, [0.0] * num_actions, hidden)
        _require_same_types(tensors, policy.state_dict())
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


def _require_same_types(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """`load_state_dict` checks names and shapes, but casts silently."""
    for name, tensor in expected.items():
        if name in found and found[name].dtype != tensor.dtype:
            raise ValueError(f"{name} is {found[name].dtype}, expected {tensor.dtype}")


def _is_checkpoint(path: Path) -> bool:
    return (path / MANIFEST).is_file()


def checkpoint_of(path: Path, which: Which) -> checkpoint.Checkpoint:
    """The checkpoint in a checkpoint folder, or the `which` one of a run folder."""
    if _is_checkpoint(path):
        return checkpoint.read(path)
    if not path.exists():
        close = difflib.get_close_matches(str(path), bundled_experts(), n=1)
        hint = f": did you mean the bundled expert {close[0]}?" if close else ""
        raise DataError(f"{path}: no such file or folder{hint}")
    checkpoints = path / "checkpoints"
    if not checkpoints.is_dir():
        if is_run_folder(path):
            raise DataError(_without_checkpoint(path, which))
        raise DataError(
            f"{path}: expected a run folder, a checkpoint folder or a policy file ({SUFFIX})"
            f"{named_runs(path)}"
        )
    found = (
        checkpoint.read_best(checkpoints)
        if which == "best"
        else checkpoint.newest_valid(checkpoints)
    )
    if found is None:
        raise DataError(_without_checkpoint(path, which))
    return found


def _without_checkpoint(path: Path, which: Which) -> str:
    missing, checkpoints = f"{path}: there is no {which} checkpoint here", path / "checkpoints"
    if which == "best" and checkpoint.newest_valid(checkpoints) is not None:
        return f"{missing}, the run was not evaluated yet: --which last takes the newest policy"
    if which == "last" and checkpoint.read_best(checkpoints) is not None:
        return f"{missing}, as in a saved agent: --which best takes the one that is"
    return f"{missing}: the run was stopped before its first one, or they were deleted"
