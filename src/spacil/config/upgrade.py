"""Settings that an earlier version wrote, as this one names them.

Version 0.1 kept every setting of every algorithm and named one policy penalty by estimator and
weight. Nothing else changed its meaning, so its runs go on under today's names. Its gail took any
penalty; with one that today's gail refuses, it was what spacil is.
"""

from collections.abc import Mapping
from typing import Any

from spacil.config.algorithms import ALGORITHMS
from spacil.config.flat import settings_read

_OLD_NAMES = frozenset({"lambda_policy", "policy_penalty_estimator"})
_NEW_IN_0_2: Mapping[str, Any] = {
    "value_targets": "raw",
    "warm_start_steps": 0,
    "anchor_weight": 0.0,
    "staggered_starts": False,
    "kept_policy_decay": 0.0,
    "cost_weight": "fixed",
    "penalty_weight": "fixed",
    "smoothest": False,
    "keep_return": 0.0,
    "fluctuation_target": 0.0,
    "fluctuation_target_reference": "none",
    "penalty_start": 0,
    "select": "return",
    "imitation_reward": "positive",
    "policy_step": "trpo",
    "ppo_clip": 0.2,
    "ppo_epochs": 10,
    "ppo_minibatch": 1_000,
    "ppo_learning_rate": 3e-4,
    "ppo_target_kl": 0.02,
}
"""Settings that earlier runs did not have, at the values that repeat what they did."""


def upgraded(flat: Mapping[str, Any]) -> dict[str, Any]:
    """The same run under today's names; a document of this version as it is."""
    algorithm = flat.get("algorithm")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        return dict(flat)
    if not flat.keys() >= _OLD_NAMES:
        missing = set(settings_read(algorithm)) - flat.keys()
        is_whole = missing <= _NEW_IN_0_2.keys()
        return dict(flat) | ({name: _NEW_IN_0_2[name] for name in missing} if is_whole else {})
    weight, estimator = flat["lambda_policy"], flat["policy_penalty_estimator"]
    terms = [f"{estimator}={weight!r}"] if weight else []
    known = {**_NEW_IN_0_2, **flat, "penalty": terms}
    forms = ALGORITHMS[algorithm].cost_penalty_forms
    if algorithm == "gail" and flat.get("cost_penalty_form") not in forms:
        if not flat.get("lambda_cost"):
            known["cost_penalty_form"] = "r1"  # without weight the form says nothing
        else:
            algorithm = "spacil"
    if algorithm == "gail" and weight:
        algorithm = "spacil"
    known["algorithm"] = algorithm
    read = {"algorithm", "task", *settings_read(algorithm)}
    return {name: value for name, value in known.items() if name in read}
