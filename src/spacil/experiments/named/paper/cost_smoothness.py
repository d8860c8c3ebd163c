"""How smooth the learned cost is without, with the cost, and with both penalties, beside J.

No runs of its own: the corners of `lambda-grid` in both units, and those of the rule's ablation on
whole demonstrations.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from spacil.comparison.run_record import RunRecord
from spacil.comparison.statistics import Summary, summarize
from spacil.experiments.named import recipe
from spacil.experiments.named.experiment import ArmRuns, Gathered, NamedExperiment
from spacil.experiments.named.outcome import Document, Outcome, Panel, Series, Table
from spacil.experiments.named.paper import lambda_grid
from spacil.experiments.named.plan import Arm, Scope, Setting, narrowed
from spacil.experiments.named.rows import numbers_of, spread
from spacil.measuring.measure import measure_smoothness

GAIL, COST_ONLY, BOTH = "GAIL", "cost only", "both"
RULE = "rule"
CORNERS = {
    lambda_grid.PRINTED: {GAIL: (0.0, 0.0), COST_ONLY: (0.0, 1.0), BOTH: (0.001, 1.0)},
    lambda_grid.LIPSCHITZ: {GAIL: (0.0, 0.0), COST_ONLY: (0.0, 1.0), BOTH: (0.03, 1.0)},
}
_RULE_CORNERS = {recipe.NEITHER: GAIL, recipe.COST_ONLY: COST_ONLY, recipe.BOTH: BOTH}

CONSTANTS = {
    "in_state": "of c in s",
    "in_action": "of c in a",
    "response": "of c(s, mu(s~)) in s~",
    "in_state_common": "of c in s, common frame",
    "response_common": "of c(s, mu(s~)) in s~, common frame",
}
EPISODES, QUICK_EPISODES = 20, 2


def arms(scope: Scope, _: Path) -> list[Arm]:
    found = []
    for task in scope.tasks_or((lambda_grid.TASK,)):
        for units, corners in CORNERS.items():
            if scope.is_quick and units == lambda_grid.LIPSCHITZ:
                continue
            for label, weights in corners.items():
                point = lambda_grid.setting(units, *weights)
                setting = Setting(label, point.algorithm, point.choices)
                found.append(Arm(setting, task, scope.seeds_or(lambda_grid.SEEDS), units))
        for one in recipe.ABLATION:
            if one.label in _RULE_CORNERS:
                choices = recipe.on(recipe.WHOLE, one, task).choices
                setting = Setting(_RULE_CORNERS[one.label], one.algorithm, choices)
                found.append(Arm(setting, task, scope.seeds_or(3), RULE))
    return narrowed(found, scope)


def measured_with(scope: Scope) -> Document:
    episodes = QUICK_EPISODES if scope.is_quick else EPISODES
    return {"episodes": episodes, "constants": list(CONSTANTS)}


def measure(record: RunRecord, scope: Scope) -> Document:
    """Mean local Lipschitz constants of the run's last cost, at the states of its policy."""
    episodes = measured_with(scope)["episodes"]
    cost = measure_smoothness(record.path, which="last", episodes=episodes).cost
    found = {} if cost is None else asdict(cost)
    return {name: (found.get(name) or {}).get("mean") for name in CONSTANTS}


def analyse(gathered: Gathered) -> Outcome:
    rows, cells = [], []
    for arm in gathered.arms:
        if arm.records:
            summaries = _summaries(arm, gathered)
            rows.append(_document(arm, summaries))
            shown = [spread(summaries[name]) for name in ("G", "J", *CONSTANTS)]
            cells.append([arm.task, f"{arm.arm.group}: {arm.label}", str(len(arm.records)), *shown])
    header = ["task", "units: penalties", "seeds", "G", "J of the policy", *CONSTANTS.values()]
    return Outcome(
        title="Smoothness of the learned cost",
        text=(
            "Local Lipschitz constants of the learned cost c = log D at the states that the last "
            "policy visits, mean over states, then mean ± standard deviation over seeds. `GAIL` is "
            "both weights 0; in printed units `cost only` is (0, 1), `both` (0.001, 1), in "
            "Lipschitz units (0, 1) and (0.03, 1); `rule` is the default with its anchor, whose "
            "cost penalty is r1. G and J are of the last policy, fresh episodes."
        ),
        tables=[Table("Constants of the learned cost", header, cells)],
        numbers={"constants": rows},
        panels=[_panel(gathered, name) for name in ("in_state_common", "in_action")],
        **gathered.sources,
    )


def _summaries(arm: ArmRuns, gathered: Gathered) -> dict[str, Summary | None]:
    measured = [
        numbers_of(record, "last") | gathered.measured[record.path] for record in arm.records
    ]
    found: dict[str, Summary | None] = {}
    for name in ("G", "J", *CONSTANTS):
        known = [value for row in measured if (value := row[name]) is not None]
        found[name] = summarize(known) if len(known) == len(measured) else None
    return found


def _document(arm: ArmRuns, summaries: dict[str, Summary | None]) -> dict[str, Any]:
    plain = {k: None if v is None else asdict(v) for k, v in summaries.items()}
    return {"task": arm.task, "group": arm.arm.group, "setting": arm.label, **plain}


def _panel(gathered: Gathered, name: str) -> Panel:
    """The cost's constant against the policy's J, a dot per run."""
    series = []
    for arm in gathered.arms:
        rows = [numbers_of(r, "last") | gathered.measured[r.path] for r in arm.records]
        dots = [(r["J"], r[name]) for r in rows if r["J"] is not None and r[name] is not None]
        if dots:
            x, y = (list(column) for column in zip(*dots, strict=True))
            label = f"{arm.arm.group}: {arm.label}"
            series.append(Series(label, x, y, is_joined=False))
    return Panel("", "J of the policy, common frame", f"constant {CONSTANTS[name]}", series)


COST_SMOOTHNESS = NamedExperiment(
    stages=(arms,),
    analyse=analyse,
    measure=measure,
    measured_with=measured_with,
)
