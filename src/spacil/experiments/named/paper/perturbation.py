"""Noise on a policy's parameters: does J rise, and does the return hold? (fig:perturbation)

On the best run of spacil's default on each task, or on runs or policy files that are named: one
policy per task.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from spacil.comparison.comparison_text import number
from spacil.comparison.policy_file import PolicyFile
from spacil.comparison.published import PERTURBATIONS, Perturbed
from spacil.comparison.run_record import RunRecord
from spacil.comparison.statistics import Summary, summarize
from spacil.config.general import RunConfig
from spacil.demos.file import bundled_demos, load_demos
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import ResetSeeds
from spacil.errors import DataError
from spacil.experiments.named.experiment import ArmRuns, Gathered, NamedExperiment
from spacil.experiments.named.outcome import Document, Outcome, Panel, Series, Table
from spacil.experiments.named.paper import returns
from spacil.experiments.named.plan import FIVE_TASKS, Arm, Scope
from spacil.experiments.named.rows import spread
from spacil.measuring.frames import choose_frame
from spacil.measuring.parameter_noise import LEVELS, measure_parameter_noise
from spacil.policies.file import SavedPolicy, load_policy
from spacil.user_code import task_named_in_file

DRAWS, EPISODES = 10, 20
QUICK_LEVELS, QUICK_DRAWS, QUICK_EPISODES = (0.01, 0.1), 2, 4
MOST_STATES = 5_000
"""Demonstrated states at which J is measured whatever the policy does"""

NUMBERS = {"G": "average_return", "J": "smoothness_j", "J_fixed": "smoothness_j_fixed"}


def arms(scope: Scope, folder: Path) -> list[Arm]:
    return [arm for arm in returns.arms(scope, folder) if arm.label == returns.DEFAULT]


def best_of_each_task(found: Sequence[ArmRuns]) -> list[RunRecord]:
    """The run of the highest return of its best policy, one per task."""
    best: dict[str, RunRecord] = {}
    for record in (record for arm in found for record in arm.records):
        known = best.get(record.task)
        if known is None or record.best["average_return"] > known.best["average_return"]:
            best[record.task] = record
    return list(best.values())


def measured_with(scope: Scope) -> Document:
    levels, draws, episodes = (
        (QUICK_LEVELS, QUICK_DRAWS, QUICK_EPISODES) if scope.is_quick else (LEVELS, DRAWS, EPISODES)
    )
    return {
        "levels": list(levels),
        "draws": draws,
        "episodes": episodes,
        "most_states": MOST_STATES,
    }


def measure(record: RunRecord, scope: Scope) -> Document:
    """The best policy of a run."""
    return _disturbed(load_policy(record.path, "best"), record.path, scope)


def measure_file(file: PolicyFile, scope: Scope) -> Document:
    return _disturbed(load_policy(file.path), file.path, scope)


def _disturbed(saved: SavedPolicy, source: Path, scope: Scope) -> Document:
    """A policy, undisturbed and under every level of noise."""
    task = task_named_in_file(saved.task, source)
    frame = choose_frame(None, saved.common_frame, task)
    if frame is None or task not in bundled_demos():
        raise DataError(f"{source}: {task} has no bundled demonstrations to measure J on")
    states = load_demos(task).states.float()
    how = measured_with(scope)
    threads = RunConfig().simulation_threads
    env = make_vector_env(task, how["episodes"], ResetSeeds(0, "evaluate"), threads)
    try:
        found = measure_parameter_noise(
            saved.policy,
            env,
            states[:: -(-len(states) // how["most_states"])],
            frame,
            how["levels"],
            how["draws"],
            how["episodes"],
            seed=0,
        )
    finally:
        env.close()
    return {"episodes": how["episodes"], "draws": [asdict(one) for one in found]}


def analyse(gathered: Gathered) -> Outcome:
    records = [record for record in gathered.records if record.path in gathered.measured]
    subjects = in_order([*records, *gathered.files])
    levels = [
        row for one in subjects for row in levels_of(one.task, gathered.measured[one.path]["draws"])
    ]
    tasks = [one.task for one in subjects]
    tables = [
        Table(task, _HEADER, [_cells(row) for row in levels if row["task"] == task])
        for task in tasks
    ]
    return Outcome(
        title="Noise on the parameters of a policy",
        text=_TEXT,
        tables=tables,
        numbers={
            "levels": [_plain(row) for row in levels],
            "draws": {one.task: gathered.measured[one.path] for one in subjects},
            "runs": [
                {"task": r.task, "seed": r.seed, "command": r.command, "commit": r.commit}
                for r in records
            ],
            "files": [
                {"task": f.task, "file": f.path.name, "content_hash": f.content_hash}
                | {"provenance": dict(f.provenance)}
                for f in gathered.files
            ],
        },
        panels=[_panel(task, levels) for task in tasks],
        notes=[*_left_out(gathered), *map(_about, gathered.files), *_not_measured(tasks)],
        problems=gathered.problems,
        records=records,
    )


def _left_out(gathered: Gathered) -> list[str]:
    """Runs beside a better one of their task, which is the one that is measured."""
    notes = []
    for task in gathered.tasks:
        of_task = [record for record in gathered.records if record.task == task]
        left_out = [str(record.path) for record in of_task if record.path not in gathered.measured]
        if left_out and len(left_out) < len(of_task):
            notes.append(f"{task}: the run of the highest return; not {', '.join(left_out)}")
    return notes


def _about(file: PolicyFile) -> str:
    """Which policy it was, and what its file says of where it is from."""
    known = ", ".join(f"{name} {value}" for name, value in file.provenance.items())
    origin = f" ({known})" if known else ""
    return f"{file.task}: {file.path.name}{origin}, parameters {file.content_hash[:12]}"


def _not_measured(tasks: Sequence[str]) -> list[str]:
    """Which of the paper's five are not on the page."""
    missing = [task for task in FIVE_TASKS if task not in tasks]
    return [f"not measured yet: {', '.join(missing)}"] if missing else []


