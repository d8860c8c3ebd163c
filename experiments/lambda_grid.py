"""Both weights on Hopper, in printed and in Lipschitz units (fig:reg_analysis, lambda_grid.toml).

Printed: the paper's discriminator, ascent and scale, weights on the change inside the ball.
Lipschitz: the exact penalty and the cost's gradient norm. Both from an untrained start; each grid
holds (0, 0), which is GAIL, and the printed one the paper's (0, 1), (0.001, 1), (0.001, 0.001).
"""

from collections.abc import Sequence

from pages import Document, Page, Table, main
from published import REGULARIZATION
from rows import (
    BY_T,
    Arm,
    Place,
    arms_of,
    collector,
    mean,
    number,
    one,
    ratio_to,
    return_against_j,
    spread,
)
from spacil.config.penalty_terms import parse_term
from spacil.sweeps.plan import PlannedRun, words_of

UNITS = {"paper-mean": "printed", "plain": "lipschitz"}
TEXT = (
    "Best policy, fresh episodes, mean ± standard deviation over seeds; (lambda_1, "
    "lambda_2) are the weights of policy and cost penalty, 200 iterations from "
    "an untrained start, ratios to (0, 0) of the same units. Printed units: the paper's "
    "preset paper-mean; Lipschitz units: `--preset plain`. The paper prints two points, of "
    "one run each as far as it says."
)
HEADER = [
    "(lambda_1, lambda_2)", "seeds", "G", "J", "J / J of (0, 0)", "J effective",
    "action change", "paper G", "paper J",
]  # fmt: skip


def places(run: PlannedRun) -> list[Place]:
    choices = dict(run.choices)
    ((penalty,), cost) = words_of(choices["penalty"]), choices["lambda_cost"]
    weight = parse_term(penalty).weight
    return [(UNITS[str(choices["preset"])], f"({weight:g}, {cost:g})")]


def page_of(document: Document) -> Page:
    arms = arms_of(document["runs"])
    grids = list(dict.fromkeys((arm.task, arm.group) for arm in arms))
    return Page(
        "Weights of both penalties",
        TEXT,
        [table_of(arms, task, units) for task, units in grids],
        [return_against_j(arms, document, task, units) for task, units in grids],
    )


def table_of(arms: Sequence[Arm], task: str, units: str) -> Table:
    printed = {} if units != "printed" else REGULARIZATION.get(task, {})
    rows = []
    for arm in arms:
        if (arm.task, arm.group) == (task, units):
            paper_g, paper_j = printed.get(arm.setting, (None, None))
            cells = [spread(arm.values("G")), spread(arm.values("J"))]
            cells.append(ratio_to(arm, one(arms, task, "(0, 0)", units), "J"))
            cells += [mean(arm.values("J_effective")), mean(arm.values("action_change"))]
            rows.append([arm.setting, arm.num_seeds, *cells, number(paper_g), number(paper_j)])
    return Table(f"{task}, {units} units{BY_T}", HEADER, rows)


if __name__ == "__main__":
    main("lambda-grid", page_of, collector("lambda_grid", places, lambda _: "best"))
