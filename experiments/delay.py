"""Return and action change against late actions and noisy sensors, several policies in one picture.

    python experiments/delay.py Hopper-v4 smooth/Hopper-v4.policy.safetensors...

Sources are what `spacil evaluate` takes: bundled experts, run folders, policy files. Delays are
played without noise; noise is played under the delay that a policy was made for.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import spacil
from pages import Document, Page, Panel, Series, Table, main
from spacil.measuring.evaluate import evaluate_afresh
from spacil.measuring.frames import choose_frame

DELAYS, NOISES = (0, 1, 2, 3), (0.0, 0.05, 0.1, 0.2, 0.3)
EPISODES, SEED = 20, 100
TEXT = (
    f"{EPISODES} fresh episodes per number, seed {SEED}, mean actions; ± is over episodes. Delay: "
    "steps after which a command is executed, without noise. Noise: Gaussian, in standard "
    "deviations of the demonstrated states, under the delay that the policy was made for. Students "
    "are those of `spacil smooth TASK --action-delay D --sensor-noise N` (seed 0, commit 55d1af1) "
    "with the bundled expert as teacher: one seed each, so this page shows no spread over seeds."
)


def played(source: Path) -> list[dict[str, Any]]:
    """Every condition of one policy."""
    policy = spacil.load_policy(source)
    assert policy.task is not None
    own, frame = policy.conditions, choose_frame(None, policy.common_frame, policy.task)
    made_for = f"delay {own.action_delay}, noise {own.sensor_noise:g}"
    name = f"student for {made_for}" if own.is_on else "expert"
    played_under = [
        ("delay", float(steps), replace(own, action_delay=str(steps), sensor_noise=0.0))
        for steps in DELAYS
    ]
    played_under += [("noise", level, replace(own, sensor_noise=level)) for level in NOISES]
    rows = []
    for axis, level, conditions in played_under:
        found = evaluate_afresh(policy, policy.task, EPISODES, SEED, 1, frame, conditions)
        about = {"task": policy.task, "policy": name, "axis": axis, "level": level}
        rows.append(about | {"conditions": asdict(conditions)} | asdict(found))
    return rows


def collect(sources: Sequence[Path]) -> Document:
    rows = [row for source in sources for row in played(source)]
    about = {"num_runs": 0, "commits": [], "problems": []}
    return about | {"rows": rows}


def page_of(document: Document) -> Page:
    rows = document["rows"]
    tables, panels = [], []
    for task in dict.fromkeys(row["task"] for row in rows):
        of_task = [row for row in rows if row["task"] == task]
        for axis, x_label in (("delay", "delay in steps"), ("noise", "sensor noise in std")):
            of_axis = [row for row in of_task if row["axis"] == axis]
            levels = sorted({row["level"] for row in of_axis})
            names = list(dict.fromkeys(row["policy"] for row in of_axis))
            by = {(row["policy"], row["level"]): row for row in of_axis}
            cells = [
                [
                    name,
                    *(
                        f"{by[name, x]['average_return']:,.0f} ± {by[name, x]['return_std']:,.0f} "
                        f"({by[name, x]['action_fluctuation']:.3f})"
                        for x in levels
                    ),
                ]
                for name in names
            ]
            title = f"{task}: return ± std (action change) by {axis}"
            tables.append(Table(title, ["policy", *(f"{x:g}" for x in levels)], cells, 1))
            for key, y_label in (
                ("average_return", "return G"),
                ("action_fluctuation", "action change"),
            ):
                series = [Series(n, levels, [by[n, x][key] for x in levels]) for n in names]
                panels.append(Panel(task, x_label, y_label, series, least_y=0.0))
    return Page("Late actions and noisy sensors", TEXT, tables, panels, panel_columns=4)


if __name__ == "__main__":
    main("delay", page_of, collect)
