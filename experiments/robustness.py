"""What J buys: return and action change under noise, delay, other masses and friction.

    python experiments/robustness.py sweeps/controls/bc/*/default/seed* \\
        sweeps/controls/spacil/*/{default,preset-gail-like-*}/seed*

Run folders of cloning, GAIL of the default's start and the default, any number of seeds; one
disturbance at a time, unknown to the policy. Masses and friction are those of every body and
contact, scaled.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import spacil
from pages import Document, Page, Panel, Series, Table, main
from rows import BY_T, interval_of, number
from spacil.measuring.evaluate import evaluate_afresh
from spacil.measuring.frames import choose_frame
from spacil.runs.facts import read_run

LEVELS = {
    "sensor noise, std": (0.0, 0.03, 0.1, 0.2, 0.3),
    "delay, steps": (0, 1, 2, 3),
    "masses": (0.7, 0.85, 1.0, 1.15, 1.3),
    "friction": (0.7, 0.85, 1.0, 1.15, 1.3),
}
SCALED = {"masses": ("body_mass", "body_inertia"), "friction": ("geom_friction",)}
"""Axis -> arrays of MuJoCo's model"""
EPISODES, SEED = 20, 200
NUMBERS = {"average_return": "return G", "action_fluctuation": "action change"}
TEXT = (
    "Policies trained on whole demonstrations and without any of this: cloning (bc), GAIL with the "
    f"default's start (gail-like) and the default (spacil). {EPISODES} fresh episodes per policy "
    "and level; n are seeds, and with one seed a line says nothing of others; with more, the band "
    "is the 95 % interval (Student's t). Noise counts in standard deviations of the demonstrated "
    "states; masses (with inertias) and friction are factors."
)


def disturbed(task: str, axis: str, level: float) -> Callable[[], gymnasium.Env[Any, Any]]:
    """The task with masses or friction scaled."""

    def make() -> gymnasium.Env[Any, Any]:
        env = gymnasium.make(task)
        model: Any = env.unwrapped.model  # type: ignore[attr-defined]
        for name in SCALED[axis]:
            getattr(model, name)[:] *= level
        return env

    return make


def played(source: Path, task: str) -> Iterator[dict[str, Any]]:
    """Every disturbance of one policy: the one that its run hands out."""
    policy = spacil.load_policy(source, "best")
    frame = choose_frame(None, policy.common_frame, task)
    for axis, levels in LEVELS.items():
        for level in levels:
            env: Any = disturbed(task, axis, level) if axis in SCALED else task
            conditions = policy.conditions
            if "noise" in axis:
                conditions = replace(conditions, sensor_noise=level)
            if "delay" in axis:
                conditions = replace(conditions, action_delay=str(level))
            found = evaluate_afresh(policy, env, EPISODES, SEED, 1, frame, conditions)
            yield {"axis": axis, "level": level} | {name: getattr(found, name) for name in NUMBERS}


def collect(sources: Sequence[Path]) -> Document:
    rows, commits = [], set()
    for path in sources:
        facts = read_run(path)
        config = facts.config
        setting = "spacil" if config.policy_penalty.terms else "gail-like"
        setting = "bc" if config.algorithm == "bc" else setting
        commits.add(str(facts.commit))
        about = {"task": config.task, "setting": setting, "seed": config.run.seed}
        rows += [about | row for row in played(path, config.task)]
    about = {"num_runs": len(sources), "commits": sorted(commits), "problems": []}
    return about | {"rows": rows}


def page_of(document: Document) -> Page:
    tables, panels = [], []
    found: dict[tuple[str, ...], dict[float, list[dict[str, Any]]]] = {}
    for row in document["rows"]:
        place = found.setdefault((row["task"], row["axis"], row["setting"]), {})
        place.setdefault(row["level"], []).append(row)
    for task, axis in dict.fromkeys(place[:2] for place in found):
        arms = {place[2]: levels for place, levels in found.items() if place[:2] == (task, axis)}
        cells = [
            [name, str(max(map(len, levels.values()))), *(cell(rows) for rows in levels.values())]
            for name, levels in arms.items()
        ]
        header = ["policy", "n", *(f"{level:g}" for level in LEVELS[axis])]
        tables.append(Table(f"{task}: return (action change) by {axis}{BY_T}", header, cells, 1))
        for key, label in NUMBERS.items():
            series = [line(name, levels, key) for name, levels in arms.items()]
            panels.append(Panel(task, axis, label, series, least_y=0.0))
    return Page("What J buys", TEXT, tables, panels, panel_columns=4)


def cell(rows: Sequence[dict[str, Any]]) -> str:
    g, change = ([row[name] for row in rows] for name in NUMBERS)
    ends = interval_of(g)
    interval = "" if ends is None else f" [{number(ends[0])} to {number(ends[1])}]"
    return f"{number(float(np.mean(g)))}{interval} ({number(float(np.mean(change)))})"


def line(name: str, levels: dict[float, list[dict[str, Any]]], key: str) -> Series:
    values = [[row[key] for row in rows] for rows in levels.values()]
    means = [float(np.mean(of_level)) for of_level in values]
    ends = [interval_of(v) or (m, m) for v, m in zip(values, means, strict=True)]
    low, high = zip(*ends, strict=True)
    return Series(name, list(levels), means, list(low), list(high))


if __name__ == "__main__":
    main("robustness", page_of, collect)
