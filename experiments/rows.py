"""Runs of a sweep as rows of plain numbers, and rows of one setting as cells of a table.

One vocabulary for all documents: G is the return, J the smoothness in the common frame (lower is
smoother), `action_change` is E |a_{t+1} - a_t| of the executed actions. A row is of one run: the
numbers of one of its policies, and below `best` or `last` those of the other.
"""

import math
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pages import Document, Panel, Series
from spacil.comparison.demonstrator import demonstrator_of
from spacil.comparison.runs import row_of_run
from spacil.comparison.statistics import permutation_p, student_interval
from spacil.policies.file import Which
from spacil.sweeps.folder import read_sweep
from spacil.sweeps.plan import PlannedRun, grids_of, planned_runs

Row = dict[str, Any]
Place = tuple[str, str]
"""Group and setting: where a run stands on a page"""
TASKS = ("Reacher-v4", "Hopper-v4", "Walker2d-v4", "HalfCheetah-v4", "Ant-v4")
NUMBERS: Mapping[str, str] = {
    "G": "average_return",
    "G_std": "return_std",
    "J": "smoothness_j_common",
    "J_effective": "smoothness_j_effective",
    "J_own": "smoothness_j_own",
    "J_raw": "smoothness_j_raw",
    "J_demo_states": "smoothness_j_demo_states",
    "J_ball": "smoothness_j_ball",
    "jeffreys": "smoothness_jeffreys",
    "action_change": "action_fluctuation",
    "spectrum_score": "spectrum_score",
    "share": "return_share",
    "steps_to_95": "steps_to_95",
    "seconds_to_95": "seconds_to_95",
}
"""Key of a row -> its column in `spacil.compare`; G_std is over the episodes of a run"""
BY_T = "; 95 % intervals by Student's t"
"""End of a table's title"""
EARLY = 0.25
"""Share of a run: a best policy from before it has learned nothing since"""


# --- from runs


def plan_named(name: str) -> list[PlannedRun]:
    """The runs of a plan beside the scripts."""
    path = Path(__file__).parent / f"{name}.toml"
    return planned_runs(grids_of(tomllib.loads(path.read_text()), str(path)))


@dataclass(frozen=True)
class Record:
    """A finished run, as `spacil.compare` has a run."""

    path: Path
    task: str
    algorithm: str
    best: Row
    """Its row with the numbers of the best policy"""
    last: Row
    curve: Sequence[Row]
    """Evaluations during training"""


@dataclass(frozen=True)
class Runs:
    """The finished runs of a plan in a sweep's folder, and what is missing."""

    records: Sequence[tuple[PlannedRun, Record]]
    problems: Sequence[str]

    def document(self, **rows: Any) -> Document:
        """The rows with what a page says of the runs behind them."""
        commits = {record.best["commit"] or "an installed package" for _, record in self.records}
        tasks = dict.fromkeys(run.task for run, _ in self.records)
        known = {task: demonstrator_of(task) for task in tasks}
        return {
            "num_runs": len(self.records),
            "commits": sorted(commits),
            "problems": list(self.problems),
            "demonstrators": {task: asdict(one) for task, one in known.items() if one},
            **rows,
        }


def runs_of(plans: Iterable[PlannedRun], sweep: Path) -> Runs:
    states = read_sweep(sweep).states(plans)
    records, missing = [], dict[tuple[str, str], list[str]]()
    for run, state in states.items():
        if state.state in ("finished", "trained"):
            path = sweep / run.name
            best, curve = row_of_run(path, run, "best")
            last, _ = row_of_run(path, run, "last")
            records.append((run, Record(path, run.task, run.algorithm, best, last, curve)))
        else:
            arm = run.name.removesuffix(f"/seed{run.seed}")
            missing.setdefault((arm, f"{state.state} {state.reason}"), []).append(str(run.seed))
    lines = (f"{arm}, seed {', '.join(seeds)}: {why}" for (arm, why), seeds in missing.items())
    return Runs(records, [line.rstrip() for line in lines])


def row_of(run: PlannedRun, record: Record, which: Which, place: Place) -> Row:
    other: Which = "last" if which == "best" else "best"
    evaluated: Row = getattr(record, which)
    return {
        "group": place[0],
        "task": run.task,
        "setting": place[1],
        "seed": run.seed,
        "which": which,
        "is_fresh": evaluated["is_fresh"],
        "num_episodes": whole(evaluated["num_episodes"]),
        "iteration": whole(evaluated["iteration"]),
        **numbers_of(record, which),
        other: numbers_of(record, other),
        "run_dir": run.name,
        "command": evaluated["command"],
        "commit": evaluated["commit"],
    }


