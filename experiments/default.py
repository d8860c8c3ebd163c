"""The default beside cloning and beside GAIL of its own start, nine rows, each with a test.

    cd docs/results; python ../../experiments/default.py recipe.json returns.json front.json

From the rows of `recipe` (the mended rule's where it was run again on five seeds), cloning from
`returns` and, on scarce data, from `front`, which has its shares of the return only.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pages import Document, Page, Table, main
from rows import TASKS, Row, interval_of, mean, number, percent, ratio
from spacil import storage
from spacil.comparison.statistics import permutation_p

WHOLE, SCARCE = "whole", "every 20th step"
MENDED = "tier_1_mended_weight_rule"
KEYS = {"G": "average_return", "J": "smoothness_j", "action_change": "action_fluctuation"}
TEXT = (
    "Last policies, which read no reward, 50 fresh episodes a run (cloning: 150), J in the common "
    "frame; mean, and in parentheses the 95 % interval over seeds (Student's t; of ratios Welch's "
    "on the logarithm). GAIL has the default's start, critic and cost penalty, no anchor and no "
    "penalty on the policy (`--preset gail-like`). p: exact two-sided permutation tests over "
    "seeds, each row for itself; three seeds against three never come below 0.1, five against five "
    "below 0.008, nor, corrected for nine rows, below 0.07. "
    "Cloning takes no env step; the default starts from a clone. Its share of the return counts "
    "from random actions to the demonstrator. Iterations differ where two numbers stand. Rows of "
    "every 20th step but Ant's are of the rule as it is now; whole demonstrations are of before "
    "it could fall below its first weight."
)
HEADER = [
    "task", "data", "n: GAIL, spacil", "iterations: GAIL, spacil", "cloning: share", "GAIL: G",
    "spacil: G", "p", "GAIL: J", "spacil: J", "J ratio", "p", "action change ratio", "commits",
]  # fmt: skip


def collect(sources: Sequence[Path]) -> Document:
    recipe, returns, front = map(storage.read_json, sources)
    mended = {(run["task"], run["data"]) for run in recipe[MENDED]["runs"] if run["seed"] == 4}
    runs = [
        run
        for tier in ("tier_1", MENDED)
        for run in recipe[tier]["runs"]
        if run["setting"] == "gail-like"
        or ((run["task"], run["data"]) in mended) == (tier == MENDED)
    ]
    rows = [
        {name: run[name] for name in ("task", "data", "setting", "seed", "iterations", "commit")}
        | {name: run["last"][key] for name, key in KEYS.items()}
        for run in runs
    ]
    clones = [
        {"task": run["task"], "data": WHOLE, "share": run["share"]}
        for run in returns["runs"]
        if run["setting"] == "bc"
    ] + [
        {"task": run["task"], "data": SCARCE, "share": run["policies"][0]["share"]}
        for run in front["runs"]
        if (run["setting"], run["group"]) == ("bc", "every-20th")
    ]
    commits = sorted({row["commit"] for row in rows})
    return {
        "runs": rows, "clones": clones, "num_runs": len(rows), "commits": commits, "problems": [],
    }  # fmt: skip


def page_of(document: Document) -> Page:
    places = [(task, data) for data in (WHOLE, SCARCE) for task in TASKS]
    found = [(place, *members(document["runs"], place)) for place in places]
    found = [row for row in found if row[1]]
    ps = {
        name: [permutation_p(of(ours, name), of(gail, name)) or 1.0 for _, gail, ours in found]
        for name in ("G", "J")
    }
    lower = sum(
        p < 0.05 and np.mean(of(ours, "G")) < np.mean(of(gail, "G"))
        for p, (_, gail, ours) in zip(ps["G"], found, strict=True)
    )
    ratios = [np.mean(of(ours, "J")) / np.mean(of(gail, "J")) for _, gail, ours in found]
    notes = [
        f"The return is below GAIL's on {lower} of {len(found)} rows (p < 0.05, uncorrected).",
        f"J is at most 0.40 of GAIL's on {sum(r <= 0.4 for r in ratios)} of {len(found)} rows.",
    ]
    rows = [
        cells(document, place, gail, ours, ps["G"][i], ps["J"][i])
        for i, (place, gail, ours) in enumerate(found)
    ]
    table = Table("Cloning, GAIL of the same start, the default", HEADER, rows)
    return Page("The default, with tests", TEXT, [table], notes=notes)


def members(runs: Sequence[Row], place: tuple[str, str]) -> tuple[list[Row], list[Row]]:
    """GAIL's runs on a task and data, and the default's."""
    there = [run for run in runs if (run["task"], run["data"]) == place]
    gail = [run for run in there if run["setting"] == "gail-like"]
    return gail, [run for run in there if run["setting"] == "default"]


def of(runs: Sequence[Row], name: str) -> list[Any]:
    return [run[name] for run in runs]


def cells(
    document: Document, place: tuple[str, str], gail: list[Row], ours: list[Row], *ps: float
) -> list[str]:
    clones = [c["share"] for c in document["clones"] if (c["task"], c["data"]) == place]
    iterations = [" to ".join(map(str, sorted({*of(arm, "iterations")}))) for arm in (gail, ours)]
    return [
        *place,
        f"{len(gail)}, {len(ours)}",
        ", ".join(iterations),
        percent(clones),
        *(f"{mean(of(arm, 'G'))} ({ends(of(arm, 'G'))})" for arm in (gail, ours)),
        number(ps[0]),
        mean(of(gail, "J")),
        f"{mean(of(ours, 'J'))} ({ends(of(ours, 'J'))})",
        ratio(of(ours, "J"), of(gail, "J")),
        number(ps[1]),
        ratio(of(ours, "action_change"), of(gail, "action_change")),
        " ".join(sorted({*of(gail, "commit"), *of(ours, "commit")})),
    ]


def ends(values: Sequence[float]) -> str:
    return " to ".join(map(number, interval_of(values) or ()))


if __name__ == "__main__":
    main("default", page_of, collect)
