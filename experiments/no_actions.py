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

from pages import RESULTS, Document, Page, Table, main
from rows import TASKS, Row, interval_of, number, ratio
from spacil.comparison.demonstrator import demonstrator_of
from spacil.config.settings import DemoChoice
from spacil.config.train_config import TrainConfig
from spacil.errors import DataError, SpacilError
from spacil.runs import metrics_log
from spacil.runs.facts import read_run

ARMS = {
    "every 20th pair": "ours (`spacil train spacil --ignore-actions`)",
    "labels and GAIL": "labels of own play, then GAIL on changes of state, no policy penalty",
    "GAIfO": "D(s, s') from an untrained start, no labels, no penalty",
    "BCO": "a clone of the labels of own play, iterated",
    "with actions, GAIL": "the start and discriminator of ours, no policy penalty",
    "one trajectory": "ours from every 20th pair of one trajectory",
    "positions": "ours from positions alone, every 20th pair of them",
    "single states": "ours from every 20th state, no successors",
}
FROM_TRAINING = ("iteration", "env_steps", "label_error_held_out", "label_trust")
NUMBERS = {
    "G": "average_return",
    "G_std": "return_std",
    "J": "smoothness_j_common",
    "action_change": "action_fluctuation",
}
TEXT = (
    "Last policies on 50 fresh episodes, G the return, its share that of the demonstrator, J in "
    "the frame of the bundled demonstrations; ± is the half width of the 95 % interval over seeds "
    "(Student's t), where there is more than one. J of GAIL's: over that of GAIL *with* the "
    "actions of the same data ([recipe.md](recipe.md)). Own play's 60,000 steps count. Beside "
    "them, of the last iteration: the held-out error of the labels, RMS in units of the actions, "
    "and the share of the actor's noise that is found again (trust). The runs were trained with "
    "`--demo-every 20 --demo-offset SEED --device cuda --torch-threads 1`, up to 21 beside each "
    "other on one H200, and the clock cut some: the iterations say how far they came. How the "
    "rule was chosen: [no-actions-rule.md](no-actions-rule.md).\n\n"
    + "\n".join(f"- *{arm}*: {words}" for arm, words in ARMS.items())
)
NOTES = (
    "Asked were 98, 98, 95 and 93 % on Hopper, HalfCheetah, Walker2d and Ant, at 0.45 of GAIL's J, "
    "within 400 iterations. Hopper is there (one seed, cut at 258), HalfCheetah too (two seeds, "
    "one of them at 0.48 of GAIL's J). Walker2d was cut at a third of the iterations, where the "
    "first rule had as much, and is not decided.",
    "**GAIfO earns as much as ours on Hopper, sooner and without own play** (3661 after 165 "
    "iterations, one seed), at 4.7 times the J. On HalfCheetah it was cut at 40 iterations.",
    "Not run: Ant under the present rule and positions (two faults that are mended since stopped "
    "them), one trajectory, Reacher, labels and GAIL, more seeds, other demonstrators. Single "
    "states of HalfCheetah are of before the mend that leaves out the first of a clip.",
    "BCO is that of Torabi et al. 2018 with alpha above 0: round 0 acts at random, five rounds "
    "with the clone so far. It clones every 20th pair, as all arms do; the paper clones all.",
    "GAIfO is that of Torabi et al. 2018: TRPO and a discriminator of (s, s') on raw pairs, "
    "here with this package's critic and evaluation.",
    "OPOLO (Zhu et al., NeurIPS 2020) and LWAIL (Yang et al., ICLR 2026, arXiv 2603.05440, which "
    "reports expert level from one state-only episode) are off-policy, on other versions of these "
    "tasks, from other demonstrators and whole trajectories, and print no smoothness: their "
    "numbers are not repeated here.",
)


def arm_of(config: TrainConfig, choice: DemoChoice) -> str:
    """The arm that a run belongs to, by its settings and its part of the demonstrations."""
    if not (choice.ignore_actions or choice.demo_columns or choice.single_states):
        return "with actions, GAIL"
    if config.algorithm in ("gail", "bc"):
        return {"gail": "GAIfO", "bc": "BCO"}[config.algorithm]
    if not config.policy_penalty.penalty:
        return "labels and GAIL"
    if choice.single_states or choice.demo_columns:
        return "single states" if choice.single_states else "positions"
    return "one trajectory" if choice.num_demos == 1 else "every 20th pair"


def row_of(path: Path) -> Row:
    """A run, also one that was cut short: its last policy was measured."""
    facts, fresh = read_run(path), path / "eval.json"
    assert facts.inputs is not None and facts.inputs.demonstrations is not None
    *_, last = metrics_log.read(path / "metrics.jsonl")
    measured = json.loads(fresh.read_text()) if fresh.exists() else (facts.fresh or facts).last
    if measured is None:
        raise DataError(f"{path}: no evaluation of its last policy")
    return {
        "task": facts.config.task,
        "arm": arm_of(facts.config, facts.inputs.demonstrations.choice),
        "seed": facts.config.run.seed,
        "run": path.name,
        "status": facts.status,
        "commit": facts.commit,
        "episodes": measured["num_episodes"],
        **{name: measured[key] for name, key in NUMBERS.items()},
        **{name: last.get(name) for name in FROM_TRAINING},
    }


def collect(sources: Sequence[Path]) -> Document:
    rows, problems = list[Row](), list[str]()
    for path in sorted(file.parent for source in sources for file in source.rglob("run.json")):
        try:
            rows.append(row_of(path))
        except SpacilError as error:
            problems.append(str(error))
    gail: dict[str, list[float]] = {}
    for row in json.loads((RESULTS / "recipe.json").read_text())["tier_1"]["runs"]:
        if (row["data"], row["setting"]) == ("every 20th step", "gail-like"):
            gail.setdefault(row["task"], []).append(row["last"]["smoothness_j"])
    commits = sorted({row["commit"] or "unknown" for row in rows})
    about = {"num_runs": len(rows), "commits": commits, "problems": problems}
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
    tables = [table for table in tables if table.rows]
    return Page("Demonstrations without actions", TEXT, tables, notes=NOTES)


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
        f"{len(rows)}, {span([row['iteration'] for row in rows])}",
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
