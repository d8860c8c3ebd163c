"""What a reader of a comparison must know: seeds that are missing, numbers that do not compare."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spacil.comparison.settings_over_tasks import BUDGETS, Setting

if TYPE_CHECKING:
    from spacil.comparison.comparison import Row


def missing_seeds(rows: Sequence["Row"]) -> list[str]:
    """Seeds that other rows of the task have; a sweep plans its own and names what is missing."""
    problems = []
    for of_task in _by_task(rows):
        if any(run.record.is_planned for row in of_task for run in row.runs):
            continue
        wanted = {seed for row in of_task for seed in row.seeds}
        for row in of_task:
            missing = sorted(wanted - set(row.seeds))
            if missing:
                listed = ", ".join(map(str, missing))
                problems.append(f"{row.task}, {row.label}: no run of seed {listed}")
    return problems


def notes_on(rows: Sequence["Row"]) -> list[str]:
    """Everything that makes two numbers of a comparison mean different things."""
    notes = [
        f"{row.task}, {row.label}: no fresh episodes; these are the evaluations that the best "
        "policy was picked by, which flatter it"
        for row in rows
        if not row.is_fresh
    ]
    notes += _notes_on_thresholds(rows)
    for of_task in _by_task(rows):
        notes += [
            *_notes_on_frames(of_task),
            *_notes_on_demonstrators(of_task),
            *_notes_on_episodes(of_task),
        ]
    for row in rows:
        hashes = {run.record.demonstrations for run in row.runs}
        if len(hashes) > 1:
            notes.append(f"{row.task}, {row.label}: seeds learned from different demonstrations")
    return notes


def notes_over_tasks(settings: Sequence[Setting]) -> list[str]:
    """What is one setting under several labels or budgets, and what is several under one label."""
    notes = []
    for setting in settings:
        if not setting.has_equal_budgets:
            told = "; ".join(f"{row.task} {row.label} ({_budget(row)})" for row in setting.rows)
            notes.append(f"over tasks, {setting.label} has a budget for each: {told}")
        elif len({row.label for row in setting.rows}) > 1:
            told = "; ".join(f"{row.task} {row.label}" for row in setting.rows)
            notes.append(f"over tasks, {setting.label} is {told}")
    for label in dict.fromkeys(row.label for setting in settings for row in setting.rows):
        same = [[row.task for row in one.rows if row.label == label] for one in settings]
        tasks = [", ".join(found) for found in same if found]
        if len(tasks) > 1:
            apart = " and ".join(tasks)
            notes.append(f"over tasks, {label} is another setting on {apart}, which are not pooled")
    return notes


def _budget(row: "Row") -> str:
    settings = row.runs[0].record.settings
    return " ".join(f"{name}={settings[name]}" for name in BUDGETS if name in settings)


def _by_task(rows: Sequence["Row"]) -> list[list["Row"]]:
    tasks = dict.fromkeys(row.task for row in rows)
    return [[row for row in rows if row.task == task] for task in tasks]


def _notes_on_frames(of_task: Sequence["Row"]) -> list[str]:
    """J in two frames is two measures; runs of version 0.1, or without a frame, name none."""
    hashes = [(run.record.frame_hash, row.label) for row in of_task for run in row.runs]
    frames = sorted({found[:8] for found, _ in hashes if found is not None})
    frameless = dict.fromkeys(label for found, label in hashes if found is None)
    notes = []
    if len(frames) > 1:
        notes.append(
            f"{of_task[0].task}: J (common, effective) is in different frames and cannot be "
            f"compared between them: {', '.join(frames)}"
        )
    if frames and frameless:
        notes.append(
            f"{of_task[0].task}: the folders of {', '.join(frameless)} do not say in which frame J "
            f"(common, effective) is, the others do ({', '.join(frames)}): spacil evaluate RUN "
            "--demos measures it in a frame of your choice"
        )
    return notes


def _notes_on_demonstrators(of_task: Sequence["Row"]) -> list[str]:
    """The demonstrator that stands above all rows is not that of every row."""
    known = next((row.demonstrator for row in of_task if row.demonstrator is not None), None)
    strangers = [row.label for row in of_task if row.demonstrator is None]
    if known is None or not strangers:
        return []
    return [
        f"{of_task[0].task}: the demonstrator shown recorded the bundled episodes; "
        f"{', '.join(strangers)} learned from others, with J in another frame than its "
        f"{known.frame_hash[:8]}, and neither a share of its return nor a time to reach it"
    ]


def _notes_on_thresholds(rows: Sequence["Row"]) -> list[str]:
    """95 % of a return counts from random actions, or from 0 where theirs is not known."""
    return [
        f"{row.task}, {row.label}: 95 % of the demonstrator's return counts from 0 here; elsewhere "
        "from what random actions earn, where fresh episodes tell that it is less"
        for row in rows
        if row.demonstrator is not None
        and not all(row.demonstrator.is_above(run.values["random_return"]) for run in row.runs)
    ]


def _notes_on_episodes(of_task: Sequence["Row"]) -> list[str]:
    records = [run.record for row in of_task for run in row.runs]
    numbers = {record.best.get("num_episodes") for record in records if record.is_fresh}
    if len(numbers) < 2:
        return []
    told = ", ".join(sorted(map(str, numbers), key=lambda text: (len(text), text)))
    return [f"{of_task[0].task}: runs have different numbers of fresh episodes: {told}"]
