"""Every penalty under one controller, from a weight at which it does nothing (front_equal.toml).

What the plan names as the endpoint is what is tested: J, and the action change, of the policy that
is handed out, on fresh episodes. The controller reads the return; the default and GAIL do not, and
stand below.
"""

from pages import Document, Page, Table, main
from rows import BY_T, Arm, Place, arms_of, collector, holm, number, one, p_to, percent, ratio_to
from spacil.policies.file import Which
from spacil.sweeps.plan import PlannedRun

OURS, GAIL, DEFAULT = "exact", "gail-like", "spacil, reads no return"
KEPT = 0.97
TEXT = (
    "One controller for all: it hears the return every 10 iterations, raises the weight while 97 % "
    "of the demonstrator's return is kept, lowers it when not, and hands out the smoothest "
    "evaluated policy that kept it. Each penalty starts where it does nothing yet, 360 iterations, "
    "100 fresh episodes. Ratios are to GAIL's of the same iterations (`gail-like`). `kept`: runs "
    f"whose fresh share is at least {100 * KEPT:.0f} %. p: exact two-sided permutation tests of J "
    f"and of the action change against `{OURS}`, corrected by Holm over the rivals of a data set. "
    f"`{DEFAULT}` and `{GAIL}` read no return, and are not among the rivals."
)
HEADER = [
    "data", "penalty", "n", "iterations", "share of the demonstrator", "kept", "J / GAIL's",
    "p of J", "action change / GAIL's", "p of change", "G", "J", "commit",
]  # fmt: skip


def places(run: PlannedRun) -> list[Place]:
    choices = dict(run.choices)
    data = "every 20th step" if "demo_every" in choices else "whole"
    if "keep_return" not in choices:
        return [(data, GAIL if "preset" in choices else DEFAULT)]
    words = choices["penalty"]
    assert isinstance(words, tuple)
    return [(data, " + ".join(str(word).partition("=")[0] for word in words))]


def page_of(document: Document) -> Page:
    arms = arms_of(document["runs"])
    tables = []
    for task, data in dict.fromkeys((arm.task, arm.group) for arm in arms):
        members = [arm for arm in arms if (arm.task, arm.group) == (task, data)]
        ours, gail = (one(members, task, name, data) for name in (OURS, GAIL))
        rivals = [arm for arm in members if arm.setting not in (OURS, GAIL, DEFAULT)]
        ps = {
            name: holm([p_to(arm, ours, name) or 1.0 for arm in rivals])
            for name in ("J", "action_change")
        }
        rows = [
            cells(
                arm, gail, [ps[name][rivals.index(arm)] if arm in rivals else None for name in ps]
            )
            for arm in members
        ]
        tables.append(Table(f"{task}, {data}{BY_T}", HEADER, rows))
    return Page("The front at equal information", TEXT, tables)


def cells(arm: Arm, gail: Arm | None, ps: list[float | None]) -> list[str]:
    shares = arm.values("share")
    commits = sorted({str(commit)[:7] for commit in arm.rows["commit"]})
    return [
        f"{arm.task}, {arm.group}",
        arm.setting,
        arm.num_seeds,
        arm.iterations,
        percent(shares),
        f"{sum(share >= KEPT for share in shares)} of {len(shares)}",
        ratio_to(arm, gail, "J"),
        number(ps[0]),
        ratio_to(arm, gail, "action_change"),
        number(ps[1]),
        number(sum(arm.values("G")) / len(arm.rows)),
        number(sum(arm.values("J")) / len(arm.rows)),
        " ".join(commits),
    ]


def which(setting: str) -> Which:
    return "last" if setting in (GAIL, DEFAULT) else "best"


if __name__ == "__main__":
    main("front-equal", page_of, collector("front_equal", places, which))
