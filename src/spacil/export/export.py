"""A policy as a folder for a robot: ONNX, a C header, the facts, and a golden file to test with.

    result = spacil.export_policy("runs/mine", "robot")
    print(result.folder, [check.largest_difference for check in result.checks])

Nothing is handed out before it was compared with `predict`, and the folder appears in one step.
"""

import hashlib
import importlib.util
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from spacil import storage
from spacil.config.checks import whole_number
from spacil.envs.registry import built_in_task, task_name
from spacil.errors import ConfigError, SpacilError, StorageError
from spacil.export.c_header import c_header
from spacil.export.checks import Checked, check_files, tolerance_for
from spacil.measuring.evaluate import evaluation_env, evaluation_of, play_mean_actions
from spacil.measuring.frames import choose_frame
from spacil.nets.policy import GaussianPolicy
from spacil.plain_text import Shown, shown
from spacil.policies.file import Which
from spacil.policies.history import InLoop, Layout
from spacil.policies.onnx import INPUT, OPSET, OUTPUT, onnx_bytes
from spacil.policies.open import load_policy
from spacil.policies.policy import Policy, known_task
from spacil.version import __version__

FORMAT, FORMAT_VERSION = "spacil-export", 1
ONNX, HEADER, GOLDEN, FACTS = "policy.onnx", "policy.h", "golden.json", "policy.json"
CARD = "README.md"
FILES = (ONNX, HEADER, GOLDEN, FACTS, CARD)
DEFAULT_EPISODES = 10
NUM_CHECKED = 10_000
NUM_GOLDEN, NUM_GOLDEN_IN_C = 64, 16
ROBOT_LISTS = (
    *("joint_names", "joint_stiffness", "joint_damping", "default_joint_pos", "action_scale"),
    *("command_names", "observation_names", "observation_terms_scale"),
    *("observation_terms_history_length", "observation_terms_flatten_history_dim"),
    "observation_terms_clip",
)
"""Metadata that whole_body_tracking's and mjlab's controllers read from an ONNX file"""
NOTE = (
    "actions are final, in env units: already clipped to action_low..action_high. Feed raw "
    "observations as the env returns them; the normaliser is inside. Add no tanh, scaling or noise."
)

HISTORY_NOTE = (
    "It sees its past, the newest first: observation, its last commands as given, observations of "
    "before. When an episode begins these are commands of 0 and copies of the first observation. "
    "Call it once per step: what it gives counts as given."
)


@dataclass(frozen=True)
class ExportResult(Shown):
    """What was written, and how it compares with `predict`."""

    printed_by = "spacil.cli.export:print_result"

    folder: Path
    facts: dict[str, Any]
    """The content of policy.json"""
    checks: tuple[Checked, ...]
    """`predict` itself, ONNX Runtime, C"""

    def as_document(self) -> dict[str, Any]:
        """JSON-able."""
        written = [name for name in FILES if (self.folder / name).exists()]
        return {"folder": str(self.folder), "files": written, **self.facts}


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
    rate: float | None = None,
) -> ExportResult:
    """Write a policy of spacil's as `policy.onnx` and `policy.h`, with facts, golden pairs, a card.

    `policy`: a run folder, a policy file, a task's name for its bundled expert, an agent, or what
    `load_policy` and `smooth` return. It plays `episodes` in `env` (by default its own task) to
    measure J; 0 leaves that out.
    `rate`: control rate in Hz, where the env does not say. Without the packages of
    `spacil[export]` there is no ONNX file, and all else.
    `num_checked`: states on which the files are compared with `predict`; at most half of them are
    visited ones.
    """
    folder = Path(directory)
    episodes, seed = whole_number("episodes", episodes, 0), whole_number("seed", seed, 0)
    num_checked = whole_number("num_checked", num_checked)
    missing = [name for name in ("onnx", "onnxruntime") if importlib.util.find_spec(name) is None]
    if rate is not None and not 0 < rate < math.inf:
        raise ConfigError(f"--rate is {rate}, expected a finite number of Hz above 0")
    _require_place(folder, overwrite=overwrite)
    opened = load_policy(policy, which)
    facts, visited = _facts(opened, env, episodes, seed)
    if rate is not None:
        facts |= {"control_dt_seconds": 1 / rate, "control_rate_hz": rate}
    states = _states_to_check(opened.policy, visited, max(num_checked, NUM_GOLDEN)).numpy()
    tolerance = tolerance_for(opened.policy, states)
    golden = states[:NUM_GOLDEN], np.asarray(opened.policy.predict(states[:NUM_GOLDEN]))
    in_c = golden[0][:NUM_GOLDEN_IN_C], golden[1][:NUM_GOLDEN_IN_C]
    layout, loop, commands = Layout.of(opened), None, None
    if layout.has_history:
        loop = InLoop(opened)
        commands = np.stack([loop.step(row[: layout.num_sensors]) for row in in_c[0]])
    header = c_header(opened.policy, *in_c, facts, tolerance, layout, commands)
    # As texts: plain ones as they are, all others as JSON.
    metadata = {k: v if isinstance(v, str) else json.dumps(v) for k, v in facts.items()}
    # Lists about a robot as its software reads them: comma-separated, inner lists by semicolons.
    metadata |= {k: _separated(facts[k]) for k in ROBOT_LISTS if isinstance(facts.get(k), list)}
    # Every golden number is a float32, written so that a reader of doubles gets it exactly.
    golden_document = {
        "policy_sha256": facts["policy_sha256"],
        "tolerance": tolerance,
        "observations": golden[0].tolist(),
        "actions": golden[1].tolist(),
    }
    contents = {} if missing else {ONNX: onnx_bytes(opened.policy, metadata, layout.widths)}
    contents |= {
        HEADER: header.encode("ascii"),
        GOLDEN: storage.canonical_json(golden_document),
    }
    checks = check_files(opened.policy, contents.get(ONNX), header, states, tolerance, loop)
    facts |= {
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()},
        "checks": [asdict(check) for check in checks],
    }
    contents[FACTS] = (json.dumps(facts, indent=2, allow_nan=False) + "\n").encode("ascii")
    contents[CARD] = _card(facts, list(contents)).encode()
    # All files at once: nobody ever sees a part of an export, or parts of two.
    with storage.new_folder(folder.absolute(), replace=True) as stage:
        for name, content in contents.items():
            storage.replace_file(stage / name, content)
    return ExportResult(folder, facts, checks)