def in_order(subjects: Sequence[RunRecord | PolicyFile]) -> list[RunRecord | PolicyFile]:
    """The paper's five tasks as it has them, then others."""
    order = {task: place for place, task in enumerate(FIVE_TASKS)}
    return sorted(subjects, key=lambda one: order.get(one.task, len(order)))


_TEXT = (
    "Gaussian noise of the given standard deviation on every weight and bias of the mean network, "
    f"{DRAWS} draws, {EPISODES} episodes each from the same starts; ± is over draws. J on own "
    "states is measured where the disturbed policy goes, J on fixed states at demonstrated ones; "
    "both in the common frame. Scaled numbers are divided by those of the undisturbed policy "
    "(where returns are negative, above 1 is worse). The paper's ± is as printed, its J "
    "in units it does not state."
)
_HEADER = [
    "noise", "draws", "G", "J, own states", "J, fixed states", "G scaled", "J own scaled",
    "J fixed scaled", "paper G", "paper J",
]  # fmt: skip


def levels_of(task: str, draws: Sequence[Document]) -> list[dict[str, Any]]:
    """One row per level of noise, 0 first: summaries over draws, and their ratio to level 0."""
    rows: list[dict[str, Any]] = []
    for level in sorted({draw["noise_std"] for draw in draws}):
        at_level = [draw for draw in draws if draw["noise_std"] == level]
        columns = {
            name: summarize([draw[key] for draw in at_level]) for name, key in NUMBERS.items()
        }
        rows.append({"task": task, "noise_std": level, "draws": len(at_level)} | columns)
    undisturbed = rows[0]
    for row in rows:
        row["scaled"] = {
            name: row[name].mean / undisturbed[name].mean if undisturbed[name].mean else None
            for name in NUMBERS
        }
    return rows


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {k: asdict(v) if isinstance(v, Summary) else v for k, v in row.items()}


def _cells(row: dict[str, Any]) -> list[str]:
    printed = _printed(row["task"], row["noise_std"])
    pair = () if printed is None else (printed.average_return, printed.smoothness_j)
    beside = [f"{number(one.mean)} ± {number(one.std)}" for one in pair] or ["-", "-"]
    return [
        f"{row['noise_std']:g}",
        str(row["draws"]),
        *(spread(row[name]) for name in NUMBERS),
        *("-" if value is None else f"{value:.2f}" for value in row["scaled"].values()),
        *beside,
    ]


def _printed(task: str, noise_std: float) -> Perturbed | None:
    rows = PERTURBATIONS.get(task.replace("-v5", "-v4"), ())
    return next((row for row in rows if row.noise_std == noise_std), None)


def _panel(task: str, levels: Sequence[dict[str, Any]]) -> Panel:
    rows = [row for row in levels if row["task"] == task and row["noise_std"] > 0]
    is_negative = any(row["G"].mean < 0 for row in levels if row["task"] == task)
    g = "return G where it is negative (higher is worse)" if is_negative else "return G"
    labels = {"G": g, "J": "J, own states", "J_fixed": "J, fixed states"}
    series = [
        Series(label, [row["noise_std"] for row in rows], [row["scaled"][name] for row in rows])
        for name, label in labels.items()
        if all(row["scaled"][name] is not None for row in rows)
    ]
    x_label, y_label = "standard deviation of the noise", "relative to no noise"
    return Panel(task, x_label, y_label, series, 1.0, is_log_x=True, reference_label="no noise")


PERTURBATION = NamedExperiment(
    stages=(arms,),
    analyse=analyse,
    measure=measure,
    measured_with=measured_with,
    measured_runs=best_of_each_task,
    measure_file=measure_file,
)
