"""The paper's claims, each answered by a test over seeds: it holds, its reverse, or not resolved.

    python experiments/claims.py docs/results/returns.json docs/results/claims.json

From the rows of `returns` (or of a longer plan with the same settings, `printed`). What has one
policy or two seeds is no sample to test: those answers are kept from the last document.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from pages import Document, Page, Table, main
from rows import TASKS, Arm, arms_of, holm, mean, number, one
from spacil import storage
from spacil.comparison.demonstrator import demonstrator_of
from spacil.comparison.statistics import permutation_p

LEARNED, ALPHA = 0.8, 0.05
PAIRS = {
    "as printed, a mean": ("spacil paper-mean", "gail paper-mean"),
    "as printed, a sum": ("spacil paper-sum", "gail paper-mean"),
    "our default, beside plain GAIL": ("spacil", "gail"),
    "our default, beside GAIL of its start": ("spacil", "gail-like"),
}
TEXT = (
    "Two-sided exact permutation tests of equal means over seeds (of the demonstrator: Student's "
    "t of one sample), corrected by Holm over the tasks of a line: below 0.05 a task holds or is "
    "reversed, else it is not resolved. Three seeds against three never come below 0.1, so such a "
    "line cannot be resolved whatever it shows. A task is tested where GAIL, whom SPaCIL is "
    f"compared with, has at least {100 * LEARNED:.0f} % of the demonstrator's return: elsewhere it "
    "was stopped before it had learned. Variance is tested on distances from the median, faster "
    "on the ranks of the env steps to 95 %, evaluations that steer not counted in these runs, a "
    "run that never came there last (then mean ranks are shown). The demonstrator's return is "
    "taken as known. The default's starts are clones, and so are those of `GAIL "
    "of its start`: what beats plain GAIL there is the clone."
)


def distances(values: Sequence[float]) -> list[float]:
    return [float(abs(value - np.median(values))) for value in values]


@dataclass(frozen=True)
class Claim:
    words: str
    values: Callable[[Arm], Sequence[float | None]]
    is_higher: bool
    """Whether SPaCIL's values are claimed to be the higher ones"""
    to_demonstrator: bool = False


CLAIMS = (
    Claim("the return is higher than GAIL's", lambda arm: arm.values("G"), True),
    Claim("the return is higher than the demonstrator's", lambda arm: arm.values("G"), True, True),
    Claim("smoother than GAIL", lambda arm: arm.values("J"), False),
    Claim("lower variance of the return", lambda arm: distances(arm.values("G")), False),
    Claim("lower variance of J", lambda arm: distances(arm.values("J")), False),
    Claim("faster learning", lambda arm: steps(arm), False),
)


def steps(arm: Arm) -> list[float]:
    return [float(value) for value in arm.rows["steps_to_95"].astype(float).fillna(np.inf)]


def collect(sources: Sequence[Path]) -> Document:
    documents = [storage.read_json(path) for path in sources]
    runs = [run for each in documents if "untested" not in each for run in each["runs"]]
    kept = [answer for document in documents for answer in document.get("untested", ())]
    commits = sorted({run["commit"] for run in runs if run["commit"]})
    wanted = {name for pair in PAIRS.values() for name in pair}
    names = ("group", "task", "setting", "seed", "which", "G", "J", "share", "steps_to_95")
    rows = [{k: run[k] for k in names} for run in runs if run["setting"] in wanted]
    return {
        "runs": rows, "untested": kept, "num_runs": len(rows), "commits": commits, "problems": [],
    }  # fmt: skip


def page_of(document: Document) -> Page:
    arms = arms_of(document["runs"])
    answers = [
        [claim.words, name, *answer_of(claim, arms, *pair)]
        for claim in CLAIMS
        for name, pair in PAIRS.items()
    ]
    header = ["claim", "setting", "answer", "by task: SPaCIL's mean, the other's, p (n, n)"]
    kept = [[one[key] for key in header[:3]] + [one["evidence"]] for one in document["untested"]]
    untested = [*header[:3], "evidence"]
    tables = [Table("Tested", header, answers, 4), Table("Not tested", untested, kept, 4)]
    return Page("The paper's claims, answered", TEXT, tables)


def answer_of(claim: Claim, arms: Sequence[Arm], ours: str, theirs: str) -> list[str]:
    """The answer over tasks, and its evidence."""
    found, unlearned = [], []
    for task in TASKS:
        arm, other = one(arms, task, ours), one(arms, task, theirs)
        if arm is None or other is None:
            continue
        name = task.partition("-")[0]
        if not np.mean(other.values("share")) >= LEARNED:
            unlearned.append(name)
            continue
        mine = np.array(claim.values(arm), float)
        if claim.to_demonstrator:
            known = demonstrator_of(task)
            assert known is not None
            his = np.array([known.average_return])
            p = float(stats.ttest_1samp(mine, his[0]).pvalue)
        else:
            his = np.array(claim.values(other), float)
            both = np.concatenate([mine, his])
            # Steps are compared by rank: a run that never came there has none.
            values = stats.rankdata(both) if np.isinf(both).any() else both
            mine, his = values[: len(mine)], values[len(mine) :]
            p = permutation_p(list(mine), list(his)) or 1.0
        sign = 1 if claim.is_higher else -1
        found.append((name, p, sign * (mine.mean() - his.mean()), mine, his))
    verdicts = {"holds": 0, "reversed": 0, "not resolved": 0}
    words = []
    for (name, _, gain, mine, his), p in zip(found, holm([row[1] for row in found]), strict=True):
        verdicts["not resolved" if p >= ALPHA else "holds" if gain > 0 else "reversed"] += 1
        sizes = f"(n {len(mine)}, {len(his)})"
        words.append(f"{name} {mean(list(mine))}, {mean(list(his))}, p {number(p)} {sizes}")
    answer = ", ".join(f"{word} on {count}" for word, count in verdicts.items() if count)
    if unlearned:
        words.append(f"GAIL has not learned {', '.join(unlearned)}")
    return [answer or "not tested", "; ".join(words)]


if __name__ == "__main__":
    main("claims", page_of, collect)
