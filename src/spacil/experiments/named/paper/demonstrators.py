"""Does the imitator become smooth whatever its demonstrator was? From a rough and a smooth one.

The rough one is the bundled TRPO expert, the smooth one is trained like it but with the policy
penalty, then recorded. J of all is measured in one frame, that of the bundled demonstrations: each
run's own frame is that of the demonstrations it was given, and two frames cannot be compared.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spacil import paper, storage
from spacil.comparison.comparison_text import number
from spacil.comparison.demonstrator import demonstrator_of
from spacil.comparison.run_record import RunRecord, Which
from spacil.comparison.statistics import Ratio, ratio_of_means, summarize
from spacil.config.general import RunConfig
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import save_demos
from spacil.demos.recording import record_demonstrations
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import ResetSeeds
from spacil.errors import ConfigError
from spacil.experiments.named.experiment import Gathered, NamedExperiment
from spacil.experiments.named.outcome import Document, Outcome, Panel, Series, Table
from spacil.experiments.named.plan import Arm, Scope, Setting, narrowed, with_budget
from spacil.experiments.named.rows import ratio_text, spread
from spacil.measuring.measure import measure_smoothness
from spacil.policies.file import load_policy
from spacil.runs.location import make_folder
from spacil.runs.resuming import is_run_folder, status_of_run
from spacil.sweeps.folder import DEMONSTRATIONS
from spacil.sweeps.plan import SWEEP_FOLDER

TEACHER = "smooth demonstrator"
ROUGH, SMOOTH = "from the rough demonstrator", "from the smooth demonstrator"
LAMBDA_POLICY = 0.03
"""Of the smooth demonstrator's own training"""
TEACHER_ITERATIONS = {"Hopper-v4": 100, "HalfCheetah-v4": 160}
"""As many as the bundled experts had, docs/results/experts.md"""
TEACHER_SEED = 1
METHODS = (Setting("gail", "gail"), Setting("spacil", "spacil"))
EPISODES, QUICK_EPISODES = 50, 4
NUMBERS = ("G", "J", "action_change")


def teachers(scope: Scope, _: Path) -> list[Arm]:
    found = [_teacher(task) for task in scope.tasks_or(tuple(TEACHER_ITERATIONS))]
    return narrowed(found, Scope(is_quick=scope.is_quick, changes=scope.changes))


def _teacher(task: str) -> Arm:
    choices: dict[str, Any] = {"lambda_policy": LAMBDA_POLICY}
    if task in TEACHER_ITERATIONS:
        choices["iterations"] = TEACHER_ITERATIONS[task]
    return Arm(Setting(TEACHER, "trpo", choices), task, (TEACHER_SEED,), TEACHER)


def imitators(scope: Scope, folder: Path) -> list[Arm]:
    """The teachers once more, and who learns from either demonstrator."""
    known = teachers(scope, folder)
    found = []
    for teacher in known:
        smooth = f"{SWEEP_FOLDER}/{recorded_name(teacher)}"
        for group, data in ((ROUGH, {}), (SMOOTH, {"demos": (smooth,)})):
            for method in METHODS:
                choices = {**method.choices, **data}
                setting = Setting(method.label, method.algorithm, choices)
                setting = with_budget(setting, teacher.task)
                found.append(Arm(setting, teacher.task, scope.seeds_or(3), group))
    return [*known, *narrowed(found, scope)]


def recorded_name(teacher: Arm) -> str:
    """The file of a teacher's demonstrations: its task's; changed settings have one of their own.

    So nobody learns from another teacher than the one that the table puts beside it.
    """
    (run,), (usual,) = teacher.runs(), _teacher(teacher.task).runs()
    changed = "" if run == usual else f"-{storage.document_hash(run.name)[:6]}"
    return f"{DEMONSTRATIONS}/{teacher.task}-smooth{changed}.safetensors"


def record_teachers(scope: Scope, folder: Path) -> None:
    """The demonstrations of every teacher that is trained, where they are not there yet."""
    for teacher in teachers(scope, folder):
        (run,) = teacher.runs()
        path, run_dir = folder / recorded_name(teacher), folder / run.name
        if path.is_file() or not is_run_folder(run_dir) or status_of_run(run_dir) != "finished":
            continue
        make_folder(path.parent)
        save_demos(_recorded(run_dir, teacher.task), path)


def _recorded(run_dir: Path, task: str) -> Demonstrations:
    """Of a teacher's best policy: as many episodes as the bundled ones have."""
    column = paper.settings_for(task)
    if column is None:
        raise ConfigError(f"--tasks {task}: expected some of {', '.join(paper.TASKS)}")
    saved, num_episodes = load_policy(run_dir, "best"), column.num_trajectories
    threads = RunConfig().simulation_threads
    env = make_vector_env(task, num_episodes, ResetSeeds(0, "demos"), threads)
    try:
        provenance = {"policy": dict(saved.provenance), "seed": 0, "noise": 0.0, "actions": "mean"}
        return record_demonstrations(env, saved.policy.mean, num_episodes, provenance)
    finally:
        env.close()


