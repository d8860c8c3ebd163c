"""Where the cost penalty is measured: the four readings of the paper's mixing parameter.

On Hopper in Lipschitz units (mixing.toml), with the paper's form of the cost penalty at a weight
at which it is felt: at the printed one no reading can make a difference.
"""

from pages import Document, Page, Table, main
from rows import (
    BY_T,
    Place,
    arms_of,
    collector,
    one,
    ratio_to,
    return_against_j,
    spread,
    with_interval,
)
from spacil.sweeps.plan import PlannedRun

TEXT = (
    "`--preset plain` (policy weight 0.03, untrained start) with the paper's form of the "
    "cost penalty at weight 1 in Lipschitz units, 200 iterations: "
    "on states between agent and demonstrations with a zeta for each pair (interpolate) or "
    "one per batch, on demonstrated states with probability zeta (bernoulli), or on the "
    "agent's alone (none). Fresh episodes; mean and 95 % interval (Student's t) over seeds."
)
HEADER = [
    "task", "mixing", "seeds", "G, last policy", "G, best policy", "J, last policy",
    "J / interpolate's", "action change",
]  # fmt: skip


def places(run: PlannedRun) -> list[Place]:
    form = str(dict(run.choices)["cost_penalty_form"])
    return [("", form.partition("mixing=")[2] or "interpolate")]


def page_of(document: Document) -> Page:
    arms = arms_of(document["runs"])
    rows = [
        [
            arm.task,
            arm.setting,
            arm.num_seeds,
            with_interval(arm.values("G")),
            spread(arm.other("G")),
            with_interval(arm.values("J")),
            ratio_to(arm, one(arms, arm.task, "interpolate"), "J"),
            spread(arm.values("action_change")),
        ]
        for arm in arms
    ]
    tables = [Table(f"The four modes{BY_T}", HEADER, rows)]
    tasks = dict.fromkeys(arm.task for arm in arms)
    panels = [return_against_j(arms, document, task) for task in tasks]
    return Page("Where the cost penalty is measured", TEXT, tables, panels)


if __name__ == "__main__":
    main("mixing", page_of, collector("mixing", places, lambda _: "last"))
