"""A comparison as text: for a terminal, Markdown, LaTeX, CSV."""

import html
import re
from collections.abc import Callable, Mapping

import pandas as pd

from spacil.comparison.comparison import Comparison, Row
from spacil.comparison.published import Printed, published_return, published_smoothness
from spacil.comparison.runs import MEASURES
from spacil.comparison.statistics import Improvement, Summary
from spacil.plain_text import shown

LEGEND = (
    "Mean ± standard deviation over seeds; 95 % interval of the mean over seeds by Student's t; "
    "IQM: interquartile mean. P: probability that a run beats one of the row marked as the "
    "baseline. J: mean local Lipschitz constant of the mean action, lower is smoother; the paper's "
    "J is in units it does not state. Over several tasks, a return counts from 0, random actions, "
    "to 1, the demonstrator, and the interval is a stratified bootstrap of the IQM."
)
NUM_TEXT_COLUMNS = 2
"""Columns of every table that hold words: task and setting"""


def tables_of(comparison: Comparison) -> list[pd.DataFrame]:
    """Returns, smoothness, and what is measured otherwise: as printed, a row per setting."""
    returns, smoothness, otherwise = [], [], []
    for task in comparison.tasks:
        known = comparison.demonstrators.get(task)
        if known is not None:
            head = {"task": task, "setting": "demonstrator"}
            g, episodes = number(known.average_return), number(known.return_std)
            returns.append({**head, "return G": g, "std over episodes": episodes})
            smoothness.append({**head, "J common": number(known.smoothness_j)})
        for row in (row for row in comparison.rows if row.task == task):
            is_baseline = comparison.is_baseline(row)
            head = {"task": task, "setting": row.label + ("" if row.is_fresh else " *")}
            returns.append({**head, **_return_cells(row, is_baseline)})
            smoothness.append({**head, **_smoothness_cells(row, is_baseline)})
            otherwise.append({**head, **{MEASURES[k]: _spread(row, k) for k in _OTHERWISE}})
    # The demonstrator comes first and has few of the columns: their order is that of the last row.
    return [
        pd.DataFrame(rows, columns=list(rows[-1])).fillna("")
        for rows in (returns, smoothness, otherwise)
        if rows
    ]


_OTHERWISE = (
    "smoothness_j_demo_states", "smoothness_j_ball", "smoothness_jeffreys", "action_fluctuation",
    "spectrum_score",
)  # fmt: skip


def _return_cells(row: Row, is_baseline: bool) -> dict[str, str]:
    summary, episodes = row.summaries["average_return"], row.summaries["return_std"]
    return {
        "seeds": str(len(row.runs)),
        "return G": _spread(row, "average_return"),
        "95 % interval": interval(summary),
        "IQM": number(summary and summary.iqm),
        "std over episodes": number(episodes and episodes.mean),
        "P(better)": "baseline" if is_baseline else _probability(row.better_return),
        "steps to 95 %": _spread(row, "steps_to_95"),
        "seconds to 95 %": _spread(row, "seconds_to_95"),
        "paper G": _printed(published_return(row.task, row.algorithm)),
    }


def _smoothness_cells(row: Row, is_baseline: bool) -> dict[str, str]:
    summary = row.summaries["smoothness_j_common"]
    others = ("smoothness_j_effective", "smoothness_j_own", "smoothness_j_raw")
    return {
        "J common": _spread(row, "smoothness_j_common"),
        "95 % interval": interval(summary),
        "IQM": number(summary and summary.iqm),
        **{MEASURES[name]: _spread(row, name) for name in others},
        "P(smoother)": "baseline" if is_baseline else _probability(row.smoother),
        "paper J": _printed(published_smoothness(row.task, row.algorithm)),
    }


def aggregate_table(comparison: Comparison) -> pd.DataFrame | None:
    """Settings over several tasks; None where there are none."""
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
    return pd.DataFrame(rows) if rows else None


def number(value: float | None) -> str:
    """Four significant digits; a dash for None and NaN."""
    if value is None or pd.isna(value):
        return "-"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def interval(summary: Summary | None) -> str:
    known = summary is not None and summary.low is not None
    return f"{number(summary.low)} to {number(summary.high)}" if summary and known else "-"