def numbers_of(record: Record, which: Which) -> dict[str, float | None]:
    """The numbers of one policy; a share is (G - random) / (demonstrator - random)."""
    row: Row = getattr(record, which)
    return {name: None if np.isnan(row[key]) else row[key] for name, key in NUMBERS.items()}


def whole(value: float) -> int | None:
    return None if np.isnan(value) else int(value)


def collector(
    plan: str, places: Callable[[PlannedRun], Sequence[Place]], which: Callable[[str], Which]
) -> Callable[[Sequence[Path]], Document]:
    """Read the runs of a plan: a row for each place of a run, of the policy of its setting."""

    def collect(sources: Sequence[Path]) -> Document:
        (sweep,) = sources
        runs = runs_of(plan_named(plan), sweep)
        rows = [
            row_of(run, record, which(place[1]), place)
            for run, record in runs.records
            for place in places(run)
        ]
        return runs.document(runs=rows)

    return collect


# --- rows of one setting as cells


@dataclass(frozen=True)
class Arm:
    """The runs of one setting on one task."""

    group: str
    task: str
    setting: str
    rows: pd.DataFrame
    """One row per seed; numbers of the other policy as `best.G` or `last.G`"""

    def values(self, name: str) -> list[float]:
        """One number per seed; empty where some run does not have it."""
        column = self.rows.get(name)
        return [] if column is None or column.isna().any() else [float(value) for value in column]

    def other(self, name: str) -> list[float]:
        """The number of the policy that is not shown; of the shown one where there is no other."""
        other = "last" if self.rows["which"].iloc[0] == "best" else "best"
        return self.values(f"{other}.{name}") or self.values(name)

    @property
    def num_seeds(self) -> str:
        return str(len(self.rows))

    @property
    def iterations(self) -> str:
        """Of the shown policies, from the earliest to the latest."""
        known = sorted({*self.rows["iteration"]})
        return " to ".join(map(str, known[:: max(len(known) - 1, 1)]))


def arms_of(runs: Sequence[Row], order: Sequence[str] = ()) -> list[Arm]:
    """Settings in the given order, tasks and groups as they come; runs by seed."""
    places = pd.json_normalize(runs).groupby(["group", "task", "setting"], sort=False)
    arms = [
        Arm(group, task, name, rows.sort_values("seed")) for (group, task, name), rows in places
    ]
    return sorted(arms, key=lambda arm: order.index(arm.setting) if order else 0)


def one(arms: Iterable[Arm], task: str, setting: str | None, group: str = "") -> Arm | None:
    wanted = (group, task, setting)
    return next((arm for arm in arms if (arm.group, arm.task, arm.setting) == wanted), None)


def interval_of(values: Sequence[float]) -> tuple[float, float] | None:
    """95 % interval of a mean over seeds; None for one seed, and for seeds that are all alike."""
    low, high = student_interval(float(np.mean(values or [np.nan])), np.asarray(values))
    return None if low is None or high is None else (low, high)


def ratio_interval(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float] | None:
    """95 % interval of a ratio of two means: Welch's t on its logarithm."""
    a, b = np.asarray(ours), np.asarray(theirs)
    value = float(a.mean() / b.mean())
    if not value > 0:
        return None
    low, high = student_interval(math.log(value), a / a.mean(), b / b.mean())
    return None if low is None or high is None else (math.exp(low), math.exp(high))


def holm(ps: Sequence[float]) -> list[float]:
    """p-values corrected for their number (Holm, 1979), in the order given."""
    order = np.argsort(ps)
    steps = np.asarray(ps)[order] * np.arange(len(ps), 0, -1)
    corrected = np.empty(len(ps))
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return [float(p) for p in corrected]


def number(value: float | None) -> str:
    """Four significant digits; a dash for None."""
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def mean(values: Sequence[float]) -> str:
    return number(sum(values) / len(values) if values else None)


def spread(values: Sequence[float]) -> str:
    """`3661 ± 12`, over seeds."""
    return mean(values) + (f" ± {number(float(np.std(values, ddof=1)))}" if values[1:] else "")


def interval(values: Sequence[float]) -> str:
    """`3650 to 3670`, 95 % over seeds."""
    found = interval_of(values)
    return "-" if found is None else " to ".join(map(number, found))


def with_interval(values: Sequence[float]) -> str:
    """`3661 (3650 to 3670)`"""
    return f"{mean(values)} ({interval(values)})" if interval_of(values) else mean(values)


