"""A recording as the causes read it: checked, on even rows, in ranges of its joints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline

from spacil.errors import ConfigError, DataError
from spacil.recordings.log import Log
from spacil.recordings.signals import Array, Pieces, changes

KEYS = ("commands", "measured", "time", "episode", "observations")
LEAST_ROWS = 40
MOST_ROWS = 120_000
"""Rows that are looked at; of longer recordings, evenly spread pieces"""
_PIECES = 12
UNEVEN = 0.04
"""Spread of the time between rows, in rows, from which on it is asked which rows are smooth"""


@dataclass(frozen=True, eq=False)
class Recording:
    """Rows of a log; [T, J] each, [T] for time and episode."""

    commands: Array
    measured: Array | None
    time: Array | None
    rate: float
    pieces: Pieces
    """Runs of rows that follow each other: episodes, or parts of a long recording"""
    names: tuple[str, ...]
    observations: Array | None = None
    """What a policy saw, [T, S]"""
    source: str = "recording"
    notes: tuple[str, ...] = ()


def recording_of(
    arrays: Mapping[str, ArrayLike], rate: float | None, names: Sequence[str], source: str
) -> Recording:
    """Check arrays by name and bring them into one form; a DataError says what is wrong where."""
    unknown = sorted(set(arrays) - set(KEYS))
    if unknown or "commands" not in arrays:
        raise DataError(
            f"{source}: has {', '.join(map(str, arrays)) or 'no arrays'}; expected commands [T, "
            "J], and where known measured [T, J], time [T] and episode [T]"
        )
    tables = {name: np.asarray(values) for name, values in arrays.items()}
    rows = len(np.atleast_1d(tables["commands"]))
    for name, table in tables.items():
        if table.dtype.kind not in "biuf":
            raise DataError(f"{source}: {name} is {table.dtype}, expected numbers")
        if name in ("time", "episode"):
            table = table.reshape(-1) if table.ndim == 2 and table.shape[1] == 1 else table
        elif table.ndim == 1:
            table = table[:, None]
        tables[name] = table
        if len(table) != rows or table.ndim != (1 if name in ("time", "episode") else 2):
            raise DataError(
                f"{source}: {name} has shape {table.shape}, expected {rows} rows as commands have"
            )
        if table.dtype.kind == "f" and not (finite := np.isfinite(table)).all():
            row = int(np.argmin(finite if table.ndim == 1 else finite.all(1)))
            raise DataError(
                f"{source}: {name} has {(~finite).sum()} values that are not finite, the first in "
                f"row {row}: cut these rows out or fill them in"
            )
    if rows < LEAST_ROWS:
        raise DataError(
            f"{source}: has {rows} row{'s' * (rows != 1)}, expected {LEAST_ROWS} or more, better "
            "some 30 seconds"
        )
    commands, measured = tables["commands"], tables.get("measured")
    if measured is not None and measured.shape != commands.shape:
        raise DataError(
            f"{source}: measured has {measured.shape[1]} columns and commands "
            f"{commands.shape[1]}; expected the same joints in both: choose them with --commands "
            "and --measured"
        )
    episode = tables.get("episode", np.zeros(rows))
    cuts = np.flatnonzero(np.diff(episode)) + 1
    pieces = [slice(int(a), int(b)) for a, b in zip([0, *cuts], [*cuts, rows], strict=True)]
    time = tables.get("time")
    if time is not None:
        time = time.astype(float)
        steps = np.diff(time)
        steps[cuts - 1] = np.median(steps)
        if (steps < 0).any():
            row = int(np.argmax(steps < 0)) + 1
            raise DataError(
                f"{source}: time runs backward in row {row} ({time[row - 1]:.6g}, then "
                f"{time[row]:.6g}): sort the rows, or name the column of episodes if a new one "
                "begins there"
            )
        if not (middle := float(np.median(steps))) > 0:
            raise DataError(
                f"{source}: time stands still: half of all rows have the stamp of the row before"
            )
        # A log of less than a row a second is none: the stamps are in ms, us or ns.
        unit = next(
            (
                u
                for u in (1.0, 1e-3, 1e-6, 1e-9)
                if middle * u < (0.7 if rate is None else 3 / rate)
            ),
            1.0,
        )
        time, rate = (time - time[0]) * unit, 1 / (middle * unit)
    if rate is None:
        raise ConfigError(
            f"{source}: has no time stamps: say how many rows it has a second with --rate"
        )
    if not 1 <= rate <= 1e5:
        raise ConfigError(
            f"{source}: {rate:.4g} rows a second, expected 1 to 100,000: is time in other units "
            "than seconds? --rate says what is right"
        )
    names = (
        tuple(names)
        if len(names) == commands.shape[1]
        else tuple(f"joint {j}" for j in range(commands.shape[1]))
    )
    still = [
        name for name, moved in zip(names, np.ptp(commands, axis=0) > 0, strict=True) if not moved
    ]
    notes = [f"the command of {', '.join(still[:9])} never changes"] if still else []
    return Recording(
        commands,
        measured,
        time,
        float(rate),
        pieces,
        names,
        tables.get("observations"),
        source,
        tuple(notes),
    )


def log_of(recording: Recording, chunk: int | None = None, explained: Array | None = None) -> Log:
    """Rows at even times, in ranges of their joints; of a long recording, pieces of it.

    Where rows are uneven they are put on even times, if that makes the commands smoother: then they
    were made for their stamps, and a jump is only a late row.
    """
    it, rate, pieces = recording, recording.rate, list(recording.pieces)
    if it.time is not None:  # a pause is no step
        pieces = [part for piece in pieces for part in _without_pauses(it.time, piece, 25 / rate)]
    pieces = [piece for piece in pieces if piece.stop - piece.start >= LEAST_ROWS // 2]
    if not pieces:
        raise DataError(
            f"{it.source}: no {LEAST_ROWS // 2} rows follow each other without a pause or an end"
        )
    pieces = _spread(pieces, MOST_ROWS)
    rows = np.concatenate([np.arange(piece.start, piece.stop) for piece in pieces])
    tables = [x[rows].astype(float) for x in (it.commands, it.measured, explained) if x is not None]
    ends = np.cumsum([piece.stop - piece.start for piece in pieces])
    pieces = [slice(int(b) - p.stop + p.start, int(b)) for p, b in zip(pieces, ends, strict=True)]
    gaps, clock = None, rows / rate
    if it.time is not None:
        clock = it.time[rows]
        inside = np.ones(len(rows), bool)
        inside[[piece.start for piece in pieces]] = False
        gaps = np.diff(clock, prepend=clock[0])[inside] * rate
    c, *others = tables
    unit = _ranges(c if it.measured is None or np.ptp(c, axis=0).any() else others[0])
    tables[0] = c / unit
    if it.measured is not None:
        theirs = _ranges(others[0])
        is_alike = (theirs > 0.3 * unit) & (theirs < 3 * unit)
        tables[1] = others[0] / np.where(is_alike, unit, theirs)
    if explained is not None:
        tables[-1] = tables[-1] / unit

    def log(
        tables: list[Array], pieces: Pieces, clock: Array, evened: float, recorded: Log | None
    ) -> Log:
        m = tables[1] if it.measured is not None else None
        told = tables[-1] if explained is not None else None
        is_main = unit > 0.4 * np.median(unit)
        about = (clock, gaps, chunk, told, is_main, evened, recorded)
        return Log(tables[0], m, pieces, rate, it.names, *about)

    as_recorded = log(tables, pieces, clock, 0.0, None)
    if gaps is None or gaps.std() < UNEVEN:
        return as_recorded
    even, parts, times = _on_even_times(clock, tables, pieces, rate)
    evened = 1 - _bend(even[0], parts) / (_bend(tables[0], pieces) + 1e-30)
    return log(even, parts, times, evened, as_recorded) if evened > 0.02 else as_recorded


def _ranges(x: Array) -> Array:
    """[J], of each joint; one that hardly moves is measured by what the others do."""
    low, high = np.quantile(x, [0.002, 0.998], axis=0)
    low, high = np.where(high > low, (low, high), (x.min(0), x.max(0)))
    moved = (high - low)[high > low]
    least = 0.15 * float(np.median(moved)) if len(moved) else 1.0
    return np.asarray(np.maximum(high - low, least))


def _without_pauses(time: Array, piece: slice, longest: float) -> list[slice]:
    cuts = np.flatnonzero(np.diff(time[piece]) > longest) + 1 + piece.start
    return [
        slice(int(a), int(b))
        for a, b in zip([piece.start, *cuts], [*cuts, piece.stop], strict=True)
    ]


def _spread(pieces: Pieces, most: int) -> list[slice]:
    """All pieces, or parts of them with so many rows in all, from everywhere in the recording."""
    total = sum(piece.stop - piece.start for piece in pieces)
    if total <= most:
        return list(pieces)
    size = most // _PIECES
    parts = [
        slice(start, min(start + size, piece.stop))
        for piece in pieces
        for start in range(piece.start, piece.stop, size)
        if min(start + size, piece.stop) - start >= min(size, piece.stop - piece.start)
    ]
    chosen = np.unique(
        np.linspace(0, len(parts) - 1, max(1, round(len(parts) * most / total))).round()
    )
    return [parts[int(k)] for k in chosen]


def _on_even_times(
    stamps: Array, tables: list[Array], pieces: Pieces, rate: float
) -> tuple[list[Array], list[slice], Array]:
    """The same signals at even times, through cubic splines; their pieces and times."""
    found: list[list[Array]] = [[] for _ in tables]
    places: list[Array] = []
    for piece in pieces:
        at, first = np.unique(stamps[piece], return_index=True)
        even = np.arange(at[0], at[-1], 1 / rate)
        places.append(even)
        for table, parts in zip(tables, found, strict=True):
            parts.append(CubicSpline(at, table[piece][first])(even))
    ends = np.cumsum([len(part) for part in places])
    cuts = [slice(int(b) - len(part), int(b)) for part, b in zip(places, ends, strict=True)]
    return [np.concatenate(parts) for parts in found], cuts, np.concatenate(places)


def _bend(x: Array, pieces: Pieces) -> float:
    scale = x.std(0) + 1e-30
    return float((changes(x / scale, pieces, 2) ** 2).mean())