def _spread(row: Row, name: str) -> str:
    summary = row.summaries[name]
    if summary is None or summary.std is None:
        return number(summary and summary.mean)
    return f"{number(summary.mean)} ± {number(summary.std)}"


def _probability(found: Improvement | None) -> str:
    if found is None:
        return "-"
    known = found.low is not None and found.high is not None
    return f"{found.probability:.2f}" + (f" ({found.low:.2f} to {found.high:.2f})" if known else "")


def _printed(printed: Printed | None) -> str:
    return "-" if printed is None else f"{number(printed.mean)} ± {number(printed.std)}"


# --- forms


def _baseline_line(comparison: Comparison) -> str:
    """Whom probabilities, and ratios over tasks, compare with."""
    of_task = {task: comparison.baselines.get(task, "none") for task in comparison.tasks}
    if len(set(of_task.values())) == 1:
        return f"Baseline: {next(iter(of_task.values()))}."
    return f"Baseline: {'; '.join(f'{task} {label}' for task, label in of_task.items())}."


def _all_in(comparison: Comparison, form: str, escaped: Callable[[str], str]) -> list[str]:
    """Every table in a form of the tabulate package, words to the left and numbers to the right."""
    over_tasks = aggregate_table(comparison)
    tables = [*tables_of(comparison), *([] if over_tasks is None else [over_tasks])]
    return [
        table.map(lambda cell: escaped(shown(cell))).to_markdown(
            index=False, tablefmt=form, disable_numparse=True,
            colalign=["left" if i < NUM_TEXT_COLUMNS else "right" for i in range(table.shape[1])],
        )
        for table in tables
    ]  # fmt: skip


def as_table(comparison: Comparison) -> str:
    remarks = "\n".join(f"- {line}" for line in comparison.remarks)
    below = [LEGEND, _baseline_line(comparison), *filter(None, [remarks])]
    return "\n\n".join([*_all_in(comparison, "simple", str), *below]) + "\n"


def as_markdown(comparison: Comparison) -> str:
    def escaped(text: str) -> str:
        return re.sub(r"([\\|\[*`])", r"\\\1", html.escape(text, quote=False))

    remarks = "\n".join(f"- {escaped(line)}" for line in comparison.remarks)
    below = [LEGEND, escaped(_baseline_line(comparison)), *filter(None, [remarks])]
    return "\n\n".join([*_all_in(comparison, "pipe", escaped), *below]) + "\n"


def as_latex(comparison: Comparison) -> str:
    """Tabulars for booktabs, and the remarks as comments."""
    tables = [table.replace("±", r"$\pm$") for table in _all_in(comparison, "latex_booktabs", str)]
    below = [LEGEND, _baseline_line(comparison), *comparison.remarks]
    return "\n\n".join([*tables, "\n".join(f"% {line}" for line in below)]) + "\n"


def as_csv(comparison: Comparison) -> str:
    """One line per row, every number in a column of its own."""
    lines = []
    for row in comparison.rows:
        line: dict[str, object] = {name: getattr(row, name) for name in ("task", "label")}
        line |= {"algorithm": row.algorithm, "seeds": " ".join(map(str, row.seeds))}
        line["is_fresh"] = row.is_fresh
        printed = (
            published_return(row.task, row.algorithm),
            published_smoothness(row.task, row.algorithm),
        )
        for name, found, fields in (
            *((k, one, ("num_seeds", *_SUMMARY)) for k, one in row.summaries.items()),
            *((k, getattr(row, k), _PROBABILITY) for k in ("better_return", "smoother")),
            ("paper_return", printed[0], ("mean", "std")),
            ("paper_j", printed[1], ("mean", "std")),
        ):
            line |= {f"{name}_{field}": getattr(found, field, None) for field in fields}
        lines.append(line | {"baseline": comparison.baselines.get(row.task)})
    return str(pd.DataFrame(lines, dtype=object).to_csv(index=False, lineterminator="\n"))


_SUMMARY = ("mean", "std", "low", "high", "iqm")
_PROBABILITY = ("probability", "low", "high")

FORMS: Mapping[str, Callable[[Comparison], str]] = {
    "table": as_table,
    "markdown": as_markdown,
    "csv": as_csv,
    "latex": as_latex,
}
