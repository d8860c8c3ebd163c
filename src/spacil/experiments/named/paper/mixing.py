"""Where the cost penalty is measured: the four readings of the paper's mixing parameter.

On Hopper in Lipschitz units, with the paper's form of the cost penalty at a weight at which it is
felt (1): at the printed one no reading can make a difference.
"""

from pathlib import Path

from spacil.experiments.named.experiment import Gathered, NamedExperiment
from spacil.experiments.named.outcome import Outcome, Table
from spacil.experiments.named.plan import UNTRAINED, Arm, Scope, Setting, narrowed
from spacil.experiments.named.points import return_against_j
from spacil.experiments.named.rows import (
    demonstrators_of,
    documents_of,
    last,
    ratio_text,
    rows_of,
    spread,
    summaries_of,
    with_interval,
)
from spacil.sweeps.plan import Value

MODES = ("interpolate", "per_batch", "bernoulli", "none")
"""The first one is the default"""
LAMBDA_COST = 1.0
ITERATIONS = UNTRAINED["Hopper-v4"]


def arms(scope: Scope, _: Path) -> list[Arm]:
    found = []
    for task in scope.tasks_or(("Hopper-v4",)):
        for mode in MODES:
            choices: dict[str, Value] = {
                "preset": "plain",
                "lambda_cost": LAMBDA_COST,
                "cost_penalty_mixing": mode,
                "iterations": ITERATIONS,
            }
            found.append(Arm(Setting(mode, "spacil", choices), task, scope.seeds_or(3)))
    return narrowed(found, scope)


def analyse(gathered: Gathered) -> Outcome:
    summaries = summaries_of(gathered, last, lambda arm: MODES[0])
    header = [
        "task", "mixing", "seeds", "G, last policy", "G, best policy", "J, last policy",
        "J / interpolate's", "action change",
    ]  # fmt: skip
    rows = [
        [
            found.task,
            found.setting,
            str(len(found.seeds)),
            with_interval(found.numbers["G"]),
            spread(found.other["G"]),
            with_interval(found.numbers["J"]),
            ratio_text(found.J_ratio),
            spread(found.numbers["action_change"]),
        ]
        for found in summaries
    ]
    return Outcome(
        title="Where the cost penalty is measured",
        text=(
            "`--preset plain` (policy weight 0.03, untrained start) with the paper's form of the "
            f"cost penalty at weight {LAMBDA_COST:g} in Lipschitz units, {ITERATIONS} iterations: "
            "on states between agent and demonstrations with a zeta for each pair (interpolate) or "
            "one per batch, on demonstrated states with probability zeta (bernoulli), or on the "
            "agent's alone (none). Fresh episodes; mean and 95 % interval over seeds."
        ),
        tables=[Table("The four modes", header, rows)],
        numbers={
            "runs": rows_of(gathered, last),
            "summaries": documents_of(summaries),
            "demonstrators": demonstrators_of(gathered.tasks),
        },
        panels=[return_against_j(gathered, task, last) for task in gathered.tasks],
        **gathered.sources,
    )


MIXING = NamedExperiment(stages=(arms,), analyse=analyse, can_be_extended=True)
