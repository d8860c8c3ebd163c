"""The output of every verb: a table for people, one JSON document for programs.

`--json` means the same in every verb: alone or as `--json -` it prints the document on stdout
instead of the table; `--json FILE` writes the document to the file and still prints the table.
Every document names the version of spacil, and task, algorithm and seed where there are any.
"""

import contextlib
import io
import itertools
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from spacil.errors import StorageError
from spacil.plain_text import printable, shown
from spacil.version import __version__

if TYPE_CHECKING:
    from spacil.demos.demonstrations import Demonstrations

STDOUT = Path("-")
METRICS = {
    "average_return": "return G",
    "return_std": "  std over episodes",
    "return_low": "  95 % interval of the mean, low",
    "return_high": "  95 % interval of the mean, high",
    "imitation_score": "imitation score, 0 is alike",
    "score_threshold": "  alike up to",
    "mean_length": "episode length n",
    "smoothness_j": "J, common frame",
    "smoothness_j_effective": "J, effective (after clipping)",
    "smoothness_j_own": "J, own normalised frame",
    "smoothness_j_raw": "J, raw units",
    "action_fluctuation": "action change E|da|",
    "spectrum_score": "spectrum score Sm",
    "continuity_cost": "continuity cost, 0 to 100",
    "action_jerk": "jerk E|d3 a|, per step",
    "high_frequency_ratio": "power above 1/4 Nyquist, 0 to 1",
    "mean_squared_action": "energy E|a|^2",
    "mean_absolute_power": "power E|a . q'|",
    "spectral_arc_length": "SPARC, near 0 is smoother",
}
"""What the numbers of an evaluation are called, by their keys in documents"""

_RETURNS = ("average_return", "return_std", "return_low", "return_high")
NOTHING_EARNED = (
    "every episode earned 0, so the return says nothing; the imitation score compares the states "
    "visited with the demonstrated ones"
)
JsonTarget = Annotated[
    Path | None,
    tyro.conf.arg(
        metavar="[FILE]",
        help="Print one JSON document instead of the table; with FILE, write it there and print "
        "the table too.",
    ),
]
"""The type of every verb's `json` field."""


def with_json_target(arguments: list[str]) -> list[str]:
    """The same words with `--json -` for a bare `--json`: at the end, or before another flag."""
    words: list[str] = []
    for word, follower in itertools.pairwise([*arguments, "--"]):
        words.append(word)
        if word == "--json" and follower.startswith("-") and follower != "-":
            words.append("-")
    return words


def check_target(target: Path) -> None:
    """Refuse a file that cannot be written, before the work and not after it."""
    from spacil import storage

    fault = None
    if not target.parent.is_dir():
        fault = f"there is no folder {str(target.parent)!r}, create it first"
    elif os.path.lexists(target):
        with contextlib.suppress(StorageError):
            document = storage.read_json(target)
            if isinstance(document, dict) and "spacil_version" in document:
                return
        fault = "it exists and is no result of spacil, choose another name (or write --json -)"
    if fault is not None:
        raise StorageError(f"cannot write --json {str(target)!r}: {fault}")


def identity(**fields: Any) -> dict[str, Any]:
    """The fields that say what a document is about: pass task, algorithm and seed if they exist."""
    return {"spacil_version": __version__, **fields}


def show(document: Mapping[str, Any], target: Path | None, print_table: Callable[[], None]) -> None:
    """Print a result, or write it as JSON, as `--json` asks."""
    from spacil import storage

    plain = storage.without_non_finite(dict(document))
    if target == STDOUT:
        print(json.dumps(plain, allow_nan=False))
        return
    if target is not None:
        storage.write_json(target, plain)
    # Names in it may come from a file; what a terminal would obey is escaped.
    with contextlib.redirect_stdout(io.StringIO()) as table:
        print_table()
    if lines := table.getvalue().removesuffix("\n"):
        print("\n".join(map(printable, lines.split("\n"))))


def print_records(
    records: Mapping[str, Mapping[str, Any] | None],
    keys: Iterable[str] = (),
    *,
    is_across: bool = False,
) -> None:
    """Print a row per named record, or a column where `is_across`; by default its metrics."""
    known = {key for record in records.values() for key in record or ()}
    keys = [key for key in keys or METRICS if key in known]
    rows: list[list[Any]] = [["", *map(_title, keys)]]
    rows += [[name, *map((record or {}).get, keys)] for name, record in records.items()]
    header, *rows = map(list, zip(*rows, strict=True)) if is_across else rows
    print_table(header, rows)


def print_record(record: Mapping[str, object]) -> None:
    """Print a line per value."""
    for key, value in record.items():
        print(f"{_title(key):<24} {_cell(value)}")


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print aligned columns, the first one to the left."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for i, name in enumerate(header):
        table.add_column(name, justify="left" if i == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*map(_cell, row))
    Console(width=10_000, color_system=None, highlight=False, markup=False).print(table)


def without_return(row: Mapping[str, Any], demos: "Demonstrations | None") -> dict[str, Any]:
    """An evaluation in which nothing was earned: the imitation score in the place of G."""
    from spacil.measuring.imitation_score import threshold_of

    known = row.get("score_threshold")
    tau = known if known is not None or demos is None else threshold_of(demos, 0)
    return {**row, **dict.fromkeys(_RETURNS), "score_threshold": tau}


def _title(key: str) -> str:
    return METRICS.get(key) or key.replace("_", " ")


def _cell(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "-", True: "yes", False: "no"}[value]
    if isinstance(value, float):
        return f"{value:.1f}" if abs(value) >= 1000 else f"{value:.3f}"
    return shown(value)
