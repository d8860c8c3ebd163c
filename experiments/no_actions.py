"""Demonstrations without actions: ours, its rivals, and less and less of the states.

    spacil sweep experiments/no_actions.toml -o SWEEP
    python experiments/no_actions.py SWEEP

Any folder of runs will do. J is compared in the frame of the bundled demonstrations: where
`spacil evaluate RUN --which last --demos TASK --json` has written RUN/eval.json, the numbers are
those, and they have to be where a run knows some columns of the states only.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import spacil
from pages import RESULTS, Document, Page, Table, main
from rows import TASKS, Row, interval_of, number, ratio
from spacil.comparison.demonstrator import demonstrator_of
from spacil.runs import metrics_log
from spacil.runs.facts import read_run

ARMS = {
    "every 20th pair": "ours",
    "labels and GAIL": "labels of own play, then GAIL on changes of state, no policy penalty",
    "GAIfO": "D(s, s') from an untrained start, no labels, no penalty",
    "BCO": "a clone of the labels of own play, iterated",
    "with actions, GAIL": "the start and discriminator of ours, no policy penalty",
    "one trajectory": "ours from every 20th pair of one trajectory",
    "positions": "ours from positions alone, every 20th pair of them",
    "single states": "ours from every 20th state, no successors",
}
COLUMNS = ("task", "arm", "seed", "iterations", "env_steps", "command", "commit")
NUMBERS = {
    "G": "average_return",
    "G_std": "return_std",
    "J": "smoothness_j_common",
    "action_change": "action_fluctuation",
}
TEXT = (
    "Last policies on fresh episodes, G the return, its share that of the demonstrator, J in the "
    "frame of the bundled demonstrations; intervals are 95 % over seeds (Student's t), where there "
    "is more than one. J of GAIL's: over that of GAIL *with* the actions of the same data. Own "
    "play's 60,000 steps count. "
    + " ".join(f"*{arm}*: {words}." for arm, words in ARMS.items())
    + " Beside them, of the last iteration: the held-out error of the labels, RMS in units of the "
    "actions, and the share of the actor's noise that is found again (trust)."
)


def arm_of(run: Row, choice: Any) -> str:
    """The arm that a run belongs to, by its settings and its part of the demonstrations."""
    if not (choice.ignore_actions or choice.demo_columns or choice.single_states):
        return "with actions, GAIL"
    if run["algorithm"] in ("gail", "bc"):
        return {"gail": "GAIfO", "bc": "BCO"}[run["algorithm"]]
    if run["settings"]["penalty"] == ():
        return "labels and GAIL"
    if choice.single_states or choice.demo_columns:
        return "single states" if choice.single_states else "positions"
    return "one trajectory" if choice.num_demos == 1 else "every 20th pair"


def collect(sources: Sequence[Path]) -> Document:
    found, rows = spacil.compare(sources, which="last"), []
    for run in found.frame.to_dict("records"):
        path = Path(run["run_dir"])
        inputs, fresh = read_run(path).inputs, path / "eval.json"
        assert inputs is not None and inputs.demonstrations is not None
        *_, last = metrics_log.read(path / "metrics.jsonl")
        measured = json.loads(fresh.read_text()) if fresh.exists() else run
        row = run | {"arm": arm_of(run, inputs.demonstrations.choice)}
        rows.append(
            {name: row[name] for name in COLUMNS}
            | {name: measured[key] for name, key in NUMBERS.items()}
            | {"episodes": measured["num_episodes"], "run": path.name}
            | {name: last.get(name) for name in ("label_error_held_out", "label_trust")}
        )
    commits = sorted({row["commit"] or "unknown" for row in rows})
    known = json.loads((RESULTS / "recipe.json").read_text())["tier_1"]["runs"]
    gail: dict[str, list[float]] = {}
    for row in known:
        if (row["data"], row["setting"]) == ("every 20th step", "gail-like"):
            gail.setdefault(row["task"], []).append(row["last"]["smoothness_j"])
    about = {"num_runs": len(rows), "commits": commits, "problems": list(found.problems)}
    return about | {"runs": rows, "gail_j": gail}


def page_of(document: Document) -> Page:
    tables = []
    for task in TASKS:
        cells, of_task = [], [row for row in document["runs"] if row["task"] == task]
        gail = [row["J"] for row in of_task if row["arm"] == "with actions, GAIL"]
        for arm in ARMS:
            rows = sorted((r for r in of_task if r["arm"] == arm), key=lambda row: row["seed"])
            if rows:
                cells.append(cells_of(task, arm, rows, gail or document["gail_j"].get(task, [])))
        tables.append(Table(task, HEADER, cells, 1))
    return Page("Demonstrations without actions", TEXT, [t for t in tables if t.rows])


HEADER = [
    "arm", "seeds, iterations", "G", "share of the demonstrator", "by seed", "J", "J of GAIL's",
    "action change", "env steps", "error", "trust",
]  # fmt: skip


def cells_of(task: str, arm: str, rows: Sequence[Row], gail: Sequence[float]) -> list[str]:
    known = demonstrator_of(task)
    best = known.average_return if known is not None else 0.0
    shares = [100 * row["G"] / best for row in rows] if best > 0 else []
    labels = [[row[name] for row in rows] for name in ("label_error_held_out", "label_trust")]
    return [
        arm,
        f"{len(rows)}, {span([row['iterations'] for row in rows])}",
        half_width([row["G"] for row in rows]),
        half_width(shares) + " %" if shares else "-",
        ", ".join(f"{share:.1f}" for share in shares) or "-",
        half_width([row["J"] for row in rows]),
        ratio([row["J"] for row in rows], gail),
        half_width([row["action_change"] for row in rows]),
        span([row["env_steps"] for row in rows]),
        *("-" if None in values else half_width(values) for values in labels),
    ]


def span(values: Sequence[float]) -> str:
    low, high = int(min(values)), int(max(values))
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def half_width(values: Sequence[float]) -> str:
    """`4736 ± 604`: the mean, and half the width of its interval over seeds."""
    found, mean = interval_of(values), sum(values) / len(values)
    return number(mean) + ("" if found is None else f" ± {number((found[1] - found[0]) / 2)}")


if __name__ == "__main__":
    main("no-actions", page_of, collect)