def _facts(
    opened: Policy, env: Any, episodes: int, seed: int
) -> tuple[dict[str, Any], Tensor | None]:
    """One flat JSON-able document, and the states [B, S] visited where the policy was played.

    It is not played where no env was given and its own task cannot be made: the facts say why.
    """
    policy, provenance = opened.policy, opened.provenance
    played, visited = dict[str, Any](), None
    source, reason = known_task(opened) if env is None else env, "pass --task, and episodes above 0"
    try:
        if episodes and source is not None:
            played, visited = _measured(opened, source, episodes, seed)
    except SpacilError as error:
        if env is not None:
            raise
        reason = f"its task cannot be played here: {error}"
    played = played or {"not_measured": f"no dt, J and return: {reason}"}
    facts = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "spacil_version": __version__,
        "note": NOTE,
        "task": played.pop("task", opened.task),
        "onnx_opset": OPSET,
        "input_name": INPUT,
        "output_name": OUTPUT,
        "num_observations": policy.num_states,
        "num_actions": policy.num_actions,
        "dtype": "float32",
        "action_low": policy.action_low.tolist(),
        "action_high": policy.action_high.tolist(),
        "observations_ignored": (policy.normalizer.scale == 0).nonzero().flatten().tolist(),
        "policy_sha256": storage.content_hash(
            policy.state_dict(), {"task": opened.task or "", **policy.sizes}
        ),
        "run_content_hash": provenance.get("content_hash"),
        "algorithm": provenance.get("algorithm"),
        "training_seed": provenance.get("seed"),
        "iteration": provenance.get("iteration"),
        **played,
    }
    if (layout := Layout.of(opened)).has_history:
        facts |= {
            "note": f"{NOTE} {HISTORY_NOTE}",
            "num_sensors": layout.num_sensors,
            "history_commands": layout.num_commands,
            "history_observations": layout.num_past,
            "conditions": asdict(opened.conditions),
        }
    known = {key: value for key, value in facts.items() if value is not None}
    return storage.without_non_finite(known), visited


def _measured(
    opened: Policy, env_source: Any, episodes: int, seed: int
) -> tuple[dict[str, Any], Tensor]:
    """J, the rate that the policy was made for, names and units, and every state it acted in."""
    frame = choose_frame(None, opened.common_frame, task_name(env_source))
    with evaluation_env(env_source, episodes, seed, None, opened.conditions, frame=frame) as env:
        spec = env.spec
        opened.require_env(spec)
        if frame is not None and frame.num_states != spec.num_states:
            frame = None
        totals = play_mean_actions(opened.policy, env, 0, episodes)
        robot = getattr(env, "robot_facts", None)
        quantities = robot() if robot else dict[str, Any]()
    found = evaluation_of(opened.policy, totals, frame)
    if (task := built_in_task(spec)) is not None:
        from spacil.envs import mujoco_model  # loads the simulator

        states, actions = mujoco_model.state_units(task), mujoco_model.action_units(task)
        quantities = {
            "observation_names": states and list(states),
            "observation_units": states and list(states.values()),
            "action_names": list(actions),
            "action_units": list(actions.values()),
        }
    return {
        "task": spec.task,
        **quantities,
        "control_dt_seconds": spec.dt,
        "control_rate_hz": None if not spec.dt else round(1 / spec.dt, 6),
        "smoothness_j": found.smoothness_j,
        "smoothness_j_unit": frame and f"action per standard deviation of {frame.source}",
        "smoothness_j_raw": found.smoothness_j_raw,
        "average_return": found.average_return,
        "return_std": found.return_std,
        "return_low": found.return_low,
        "return_high": found.return_high,
        "num_episodes": found.num_episodes,
    }, totals.states