def percent(values: Sequence[float]) -> str:
    """A share as percent with its interval."""
    if not values:
        return "-"
    found = interval_of(values)
    suffix = "" if found is None else f" ({100 * found[0]:.1f} to {100 * found[1]:.1f})"
    return f"{100 * float(np.mean(values)):.1f} %{suffix}"


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """`0.27 (0.24 to 0.31)`: the ratio of two means."""
    if not ours or not theirs or not np.mean(theirs):
        return "-"
    value = float(np.mean(ours) / np.mean(theirs))
    return ratio_text(value, ratio_interval(ours, theirs))


def ratio_text(value: float, found: tuple[float, float] | None) -> str:
    if found is None:
        return f"{value:.2f}"
    digits = 2 if found[1] - found[0] >= 0.01 else 4  # no interval looks as if it had no width
    return " ".join([f"{value:.2f}", f"({found[0]:.{digits}f} to {found[1]:.{digits}f})"])


def ratio_to(arm: Arm, baseline: Arm | None, name: str) -> str:
    """The ratio of an arm to its baseline; of returns only where all are positive."""
    if baseline is None or baseline is arm:
        return "-"
    ours, theirs = arm.values(name), baseline.values(name)
    if name == "G" and min([*ours, *theirs], default=0) <= 0:
        return "-"
    return ratio(ours, theirs)


# --- what pages share

COMPARED = [
    "task", "setting", "n", "iterations", "return G", "share of the demonstrator", "p of G", "J",
    "J ratio", "p of J", "action change ratio", "commit",
]  # fmt: skip


def compared(arm: Arm, to: Arm | None) -> list[str]:
    """Cells of an arm beside a reference, with exact permutation p; `COMPARED` is their head."""
    is_other = to is not None and to is not arm
    commits = sorted({str(commit)[:7] for commit in arm.rows["commit"]})
    ps = [p_to(arm, to, name) if is_other else None for name in ("G", "J")]
    return [
        arm.task,
        arm.setting,
        arm.num_seeds,
        arm.iterations,
        with_interval(arm.values("G")),
        percent(arm.values("share")),
        number(ps[0]),
        with_interval(arm.values("J")),
        ratio_to(arm, to, "J"),
        number(ps[1]),
        ratio_to(arm, to, "action_change"),
        " ".join(commits),
    ]


def p_to(arm: Arm, to: Arm | None, name: str) -> float | None:
    """Two-sided permutation p of equal means of two arms; None where one has one seed."""
    ours, theirs = arm.values(name), [] if to is None else to.values(name)
    return permutation_p(ours, theirs)


def return_against_j(arms: Iterable[Arm], document: Document, task: str, group: str = "") -> Panel:
    """The arms of one task and group, a dot per run; up and to the left is better."""
    members = [arm for arm in arms if (arm.task, arm.group) == (task, group) and arm.values("J")]
    dots = [Series(a.setting, a.values("J"), a.values("G"), is_joined=False) for a in members]
    kinds = {kind for arm in members for kind in arm.rows["which"]}
    title = f"{task}, {group}" if group else task
    label = f"return G, {kinds.pop()} policy" if len(kinds) == 1 else "return G"
    known = document["demonstrators"].get(task, {}).get("average_return")
    return Panel(title, "J, common frame (lower is smoother)", label, dots, known)


def notes_on(rows: Sequence[Row], iterations: Mapping[str, int]) -> list[str]:
    """Arms that learned nothing after the beginning of their runs, and numbers of episodes.

    `iterations`: the name of a run -> its iterations.
    """
    own = [row for row in rows if row.get("run_dir")]
    return [*early_notes(own, iterations), *episode_notes(own)]


def early_notes(rows: Sequence[Row], iterations: Mapping[str, int]) -> Iterator[str]:
    for arm in arms_of(rows) if rows else ():
        ends = [iterations.get(run) for run in arm.rows["run_dir"]]
        pairs = [(int(at), end) for at, end in zip(arm.rows["iteration"], ends, strict=True) if end]
        if len(pairs) == len(arm.rows) and all(at < EARLY * end for at, end in pairs):
            listed = ", ".join(f"{at} of {end}" for at, end in pairs)
            yield f"{arm.task}, {arm.setting}: its best policies are of iterations {listed}"


def episode_notes(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        if not row["is_fresh"]:
            yield f"{row['run_dir']}: no fresh episodes; its best policy was picked by these"
    counts = Counter(row["num_episodes"] for row in rows if row["is_fresh"])
    if len(counts) > 1:
        listed = ", ".join(f"{episodes} in {runs} runs" for episodes, runs in counts.most_common())
        yield f"numbers of fresh episodes: {listed}"
