"""A comparison as text: for a terminal, Markdown, LaTeX, CSV."""

import html
import re
from dataclasses import asdict

import pandas as pd

from spacil.comparison.comparison import Comparison, Row
from spacil.comparison.published import Printed
from spacil.comparison.runs import MARGINS, MEASURES
from spacil.comparison.statistics import Improvement, Summary
from spacil.plain_text import shown

LEGEND = (
    "Mean ± standard deviation over seeds; 95 % interval of the mean (Student's t); IQM: "
    "interquartile mean; P: probability that a run beats one of the baseline; p: of equal means, "
    "by permutation over seeds (two-sided, exact; three seeds against three never have less than "
    "0.1). J: lower is smoother; the paper's is in units it does not state. Over tasks, return is "
    "0 for random actions and 1 for the demonstrator, and the interval is a stratified bootstrap "
    "of the IQM, which is too narrow for few runs."
)
TABLE_FORMATS = {"table": "simple", "markdown": "pipe", "latex": "latex_booktabs"}
"""Their names in the tabulate package"""
NUM_TEXT_COLUMNS = 2
"""Columns of every table that hold words: task and setting"""


def tables_of(comparison: Comparison) -> list[pd.DataFrame]:
    """Returns, smoothness, and what is measured otherwise: as printed, a row per setting."""
    tables: list[list[dict[str, str]]] = [[], [], []]
    for task in comparison.tasks:
        known = comparison.demonstrators.get(task)
        if known is not None:
            head = {"task": task, "setting": "demonstrator"}
            g, episodes = number(known.average_return), number(known.return_std)
            tables[0].append({**head, "return G": g, "std over episodes": episodes})
            tables[1].append({**head, "J common": number(known.smoothness_j)})
        for row in (row for row in comparison.rows if row.task == task):
            head = {"task": task, "setting": row.label + ("" if row.is_fresh else " *")}
            is_baseline = comparison.baselines.get(task) == row.label
            for table, cells in zip(tables, _cells_of(row, is_baseline), strict=True):
                table.append(head | cells)
    # The demonstrator comes first and has few of the columns: their order is that of the last row.
    frames = [pd.DataFrame(rows, columns=list(rows[-1])).fillna("") for rows in tables if rows]
    # A column in which nobody has a number is none.
    return [frame.loc[:, ~frame.isin(["", "-", "baseline"]).all()] for frame in frames]


def _cells_of(row: Row, is_baseline: bool) -> tuple[dict[str, str], ...]:
    def spreads(*names: str) -> dict[str, str]:
        return {MEASURES[name]: _spread(row.summaries[name]) for name in names}

    g, j = row.summaries["average_return"], row.summaries["smoothness_j_common"]
    episodes = row.summaries["return_std"]
    if row.earns_nothing:
        g = episodes = None
    has_spread = len(row.runs) > 1
    returns = {
        "seeds": str(len(row.runs)),
        "return G": _spread(g),
        "95 % interval": interval(g),
        "IQM": number(g and g.iqm if has_spread else None),
        "std over episodes": number(episodes and episodes.mean),
        "P(better)": "baseline" if is_baseline else _probability(row.better_return),
        **spreads("steps_to_95", "seconds_to_95"),
        "paper G": _spread(row.published_return),
    }
    smoothness = {
        "J common": _spread(j),
        "95 % interval": interval(j),
        "IQM": number(j and j.iqm if has_spread else None),
        **spreads("smoothness_j_effective", "smoothness_j_own", "smoothness_j_raw"),
        "P(smoother)": "baseline" if is_baseline else _probability(row.smoother),
        "paper J": _spread(row.published_smoothness),
    }
    otherwise = spreads(
        "imitation_score", "smoothness_j_demo_states", "smoothness_j_ball", "smoothness_jeffreys",
        "action_fluctuation", "spectrum_score",
    )  # fmt: skip
    otherwise |= {head: _margin(row, name) for name, head in MARGINS.items()}
    return returns, smoothness, otherwise


