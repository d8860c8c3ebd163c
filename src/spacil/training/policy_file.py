"""Policies on disk: one file of their own, or inside the checkpoints of a run.

A policy file holds the networks' tensors, the normaliser among them, and a JSON document that
says how to build it. Nothing in a file names code to import.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from spacil import single_file
from spacil.errors import DataError
from spacil.nets.policy import GaussianPolicy
from spacil.training import checkpoint

FORMAT = "spacil-policy"
FORMAT_VERSION = 1
SUFFIX = ".policy.safetensors"

Which = Literal["best", "last"]


@dataclass(frozen=True)
class SavedPolicy:
    """A policy and what is known of it."""

    policy: GaussianPolicy
    task: str
    provenance: Mapping[str, Any]


def policy_document(policy: GaussianPolicy, task: str) -> dict[str, Any]:
    """What is needed to build the policy again, besides its tensors."""
    return {
        "task": task,
        "num_states": policy.num_states,
        "hidden": policy.hidden,
        "num_actions": policy.num_actions,
    }


def save_policy(
    policy: GaussianPolicy, path: str | Path, task: str, provenance: Mapping[str, Any]
) -> None:
    """Write one self-contained file, atomically."""
    document = {**policy_document(policy, task), "provenance": dict(provenance)}
    tensors = {name: value.cpu() for name, value in policy.state_dict().items()}
    single_file.save(Path(path), tensors, document, FORMAT, FORMAT_VERSION)


def load_policy(source: str | Path, which: Which = "best") -> SavedPolicy:
    """The policy of a file, of a run folder (`best` or `last`), or of a checkpoint folder."""
    path = Path(source)
    if path.is_file():
        tensors, document = single_file.load(path, FORMAT, FORMAT_VERSION)
        return SavedPolicy(
            build_policy(document, tensors, path), document["task"], document["provenance"]
        )
    folder = _checkpoint_of(path, which)
    prefix = "policy."
    tensors = {
        name.removeprefix(prefix): value
        for name, value in folder.tensors.items()
        if name.startswith(prefix)
    }
    document = folder.document["policy"]
    provenance = {"iteration": folder.iteration, "content_hash": folder.content_hash}
    return SavedPolicy(build_policy(document, tensors, path), document["task"], provenance)


def build_policy(
    document: Mapping[str, Any], tensors: Mapping[str, Tensor], source: Path
) -> GaussianPolicy:
    """A policy in evaluation shape; anything that does not fit is refused."""
    try:
        bounds = torch.zeros(int(document["num_actions"])).tolist()
        widths = [int(width) for width in document["hidden"]]
        policy = GaussianPolicy(int(document["num_states"]), bounds, bounds, widths)
        policy.load_state_dict(dict(tensors))
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise DataError(
            f"{source}: the policy's tensors do not fit its description: {error}"
        ) from None
    if not all(bool(torch.isfinite(p).all()) for p in policy.parameters()):
        raise DataError(f"{source}: the policy holds weights that are not finite")
    policy.normalizer.refresh()
    return policy.requires_grad_(False)


def _checkpoint_of(path: Path, which: Which) -> checkpoint.Checkpoint:
    if (path / "manifest.json").is_file():
        return checkpoint.read(path)
    checkpoints = path / "checkpoints"
    if not checkpoints.is_dir():
        raise DataError(
            f"{path}: expected a run folder, a checkpoint folder or a policy file ({SUFFIX})"
        )
    found = (
        checkpoint.read_best(checkpoints)
        if which == "best"
        else checkpoint.newest_valid(checkpoints)
    )
    if found is None:
        raise DataError(f"{path}: this run has no {which} checkpoint yet")
    return found
