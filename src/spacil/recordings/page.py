"""A diagnosed recording as one page that opens offline: traces with marks, spectra, causes."""

from pathlib import Path

import numpy as np
import pandas as pd

from spacil import storage
from spacil.comparison.figures import Chart, Series
from spacil.comparison.page import Section, page_html
from spacil.recordings.diagnosis import RecordingDiagnosis
from spacil.recordings.signals import changes, spectra

_MOST_JOINTS, _MOST_POINTS = 8, 1500


def write_recording_page(found: RecordingDiagnosis, path: Path, *, overwrite: bool = False) -> None:
    """Write the page, whole or not at all; over what is there only if asked."""
    storage.require_free(path, overwrite=overwrite, endings=storage.PAGE_ENDINGS)
    storage.replace_file(path, recording_html(found).encode())


def recording_html(found: RecordingDiagnosis) -> str:
    lines = str(found).split("\n")
    table = pd.DataFrame(
        [
            [str(place), one.cause, f"{one.share:.0%}", one.evidence, one.remedy]
            for place, one in enumerate(found.causes, 1)
        ],
        columns=["", "cause", "share", "evidence", "remedy"],
    )
    notes = [*found.notes, *(f"not looked for: {k}, {why}" for k, why in found.not_checked.items())]
    text = (
        "Shares are of the change from row to row: of the commands for what arises in them, of "
        "the measurements for limit cycles and dead bands, of the tracking error for latency."
    )
    sections = [
        Section("Causes", [(table, 5)], text=text),
        Section("Traces", charts=_traces(found)),
        Section("Spectra", charts=_spectra(found)),
    ]
    if found.log.gaps is not None:
        sections.append(Section("Time from row to row", charts=[_gaps(found)]))
    facts = [line for line in lines[:2] if line]
    return page_html(f"Why does it shake? {found.source}", facts, notes, sections)


def _joints(found: RecordingDiagnosis) -> list[int]:
    """Those that causes name, then the others as they come."""
    names = [name for cause in found.causes for name in cause.joints]
    order = dict.fromkeys([*names, *found.log.names])
    return [found.log.names.index(name) for name in order][:_MOST_JOINTS]


def _traces(found: RecordingDiagnosis) -> list[Chart]:
    """An excerpt of each joint, from where most is to be seen, in ranges of the joint."""
    log, marks = found.log, {one.cause: np.array(one.at) for one in found.causes if one.at}
    piece = max(log.pieces, key=lambda one: one.stop - one.start)
    rows = min(piece.stop - piece.start, _MOST_POINTS)
    seen = np.searchsorted(log.clock[piece], np.concatenate([np.zeros(0), *marks.values()]))
    middle = piece.start + int(np.median(seen) if len(seen) else (piece.stop - piece.start) // 2)
    first = int(np.clip(middle - rows // 2, piece.start, piece.stop - rows))
    part = slice(first, first + rows)
    clock, charts = log.clock[part], []
    for j in _joints(found):
        series = {"command": Series(clock, log.c[part, j])}
        if log.m is not None:
            series["measured"] = Series(clock, log.m[part, j])
        for cause, at in marks.items():
            inside = np.unique(np.searchsorted(clock, at[(at >= clock[0]) & (at <= clock[-1])]))
            inside = inside[inside < rows]
            if len(inside):
                series[cause] = Series(clock[inside], log.c[part, j][inside], is_marks=True)
        charts.append(Chart(log.names[j], "seconds", "position, in its ranges", series))
    return charts


def _spectra(found: RecordingDiagnosis) -> list[Chart]:
    log, charts = found.log, []
    signals = {"command": log.c} | ({} if log.m is None else {"measured": log.m})
    densities = {
        name: spectra(log.pieces, log.rate, changes(x, log.pieces) * log.rate)
        for name, x in signals.items()
    }
    for j in _joints(found):
        series = {
            name: Series(f[1:], np.sqrt(density[1:, j].real))
            for name, (f, density) in densities.items()
        }
        charts.append(Chart(log.names[j], "Hz", "speed per √Hz, ranges/s", series, least_y=0.0))
    return charts


def _gaps(found: RecordingDiagnosis) -> Chart:
    gaps = found.log.gaps
    assert gaps is not None
    every = max(1, len(gaps) // 4000)
    longest = np.maximum.reduceat(gaps, np.arange(0, len(gaps), every))
    line = Series(np.arange(len(longest)) * every, 1000 * longest / found.rate_hz)
    return Chart("", "row", "ms (the longest of each bin)", {"gap": line}, least_y=0.0)
