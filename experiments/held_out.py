"""Cloning, GAIL of our start and the default on tasks and teachers that no search has seen.

    python experiments/held_out.py sweeps/held_out

Constants are frozen; every arm is reported, also where it fails.
"""

from pages import Document, Page, Table, main
from rows import BY_T, COMPARED, Place, arms_of, collector, compared, one
from spacil.sweeps.plan import PlannedRun, words_of

TEXT = (
    "Three seeds, the policy that is handed out, 50 fresh episodes. Teachers: `expert` is the "
    "bundled one of the v4 task, recorded on v5; `ppo` and `sac` are Stable-Baselines3's defaults "
    "(sb3_teachers.py); `mixed` is half of each. Beside `gail-like`, GAIL with the default's start."
)


def places(run: PlannedRun) -> list[Place]:
    choices = dict(run.choices)
    file = " ".join(words_of(choices["demos"]))
    teacher = file.rpartition("-")[2].removesuffix(".safetensors")
    return [(teacher, str(choices.get("preset", run.algorithm)))]


def page_of(document: Document) -> Page:
    arms = arms_of(document["runs"], ("bc", "gail-like", "spacil"))
    tables = []
    for task, teacher in dict.fromkeys((arm.task, arm.group) for arm in arms):
        members = [arm for arm in arms if (arm.task, arm.group) == (task, teacher)]
        rows = [compared(arm, one(arms, task, "gail-like", teacher)) for arm in members]
        tables.append(Table(f"{task}, teacher {teacher}{BY_T}", COMPARED, rows))
    return Page("Tasks and teachers that no search has seen", TEXT, tables)


if __name__ == "__main__":
    main(
        "held-out",
        page_of,
        collector("held_out", places, lambda name: "best" if name == "bc" else "last"),
    )