def _card(facts: Mapping[str, Any], names: Sequence[str]) -> str:
    """Write a model card: JSON, which is YAML too, for hubs, and a page for people."""
    task, unit = (shown(facts.get(key, "")) for key in ("task", "smoothness_j_unit"))
    rows = {
        "average_return": "Return G",
        "return_std": "standard deviation over episodes",
        "return_low": "95 % interval of the mean, low",
        "return_high": "95 % interval of the mean, high",
        "num_episodes": "episodes",
        "smoothness_j": f"J, {unit}",
        "algorithm": "learned by",
        "training_seed": "seed",
        "iteration": "iteration",
    }
    known = {key: name for key, name in rows.items() if facts.get(key) is not None}
    metrics = [
        {"type": key, "name": known[key], "value": facts[key]}
        for key in ("average_return", "smoothness_j")
        if key in known
    ]
    results = [{"task": {"type": "robotics", "name": task}, "metrics": metrics}]
    head = {
        "library_name": "spacil",
        "tags": ["robotics", "imitation-learning", "smooth-control"],
        "model-index": [{"name": f"spacil: {task}", "results": results}],
    }

    def cell(value: object) -> str:
        text = f"{value:.4g}" if isinstance(value, float) else shown(value)
        return re.sub(r"([|`<\\[\]*_])", r"\\\1", text)

    return "\n".join(
        [
            *("---", json.dumps(head, indent=1), "---", "", f"# A policy: {cell(task)}", ""),
            *(
                f"Made by spacil {facts['spacil_version']}. {facts['note']}",
                "",
                "| | |",
                "|---|---|",
            ),
            *(f"| {cell(name)} | {cell(facts[key])} |" for key, name in known.items()),
            *("", *(f"- `{name}`" for name in names), ""),
        ]
    )


def _states_to_check(policy: GaussianPolicy, visited: Tensor | None, count: int) -> Tensor:
    """[count, S] float32: up to half of them visited, where it was played, the others drawn.

    Those drawn lie up to tens of standard deviations from the mean, so that the clipping of states
    and of actions has its turn.
    """
    generator = torch.Generator().manual_seed(0)
    chosen = torch.empty(0, policy.num_states)
    if visited is not None:
        rows = torch.randperm(len(visited), generator=generator)[: count // 2]
        chosen = visited[rows].to(torch.float32)
    num_drawn = count - len(chosen)
    directions = torch.randn(num_drawn, policy.num_states, generator=generator)
    spreads = 10 ** (3 * torch.rand(num_drawn, 1, generator=generator) - 1.5)
    drawn = policy.normalizer.mean + policy.normalizer.std * directions * spreads
    states = torch.cat([chosen, drawn.to(torch.float32)])
    return states[torch.randperm(count, generator=generator)]


def _separated(values: Sequence[Any], separator: str = ",") -> str:
    """`a,b;c,1.5` of ["a", ["b", "c"], 1.5]."""
    words = (
        _separated(v, ";")
        if isinstance(v, list | tuple)
        else f"{v:g}"
        if type(v) is float
        else str(v)
        for v in values
    )
    return separator.join(words)


def _require_place(folder: Path, *, overwrite: bool) -> None:
    """Refuse a place that cannot be written, or holds anything but an export that may go."""
    storage.require_free(folder, overwrite=True)
    if folder.is_symlink() or folder.is_file():
        raise StorageError(f"{str(folder)!r} is a file or a symbolic link: name a folder")
    entries = folder.iterdir() if folder.exists() else ()
    names = {entry.name for entry in entries if not storage.is_leftover(entry.name)}
    if names and (FACTS not in names or not names <= set(FILES)):
        raise StorageError(
            f"{str(folder)!r} holds other files than an export of spacil's, so it is left alone: "
            "name a new folder"
        )
    if names:
        storage.require_free(folder, overwrite=overwrite)
