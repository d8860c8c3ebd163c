"""`spacil compare RUN...|SWEEP`: one table over seeds, with intervals and the paper's numbers."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from spacil.cli.arguments import parse
from spacil.cli.output import identity
from spacil.errors import ConfigError, RunDirError, StorageError
from spacil.plain_text import printable, printable_lines

if TYPE_CHECKING:
    from spacil.comparison.comparison import Comparison
    from spacil.comparison.comparison_charts import Bar, Line, Point

EXIT_INCOMPLETE = 3
"""Some runs are missing, unfinished or damaged; the table holds the others"""

_SUFFIXES = {"markdown": "md", "csv": "csv", "latex": "tex"}


@dataclass(frozen=True)
class CompareArguments:
    sources: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Run folders, folders of runs, or sweeps."""
    format: Literal["table", "markdown", "csv", "latex", "json"] = "table"
    """What is printed."""
    which: Literal["best", "last"] = "best"
    """Which policy of each run."""
    baseline: str = "gail"
    """Algorithm, or name of the row, that probabilities of improvement refer to."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Folder for all formats, and for the figures as PNG and SVG."""


def run(arguments: list[str]) -> int:
    parsed = parse(
        CompareArguments,
        arguments,
        "spacil compare",
        "Compare runs over seeds, from their fresh episodes; exits 3 if some are missing.",
    )
    from spacil import storage
    from spacil.comparison.comparison import compare
    from spacil.comparison.comparison_text import FORMS, remarks_on

    if not parsed.sources:
        raise ConfigError("compare needs run folders or a sweep")
    if parsed.out is not None:
        _refuse_file(parsed.out)
    comparison = compare(parsed.sources, which=parsed.which, baseline=parsed.baseline)
    if not comparison.rows:
        raise RunDirError("no run to compare:\n  " + "\n  ".join(comparison.problems))
    document = storage.without_non_finite(identity() | comparison.document())
    if parsed.format == "json":
        import json

        print(json.dumps(document, allow_nan=False))
    else:
        print(printable_lines(FORMS[parsed.format](comparison)), end="")
    if parsed.format == "csv":  # which has no place for them
        for remark in remarks_on(comparison):
            print(printable(remark), file=sys.stderr)
    if parsed.out is not None:
        written = _write(comparison, document, parsed.out)
        if parsed.format == "table":
            print("\n".join(f"written: {path}" for path in written))
    return EXIT_INCOMPLETE if comparison.problems else 0


def _refuse_file(folder: Path) -> None:
    """Where a file is in the way of a folder, itself or above it: known before computing."""
    from spacil import storage

    with storage.os_errors_as(StorageError, "find", folder):
        present = [path for path in (folder, *folder.parents) if path.exists()]
        is_blocked = bool(present) and not present[0].is_dir()
    if is_blocked:
        raise StorageError(f"-o {folder}: {str(present[0])!r} is a file, expected a folder")


def _write(comparison: "Comparison", document: object, folder: Path) -> list[Path]:
    from spacil import storage
    from spacil.comparison.comparison_charts import draw_aggregate, draw_curves, draw_front
    from spacil.comparison.comparison_text import FORMS
    from spacil.runs.location import make_folder

    make_folder(folder)
    written = [folder / "comparison.json"]
    storage.write_json(written[0], document)
    for form, suffix in _SUFFIXES.items():
        written.append(folder / f"comparison.{suffix}")
        storage.replace_file(written[-1], FORMS[form](comparison).encode())
    lines, points, bars = lines_of(comparison), points_of(comparison), bars_of(comparison)
    returns = {task: found.average_return for task, found in comparison.demonstrators.items()}
    for suffix in ("png", "svg"):
        written += [folder / f"curves.{suffix}", folder / f"front.{suffix}"]
        draw_curves(lines, written[-2], returns)
        draw_front(points, written[-1], returns)
        if bars:
            written.append(folder / f"aggregate.{suffix}")
            draw_aggregate(bars, written[-1])
    return written


def lines_of(comparison: "Comparison") -> "list[Line]":
    from spacil.comparison.comparison_charts import Evaluated, Line

    return [
        Line(
            row.task,
            row.label,
            [
                [Evaluated(p.iteration, p.average_return, p.smoothness_j) for p in run.record.curve]
                for run in row.runs
            ],
        )
        for row in comparison.rows
    ]


def points_of(comparison: "Comparison") -> "list[Point]":
    from spacil.comparison.comparison_charts import Point

    return [
        Point(
            row.task,
            row.label,
            run.values["smoothness_j_common"],
            run.values["average_return"],
        )
        for row in comparison.rows
        for run in row.runs
    ]


def bars_of(comparison: "Comparison") -> "list[Bar]":
    from spacil.comparison.comparison_charts import Bar

    numbers = {
        "return: 0 random, 1 demonstrator": "normalized_return",
        "J / J of the baseline": "j_ratio",
    }
    found = (
        (panel, aggregate.label, getattr(aggregate, name))
        for panel, name in numbers.items()
        for aggregate in comparison.aggregates
    )
    return [
        Bar(panel, label, summary.iqm, summary.low, summary.high)
        for panel, label, summary in found
        if summary is not None
    ]
