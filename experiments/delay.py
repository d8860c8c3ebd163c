"""What `spacil smooth` makes for late actions and noisy sensors, over seeds, beside its teachers.

    python experiments/delay.py runs/hopper-s* Hopper-v4 students/hopper-s0.policy.safetensors

Of run folders of `spacil smooth` the table of their own episodes is read. Names of bundled experts
and policy files are played against delay without noise, and against noise under the delay that they
were made for.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

import spacil
from pages import Document, Page, Panel, Series, Table, main
from spacil.comparison.statistics import student_interval
from spacil.learning.smooth import POLICY_FILE, RESULT_FILE
from spacil.measuring.evaluate import evaluate_afresh
from spacil.measuring.frames import choose_frame

DELAYS, NOISES = (0, 1, 2, 3), (0.0, 0.05, 0.1, 0.2, 0.3)
EPISODES, SEED = 20, 100
TEXT = (
    "Students are those of `spacil smooth TEACHER --action-delay D --sensor-noise N --seed S`. "
    "First table: the run's own fresh episodes, mean ± half of Student's 95 % interval over "
    "seeds; shares are of the teacher's return without delay or noise, above that of random "
    "actions; the change is the mean length of the change of the executed action over the "
    "teacher's without delay or noise, J over the teacher's. *Late teacher* and *best filter* "
    "(moving averages of .3, .5, .7, low-passes of .6, .4, .2 of Nyquist, on the teacher) play "
    f"under the same conditions. Other tables and figure: {EPISODES} episodes, seed {SEED}; ± "
    "likewise over the seeds of a student, without it there is one. Delay: steps after which a "
    "command is executed, without noise. Noise: Gaussian, in standard deviations of the "
    "demonstrated states, under the delay that a policy was made for."
)


def name_of(conditions: Mapping[str, Any]) -> str:
    words = f"delay {conditions['action_delay']}, noise {conditions['sensor_noise']:g}"
    words += ", at every step" if conditions["delay_jitter"] else ""
    return words + (", without history" if conditions["history"] == 0 else "")


def played(source: Path) -> list[dict[str, Any]]:
    """Every condition of one policy."""
    policy = spacil.load_policy(source)
    assert policy.task is not None
    own, frame = policy.conditions, choose_frame(None, policy.common_frame, policy.task)
    seed = policy.provenance.get("seed", 0)
    name = f"student for {name_of(asdict(own))}" if own.is_on else "teacher"
    played_under = [
        ("delay", float(steps), replace(own, action_delay=str(steps), sensor_noise=0.0))
        for steps in DELAYS
    ]
    played_under += [("noise", level, replace(own, sensor_noise=level)) for level in NOISES]
    rows = []
    for axis, level, conditions in played_under:
        found = evaluate_afresh(policy, policy.task, EPISODES, SEED, 1, frame, conditions)
        about = {"task": policy.task, "policy": name, "seed": seed, "axis": axis, "level": level}
        rows.append(about | {"conditions": asdict(conditions)} | asdict(found))
    return rows


def student_of(run: Path) -> dict[str, Any]:
    """What the run's own table says."""
    found = json.loads((run / RESULT_FILE).read_text())
    facts = json.loads((run / "run.json").read_text())
    rounds = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    seconds = sum(value for row in rounds for k, value in row.items() if k.startswith("seconds_"))
    rows = {name: found.get(name) for name in ("teacher", "late_teacher", "smooth")}
    filters = {row["name"]: row["return_share"] for row in found["filters"]}
    config = facts["config"]
    conditions = {k: config[k] for k in ("action_delay", "sensor_noise", "history", "delay_jitter")}
    return {
        "task": found["task"],
        "teacher": spacil.load_policy(run / POLICY_FILE).provenance["teacher"],
        "conditions": conditions,
        "seed": config["seed"],
        "commit": facts.get("commit"),
        "num_episodes": found["num_episodes"],
        "verdict": found["verdict"],
        "share": rows["smooth"]["return_share"],
        "late_teacher_share": rows["late_teacher"] and rows["late_teacher"]["return_share"],
        "filters": filters,
        "j_ratio": rows["smooth"]["smoothness_j"] / rows["teacher"]["smoothness_j"],
        "change_ratio": change_of(rows["smooth"]) / change_of(rows["teacher"]),
        "late_teacher_change_ratio": rows["late_teacher"]
        and change_of(rows["late_teacher"]) / change_of(rows["teacher"]),
        "seconds": seconds,
    }


