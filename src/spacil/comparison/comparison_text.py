"""A comparison as text: for a terminal, Markdown, CSV, LaTeX."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from spacil.comparison.comparison import MEASURES, Comparison, Row
from spacil.comparison.statistics import Improvement, Summary

if TYPE_CHECKING:
    from spacil.comparison.published import Printed

Table = tuple[list[str], list[list[str]]]
"""Header and rows"""

_RETURN_HEADER = [
    "task", "setting", "seeds", "return G", "95 % interval", "IQM", "std over episodes",
    "P(better)", "steps to 95 %", "seconds to 95 %", "paper G",
]  # fmt: skip
_SMOOTHNESS_HEADER = [
    "task", "setting", "J common", "95 % interval", "IQM", "J effective", "J own", "J raw",
    "P(smoother)", "paper J",
]  # fmt: skip
_BASELINE = "baseline"
"""What stands in place of a probability in the row that the others are compared with"""
_OTHERWISE = (
    "smoothness_j_demo_states", "smoothness_j_ball", "smoothness_jeffreys", "action_fluctuation",
    "spectrum_score",
)  # fmt: skip

LEGEND = (
    "Mean ± standard deviation over seeds; 95 % bootstrap interval of the mean over seeds; IQM: "
    "interquartile mean. P: probability that a run beats one of the row marked as the baseline. "
    "J: mean local Lipschitz constant of the mean action, lower is smoother; the paper's J is in "
    "units it does not state. Over several tasks, a return counts from 0, random actions, to 1, "
    "the demonstrator."
)


def as_table(comparison: Comparison) -> str:
    return _document(comparison, aligned_table)


def as_markdown(comparison: Comparison) -> str:
    return _document(comparison, markdown_table)


def as_latex(comparison: Comparison) -> str:
    """Tabulars for booktabs, and the remarks as comments."""
    remarks = [f"% {line}" for line in remarks_on(comparison)]
    tables = [_latex(table) for table in _all_tables(comparison)]
    below = [f"% {LEGEND}", f"% {baseline_line(comparison)}", *remarks]
    return "\n\n".join([*tables, "\n".join(below)]) + "\n"


def as_csv(comparison: Comparison) -> str:
    """One line per row, every number in a column of its own."""
    out = io.StringIO()
    fields = ("num_seeds", "mean", "std", "low", "high", "iqm")
    sides = ("better_return", "smoother")
    header = ["task", "label", "algorithm", "seeds", "is_fresh"]
    header += [f"{name}_{field}" for name in MEASURES for field in fields]
    header += [f"{side}_{field}" for side in sides for field in ("probability", "low", "high")]
    header += ["paper_return_mean", "paper_return_std", "paper_j_mean", "paper_j_std", "baseline"]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    for row in comparison.rows:
        cells: list[object] = [
            row.task, row.label, row.algorithm, " ".join(map(str, row.seeds)), row.is_fresh,
        ]  # fmt: skip
        for name in MEASURES:
            cells += [getattr(row.summaries[name], field, None) for field in fields]
        for side in sides:
            found = getattr(row, side)
            cells += [getattr(found, field, None) for field in ("probability", "low", "high")]
        for printed in (row.published_return, row.published_smoothness):
            cells += [getattr(printed, field, None) for field in ("mean", "std")]
        cells.append(comparison.baselines.get(row.task))
        writer.writerow(cells)
    return out.getvalue()


FORMS: Mapping[str, Callable[[Comparison], str]] = {
    "table": as_table,
    "markdown": as_markdown,
    "csv": as_csv,
    "latex": as_latex,
}


def _document(comparison: Comparison, drawn: Callable[[Table], str]) -> str:
    parts = [drawn(table) for table in _all_tables(comparison)]
    remarks = "\n".join(f"- {line}" for line in remarks_on(comparison))
    below = [LEGEND, baseline_line(comparison), remarks]
    return "\n\n".join([*parts, *filter(None, below)]) + "\n"


def baseline_line(comparison: Comparison) -> str:
    """Whom probabilities, and ratios over tasks, compare with."""
    missing = [task for task in comparison.tasks if task not in comparison.baselines]
    labels = set(comparison.baselines.values())
    if not labels:
        return "Baseline: none."
    if len(labels) == 1 and not missing:
        return f"Baseline: {labels.pop()}."
    told = [f"{task} {comparison.baselines.get(task, 'none')}" for task in comparison.tasks]
    return f"Baseline: {'; '.join(told)}."


def remarks_on(comparison: Comparison) -> list[str]:
    """What is missing, and what a reader must know, a line each."""
    problems = [f"missing: {problem}" for problem in comparison.problems]
    return [*problems, *(f"note: {note}" for note in comparison.notes)]


def tables_of(comparison: Comparison) -> tuple[Table, ...]:
    """Return; smoothness; smoothness measured in other ways. Task and setting come first."""
    returns: list[list[str]] = []
    smoothness: list[list[str]] = []
    otherwise: list[list[str]] = []
    for task in comparison.tasks:
        demonstrator = comparison.demonstrators.get(task)
        if demonstrator is not None:
            g = f"{number(demonstrator.average_return)}"
            episodes = number(demonstrator.return_std)
            returns.append([task, "demonstrator", "", g, "", "", episodes, "", "", "", ""])
            j = number(demonstrator.smoothness_j)
            smoothness.append([task, "demonstrator", j, *[""] * (len(_SMOOTHNESS_HEADER) - 3)])
        for row in comparison.rows_of(task):
            is_baseline = comparison.is_baseline(row)
            returns.append(_return_cells(row, is_baseline))
            smoothness.append(_smoothness_cells(row, is_baseline))
            cells = (_spread(row.summaries[name]) for name in _OTHERWISE)
            otherwise.append([row.task, _name(row), *cells])
    header = ["task", "setting", *(MEASURES[name] for name in _OTHERWISE)]
    return (_RETURN_HEADER, returns), (_SMOOTHNESS_HEADER, smoothness), (header, otherwise)


def aggregate_table(comparison: Comparison) -> Table | None:
    """Settings over several tasks; None where there are none."""
    rows = [
        [
            aggregate.label,
            f"{len(aggregate.tasks)} tasks",
            *_pooled_cells(aggregate.normalized_return),
            *_pooled_cells(aggregate.j_ratio),
        ]
        for aggregate in comparison.aggregates
    ]
    interval = "95 % interval"
    header = ["setting", "over", "return, IQM", interval, "J / baseline, IQM", interval]
    return (header, rows) if rows else None


def _all_tables(comparison: Comparison) -> list[Table]:
    aggregate = aggregate_table(comparison)
    return [*tables_of(comparison), *([] if aggregate is None else [aggregate])]


def _pooled_cells(summary: Summary | None) -> list[str]:
    return [number(None if summary is None else summary.iqm), interval(summary)]


def _name(row: Row) -> str:
    return row.label + ("" if row.is_fresh else " *")


def _return_cells(row: Row, is_baseline: bool) -> list[str]:
    summary = row.summaries["average_return"]
    episodes = row.summaries["return_std"]
    return [
        row.task,
        _name(row),
        str(len(row.runs)),
        _spread(summary),
        interval(summary),
        number(None if summary is None else summary.iqm),
        number(None if episodes is None else episodes.mean),
        _BASELINE if is_baseline else _probability(row.better_return),
        _spread(row.summaries["steps_to_95"]),
        _spread(row.summaries["seconds_to_95"]),
        _printed(row.published_return),
    ]


def _smoothness_cells(row: Row, is_baseline: bool) -> list[str]:
    summary = row.summaries["smoothness_j_common"]
    others = ("smoothness_j_effective", "smoothness_j_own", "smoothness_j_raw")
    return [
        row.task,
        _name(row),
        _spread(summary),
        interval(summary),
        number(None if summary is None else summary.iqm),
        *(_spread(row.summaries[name]) for name in others),
        _BASELINE if is_baseline else _probability(row.smoother),
        _printed(row.published_smoothness),
    ]


def number(value: float | None) -> str:
    """Four significant digits; a dash for None."""
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _spread(summary: Summary | None) -> str:
    if summary is None or summary.std is None:
        return number(None if summary is None else summary.mean)
    return f"{number(summary.mean)} ± {number(summary.std)}"


def interval(summary: Summary | None) -> str:
    if summary is None or summary.low is None:
        return "-"
    return f"{number(summary.low)} to {number(summary.high)}"


def _probability(found: Improvement | None) -> str:
    if found is None:
        return "-"
    if found.low is None or found.high is None:
        return f"{found.probability:.2f}"
    return f"{found.probability:.2f} ({found.low:.2f} to {found.high:.2f})"


def _printed(printed: "Printed | None") -> str:
    return "-" if printed is None else f"{number(printed.mean)} ± {number(printed.std)}"


def aligned_table(table: Table) -> str:
    header, rows = table
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if i < 2 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    return "\n".join([line(header), "  ".join("-" * width for width in widths), *map(line, rows)])


def markdown_table(table: Table, num_words: int = 2) -> str:
    """The first `num_words` columns to the left, numbers to the right."""
    header, rows = table
    rule = [*["---"] * num_words, *["---:"] * (len(header) - num_words)]
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (header, rule, *rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _latex(table: Table) -> str:
    header, rows = table
    lines = [" & ".join(map(_escaped, row)) + r" \\" for row in (header, *rows)]
    top, *body = lines
    return "\n".join(
        [
            rf"\begin{{tabular}}{{ll{'r' * (len(header) - 2)}}}",
            r"\toprule",
            top,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def _escaped(text: str) -> str:
    special = {"±": r"$\pm$", "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\^{}"}
    special |= {letter: f"\\{letter}" for letter in "&%$#_{}"}
    return "".join(special.get(letter, letter) for letter in text)
