"""A policy as a folder for a robot: ONNX, a C header, the facts, and a golden file to test with.

    result = spacil.export_policy("runs/mine", "robot")
    print(result.folder, [check.largest_difference for check in result.checks])

Nothing is handed out before it was compared with `predict`, and the folder appears in one step.
"""

import copy
import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from spacil import storage
from spacil.config.checks import whole_number
from spacil.errors import StorageError
from spacil.export.c_header import Golden, c_header
from spacil.export.checks import Checked, check_c, check_onnx, check_predict, tolerance_for
from spacil.export.facts import FORMAT, NOTE, as_metadata, facts_of
from spacil.export.played import play, states_to_check
from spacil.nets.policy import GaussianPolicy
from spacil.policies.file import Which, policy_document, saved_policy
from spacil.policies.onnx_export import load_writer, onnx_bytes
from spacil.policies.onnx_policy import load_library
from spacil.policies.plain_network import PlainNetwork
from spacil.version import __version__

ONNX, HEADER, GOLDEN, FACTS = "policy.onnx", "policy.h", "golden.json", "policy.json"
FILES = (ONNX, HEADER, GOLDEN, FACTS)
DEFAULT_EPISODES = 10
NUM_CHECKED = 10_000
NUM_GOLDEN = 64
NUM_GOLDEN_IN_C = 16


@dataclass(frozen=True)
class ExportResult:
    """What was written, and how it compares with `predict`."""

    folder: Path
    facts: dict[str, Any]
    """The content of policy.json"""
    checks: tuple[Checked, ...]
    """`predict` itself, ONNX Runtime, C"""

    def as_document(self) -> dict[str, Any]:
        """JSON-able."""
        return {"folder": str(self.folder), "files": list(FILES), **self.facts}


def export_policy(
    policy: object,
    directory: str | Path,
    env: Any = None,
    *,
    which: Which = "best",
    episodes: int = DEFAULT_EPISODES,
    seed: int = 0,
    overwrite: bool = False,
    num_checked: int = NUM_CHECKED,
) -> ExportResult:
    """Write a policy of spacil's as `policy.onnx`, `policy.h`, `policy.json` and `golden.json`.

    `policy`: a run folder, a policy file, a task's name for its bundled expert, an agent, or what
    `load_policy` and `smooth` return. It plays `episodes` in `env` (by default its own task) to
    measure J; 0 leaves that out.
    `num_checked`: states on which the files are compared with `predict`; at most half of them are
    visited ones.
    """
    folder = Path(directory)
    episodes, seed = whole_number("episodes", episodes, 0), whole_number("seed", seed, 0)
    num_checked = whole_number("num_checked", num_checked)
    load_writer()  # what is missing is named before the work, not after it
    load_library(folder / ONNX)
    _require_place(folder, overwrite=overwrite)
    saved = saved_policy(policy, which)
    own = copy.deepcopy(saved.policy).cpu().requires_grad_(False)  # one in training goes on
    saved = replace(saved, policy=own)
    played = play(saved, policy, env, episodes, seed)
    policy_hash = storage.content_hash(own.state_dict(), policy_document(own, saved.task))
    facts = facts_of(saved, policy_hash, played)
    states = states_to_check(own, played, max(num_checked, NUM_GOLDEN))
    contents, checks = _written(own, facts, states)
    facts |= {
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()},
        "checks": [asdict(check) for check in checks],
    }
    contents[FACTS] = (json.dumps(facts, indent=2, allow_nan=False) + "\n").encode("ascii")
    _publish(contents, folder)
    return ExportResult(folder, facts, checks)


def _written(
    policy: GaussianPolicy, facts: dict[str, Any], states: Tensor
) -> tuple[dict[str, bytes], tuple[Checked, ...]]:
    """The files but the facts, each compared with `predict` on all states."""
    inputs = states.numpy()
    actions = np.asarray(policy.predict(inputs))
    golden = Golden(inputs, actions).first(NUM_GOLDEN)
    network = PlainNetwork.of(policy)
    tolerance = tolerance_for(network, inputs)
    task = facts.get("task")
    header = c_header(
        network,
        golden.first(NUM_GOLDEN_IN_C),
        title=f"The policy of {task or 'an unnamed task'}, written by spacil {__version__}.",
        note=NOTE,
        task=task,
        policy_hash=facts["policy_sha256"],
        dt=facts.get("control_dt_seconds"),
        tolerance=tolerance,
    )
    contents = {
        ONNX: onnx_bytes(network, as_metadata(facts)),
        HEADER: header.encode("ascii"),
        GOLDEN: storage.canonical_json(_golden_document(golden, facts, tolerance)),
    }
    checks = (
        check_predict(policy, inputs),
        check_onnx(contents[ONNX], Path(ONNX), inputs, actions, tolerance),
        check_c(header, inputs, actions, tolerance),
    )
    return contents, checks


def _golden_document(golden: Golden, facts: dict[str, Any], tolerance: float) -> dict[str, Any]:
    """Every number is a float32, written so that a reader of doubles gets it exactly."""
    return {
        "policy_sha256": facts["policy_sha256"],
        "tolerance": tolerance,
        "observations": golden.observations.tolist(),
        "actions": golden.actions.tolist(),
    }


def _require_place(folder: Path, *, overwrite: bool) -> None:
    """Refuse a place that cannot be written, or holds anything but an export that may go."""
    if not folder.absolute().parent.is_dir():
        raise StorageError(
            f"cannot write {str(folder)!r}: there is no folder {str(folder.parent)!r}, create it "
            "first"
        )
    storage.refuse_link(folder)
    if not folder.exists():
        return
    if not folder.is_dir():
        raise StorageError(f"{str(folder)!r} is a file: name a folder")
    names = {entry.name for entry in folder.iterdir() if not storage.is_leftover(entry.name)}
    if names and not (FACTS in names and names <= set(FILES) and _is_export(folder / FACTS)):
        raise StorageError(
            f"{str(folder)!r} holds other files than an export of spacil's, so it is left alone: "
            "name a new folder"
        )
    if names and not overwrite:
        raise StorageError(
            f"{str(folder)!r} exists already: --overwrite replaces it, another name leaves it alone"
        )


def _is_export(path: Path) -> bool:
    try:
        document = storage.read_json(path)
    except StorageError:
        return False
    return isinstance(document, dict) and document.get("format") == FORMAT


def _publish(contents: dict[str, bytes], folder: Path) -> None:
    """All files at once: nobody ever sees a part of an export, or parts of two."""
    place = folder.absolute()
    storage.sweep_abandoned(place.parent)  # of an export that was killed
    with storage.staged_folder(place.parent) as stage:
        for name, content in contents.items():
            storage.write_synced(stage / name, content)
        former = storage.move_aside(place) if place.exists() else None
        storage.publish(stage, place)
    if former is not None:
        storage.delete(former)
