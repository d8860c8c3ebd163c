"""The picture that many experiments share: return against J, a dot per run."""

from spacil.comparison.demonstrator import demonstrator_of
from spacil.comparison.run_record import Which
from spacil.experiments.named.experiment import Gathered
from spacil.experiments.named.outcome import Panel, Series
from spacil.experiments.named.rows import WhichOf, rows_of_arm


def return_against_j(gathered: Gathered, task: str, which_of: WhichOf, group: str = "") -> Panel:
    """Of the arms of one task and group; up and to the left is better."""
    known = demonstrator_of(task)
    series, kinds = [], set[Which]()
    for arm in gathered.arms:
        if (arm.arm.group, arm.task) == (group, task):
            rows = rows_of_arm(arm, which_of(arm.arm))
            dots = [(r["J"], r["G"]) for r in rows if r["J"] is not None and r["G"] is not None]
            if dots:
                x, y = (list(column) for column in zip(*dots, strict=True))
                series.append(Series(arm.label, x, y, is_joined=False))
                kinds.add(which_of(arm.arm))
    return Panel(
        f"{task}, {group}" if group else task,
        "J, common frame (lower is smoother)",
        f"return G, {kinds.pop()} policy" if len(kinds) == 1 else "return G",
        series,
        None if known is None else known.average_return,
    )
