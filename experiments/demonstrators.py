"""Does the imitator become smooth whatever its demonstrator was? From a rough and a smooth one.

The rough one is the bundled TRPO expert, the smooth one is trained like it but with the policy
penalty (demonstrators.toml), then recorded:

    spacil demos collect SWEEP/trpo/Hopper-v4/.../seed1 \\
        -o SWEEP/demonstrations/Hopper-v4-smooth.safetensors

and imitators.toml learns from either. J of all is measured in one frame, that of the bundled
demonstrations: each run's own frame is that of the demonstrations it was given, and two frames
cannot be compared.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import spacil
from pages import Document, Page, Panel, Series, Table, main
from rows import BY_T, Record, interval_of, number, plan_named, ratio, ratio_text, runs_of, spread
from spacil.comparison.demonstrator import demonstrator_of
from spacil.policies.file import Which
from spacil.sweeps.plan import PlannedRun

TEACHER = "smooth demonstrator"
ROUGH, SMOOTH = "from the rough demonstrator", "from the smooth demonstrator"
EPISODES = 50
NUMBERS = ("G", "J", "action_change")
TEXT = (
    "The rough demonstrator is the bundled TRPO expert; the smooth one was trained like it "
    "with `--lambda-policy 0.03` (seed 1) and recorded as many "
    f"times. Last policies (of the demonstrator: the best), {EPISODES} episodes, J in the "
    "frame of the bundled demonstrations for all; mean ± standard deviation over seeds, "
    "95 % interval of ratios (Student's t)."
)
UNNAMED = (
    "These rows name neither run, seed nor commit. The three J of HalfCheetah's spacil from the "
    "smooth demonstrator agree to four digits, two of them to seven, at different returns: too "
    "equal to be quoted before they are measured again."
)
HEADER = [
    "task", "policy", "seeds", "G", "J", "action change", "J / demonstrator's", "J / GAIL's",
]  # fmt: skip


def collect(sources: Sequence[Path]) -> Document:
    (sweep,) = sources
    plan = sorted(plan_named("demonstrators") + plan_named("imitators"), key=place)
    runs = runs_of(plan, sweep)
    arms: dict[tuple[str, str, str], dict[str, Any]] = {}
    for run, record in runs.records:
        task, _, group, setting = key = place(run)
        identity = {"task": task, "group": group, "setting": setting}
        arm = arms.setdefault((task, group, setting), identity)
        arm.setdefault("runs", []).append({"run_dir": run.name, "commit": record.best["commit"]})
        for name, value in measured(record).items():
            arm.setdefault(name, []).append(value)
        teacher = arms.get((task, TEACHER, TEACHER), {"J": [None]})["J"][0]
        known = demonstrator_of(task)
        rough = None if known is None else known.smoothness_j
        arm["demonstrator_J"] = {TEACHER: None, ROUGH: rough, SMOOTH: teacher}[key[2]]
    return runs.document(arms=list(arms.values()))


def place(run: PlannedRun) -> tuple[str, int, str, str]:
    """Task, rank, group and setting of a run."""
    if run.algorithm == "trpo":
        return run.task, 0, TEACHER, TEACHER
    is_smooth = "demos" in dict(run.choices)
    return run.task, 1 + is_smooth, SMOOTH if is_smooth else ROUGH, run.algorithm


def measured(record: Record) -> dict[str, float | None]:
    which: Which = "best" if record.algorithm == "trpo" else "last"
    report = spacil.measure_smoothness(
        record.path, which=which, demonstrations=record.task, episodes=EPISODES
    )
    assert report.played is not None
    change = report.played.action_signal.action_fluctuation
    return {"G": report.played.average_return, "J": report.smoothness_j, "action_change": change}


def page_of(document: Document) -> Page:
    arms, rows, panels = document["arms"], [], []
    gail = {(arm["task"], arm["group"]): arm["J"] for arm in arms if arm["setting"] == "gail"}
    for task in dict.fromkeys(arm["task"] for arm in arms):
        known = demonstrator_of(task)
        assert known is not None
        rough = (known.average_return, known.smoothness_j, known.action_fluctuation)
        rows.append([task, "rough demonstrator", "", *map(number, rough), "", ""])
        dots = []
        for arm in (arm for arm in arms if arm["task"] == task):
            is_teacher = arm["group"] == TEACHER
            name = TEACHER if is_teacher else f"{arm['setting']} {arm['group']}"
            theirs = None if arm["setting"] == "gail" else gail.get((task, arm["group"]))
            ratios = [to_teacher(arm), ratio(arm["J"], theirs or [])]
            cells = [spread(arm[number_name]) for number_name in NUMBERS]
            rows.append([task, name, str(len(arm["J"])), *cells, *ratios])
            dots.append(Series(name, arm["J"], arm["G"], is_joined=False))
        panels.append(
            Panel(
                task,
                "J, frame of the bundled demonstrations",
                "return G",
                dots,
                known.average_return,
                reference_label="rough demonstrator",
            )
        )
    tables = [Table(f"Imitators of a rough and of a smooth demonstrator{BY_T}", HEADER, rows)]
    notes = [] if all("runs" in arm for arm in arms) else [UNNAMED]
    return Page("Smoothness whatever the demonstrator's", TEXT, tables, panels, notes=notes)


def to_teacher(arm: Document) -> str:
    """The ratio of a mean over seeds to the J of one policy, which is no sample of anything."""
    if arm["demonstrator_J"] is None:
        return "-"
    ratios = [value / arm["demonstrator_J"] for value in arm["J"]]
    return ratio_text(sum(ratios) / len(ratios), interval_of(ratios))


if __name__ == "__main__":
    main("demonstrators", page_of, collect)
