"""Return and smoothness of every method on five tasks: tab:eval_reward and tab:smoothness_metric.

The runs are those of returns.toml. The printed presets are compared with GAIL of the same
discriminator, ours with plain GAIL.
"""

from pages import Document, Page, Table, main
from rows import (
    BY_T,
    TASKS,
    Arm,
    Place,
    arms_of,
    collector,
    interval,
    mean,
    notes_on,
    number,
    one,
    percent,
    plan_named,
    ratio_to,
    return_against_j,
    spread,
)
from spacil.comparison.published import Printed, published_return, published_smoothness
from spacil.policies.file import Which
from spacil.sweeps.plan import PlannedRun

LONGER = {"Walker2d-v4": 550, "HalfCheetah-v4": 700, "Ant-v4": 300}
"""Iterations of plain GAIL where it has not learned all in the usual ones"""
SETTINGS = (
    "bc", "gail", "gail paper-mean", "spacil paper-mean", "spacil paper-sum", "gail, longer",
    "gail-like", "spacil",
)  # fmt: skip
BASELINES = {
    "spacil paper-mean": "gail paper-mean",
    "spacil paper-sum": "gail paper-mean",
    "spacil": "gail",
    "gail paper-mean": "gail",
}
"""Whom the ratios of a setting refer to"""
TEXT = (
    "The best policy of each run (of spacil's default: the last one), on fresh episodes from "
    "start states that no training used; ± and intervals (95 %, Student's t) are over seeds. The "
    "share of the demonstrator counts from random actions. J is in the common frame: per standard "
    "deviation of the demonstrated states. Ratios of the printed presets are to GAIL with the "
    "paper's discriminator, those of the default to plain GAIL; where returns are negative there "
    "is no ratio of returns. Figure: a dot per run. The paper's numbers are from the v2 tasks, ± "
    "over its 100 trajectories, and its J is in units that it does not state. What starts "
    "untrained has so many iterations: Reacher 300, Hopper 200, Walker2d 200, HalfCheetah 400, "
    "Ant 75; on Walker2d and Ant that is not where it stands still, and on Ant nothing was "
    "learned in them (see the notes), from a log std of 0, with which its expert does not learn "
    "either, so that Ant's rows of GAIL and of the printed presets are no evidence about either; "
    "`gail, longer` goes on for 550 on Walker2d, 700 on HalfCheetah, 300 on Ant. `gail-like` is "
    "GAIL with the default's start, critic and cost penalty; its runs and those of the default "
    "are from recipe.json where this experiment has none of its own (last policies, other start "
    "states)."
)


def places(run: PlannedRun) -> list[Place]:
    choices = dict(run.choices)
    preset = choices.get("preset")
    if run.algorithm == "gail" and choices["iterations"] == LONGER.get(run.task):
        return [("", "gail, longer")]
    return [("", f"{run.algorithm} {preset}" if preset else run.algorithm)]


def which(setting: str) -> Which:
    """What a user is handed: the default's last policy, a mean over iterations."""
    return "last" if setting == "spacil" else "best"


def page_of(document: Document) -> Page:
    """Tables as the paper has them, its numbers beside ours."""
    arms = arms_of(document["runs"], SETTINGS)
    returns, smoothness = [], []
    tasks = [task for task in TASKS if any(arm.task == task for arm in arms)]
    for task in tasks:
        known = document["demonstrators"].get(task)
        if known is not None:
            g, printed = number(known["average_return"]), published_return(task, "trpo")
            returns.append([task, "demonstrator", "", g, "", "100 %", "", "", "", words(printed)])
            js = [number(known[name]) for name in ("smoothness_j", "smoothness_j_effective")]
            change, printed = (
                number(known["action_fluctuation"]),
                published_smoothness(task, "trpo"),
            )
            cells = [*js, *"----", change, "", words(printed)]
            smoothness.append([task, "demonstrator", *cells])
        for arm in (arm for arm in arms if arm.task == task):
            baseline = one(arms, task, BASELINES.get(arm.setting))
            returns.append(return_cells(arm, baseline))
            smoothness.append(smoothness_cells(arm, baseline))
    iterations = {run.name: run.config().run.iterations for run in plan_named("returns")}
    return Page(
        "Returns and smoothness on five tasks",
        TEXT,
        [
            Table(f"Return (tab:eval_reward){BY_T}", RETURN_HEADER, returns),
            Table(f"Smoothness (tab:smoothness_metric){BY_T}", SMOOTHNESS_HEADER, smoothness),
        ],
        [return_against_j(arms, document, task) for task in tasks],
        notes=notes_on(document["runs"], iterations),
    )


RETURN_HEADER = [
    "task", "setting", "seeds", "return G", "95 % interval", "share of the demonstrator",
    "G / GAIL's", "G of the last policy", "steps to 95 %", "paper G",
]  # fmt: skip
SMOOTHNESS_HEADER = [
    "task", "setting", "J", "J effective", "J own", "J raw", "J at demonstrated states",
    "J by the paper's ascent", "action change", "J / GAIL's", "paper J",
]  # fmt: skip
SMOOTHNESS = ("J", "J_effective", "J_own", "J_raw", "J_demo_states", "J_ball", "action_change")


def return_cells(arm: Arm, baseline: Arm | None) -> list[str]:
    g = arm.values("G")
    return [
        arm.task,
        arm.setting,
        arm.num_seeds,
        spread(g),
        interval(g),
        percent(arm.values("share")),
        ratio_to(arm, baseline, "G"),
        spread(arm.other("G")),
        mean(arm.values("steps_to_95")),
        words(published_return(arm.task, paper_row(arm.setting))),
    ]


def smoothness_cells(arm: Arm, baseline: Arm | None) -> list[str]:
    numbers = [spread(arm.values(name)) for name in SMOOTHNESS]
    printed = words(published_smoothness(arm.task, paper_row(arm.setting)))
    return [arm.task, arm.setting, *numbers, ratio_to(arm, baseline, "J"), printed]


def paper_row(setting: str) -> str:
    """The paper's algorithm that a setting is beside; gail-like and longer runs have none."""
    return setting.split()[0] if setting != "gail, longer" else ""


def words(printed: Printed | None) -> str:
    return "-" if printed is None else f"{number(printed.mean)} ± {number(printed.std)}"


if __name__ == "__main__":
    main("returns", page_of, collector("returns", places, which))
