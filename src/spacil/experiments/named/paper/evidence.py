"""What the results say to each claim of the paper: an answer and the numbers behind it.

Pure functions of the documents of other experiments. Where a result is missing the answer is "not
measured"; where means say one thing and the seeds overlap, a probability says what that is worth.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spacil.comparison.comparison_text import number
from spacil.comparison.statistics import improvement, summarize
from spacil.experiments.named.outcome import Document
from spacil.experiments.named.plan import FIVE_TASKS

NOT_MEASURED = "not measured"
ROBUST_SHARE = 0.95
"""Of the return that a robust policy keeps at noise 0.001"""
VERY_HIGH = 2.0
"""J at noise 0.1 over J without, from which on we call it very high"""
LEARNED = 0.2
"""Share of the demonstrator's return from which on a method counts as having learned a task"""

Results = Mapping[str, Document]
Columns = Mapping[str, list[float]]
"""Task -> one value per seed"""
Claim = Callable[[Results, str, str], tuple[str, str]]
"""(results, SPaCIL's label, GAIL's label) -> answer and evidence"""


def column(results: Results, name: str, setting: str, key: str) -> dict[str, list[float]]:
    """Task -> values over seeds of a setting in the runs of a result, where there are any."""
    found: dict[str, list[float]] = {}
    for row in results.get(name, {}).get("runs", []):
        if row["setting"] == setting and row.get(key) is not None and row["task"] in FIVE_TASKS:
            found.setdefault(row["task"], []).append(row[key])
    return {task: found[task] for task in FIVE_TASKS if task in found}


def where_learned(results: Results, gail: str) -> tuple[Results, list[str]]:
    """The results without tasks that GAIL has not learned, and words on those that are left out.

    There its best policy is one of the first iterations: as smooth as an untrained one, and no
    rival.
    """
    shares = {task: _mean(of) for task, of in column(results, "returns", gail, "share").items()}
    left_out = {task: share for task, share in shares.items() if share < LEARNED}

    def kept(name: str, rows: str) -> Document:
        document = results[name]
        return document | {rows: [r for r in document[rows] if r["task"] not in left_out]}

    tables = {"returns": "runs", "curves": "variability"}
    found = dict(results) | {n: kept(n, rows) for n, rows in tables.items() if n in results}
    words = [f"{_short(task)} ({100 * share:.0f} %)" for task, share in left_out.items()]
    return found, words


def verdict(holds: Mapping[str, bool]) -> str:
    """In words, from where it holds."""
    if not holds:
        return NOT_MEASURED
    if all(holds.values()):
        return f"holds ({len(holds)} of {len(holds)} tasks)"
    if not any(holds.values()):
        return f"does not hold (0 of {len(holds)} tasks)"
    return f"holds on {sum(holds.values())} of {len(holds)} tasks"


def _of_data_sets(holds: Mapping[str, bool]) -> str:
    return verdict(holds).replace("tasks", "data sets")


def _compared(
    ours: Columns, theirs: Columns, is_lower_better: bool, of: Callable[[Sequence[float]], float]
) -> tuple[str, str]:
    """A statistic of ours against theirs on the tasks that both have."""
    sign = -1 if is_lower_better else 1
    holds, words = {}, []
    for task in (task for task in ours if task in theirs):
        a, b = of(ours[task]), of(theirs[task])
        holds[task] = sign * a > sign * b
        counts = f"n {len(ours[task])}, {len(theirs[task])}"
        words.append(f"{_short(task)} {number(a)} vs {number(b)} ({counts})")
    return verdict(holds), "; ".join(words)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _short(task: str) -> str:
    return task.removesuffix("-v4")


def better_return(results: Results, ours: str, gail: str) -> tuple[str, str]:
    a, b = (column(results, "returns", label, "G") for label in (ours, gail))
    answer, evidence = _compared(a, b, False, _mean)
    chances = [
        f"{_short(task)} {improvement(a[task], b[task]).probability:.2f}" for task in a if task in b
    ]
    return answer, f"mean G: {evidence}; P(better): {', '.join(chances)}" if chances else ""


def above_demonstrator(results: Results, ours: str, _: str) -> tuple[str, str]:
    known = results.get("returns", {}).get("demonstrators", {})
    found = column(results, "returns", ours, "G")
    named = ("Hopper-v4", "Walker2d-v4", "HalfCheetah-v4")
    holds, words = {}, []
    for task in (task for task in named if task in found and task in known):
        g, demonstrated = _mean(found[task]), known[task]["average_return"]
        holds[task] = g > demonstrated
        counts = f"n {len(found[task])}"
        words.append(f"{_short(task)} {number(g)} vs {number(demonstrated)} ({counts})")
    return verdict(holds), "mean G vs demonstrator: " + "; ".join(words) if words else ""


def _spread(values: Sequence[float]) -> float:
    return summarize(values).std or 0.0


