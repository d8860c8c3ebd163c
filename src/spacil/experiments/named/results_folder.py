"""The folder that experiments write to, read back: their documents in the order of the table.

Documents of other commands may lie beside them, as in docs/results; they are named and left alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spacil import storage
from spacil.errors import StorageError
from spacil.experiments.named.outcome import ROLES, Panel, Series, Table
from spacil.experiments.named.table import NAMED
from spacil.runs.resuming import CONFIG
from spacil.sweeps.folder import PLAN


@dataclass(frozen=True)
class Result:
    """What one experiment found, as its document has it."""

    name: str
    path: Path
    title: str
    text: str
    tables: tuple[Table, ...] | None
    """None: the document is from before tables were kept in it"""
    panels: tuple[Panel, ...]
    notes: tuple[str, ...]
    problems: tuple[str, ...]
    """Runs that are not in the numbers"""
    command: str
    num_runs: int
    commits: tuple[str, ...]


@dataclass(frozen=True)
class ResultsFolder:
    """The documents of a folder."""

    results: tuple[Result, ...]
    others: tuple[str, ...]
    """Names of documents that no experiment wrote"""
    problems: tuple[str, ...]
    """What cannot be read, in words"""

    @property
    def not_there(self) -> list[str]:
        """Experiments that have no document here."""
        found = {result.name for result in self.results}
        return [name for name in NAMED if name not in found]


def read_results(folder: Path) -> ResultsFolder:
    """Every document directly in a folder; a run or a sweep holds none."""
    is_run = any((folder / name).is_file() for name in (PLAN, CONFIG))
    results, others, problems = [], [], []
    for path in [] if is_run else sorted(folder.glob("*.json")):
        try:
            document = storage.read_json(path)
            if isinstance(document, dict) and "experiment" in document:
                results.append(result_of(document, path))
            else:
                others.append(path.name)
        except StorageError as error:
            problems.append(str(error))
    order = {name: place for place, name in enumerate(NAMED)}
    results.sort(key=lambda result: order.get(result.name, len(order)))
    return ResultsFolder(tuple(results), tuple(others), tuple(problems))


def result_of(document: Mapping[str, Any], path: Path) -> Result:
    """The document in types; `StorageError` where it is none that an experiment writes."""
    try:
        tables, runs = document.get("tables"), document.get("runs", ())
        return Result(
            name=_text(document["experiment"]),
            path=path,
            title=_text(document["title"]),
            text=_text(document.get("text", "")),
            tables=None if tables is None else tuple(map(_table, tables)),
            panels=tuple(map(_panel, document["panels"])),
            notes=_texts(document["notes"]),
            problems=_texts(document["problems"]),
            command=_text(document["command"]),
            num_runs=int(document.get("num_runs", len(runs))),
            commits=_texts(document.get("commits") or sorted({run["commit"] for run in runs})),
        )
    except KeyError as error:
        raise StorageError(f"{path}: no document of an experiment, {error} is missing") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise StorageError(f"{path}: no document of an experiment: {error}") from None


def _table(table: Mapping[str, Any]) -> Table:
    header, rows = _texts(table["header"]), [_texts(row) for row in table["rows"]]
    if any(len(row) != len(header) for row in rows):
        raise ValueError(f"a row of {table['title']!r} is not as long as its header")
    return Table(_text(table["title"]), header, rows, int(table["num_words"]))


def _panel(panel: Mapping[str, Any]) -> Panel:
    return Panel(
        title=_text(panel["title"]),
        x_label=_text(panel["x_label"]),
        y_label=_text(panel["y_label"]),
        series=tuple(map(_series, panel["series"])),
        reference=_number(panel["reference"]),
        is_log_x=bool(panel["is_log_x"]),
        is_log_y=bool(panel["is_log_y"]),
        # Kept since tables are; the axis of a panel says it too.
        reference_label=_text(panel.get("reference_label", "dashed")),
        least_y=_number(panel.get("least_y")),
    )


def _series(series: Mapping[str, Any]) -> Series:
    """Its whole points: a number that was not finite is null in a document."""
    names = [name for name in ("x", "y", "low", "high") if series[name] is not None]
    columns = [list(map(_number, series[name])) for name in names]
    points = [point for point in zip(*columns, strict=True) if None not in point]
    whole = {name: [point[k] for point in points] for k, name in enumerate(names)}
    role = series.get("role", "")  # documents of before have no roles
    if role not in ROLES:
        raise ValueError(f"{role!r} is no role of a series")
    return Series(
        _text(series["label"]),
        **whole,
        is_joined=bool(series["is_joined"]),
        role=role,
        variant_of=_text(series.get("variant_of", "")),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} in the place of text")
    return value


def _texts(values: Sequence[object]) -> tuple[str, ...]:
    if not isinstance(values, list | tuple):
        raise TypeError(f"{values!r} in the place of a list")
    return tuple(map(_text, values))


def _number(value: object) -> float | None:
    if value is not None and not isinstance(value, int | float):
        raise TypeError(f"{value!r} in the place of a number")
    return value