def change_of(row: Mapping[str, Any]) -> float:
    change: float = row["played"]["action_signal"]["action_fluctuation"]
    return change


def collect(sources: Sequence[Path]) -> Document:
    runs = [source for source in sources if (source / RESULT_FILE).exists()]
    students = [student_of(run) for run in runs]
    rows = [row for source in sources if source not in runs for row in played(source)]
    commits = sorted({student["commit"] for student in students if student["commit"]})
    about = {"num_runs": len(runs), "commits": commits, "problems": []}
    return about | {"rows": rows, "students": students}


def spread(values: Iterable[float | None], form: str) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    mean = float(np.mean(known))
    _, high = student_interval(mean, np.array(known, np.float64))
    return format(mean, form) + ("" if high is None else f" ± {format(high - mean, form)}")


def table_of_students(students: Sequence[Mapping[str, Any]]) -> Table:
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for one in students:
        task, teacher = one["task"], one["teacher"]
        task = task if teacher == task else f"{task}, {Path(teacher).name}"
        groups.setdefault((task, name_of(one["conditions"])), []).append(one)
    cells = []
    for (task, made_for), of_group in groups.items():
        best = [max(x for x in one["filters"].values() if x is not None) for one in of_group]
        cells.append(
            [task, made_for, ", ".join(str(one["seed"]) for one in of_group)]
            + [
                spread((one[key] for one in of_group), ".1%")
                for key in ("share", "late_teacher_share")
            ]
            + [spread(best, ".1%")]
            + [spread((one[key] for one in of_group), ".2f") for key in ("change_ratio", "j_ratio")]
            + [spread((one["seconds"] for one in of_group), ".0f")]
        )
    header = [
        *("task", "made for", "seeds", "share", "late teacher", "best filter", "change", "J"),
        "seconds of the rounds",
    ]
    return Table("Students in the episodes of their runs", header, cells, 3)


def page_of(document: Document) -> Page:
    rows = document["rows"]
    tables, panels = [table_of_students(document["students"])], list[Panel]()
    for task in dict.fromkeys(row["task"] for row in rows):
        of_task = [row for row in rows if row["task"] == task]
        for axis, x_label in (("delay", "delay in steps"), ("noise", "sensor noise in std")):
            of_axis = [row for row in of_task if row["axis"] == axis]
            levels = sorted({row["level"] for row in of_axis})
            names = list(dict.fromkeys(row["policy"] for row in of_axis))

            def values(name: str, level: float, key: str, rows: Any = of_axis) -> list[float]:
                found = [row for row in rows if (row["policy"], row["level"]) == (name, level)]
                return [row[key] for row in found]

            def cell(name: str, level: float) -> str:
                returns = values(name, level, "average_return")
                changes = values(name, level, "action_fluctuation")
                return f"{spread(returns, ',.0f')} ({np.mean(changes):.3f})" if returns else "-"

            cells = [[name, *(cell(name, level) for level in levels)] for name in names]
            title = f"{task}: return, ± over seeds (action change) by {axis}"
            tables.append(Table(title, ["policy", *(f"{x:g}" for x in levels)], cells, 1))
            for key, y_label in (
                ("average_return", "return G"),
                ("action_fluctuation", "action change"),
            ):
                known = {n: [x for x in levels if values(n, x, key)] for n in names}
                series = [
                    Series(n, xs, [float(np.mean(values(n, x, key))) for x in xs])
                    for n, xs in known.items()
                ]
                panels.append(Panel(task, x_label, y_label, series, least_y=0.0))
    return Page("Late actions and noisy sensors", TEXT, tables, panels, panel_columns=4)


if __name__ == "__main__":
    main("delay", page_of, collect)