def lower_spread(key: str) -> Claim:
    def answer(results: Results, ours: str, gail: str) -> tuple[str, str]:
        a, b = (
            {t: v for t, v in column(results, "returns", label, key).items() if len(v) > 1}
            for label in (ours, gail)
        )
        found, evidence = _compared(a, b, True, _spread)
        return found, f"std of {key} over seeds: {evidence}" if evidence else ""

    return answer


def smoother(results: Results, ours: str, gail: str) -> tuple[str, str]:
    a, b = (column(results, "returns", label, "J") for label in (ours, gail))
    answer, evidence = _compared(a, b, True, _mean)
    return answer, f"mean J: {evidence}" if evidence else ""


def steadier_training(results: Results, ours: str, gail: str) -> tuple[str, str]:
    """Of the learning curve; of the evaluation curve where only that was kept."""

    def of(label: str, kind: str) -> dict[str, list[float]]:
        return {
            row["task"]: values
            for row in results.get("curves", {}).get("variability", [])
            if row["setting"] == label and (values := row["late_variability"].get(kind))
        }

    for kind in ("learning", "evaluation"):
        answer, evidence = _compared(of(ours, kind), of(gail, kind), True, _mean)
        if evidence:
            return answer, f"mean change between points of the {kind} curve: {evidence}"
    return NOT_MEASURED, ""


def faster(results: Results, ours: str, gail: str) -> tuple[str, str]:
    """A run that never gets there is slower than any that does; where none does, none is faster."""
    never = float("inf")
    holds, words = {}, []
    rows = results.get("returns", {}).get("runs", [])
    for task in FIVE_TASKS:
        a, b = (
            [
                never if row["steps_to_95"] is None else row["steps_to_95"]
                for row in rows
                if (row["task"], row["setting"]) == (task, label)
            ]
            for label in (ours, gail)
        )
        if a and b and min(*a, *b) == never:
            words.append(f"{_short(task)} never (n {len(a)}, {len(b)})")
        elif a and b:
            chance = improvement([-x for x in _finite(a)], [-x for x in _finite(b)]).probability
            holds[task] = chance > 0.5
            compared = f"{_short(task)} {_steps(a)} vs {_steps(b)} (n {len(a)}, {len(b)})"
            words.append(f"{compared}, P(faster) {chance:.2f}")
    return verdict(holds), "steps to 95 %: " + "; ".join(words) if words else ""


def _finite(steps: Sequence[float]) -> list[float]:
    """Never, as a number beyond all others."""
    return [min(step, 1e18) for step in steps]


def _steps(steps: Sequence[float]) -> str:
    reached = [step for step in steps if step < float("inf")]
    never = len(steps) - len(reached)
    shown = number(_mean(reached)) if reached else "-"
    return f"{shown} ({never} of {len(steps)} never)" if never else shown


def larger_gain_in_high_dimensions(results: Results, ours: str, gail: str) -> tuple[str, str]:
    """FIVE_TASKS is in order of state and action dims: is the gain largest where they are most?"""
    a, b = (column(results, "returns", label, "share") for label in (ours, gail))
    gains = {task: 100 * (_mean(a[task]) - _mean(b[task])) for task in a if task in b}
    if len(gains) < 2:
        return NOT_MEASURED, ""
    tasks = list(gains)
    holds = max(gains, key=lambda task: gains[task]) == tasks[-1] and gains[tasks[-1]] > 0
    evidence = "; ".join(
        f"{_short(task)} {gain:+.1f} (n {len(a[task])}, {len(b[task])})"
        for task, gain in gains.items()
    )
    answer = "holds" if holds else "does not hold"
    return answer, f"gain in percent of the demonstrator, by dimension: {evidence}"


def _at_noise(results: Results, level: float) -> dict[str, Document]:
    """Task -> what was measured at this level."""
    rows = results.get("perturbation", {}).get("levels", [])
    return {row["task"]: row for row in rows if row["noise_std"] == level}


def _draws(rows: Mapping[str, Document]) -> str:
    """`10 draws`, of every task."""
    return f"{' or '.join(map(str, sorted({row['draws'] for row in rows.values()})))} draws"


def robust_to_small_noise(results: Results, *_: str) -> tuple[str, str]:
    rows = _at_noise(results, 0.001)
    found = {t: g for t, row in rows.items() if (g := row["scaled"]["G"]) is not None}
    # Returns of Reacher are negative: 1.05 of one is 5 % worse.
    holds = {
        task: (2 - g if task.startswith("Reacher") else g) >= ROBUST_SHARE
        for task, g in found.items()
    }
    words = "; ".join(f"{_short(task)} {g:.3f}" for task, g in found.items())
    about = f"G at noise 0.001 over G without, {_draws(rows)}"
    return verdict(holds), f"{about}: {words}" if words else ""