def aggregate_table(comparison: Comparison) -> list[pd.DataFrame]:
    """Settings over several tasks, in one table; none where there are none."""
    rows = [
        {
            "setting": one.label,
            "over": f"{len(one.tasks)} tasks",
            "return, IQM": number(one.normalized_return and one.normalized_return.iqm),
            "return, 95 % interval": interval(one.normalized_return),
            "J / baseline, IQM": number(one.j_ratio and one.j_ratio.iqm),
            "J / baseline, 95 % interval": interval(one.j_ratio),
        }
        for one in comparison.aggregates
    ]
    return [pd.DataFrame(rows)] if rows else []


def number(value: float | None) -> str:
    """Four significant digits; a dash for None and NaN."""
    if value is None or pd.isna(value):
        return "-"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def interval(summary: Summary | None) -> str:
    if summary is None or summary.low is None:
        return "-"
    return f"{number(summary.low)} to {number(summary.high)}"


def _spread(summary: Summary | Printed | None) -> str:
    if summary is None:
        return "-"
    return number(summary.mean) + ("" if summary.std is None else f" ± {number(summary.std)}")


def _margin(row: Row, name: str) -> str:
    """Mean and interval over seeds; of one run, its own by its episodes."""
    summary, first = row.summaries[name], row.runs.iloc[0]
    if summary is None:
        return "-"
    if len(row.runs) > 1:
        return f"{_spread(summary)} ({interval(summary)})"
    ends = (number(first[f"{name}_{end}"]) for end in ("low", "high"))
    return f"{number(summary.mean)} ({' to '.join(ends)})"


def _probability(found: Improvement | None) -> str:
    if found is None:
        return "-"
    ends = "" if found.low is None else f" ({found.low:.2f} to {found.high:.2f})"
    p = "" if found.p is None else f", p {found.p:.2g}"
    return f"{found.probability:.2f}{ends}{p}"


# --- forms


def rendered(comparison: Comparison, form: str) -> str:
    """All tables in a form, and below them what they rest on; as LaTeX for booktabs."""
    if form == "csv":
        return as_csv(comparison)

    def escaped(text: str) -> str:
        if form != "markdown":
            return text
        return re.sub(r"([\\|\[*`])", r"\\\1", html.escape(text, quote=False))

    texts = [
        table.map(lambda cell: escaped(shown(cell))).to_markdown(
            index=False, tablefmt=TABLE_FORMATS[form], disable_numparse=True,
            colalign=["left" if i < NUM_TEXT_COLUMNS else "right" for i in range(table.shape[1])],
        )
        for table in [*tables_of(comparison), *aggregate_table(comparison)]
    ]  # fmt: skip
    # Whom probabilities, and ratios over tasks, compare with.
    named = (f"{task} {comparison.baselines.get(task, 'none')}" for task in comparison.tasks)
    baseline = f"Baseline: {'; '.join(map(shown, named))}."
    if form == "latex":
        texts = [text.replace("±", r"$\pm$") for text in texts]
        texts.append("\n".join(f"% {line}" for line in (LEGEND, baseline, *comparison.remarks)))
    else:
        texts += [LEGEND, escaped(baseline)]
        if comparison.remarks:
            texts.append("\n".join(f"- {escaped(line)}" for line in comparison.remarks))
    return "\n\n".join(texts) + "\n"


def as_csv(comparison: Comparison) -> str:
    """One line per row, every number that is known in a column of its own."""
    lines = []
    for row in comparison.rows:
        found = {
            **row.summaries,
            "better_return": row.better_return,
            "smoother": row.smoother,
            "paper_return": row.published_return,
            "paper_j": row.published_smoothness,
        }
        about: dict[str, object] = {
            "task": row.task,
            "label": row.label,
            "algorithm": row.algorithm,
        }
        about |= {"seeds": " ".join(map(str, row.seeds)), "is_fresh": row.is_fresh}
        about |= {"baseline": comparison.baselines.get(row.task)}
        lines.append(about | {name: asdict(one) for name, one in found.items() if one})
    frame = pd.json_normalize(lines, sep="_").astype(object)
    return str(frame.to_csv(index=False, lineterminator="\n"))
