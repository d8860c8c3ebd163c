"""The final runs of docs/results/recipe.json in the vocabulary of the other documents.

They were made by a script before there were named experiments, and are the only ones so far of the
default on five tasks: what a claim can be asked of, it is asked of them too.
"""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from spacil.comparison.demonstrator import demonstrator_of, share
from spacil.comparison.statistics import variability
from spacil.config.defaults import default_config
from spacil.experiments.named.outcome import Document
from spacil.experiments.named.rows import demonstrators_of

SOURCE = "recipe.json"
DEFAULT, GAIL_LIKE = "default", "gail-like"
_WHOLE = "whole"
_MEASURED = {
    "G": "average_return",
    "G_std": "return_std",
    "J": "smoothness_j",
    "J_effective": "smoothness_j_effective",
    "J_own": "smoothness_j_own",
    "action_change": "action_fluctuation",
}
"""Number of a row -> its key there"""
_ABLATION = {
    "neither penalty": "neither",
    "policy penalty only": "policy only",
    "cost penalty only": "cost only",
    DEFAULT: "both",
}
"""Setting there -> the name that `spacil experiment recipe` has for it"""


def as_results(document: Document) -> dict[str, Document]:
    """Runs on whole demonstrations as `returns` and `curves` hold theirs, ablations as `recipe`."""
    runs = _on_whole(document)
    ablated = [*document["tier_1"]["runs"], *document.get("tier_2", {}).get("runs", [])]
    return {
        "returns": {
            "runs": whole_rows(document),
            "demonstrators": demonstrators_of([run["task"] for run in runs]),
        },
        "curves": {"variability": _variability(runs)},
        "recipe": {"summaries": _ablations(ablated)},
    }


def whole_rows(document: Document) -> list[dict[str, Any]]:
    """One row per run on whole demonstrations, of its last policy, as `returns` has them."""
    randoms, episodes = (document["tier_1"].get(key) for key in ("random_returns", "episodes"))
    return [
        _row(run, randoms[run["task"]]) | {"num_episodes": episodes} for run in _on_whole(document)
    ]


def whole_curves(document: Document) -> list[dict[str, Any]]:
    """Task, setting, seed and the two curves that were kept: of evaluations, not of batches."""
    return [
        {
            **{name: run[name] for name in ("task", "setting", "seed")},
            "evaluation": {row[0]: row[1] for row in run["evaluations"]},
            "smoothness": {row[0]: row[3] for row in run["evaluations"]},
        }
        for run in _on_whole(document)
    ]


def _on_whole(document: Document) -> list[Mapping[str, Any]]:
    return [run for run in document["tier_1"]["runs"] if run["data"] == _WHOLE]


def _row(run: Mapping[str, Any], random_return: float) -> dict[str, Any]:
    last, known = run["last"], demonstrator_of(run["task"])
    reached = [
        iteration
        for iteration, average_return, *_ in run["evaluations"]
        if known is not None and average_return >= known.threshold(random_return)
    ]
    batch = default_config("spacil", run["task"]).sampling.steps_per_iteration
    return {
        "group": "",
        **{name: run.get(name) for name in ("task", "setting", "seed", "iterations", "commit")},
        "which": "last",
        "is_fresh": True,
        **{name: last.get(key) for name, key in _MEASURED.items()},
        "share": share(last["average_return"], random_return, known),
        "steps_to_95": float(batch * reached[0]) if reached else None,
        "source": SOURCE,
    }


def _variability(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Of the evaluation curves alone: returns of training batches were not kept."""
    found: dict[tuple[str, str], list[float]] = {}
    for run in runs:
        moved = variability({row[0]: row[1] for row in run["evaluations"]})
        if moved is not None:
            found.setdefault((run["task"], run["setting"]), []).append(moved)
    return [
        {"task": task, "setting": setting, "late_variability": {"evaluation": values}}
        for (task, setting), values in found.items()
    ]


def _ablations(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """G and J of the rule with neither, one and both penalties, where it was taken apart."""
    found: dict[tuple[str, str], dict[str, list[Mapping[str, Any]]]] = {}
    for run in runs:
        if run["setting"] in _ABLATION:
            of_data = found.setdefault((run["task"], run["data"]), {})
            of_data.setdefault(_ABLATION[run["setting"]], []).append(run["last"])
    return [
        {
            "task": task,
            "group": f"ablation-{data}",
            "setting": setting,
            "numbers": {
                name: {"mean": statistics.mean(last[key] for last in lasts), "n": len(lasts)}
                for name, key in (("G", "average_return"), ("J", "smoothness_j"))
            },
        }
        for (task, data), settings in found.items()
        if len(settings) == len(_ABLATION)
        for setting, lasts in settings.items()
    ]
