"""The default on whole and on scarce demonstrations, beside GAIL, and its ablation (recipe.toml).

Four tiers, each a group: `whole`; `every-20th`, where seed s thins from offset s;
`one-trajectory`, where seed s has every 20th step of trajectory s; and `ablation-*`, the rule with
neither, one or both of its penalties. Ratios are to `gail-like`: the rule's start, critic,
discriminator and mean without its policy penalty. The paper's plain GAIL stands beside it.
docs/results/recipe.md says what the rule is and how it was found.
"""

from collections.abc import Sequence

from pages import Document, Page, Table, main
from rows import (
    BY_T,
    Arm,
    Place,
    arms_of,
    collector,
    mean,
    one,
    percent,
    ratio_to,
    return_against_j,
    spread,
    with_interval,
)
from spacil.sweeps.plan import PlannedRun

ABLATED = {("HalfCheetah-v4", "every-20th"), ("Hopper-v4", "whole"), ("Hopper-v4", "every-20th")}
ABLATION = {
    ("lambda_cost", "lambda_policy"): "neither",
    ("lambda_cost",): "policy only",
    ("lambda_policy",): "cost only",
    (): "both",
}
"""Weights that are 0 -> setting"""
TEXT = (
    "The last policy of each run, the best by return beside it, on fresh episodes; mean and 95 % "
    "interval (Student's t) over seeds. Shares count from random actions to the demonstrator. J is "
    "in the common frame of the whole demonstrations, effective J after clipping. Ratios are to "
    "`gail-like` of the same data (policy weight 0; start, critic, cost penalty, discriminator and "
    "mean as in the rule), in the ablation to `neither`. Scarce data differ by seed: seed s thins "
    "from offset s, or has trajectory s alone."
)
HEADER = [
    "task", "setting", "seeds", "G, last policy", "share of the demonstrator", "G, best policy",
    "J", "J effective", "J / GAIL's", "G / GAIL's", "action change",
]  # fmt: skip


def places(run: PlannedRun) -> list[Place]:
    """A run of the default on data of the ablation stands in both."""
    choices = dict(run.choices)
    tier = "whole" if "demo_every" not in choices else "every-20th"
    tier = "one-trajectory" if "num_demos" in choices else tier
    removed = tuple(sorted(name for name in choices if name.startswith("lambda_")))
    is_rule = run.algorithm == "spacil" and "preset" not in choices
    found = [] if removed else [(tier, str(choices.get("preset", run.algorithm)))]
    if is_rule and (run.task, tier) in ABLATED:
        found.append((f"ablation-{tier}", ABLATION[removed]))
    return found


def page_of(document: Document) -> Page:
    """One table per tier: last policies with the best beside them."""
    arms = arms_of(document["runs"])
    tiers = sorted({arm.group for arm in arms}, key=lambda tier: tier.startswith("ablation"))
    panels = [
        return_against_j(arms, document, task, tier)
        for tier in tiers
        for task in dict.fromkeys(arm.task for arm in arms if arm.group == tier)
    ]
    title = "The default on whole and scarce demonstrations"
    return Page(title, TEXT, [table_of(arms, tier) for tier in tiers], panels)


def table_of(arms: Sequence[Arm], tier: str) -> Table:
    baseline = "neither" if tier.startswith("ablation") else "gail-like"
    rows = []
    for arm in arms:
        if arm.group == tier:
            to = one(arms, arm.task, baseline, tier)
            rows.append(
                [
                    arm.task,
                    arm.setting,
                    arm.num_seeds,
                    with_interval(arm.values("G")),
                    percent(arm.values("share")),
                    spread(arm.other("G")),
                    with_interval(arm.values("J")),
                    mean(arm.values("J_effective")),
                    ratio_to(arm, to, "J"),
                    ratio_to(arm, to, "G"),
                    with_interval(arm.values("action_change")),
                ]
            )
    return Table(f"{tier}{BY_T}", HEADER, rows)


if __name__ == "__main__":
    main("recipe-tiers", page_of, collector("recipe", places, lambda _: "last"))
