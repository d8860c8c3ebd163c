"""What each piece of the default is for (controls.toml).

Cloning alone and with the penalty, GAIL from a clone with the anchor, the default without
staggered starts and without the mean policy; each beside the default, or cloning beside itself.
"""

from pages import Document, Page, Table, main
from rows import BY_T, COMPARED, Arm, Place, arms_of, collector, compared, one
from spacil.sweeps.plan import PlannedRun

ORDER = (
    "spacil", "gail-like", "gail-like with the anchor", "without staggered starts",
    "without the mean policy", "bc",
)  # fmt: skip
TEXT = (
    "Whole demonstrations; the policy that is handed out (of cloning the one of the lowest "
    "held-out loss, of spacil the last), 50 fresh episodes a run. `bc exact=W` is cloning with "
    "the default's penalty at a weight in the same units, and is beside `bc`; the others are "
    "beside `spacil`. p: exact two-sided permutation over seeds; three against three never come "
    "below 0.1. Iterations of cloning are epochs."
)


def places(run: PlannedRun) -> list[Place]:
    choices = dict(run.choices)
    if run.algorithm == "bc":
        words = choices.get("penalty", ())
        assert isinstance(words, tuple)
        return [("", " ".join(["bc", *map(str, words)]))]
    if "preset" in choices:
        return [("", "gail-like with the anchor" if "anchor_weight" in choices else "gail-like")]
    if "staggered_starts" in choices:
        return [("", "without staggered starts")]
    return [("", "without the mean policy" if "kept_policy_decay" in choices else "spacil")]


def page_of(document: Document) -> Page:
    arms = sorted(arms_of(document["runs"]), key=rank)
    rows = [
        compared(arm, one(arms, arm.task, "bc" if arm.setting.startswith("bc") else "spacil"))
        for task in dict.fromkeys(arm.task for arm in arms)
        for arm in arms
        if arm.task == task
    ]
    tables = [Table(f"Controls{BY_T}", COMPARED, rows)]
    return Page("What each piece of the default is for", TEXT, tables)


def rank(arm: Arm) -> tuple[int, str]:
    return (ORDER.index(arm.setting) if arm.setting in ORDER else len(ORDER), arm.setting)


if __name__ == "__main__":
    main(
        "controls",
        page_of,
        collector("controls", places, lambda name: "best" if name[:2] == "bc" else "last"),
    )
