"""What whoever runs an exported policy must know of it: names, units, bounds, rate, J, hashes."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor

from spacil.envs.registry import built_in_task
from spacil.envs.vector_env import EnvSpec
from spacil.export.played import Played
from spacil.policies.file import SavedPolicy
from spacil.policies.onnx_export import INPUT, OPSET, OUTPUT
from spacil.version import __version__

FORMAT, FORMAT_VERSION = "spacil-export", 1
NOTE = (
    "actions are final, in env units: already clipped to action_low..action_high. Feed raw "
    "observations as the env returns them; the normaliser is inside. Add no tanh, scaling or noise."
)


def facts_of(saved: SavedPolicy, policy_hash: str, played: Played | str) -> dict[str, Any]:
    """One flat JSON-able document; every entry also stands in the ONNX file's metadata."""
    policy, provenance = saved.policy, saved.provenance
    facts: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "spacil_version": __version__,
        "note": NOTE,
        "task": saved.task or None if isinstance(played, str) else played.spec.task,
        "onnx_opset": OPSET,
        "input_name": INPUT,
        "output_name": OUTPUT,
        "num_observations": policy.num_states,
        "num_actions": policy.num_actions,
        "dtype": "float32",
        "action_low": _numbers(policy.action_low),
        "action_high": _numbers(policy.action_high),
        "observations_ignored": (policy.normalizer.scale == 0).nonzero().flatten().tolist(),
        "policy_sha256": policy_hash,
        "run_content_hash": provenance.get("content_hash"),
        "algorithm": provenance.get("algorithm"),
        "training_seed": provenance.get("seed"),
        "iteration": provenance.get("iteration"),
    }
    if isinstance(played, str):
        facts["not_measured"] = f"no dt, J and return: {played}"
    else:
        facts |= _quantities(played.spec) | _measured(played)
    return {key: value for key, value in facts.items() if value is not None}


def _measured(played: Played) -> dict[str, Any]:
    """J, and the rate that the policy was made for."""
    spec, found = played.spec, played.evaluation
    return {
        "control_dt_seconds": spec.dt,
        "control_rate_hz": None if not spec.dt else round(1 / spec.dt, 6),
        "smoothness_j": found.smoothness_j_common,
        "smoothness_j_unit": played.frame and f"action per standard deviation of {played.frame}",
        "smoothness_j_raw": found.smoothness_j_raw,
        "average_return": found.average_return,
        "num_episodes": found.num_episodes,
    }


def _quantities(spec: EnvSpec) -> dict[str, Any]:
    """Names and units, where they are known: those of built-in tasks."""
    task = built_in_task(spec)
    if task is None:
        return {}
    from spacil.envs.state_names import action_quantities, state_quantities  # loads the simulator

    states, actions = state_quantities(task), action_quantities(task)
    return {
        "observation_names": states and [quantity.name for quantity in states],
        "observation_units": states and [quantity.unit for quantity in states],
        "action_names": [quantity.name for quantity in actions],
        "action_units": [quantity.unit for quantity in actions],
    }


def as_metadata(facts: Mapping[str, Any]) -> dict[str, str]:
    """The same as texts: plain ones as they are, all others as JSON."""
    return {
        key: value if isinstance(value, str) else json.dumps(value) for key, value in facts.items()
    }


def _numbers(values: Tensor) -> list[float | None]:
    """JSON has no infinity: an open bound is null."""
    return [value if np.isfinite(value) else None for value in values.tolist()]
