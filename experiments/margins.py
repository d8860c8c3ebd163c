"""Delay margins as they are measured, beside fine play of the same policies.

    python experiments/margins.py Hopper-v4 students/hopper.policy.safetensors...

Sources are what `spacil evaluate` takes. Fine play raises the delay by an eighth of a step and
plays more episodes from other starts, until less than 0.7 of the return is left; its margin is
where a straight line between two delays first crosses 0.9.
"""

import itertools
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import spacil
from pages import Document, Page, Table, main
from spacil.envs.conditions import disturbed
from spacil.envs.episodes import play_for_totals
from spacil.measuring.evaluate import evaluation_env
from spacil.measuring.frames import choose_frame
from spacil.measuring.margins import DELAYS, KEPT, margins_of
from spacil.measuring.played import random_return

EPISODES, FINE_EPISODES, SEED, FINE_SEED = 20, 50, 0, 100
FINE_STEP, LEAST_SHARE = 0.125, 0.7
WITHIN = 0.5


def truth_of(policy: Any) -> tuple[float | None, list[tuple[float, float]]]:
    """Where fine play crosses, and the share of the return at every delay."""
    frame = choose_frame(None, policy.common_frame, policy.task)
    known = (policy.task, FINE_EPISODES, FINE_SEED, 1, policy.conditions)
    with evaluation_env(*known, frame=frame) as env:
        lowest, shares = random_return(env, FINE_SEED), list[tuple[float, float]]()
        clean = None
        for late in np.arange(0.0, DELAYS[1] + FINE_STEP, FINE_STEP):
            under = disturbed(env, later=float(late))
            earned = play_for_totals(under, policy.act, 0, FINE_EPISODES).returns.mean() - lowest
            clean = clean or earned
            shares.append((float(late), float(earned / clean)))
            if shares[-1][1] < LEAST_SHARE:
                break
    for (left, before), (right, after) in itertools.pairwise(shares):
        if after < KEPT:
            return left + (right - left) * (before - KEPT) / (before - after), shares
    return None, shares


def collect(sources: Sequence[Path]) -> Document:
    rows = []
    for source in sources:
        policy = spacil.load_policy(source)
        assert policy.task is not None
        found = margins_of(policy, policy.task, EPISODES, SEED)
        truth, shares = truth_of(policy)
        made_for = f"{policy.conditions.action_delay} steps"
        rows.append(
            {"policy": Path(source).stem.removesuffix(".policy"), "task": policy.task}
            | {"made_for": made_for, "measured": found and asdict(found)}
            | {"truth": truth, "shares": shares}
        )
    return {"num_runs": 0, "commits": [], "problems": [], "rows": rows}


def page_of(document: Document) -> Page:
    cells, differences = [], []
    for row in document["rows"]:
        delay = row["measured"]["delay_steps"]
        numbers = [delay["level"], delay["low"], delay["high"], row["truth"]]
        words = [f"over {delay['most']:g}" if x is None else f"{x:.2f}" for x in numbers]
        level, truth = (delay["most"] if x is None else x for x in (numbers[0], numbers[3]))
        differences.append(level - truth)
        within = f"{words[1]} to {words[2]}"
        about = [row["task"], row["policy"], row["made_for"]]
        cells.append([*about, words[0], within, words[3], f"{level - truth:+.2f}"])
    num_within = sum(abs(difference) <= WITHIN for difference in differences)
    text = (
        "The delay beyond what a policy was made for at which a tenth of its return is lost, in "
        "steps: as `spacil smoothness --robustness` and `compare --margins` measure it "
        f"({EPISODES} episodes a level, seed {SEED}), and by fine play ({FINE_EPISODES} episodes "
        f"at every eighth of a step, seed {FINE_SEED}). {num_within} of {len(cells)} policies are "
        f"within half a step; the largest difference is {max(map(abs, differences)):.2f}."
    )
    header = ["task", "policy", "made for", "measured", "interval", "fine play", "difference"]
    return Page("Delay margins", text, [Table("Steps by policy", header, cells, 3)])


if __name__ == "__main__":
    main("margins", page_of, collect)
