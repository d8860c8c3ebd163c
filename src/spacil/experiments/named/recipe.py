"""The default on whole and on scarce demonstrations, beside GAIL, and its ablation.

Four tiers, each a group: `whole`; `every-20th`, where seed s thins from offset s;
`one-trajectory`, where seed s has every 20th step of trajectory s; and `ablation-*`, the rule with
neither, one or both of its penalties. Ratios are to `gail-like`: the rule's start, critic,
discriminator and mean without its policy penalty. The paper's plain GAIL stands beside it.
"""

from collections.abc import Mapping
from pathlib import Path

from spacil.comparison.comparison_text import number
from spacil.experiments.named.experiment import Gathered, NamedExperiment
from spacil.experiments.named.outcome import Outcome, Table
from spacil.experiments.named.plan import (
    FIVE_TASKS,
    Arm,
    Scope,
    Setting,
    narrowed,
    with_budget,
)
from spacil.experiments.named.points import return_against_j
from spacil.experiments.named.rows import (
    ArmSummary,
    demonstrators_of,
    documents_of,
    last,
    percent,
    ratio_text,
    rows_of,
    spread,
    summaries_of,
    with_interval,
)
from spacil.sweeps.plan import Value

WHOLE, SCARCE, ONE = "whole", "every-20th", "one-trajectory"
DEFAULT, GAIL_LIKE, PLAIN = "spacil", "gail-like", "gail"
NEITHER, POLICY_ONLY, COST_ONLY, BOTH = "neither", "policy only", "cost only", "both"

DATA: Mapping[str, tuple[Mapping[str, Value], tuple[str, ...]]] = {
    WHOLE: ({}, ()),
    SCARCE: ({"demo_every": 20}, ("demo_offset",)),
    ONE: ({"demo_every": 20, "num_demos": 1}, ("first_demo",)),
}
"""Tier -> flags of the demonstrations, and those that take the seed"""
METHODS = (
    Setting(DEFAULT, "spacil"),
    Setting(GAIL_LIKE, "spacil", {"preset": "gail-like"}),
    Setting(PLAIN, "gail"),
)
ABLATION = (
    Setting(NEITHER, "spacil", {"lambda_policy": 0.0, "lambda_cost": 0.0}),
    Setting(POLICY_ONLY, "spacil", {"lambda_cost": 0.0}),
    Setting(COST_ONLY, "spacil", {"lambda_policy": 0.0}),
    Setting(BOTH, "spacil"),
)
"""The rule with its anchor, start and mean; only the two penalties differ"""

_TASKS = {
    WHOLE: FIVE_TASKS,
    SCARCE: ("Hopper-v4", "HalfCheetah-v4", "Walker2d-v4", "Ant-v4"),
    ONE: ("Hopper-v4", "HalfCheetah-v4", "Walker2d-v4"),
}
_FEW_SEEDS = ("Ant-v4", "Reacher-v4")
_ABLATED = (("HalfCheetah-v4", SCARCE, 5), ("Hopper-v4", WHOLE, 3), ("Hopper-v4", SCARCE, 3))


def arms(scope: Scope, _: Path) -> list[Arm]:
    found = []
    for tier, usual in _TASKS.items():
        for task in scope.tasks_or(usual):
            seeds = scope.seeds_or(3 if task in _FEW_SEEDS else 5)
            found += [Arm(on(tier, method, task), task, seeds, tier) for method in METHODS]
    for task, tier, count in _ablated(scope):
        seeds = scope.seeds_or(count)
        found += [Arm(on(tier, one, task), task, seeds, f"ablation-{tier}") for one in ABLATION]
    return narrowed(found, scope)


def _ablated(scope: Scope) -> list[tuple[str, str, int]]:
    """Task, data and number of seeds of the ablations."""
    if scope.is_quick:
        return [(task, SCARCE, 2) for task in scope.tasks_or(())]
    return [row for row in _ABLATED if row[0] in (scope.tasks or FIVE_TASKS)]


def on(tier: str, method: Setting, task: str) -> Setting:
    """The method on the data of a tier."""
    flags, from_seed = DATA[tier]
    choices = {**method.choices, **flags}
    return with_budget(Setting(method.label, method.algorithm, choices, from_seed), task)


def analyse(gathered: Gathered) -> Outcome:
    """One table per tier: last policies with the best beside them."""
    groups = list(dict.fromkeys(arm.arm.group for arm in gathered.arms))
    summaries = summaries_of(gathered, last, lambda arm: _baseline(arm.group))
    return Outcome(
        title="The default on whole and scarce demonstrations",
        text=_TEXT,
        tables=[_table(group, summaries) for group in groups],
        numbers={
            "runs": rows_of(gathered, last),
            "summaries": documents_of(summaries),
            "demonstrators": demonstrators_of(gathered.tasks),
        },
        panels=[
            return_against_j(gathered, task, last, group)
            for group in groups
            for task in dict.fromkeys(a.task for a in gathered.arms if a.arm.group == group)
        ],
        **gathered.sources,
    )


_TEXT = (
    "The last policy of each run, the best by return beside it, on fresh episodes; mean and 95 % "
    "bootstrap interval over seeds. Shares count from random actions to the demonstrator. J is in "
    "the common frame of the whole demonstrations, effective J after clipping. Ratios are to "
    "`gail-like` of the same data (policy weight 0; start, critic, cost penalty, discriminator and "
    "mean as in the rule), in the ablation to `neither`. Scarce data differ by seed: seed s thins "
    "from offset s, or has trajectory s alone."
)


def _baseline(group: str) -> str:
    return NEITHER if group.startswith("ablation") else GAIL_LIKE


def _table(group: str, summaries: list[ArmSummary]) -> Table:
    header = [
        "task", "setting", "seeds", "G, last policy", "share of the demonstrator", "G, best policy",
        "J", "J effective", "J / GAIL's", "G / GAIL's", "action change",
    ]  # fmt: skip
    rows = [
        [
            found.task,
            found.setting,
            str(len(found.seeds)),
            with_interval(found.numbers["G"]),
            percent(found.numbers["share"]),
            spread(found.other["G"]),
            with_interval(found.numbers["J"]),
            number(found.mean("J_effective")),
            ratio_text(found.J_ratio),
            ratio_text(found.G_ratio),
            with_interval(found.numbers["action_change"]),
        ]
        for found in summaries
        if found.group == group
    ]
    return Table(group, header, rows)


# docs/results/recipe.md says what the rule is and how it was found.
RECIPE = NamedExperiment(stages=(arms,), analyse=analyse, page="recipe-tiers", can_be_extended=True)
