"""The paper as printed, at its own number of iterations (printed.toml), and the claims of it.

On Ant plain GAIL with other starts, one change at a time: the start that its expert needed, then
R1, then a tenth of the discriminator's rate.
"""

from pages import Document, Page, Table, main
from rows import BY_T, COMPARED, Place, arms_of, collector, compared, one
from spacil.sweeps.plan import PlannedRun

BASELINES = {"spacil paper-mean": "gail paper-mean", "spacil paper-sum": "gail paper-mean"}
TEXT = (
    "The best policy of each run by the return, as in the paper, on 100 fresh episodes; 500 "
    "iterations (Reacher 400, Ant 75), from an untrained start. The presets are beside GAIL with "
    "the paper's discriminator. p: exact two-sided permutation over seeds, each line for itself."
)


def places(run: PlannedRun) -> list[Place]:
    choices = dict(run.choices)
    preset = choices.get("preset", "none")
    if run.task == "Ant-v4":
        parts = {"lambda_cost": "R1", "discriminator_learning_rate": "discriminator at 0.0003"}
        return [
            (
                "",
                ", ".join(["gail from log std -1", *(w for k, w in parts.items() if k in choices)]),
            )
        ]
    return [("", run.algorithm if preset == "none" else f"{run.algorithm} {preset}")]


def page_of(document: Document) -> Page:
    arms = arms_of(document["runs"])
    rows = [compared(arm, one(arms, arm.task, BASELINES.get(arm.setting))) for arm in arms]
    tables = [Table(f"As printed{BY_T}", COMPARED, rows)]
    return Page("The paper as printed, at its own budget", TEXT, tables)


if __name__ == "__main__":
    main("printed", page_of, collector("printed", places, lambda _: "best"))
