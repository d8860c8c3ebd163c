"""Runs as rows of plain numbers, and arms as their summaries over seeds.

One vocabulary for all documents of named experiments: G is the return, J the smoothness in the
common frame, lower is smoother; `action_change` is E |a_{t+1} - a_t| of the executed actions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from spacil.comparison.comparison_text import interval, number
from spacil.comparison.demonstrator import demonstrator_of, share
from spacil.comparison.run_demonstrator import demonstrator_of_run, time_to_95
from spacil.comparison.run_record import RunRecord, Which
from spacil.comparison.statistics import Ratio, Summary, ratio_of_means, summarize
from spacil.errors import StorageError
from spacil.experiments.named.experiment import ArmRuns, Gathered
from spacil.experiments.named.plan import Arm, name_in

Numbers = dict[str, float | None]
Row = dict[str, Any]
"""One run in a document; keys are stable"""

EVALUATED: Mapping[str, str] = {
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
}
"""Key of a row -> key of eval.json; G_std is over the episodes of the run"""
SUMMARIZED = (*EVALUATED, "share", "steps_to_95", "seconds_to_95")


Columns = Mapping[str, list[float] | None]
"""Name of a number -> its values over seeds; None where some run does not have it"""


@dataclass(frozen=True)
class ArmIdentity:
    """Which runs a summary is of."""

    group: str
    task: str
    setting: str
    seeds: tuple[int, ...]
    which: Which


@dataclass(frozen=True)
class ArmSummary(ArmIdentity):
    """One arm over seeds."""

    numbers: Mapping[str, Summary | None]
    """None where some run has no such number"""
    other: Mapping[str, Summary | None]
    """G and J of the other policy: last where `numbers` are of the best, and the reverse"""
    J_ratio: Ratio | None = None
    """J over the J of the baseline of its group and task"""
    G_ratio: Ratio | None = None

    def mean(self, name: str) -> float | None:
        summary = self.numbers[name]
        return None if summary is None else summary.mean


WhichOf = Callable[[Arm], Which]
"""Which policy stands for the runs of an arm"""


def best(_: Arm) -> Which:
    return "best"


def last(_: Arm) -> Which:
    return "last"


def rows_of(gathered: Gathered, which_of: WhichOf) -> list[Row]:
    """One row per run and arm."""
    return [row for arm in gathered.arms for row in rows_of_arm(arm, which_of(arm.arm))]


def rows_of_arm(arm: ArmRuns, which: Which) -> list[Row]:
    """By seed: identity, numbers of one policy, those of the other within.

    A run is read from its folder, or from the row that an earlier document keeps of it.
    """
    rows = [_row_of(arm, record, which) for record in arm.records]
    rows += [_kept_row(arm, row, which) for row in arm.kept]
    return sorted(rows, key=lambda row: int(row["seed"]))


def _row_of(arm: ArmRuns, record: RunRecord, which: Which) -> Row:
    return {
        "group": arm.arm.group,
        "task": arm.task,
        "setting": arm.label,
        "seed": record.seed,
        "which": which,
        "is_fresh": record.is_fresh,
        "num_episodes": record.evaluated(which).get("num_episodes"),
        "iteration": record.evaluated(which).get("iteration"),
        **numbers_of(record, which),
        _other(which): numbers_of(record, _other(which)),
        "run_dir": "/".join(record.path.parts[-4:]),
        "command": record.command,
        "commit": record.commit,
    }


def _kept_row(arm: ArmRuns, row: Mapping[str, Any], which: Which) -> Row:
    """By the name that its arm has now."""
    if row.get("which") != which or not isinstance(row.get(_other(which)), dict):
        raise StorageError(f"{name_in(row)!r} is no run with numbers of its {which} policy")
    return {**row, "setting": arm.label}


def _other(which: Which) -> Which:
    return "last" if which == "best" else "best"


def numbers_of(record: RunRecord, which: Which) -> Numbers:
    """The numbers of one policy of a run; a share is (G - random) / (demonstrator - random)."""
    row, known = record.evaluated(which), demonstrator_of_run(record)
    found: Numbers = {name: row.get(key) for name, key in EVALUATED.items()}
    random = row.get("random_return")
    found["share"] = share(row.get("average_return"), random, known)
    return found | time_to_95(record, random)


def summaries_of(
    gathered: Gathered, which_of: WhichOf, baseline_of: Callable[[Arm], str | None]
) -> list[ArmSummary]:
    """Every arm that has runs; `baseline_of` is whose ratios it has, of its group and task."""
    return [
        _summary(arm, which_of, _baseline(gathered, arm, baseline_of(arm.arm)))
        for arm in gathered.arms
        if arm.has_run
    ]


def documents_of(summaries: Sequence[ArmSummary]) -> list[dict[str, Any]]:
    return [asdict(summary) for summary in summaries]


def demonstrators_of(tasks: Sequence[str]) -> dict[str, Any]:
    """Task -> the bundled demonstrator as plain numbers, where there is one."""
    found = {task: demonstrator_of(task) for task in tasks}
    return {task: asdict(known) for task, known in found.items() if known is not None}


def _baseline(gathered: Gathered, arm: ArmRuns, label: str | None) -> ArmRuns | None:
    found = None if label is None else gathered.arm(arm.task, label, arm.arm.group)
    return None if found is arm else found


def _summary(arm: ArmRuns, which_of: WhichOf, baseline: ArmRuns | None) -> ArmSummary:
    which = which_of(arm.arm)
    rows = rows_of_arm(arm, which)
    seeds = tuple(row["seed"] for row in rows)
    return summary_from(
        ArmIdentity(arm.arm.group, arm.task, arm.label, seeds, which),
        columns_of(rows),
        columns_of([row[_other(which)] for row in rows]),
        columns_of(rows_of_arm(baseline, which_of(baseline.arm))) if baseline else {},
    )


def summary_from(
    identity: ArmIdentity, ours: Columns, beside: Columns, theirs: Columns
) -> ArmSummary:
    """From columns over seeds: of the arm, of its other policy, and of its baseline if any."""

    def ratio(name: str) -> Ratio | None:
        pair = ours[name], theirs.get(name)
        return None if pair[0] is None or pair[1] is None else ratio_of_means(pair[0], pair[1])

    return ArmSummary(
        **vars(identity),
        numbers=_summarized(ours),
        other=_summarized({name: beside[name] for name in ("G", "J")}),
        J_ratio=ratio("J"),
        G_ratio=ratio("G") if _is_positive(ours, "G") and _is_positive(theirs, "G") else None,
    )


def _is_positive(columns: Columns, name: str) -> bool:
    """Whether a ratio says something: of two negative returns the larger ratio is the worse one."""
    return min(columns.get(name) or [0.0]) > 0


def columns_of(rows: Sequence[Mapping[str, Any]]) -> Columns:
    """Each number over seeds; None where some run does not have it."""
    columns: dict[str, list[float] | None] = {}
    for name in SUMMARIZED:
        known = [value for row in rows if (value := row.get(name)) is not None]
        columns[name] = known if len(known) == len(rows) else None
    return columns


def _summarized(columns: Columns) -> dict[str, Summary | None]:
    return {name: None if not known else summarize(known) for name, known in columns.items()}


# --- as text


def spread(summary: Summary | None) -> str:
    """`3661 ± 12`, over seeds."""
    if summary is None or summary.std is None:
        return number(None if summary is None else summary.mean)
    return f"{number(summary.mean)} ± {number(summary.std)}"


def with_interval(summary: Summary | None) -> str:
    """`3661 (3650 to 3670)`, 95 % over seeds."""
    if summary is None or summary.low is None:
        return number(None if summary is None else summary.mean)
    return f"{number(summary.mean)} ({interval(summary)})"


def percent(summary: Summary | None) -> str:
    """A share as percent with its interval."""
    if summary is None:
        return "-"
    middle = f"{100 * summary.mean:.1f} %"
    if summary.low is None or summary.high is None:
        return middle
    return f"{middle} ({100 * summary.low:.1f} to {100 * summary.high:.1f})"


def ratio_text(ratio: Ratio | None) -> str:
    """`0.27 (0.24 to 0.31)`"""
    if ratio is None:
        return "-"
    if ratio.low is None or ratio.high is None:
        return f"{ratio.value:.2f}"
    return f"{ratio.value:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"