def j_scaled(level: float, least: float) -> Claim:
    """More than chance: the lower end of the interval over draws is above `least`."""

    def lower_end(row: Document) -> float:
        j = row["J"]
        low = j["mean"] if j["low"] is None else j["low"]
        return float(row["scaled"]["J"] * low / j["mean"])

    def answer(results: Results, *_: str) -> tuple[str, str]:
        rows = _at_noise(results, level)
        found = {task: row for task, row in rows.items() if row["scaled"]["J"] is not None}
        holds = {task: lower_end(row) > least for task, row in found.items()}
        words = "; ".join(
            f"{_short(task)} {number(row['scaled']['J'])}, from {number(lower_end(row))} on "
            f"(fixed states {number(row['scaled']['J_fixed'])})"
            for task, row in found.items()
        )
        about = f"J at noise {level:g} over J without, mean and 95 % over {_draws(rows)}"
        return verdict(holds), f"{about}: {words}" if words else ""

    return answer


def smooth_whatever_the_demonstrator(results: Results, *_: str) -> tuple[str, str]:
    """Smoother than whoever was imitated, and than GAIL of the same demonstrations."""
    arms = {
        (row["task"], row["group"], row["setting"]): row
        for row in results.get("demonstrators", {}).get("arms", [])
    }
    holds, words = {}, []
    for (task, group, setting), ours in arms.items():
        gail, known = arms.get((task, group, "gail")), ours["demonstrator_J"]
        if setting != "spacil" or gail is None or known is None:
            continue
        j, theirs = _mean(ours["J"]), _mean(gail["J"])
        data = f"{_short(task)} {group}"
        holds[data] = j < min(known, theirs)
        counts = f"n {len(ours['J'])}, {len(gail['J'])}"
        words.append(f"{data} {number(j)} vs {number(known)} and {number(theirs)} ({counts})")
    about = "mean J vs demonstrator's and GAIL's"
    return _of_data_sets(holds), f"{about}: {'; '.join(words)}" if words else ""


def _grid(results: Results, group: str) -> dict[str, Any]:
    """Label of a point -> its summary, on Hopper."""
    return {
        row["setting"]: row["numbers"]
        for row in results.get("lambda-grid", {}).get("summaries", [])
        if (row["group"], row["task"]) == (group, "Hopper-v4") and row["numbers"]["G"]
    }


def cost_only_is_best_and_rough(group: str) -> Claim:
    def answer(results: Results, *_: str) -> tuple[str, str]:
        points = _grid(results, group)
        if "(0, 1)" not in points or "(0, 0)" not in points or len(points) < 3:
            return NOT_MEASURED, ""
        best = max(points, key=lambda label: points[label]["G"]["mean"])
        is_rough = points["(0, 1)"]["J"]["mean"] > points["(0, 0)"]["J"]["mean"]
        evidence = "; ".join(
            f"{label} G {number(points[label]['G']['mean'])} J {number(points[label]['J']['mean'])}"
            for label in dict.fromkeys(("(0, 1)", "(0, 0)", best))
        )
        if best == "(0, 1)" and is_rough:
            return "holds", evidence
        rough = "rougher than GAIL" if is_rough else "not rougher than GAIL"
        return f"does not hold: highest return at {best}, {rough}", evidence

    return answer


Means = Mapping[str, float]
"""By setting of the rule's ablation: neither, policy only, cost only, both"""


def in_ablation(is_so: Callable[[Means, Means], bool]) -> Claim:
    """Asked of mean G and mean J on every data set where the rule was taken apart."""

    def answer(results: Results, *_: str) -> tuple[str, str]:
        holds, words = {}, []
        for data, g, j in _ablations(results):
            holds[data] = is_so(g, j)
            shown = ", ".join(f"{name} {number(g[name])} / {number(j[name])}" for name in g)
            words.append(f"{data}: {shown}")
        return _of_data_sets(holds), "G / J: " + "; ".join(words) if words else ""

    return answer


def are_both_needed(g: Means, j: Means) -> bool:
    """More return than the policy penalty alone, less J than the cost's."""
    return g["both"] > g["policy only"] and j["both"] < j["cost only"]


def is_cost_only_best_and_rough(g: Means, j: Means) -> bool:
    """The highest return of all, at no lower J than without any penalty."""
    return g["cost only"] == max(g.values()) and j["cost only"] >= j["neither"]


def _ablations(results: Results) -> list[tuple[str, dict[str, float], dict[str, float]]]:
    """Task and data, mean G and mean J by setting, where all four were run."""
    found: dict[str, dict[str, Any]] = {}
    for row in results.get("recipe", {}).get("summaries", []):
        if row["group"].startswith("ablation"):
            data = f"{_short(row['task'])} {row['group'].removeprefix('ablation-')}"
            found.setdefault(data, {})[row["setting"]] = row["numbers"]
    return [
        (data, _means(rows, "G"), _means(rows, "J"))
        for data, rows in found.items()
        if {"neither", "policy only", "cost only", "both"} <= rows.keys()
    ]


def _means(rows: Mapping[str, Any], name: str) -> dict[str, float]:
    return {setting: numbers[name]["mean"] for setting, numbers in rows.items()}
