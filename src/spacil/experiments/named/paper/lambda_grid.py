"""Both weights on Hopper, in printed and in Lipschitz units (fig:reg_analysis).

Printed: the paper's discriminator, ascent and scale, weights on the change inside the ball.
Lipschitz: the exact penalty and the cost's gradient norm. Both from an untrained start; each grid
holds (0, 0), which is GAIL, and the printed one the paper's (0, 1), (0.001, 1), (0.001, 0.001).
"""

from pathlib import Path

from spacil.comparison.comparison_text import number
from spacil.comparison.published import REGULARIZATION
from spacil.experiments.named.experiment import Gathered, NamedExperiment
from spacil.experiments.named.outcome import Outcome, Table
from spacil.experiments.named.plan import UNTRAINED, Arm, Scope, Setting, narrowed
from spacil.experiments.named.points import return_against_j
from spacil.experiments.named.rows import (
    ArmSummary,
    best,
    demonstrators_of,
    documents_of,
    ratio_text,
    rows_of,
    spread,
    summaries_of,
)
from spacil.sweeps.plan import Value

TASK = "Hopper-v4"
PRINTED, LIPSCHITZ = "printed", "lipschitz"
WEIGHTS = {
    PRINTED: ((0.0, 0.001, 0.1), (0.0, 0.001, 1.0)),
    LIPSCHITZ: ((0.0, 0.01, 0.03, 0.1), (0.0, 0.01, 1.0)),
}
"""Units -> weights of the policy penalty (lambda_1), weights of the cost penalty (lambda_2)"""
ITERATIONS = UNTRAINED["Hopper-v4"]
SEEDS = 2


def label_of(lambda_policy: float, lambda_cost: float) -> str:
    return f"({lambda_policy:g}, {lambda_cost:g})"


def setting(units: str, lambda_policy: float, lambda_cost: float) -> Setting:
    """One point of a grid."""
    name, preset = ("pgd", "paper-mean") if units == PRINTED else ("exact", "plain")
    choices: dict[str, Value] = {
        "preset": preset,
        "penalty": (f"{name}={lambda_policy!r}",),
        "lambda_cost": lambda_cost,
        "iterations": ITERATIONS,
    }
    return Setting(label_of(lambda_policy, lambda_cost), "spacil", choices)


def arms(scope: Scope, _: Path) -> list[Arm]:
    found = [
        Arm(setting(units, policy, cost), task, scope.seeds_or(SEEDS), units)
        for task in scope.tasks_or((TASK,))
        for units, (policies, costs) in WEIGHTS.items()
        for policy in (policies[:2] if scope.is_quick else policies)
        for cost in (costs[::2] if scope.is_quick else costs)
    ]
    return narrowed(found, scope)


def analyse(gathered: Gathered) -> Outcome:
    summaries = summaries_of(gathered, best, lambda arm: label_of(0, 0))
    groups = list(dict.fromkeys((arm.task, arm.arm.group) for arm in gathered.arms))
    return Outcome(
        title="Weights of both penalties",
        text=(
            "Best policy, fresh episodes, mean ± standard deviation over seeds; (lambda_1, "
            f"lambda_2) are the weights of policy and cost penalty, {ITERATIONS} iterations from "
            "an untrained start, ratios to (0, 0) of the same units. Printed units: the paper's "
            "preset paper-mean; Lipschitz units: `--preset plain`. The paper prints two points, of "
            "one run each as far as it says."
        ),
        tables=[_table(task, group, summaries) for task, group in groups],
        numbers={
            "runs": rows_of(gathered, best),
            "summaries": documents_of(summaries),
            "demonstrators": demonstrators_of(gathered.tasks),
        },
        panels=[return_against_j(gathered, task, best, group) for task, group in groups],
        **gathered.sources,
    )


def _table(task: str, group: str, summaries: list[ArmSummary]) -> Table:
    printed = {
        label_of(row.lambda_policy, row.lambda_cost): row for row in REGULARIZATION.get(task, ())
    }
    rows = []
    for found in summaries:
        if (found.task, found.group) == (task, group):
            paper = printed.get(found.setting) if group == PRINTED else None
            rows.append(
                [
                    found.setting,
                    str(len(found.seeds)),
                    spread(found.numbers["G"]),
                    spread(found.numbers["J"]),
                    ratio_text(found.J_ratio),
                    number(found.mean("J_effective")),
                    number(found.mean("action_change")),
                    number(None if paper is None else paper.average_return),
                    number(None if paper is None else paper.smoothness_j),
                ]
            )
    header = [
        "(lambda_1, lambda_2)", "seeds", "G", "J", "J / J of (0, 0)", "J effective",
        "action change", "paper G", "paper J",
    ]  # fmt: skip
    return Table(f"{task}, {group} units", header, rows)


LAMBDA_GRID = NamedExperiment(stages=(arms,), analyse=analyse, can_be_extended=True)