def measured_with(scope: Scope) -> Document:
    episodes = QUICK_EPISODES if scope.is_quick else EPISODES
    return {"episodes": episodes, "numbers": list(NUMBERS)}


def measure(record: RunRecord, scope: Scope) -> Document:
    """Return, J in the frame of the bundled demonstrations and action change of the last policy."""
    which: Which = "best" if record.algorithm == "trpo" else "last"
    report = measure_smoothness(
        record.path,
        which=which,
        demonstrations=record.task,
        episodes=measured_with(scope)["episodes"],
    )
    assert report.played is not None
    return {
        "G": report.played.average_return,
        "J": report.smoothness_j,
        "action_change": report.played.action_signal.action_fluctuation,
    }


def analyse(gathered: Gathered) -> Outcome:
    rows, cells = [], []
    for task in gathered.tasks:
        known = demonstrator_of(task)
        if known is not None:
            rough = [known.average_return, known.smoothness_j, known.action_fluctuation]
            cells.append([task, "rough demonstrator", "", *map(number, rough), "", ""])
        for arm in gathered.arms:
            if arm.task != task or not arm.records:
                continue
            columns = {n: [gathered.measured[r.path][n] for r in arm.records] for n in NUMBERS}
            teacher = _teacher_j(gathered, task, arm.arm.group)
            gail = gathered.arm(task, "gail", arm.arm.group)
            theirs = [gathered.measured[r.path]["J"] for r in gail.records] if gail else None
            to_teacher = None if teacher is None else _ratio_to(columns["J"], teacher)
            to_gail = ratio_of_means(columns["J"], theirs) if theirs and gail is not arm else None
            rows.append(
                {"task": task, "group": arm.arm.group, "setting": arm.label, **columns}
                | {"demonstrator_J": teacher}
            )
            name = TEACHER if arm.arm.group == TEACHER else f"{arm.label} {arm.arm.group}"
            shown = [spread(summarize(columns[n])) for n in NUMBERS]
            ratios = [ratio_text(to_teacher), ratio_text(to_gail)]
            cells.append([task, name, str(len(arm.records)), *shown, *ratios])
    header = [
        "task", "policy", "seeds", "G", "J", "action change", "J / demonstrator's", "J / GAIL's",
    ]  # fmt: skip
    return Outcome(
        title="Smoothness whatever the demonstrator's",
        text=(
            "The rough demonstrator is the bundled TRPO expert; the smooth one was trained like it "
            f"with `--lambda-policy {LAMBDA_POLICY}` (seed {TEACHER_SEED}) and recorded as many "
            f"times. Last policies (of the demonstrator: the best), {EPISODES} episodes, J in the "
            "frame of the bundled demonstrations for all; mean ± standard deviation over seeds, "
            "95 % interval of ratios."
        ),
        tables=[Table("Imitators of a rough and of a smooth demonstrator", header, cells)],
        numbers={"arms": rows},
        panels=[_panel(gathered, task) for task in gathered.tasks],
        **gathered.sources,
    )


def _ratio_to(values: Sequence[float], number: float) -> Ratio:
    """Of a mean over seeds to the number of one policy, which is no sample of anything."""
    found = summarize([value / number for value in values])
    return Ratio(found.mean, found.low, found.high)


def _teacher_j(gathered: Gathered, task: str, group: str) -> float | None:
    """J of whom an arm learned from."""
    if group == ROUGH:
        known = demonstrator_of(task)
        return None if known is None else known.smoothness_j
    teacher = gathered.arm(task, TEACHER, TEACHER)
    if group != SMOOTH or teacher is None:
        return None
    found: float | None = gathered.measured[teacher.records[0].path]["J"]
    return found


def _panel(gathered: Gathered, task: str) -> Panel:
    series = []
    for arm in gathered.arms:
        rows = [gathered.measured[r.path] for r in arm.records] if arm.task == task else []
        if rows:
            label = TEACHER if arm.arm.group == TEACHER else f"{arm.label} {arm.arm.group}"
            x, y = [row["J"] for row in rows], [row["G"] for row in rows]
            series.append(Series(label, x, y, is_joined=False))
    known = demonstrator_of(task)
    reference = None if known is None else known.average_return
    x_label, label = "J, frame of the bundled demonstrations", "rough demonstrator"
    return Panel(task, x_label, "return G", series, reference, reference_label=label)


DEMONSTRATORS = NamedExperiment(
    stages=(teachers, imitators),
    prepare=record_teachers,
    analyse=analyse,
    measure=measure,
    measured_with=measured_with,
)
