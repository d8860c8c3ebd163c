"""What makes a recorded robot shake: one function a cause, with its evidence and its share.

Shares are of the change from row to row: of the commands for what arises in them, of the
measurements for limit cycles and dead bands, of the tracking error for latency, of the pace for the
clock. A cause is one only where a person would see it: from a half percent of a joint's range on.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacil.recordings.log import (
    DROPPED,
    JITTER,
    LATE_ROWS,
    LATE_S,
    LEAST_SHARE,
    LONG_ROWS,
    LONG_S,
    PASSED_ON,
    PROMINENT,
    TREMOR_HZ,
    VISIBLE,
    Log,
    grid_of,
)
from spacil.recordings.signals import Array, changes, lines, spectra


@dataclass(frozen=True)
class Cause:
    """One reason, what shows it, and what to do."""

    cause: str
    share: float
    evidence: str
    remedy: str
    joints: tuple[str, ...] = ()
    numbers: dict[str, Any] = field(default_factory=dict)
    at: tuple[float, ...] = ()
    """Seconds at which it is seen"""


Found = Iterator[Cause]


def timing(log: Log) -> Found:
    if log.gaps is None:
        return
    is_gap = log.gaps > 1.6
    usual = log.gaps[~is_gap]
    steps = np.unique(np.round(usual, 3))
    grid = float(np.diff(steps).min()) if 1 < len(steps) < 12 else 0.0  # stamps in whole ms
    jitter = float(np.sqrt(max(0.0, usual.var() - min(grid, 0.5) ** 2 / 4)))
    dropped = float(is_gap.mean())
    if jitter < JITTER and (dropped < DROPPED or is_gap.sum() < 3):
        return
    longest = float(log.gaps.max() / log.rate)
    yield Cause(
        "timing",
        max(log.evened, float(log.gaps.var() / (log.gaps**2).mean())),
        f"rows come {1000 / log.rate:.1f} ms apart, give or take {100 * jitter:.0f} %; "
        f"{100 * dropped:.1f} % of the gaps are longer than 1.6 of that, the longest "
        f"{1000 * longest:.0f} ms",
        "Run the loop on a fixed clock with a priority of its own, take cameras and logging out "
        "of it, and send commands with the time they are meant for",
        numbers={"jitter": jitter, "dropped": dropped, "longest_gap_s": longest},
    )


def latency(log: Log) -> Found:
    found = log.late
    # Noise that is fed back hides how much of a lag is inertia.
    doubt = 2.5 if log.roughness is not None and log.roughness.passed_on > PASSED_ON else 1.0
    if found is None or log.m is None:
        return
    lag, dead = float(np.median(found.lag)), float(np.quantile(found.dead, 0.3))
    # Motions so slow do not tell inertia from a dead time; then only a long lag is one for sure.
    is_told = (2 * np.pi * found.fastest_hz * lag) ** 2 > 0.1
    is_long = not is_told and lag > doubt * max(LONG_ROWS / log.rate, LONG_S)
    if min(lag, dead) < doubt * max(LATE_ROWS / log.rate, LATE_S) and not is_long:
        return
    rows = max(1, round(lag * log.rate))
    share = float(np.median(found.agreement))
    if found.order == 0:
        c, m = log.dc[:, found.joints], changes(log.m, log.pieces)[:, found.joints]
        apart = ((m - c) ** 2).sum(0) + 1e-30
        share = float(np.median(np.clip(1 - ((m[rows:] - c[:-rows]) ** 2).sum(0) / apart, 0, 1)))
    yield Cause(
        "latency",
        share,
        f"the measurement follows the command {1000 * lag:.0f} ms later ({lag * log.rate:.1f} "
        f"rows), and nothing happens in the first {1000 * dead:.0f} ms of them",
        "Find where commands wait (buffers, a bus at a low rate, a slow policy); what cannot be "
        "shortened is trained for: `spacil train --action-delay N`, `spacil smooth "
        "--action-delay N`",
        numbers={"lag_s": lag, "dead_time_s": dead},
    )


def chunk_seams(log: Log) -> Found:
    seams = log.seams
    if seams is None:
        return
    share = float(
        ((log.c - log.calm - np.roll(log.c - log.calm, 1, 0))[1:] ** 2).sum() / (log.dc**2).sum()
    )
    if share < LEAST_SHARE / 8:
        return
    yield Cause(
        "chunk-seams",
        share,
        f"the command jumps every {seams.period} rows ({seams.period / log.rate:.2f} s), by "
        f"{100 * seams.jump:.1f} % of a joint's range: there it bends {seams.contrast:.0f} times "
        "as much as in between",
        "Blend each chunk into the last one (temporal ensembling, RTC), start it from the "
        "command that was sent and not from the measured state, or ask for the next one earlier",
        numbers={"period": seams.period, "contrast": seams.contrast, "z": seams.z},
        at=_times(log, seams.is_seam),
    )


def saturation(log: Log) -> Found:
    log = log.recorded or log
    held = log.at_bound
    if not held.any():
        return
    share_of_rows = held.mean(0)
    touched = held | np.roll(held, 1, axis=0)
    moved = ((log.dc**2) * touched).sum(0) / (log.dc**2).sum(0).clip(1e-30)
    worst = share_of_rows > 0.03
    if not worst.any():
        return
    share = float(np.maximum(share_of_rows, moved)[worst].max())
    names = _named(log, worst)
    yield Cause(
        "saturation",
        share,
        f"{100 * share_of_rows[worst].max():.0f} % of the commands of {', '.join(names)} lie on a "
        f"bound, and {100 * moved[worst].max():.0f} % of its change goes to or from there",
        "The command asks for more than the actuator has. Scale the actions down, charge for "
        "large ones in training, or widen the bound where the hardware allows it",
        joints=names,
        numbers={"share_at_bound": float(share_of_rows[worst].max())},
        at=_times(log, np.asarray(held[:, worst].any(1))),
    )


def quantisation(log: Log) -> Found:
    """A grid that motion climbs in steps, in command or measurement; a band that moves nothing."""
    yield from _grid(log.recorded or log) or _dead_band(log)


def _grid(log: Log) -> list[Cause]:
    for what, x, level in (("command", log.c, log.level), ("measurement", log.m, None)):
        if x is None:
            continue
        steps = np.array([grid_of(column) for column in x.T]) if level is None else level
        dx = changes(x, log.pieces)
        share = np.minimum(1 - (dx != 0).mean(0), 1) * (steps > 0)
        share = np.maximum(share, np.minimum(1, steps**2 / 6 / ((dx**2).mean(0) + 1e-30)))
        worst = (
            (steps > (0.0035 if what == "command" else 0.01))
            & (share > LEAST_SHARE)
            & ~log.is_switch
            & log.is_main
        )
        if worst.any():
            names = _named(log, worst)
            return [
                Cause(
                    "quantisation",
                    float(share[worst].max()),
                    f"the {what} of {', '.join(names)} moves in steps of "
                    f"{100 * steps[worst].max():.1f} % of its range ({1 / steps[worst].max():.0f} "
                    "values)",
                    "Send and read it in finer steps: more bits, floats in place of bins, or a "
                    "filter that fills in between",
                    joints=names,
                    numbers={"step": float(steps[worst].max()), "where": what},
                )
            ]
    return []


def _dead_band(log: Log) -> list[Cause]:
    bands, is_wide = log.bands, log.has_dead_band
    if log.follows is None or is_wide.sum() < max(1, len(bands) / 2):
        return []
    names = tuple(log.names[j] for j in log.follows.joints[is_wide][:5])
    band = float(np.median(bands[is_wide, 0]))
    return [
        Cause(
            "quantisation",
            float(np.median(bands[is_wide, 1])),
            f"the measurement stays {100 * band:.1f} % of the range behind the command in "
            f"whichever direction it moves ({', '.join(names)}): a dead band, play or friction",
            "Raise the gain, shrink the controller's dead band, add friction compensation, or "
            "take the play out of the gears",
            joints=names,
            numbers={"dead_band": band, "explained": float(np.median(bands[is_wide, 1]))},
        )
    ]


def limit_cycle(log: Log) -> Found:
    found = log.swings
    if not found:
        return
    names = tuple(log.names[j] for _, j, _, _ in found[:5])
    _, _, line, there = found[0]
    tones = ", ".join(f"{log.names[j]} at {one.hz:.1f} Hz" for _, j, one, _ in found[:5])
    yield Cause(
        "limit-cycle",
        found[0][0],
        f"the measurement swings by itself: {tones}, ± {100 * line.amplitude:.1f} % of its range, "
        f"{min(np.sqrt(line.power / max(there, 1e-12)), 999):.1f} times what the command asks for",
        "Lower the position gain of that joint or raise its damping; look for play and friction, "
        "and for a delay inside its control loop",
        joints=names,
        numbers={
            "hz": {log.names[j]: one.hz for _, j, one, _ in found},
            "prominence": line.prominence,
            "amp": line.amplitude,
        },
    )


def tremor(log: Log) -> Found:
    dc = changes(log.calm, log.pieces) * log.rate
    f, density = spectra(log.pieces, log.rate, dc)
    power = (dc**2).mean(0) + 1e-30
    together = density.real.mean(1)
    found = []
    for j, column in enumerate(density.real.T):
        for line in lines(f, column, TREMOR_HZ[0], min(TREMOR_HZ[1], 0.45 * log.rate)):
            is_small = not VISIBLE / 2 < line.amplitude < 0.1 or line.power < LEAST_SHARE * power[j]
            if is_small or line.prominence < 1.3 * PROMINENT or log.is_switch[j]:
                continue
            is_passed_on = any(
                k == j and abs(one.hz - line.hz) < 0.6 for _, k, one, _ in log.swings
            )
            if not is_passed_on and not _is_overtone(line.hz, f, together):
                found.append((float(line.power / power[j]), j, line))
                break
    if not found:
        return
    found.sort(key=lambda one: -one[0])
    names = tuple(log.names[j] for _, j, _ in found[:5])
    tones = ", ".join(f"{log.names[j]} at {line.hz:.1f} Hz" for _, j, line in found[:5])
    yield Cause(
        "tremor",
        found[0][0],
        f"the command itself trembles: {tones}, ± {100 * found[0][2].amplitude:.1f} % of the range",
        "A hand trembles at 4 to 12 Hz. Support the arm, lower the scale from hand to robot, "
        "filter the leader at 3 Hz, or leave these demonstrations out: imitation copies it",
        joints=names,
        numbers={
            "hz": {log.names[j]: line.hz for _, j, line in found},
            "prominence": found[0][2].prominence,
            "amp": found[0][2].amplitude,
        },
    )


def _is_overtone(hz: float, f: Array, density: Array) -> bool:
    """Whether a line belongs to a gait: others stand beside it, a basic frequency apart."""

    def around(place: float) -> float:
        return float(density[np.abs(f - place) <= max(0.25, f[1])].mean())

    for times in range(2, 9):
        base = hz / times
        for other in (hz - base, hz + base):
            if base < 0.6 or not 0.4 < other < f[-1]:
                continue
            dips = max(around(other - base / 2), around(min(other + base / 2, f[-1])))
            if around(other) > max(0.15 * around(hz), 3 * dips):
                return True
    return False


def noise(log: Log) -> Found:
    """What is rough in the commands: passed on from the sensors, or the policy's own."""
    it = log.roughness
    if it is None:
        return
    names, percent, passed = _named(log, it.joints), 100 * it.size, it.passed_on
    if passed > PASSED_ON:
        whose = (
            "is in the measurement of the same rows or just before"
            if log.explained is None
            else "is what the policy answers to the recorded states"
        )
        yield Cause(
            "sensor-noise",
            it.share * passed,
            f"{100 * passed:.0f} % of what is sudden in the commands of {', '.join(names)} "
            f"({percent:.1f} % of the range) {whose}: sensor noise becomes motor noise",
            "Lower the slopes of the policy (`spacil smooth`, a penalty in training), or give it "
            "a better sensor or estimate; a filter costs delay",
            joints=names,
            numbers={"passed_on": passed, "size": it.size},
        )
    if passed < 1.5 * PASSED_ON:
        yield Cause(
            "rough-policy",
            it.share * (1 - passed),
            f"the commands of {', '.join(names)} jump by {percent:.1f} % of the range from row to "
            "row, and neither their past nor a measurement says why",
            "Act with the mean action and not with samples; smooth the policy (`spacil smooth`), "
            "or train it with a penalty",
            joints=names,
            numbers={"passed_on": passed, "size": it.size},
        )


def _times(log: Log, rows: NDArray[np.bool_]) -> tuple[float, ...]:
    return tuple(log.clock[rows][:500].round(4).tolist())


def _named(log: Log, which: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(log.names[j] for j in np.flatnonzero(which)[:5])


CAUSES: tuple[Callable[[Log], Found], ...] = (
    *(timing, latency, chunk_seams, limit_cycle, quantisation, saturation, noise, tremor),
)
