"""A recording on even rows, and what several causes read of it, each computed when it is asked for.

Commands and measurements are in ranges of their joint. Constants say from where on a person sees a
thing; none is the level of a noise.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.signal import medfilt2d

from spacil.recordings.signals import (
    Array,
    Delay,
    Line,
    Pieces,
    changes,
    delay,
    lines,
    low_passed,
    power_near,
    spectra,
    surprises,
    told,
    unasked,
    usual_size,
)

VISIBLE = 0.003
"""Amplitude, in ranges of a joint, from which on a person sees it"""
LEAST_SHARE = 0.02
"""Share of a change from which on a cause is worth a line"""
JITTER, DROPPED = 0.08, 0.002
"""Spread of the time between rows, in rows; share of rows with a gap"""
LATE_ROWS, LATE_S = 1.95, 0.025
"""Dead time that is a delay: more than a healthy loop has"""
LONG_ROWS, LONG_S = 2.5, 0.08
"""Lag that is one, whatever it is made up of"""
TREMOR_HZ = (3.5, 12.5)
PROMINENT = 6.0
"""Power of a line over that of its background"""
FLAT = 0.12
"""Flatness of a spectrum from which on it is that of noise"""
PASSED_ON = 0.3
"""Share of what is sudden in commands from which on it is told by something else"""
_PACE = 35.0
"""Rows a second at which what is rough is looked for too, since fast rows follow each other"""


@dataclass(frozen=True, eq=False)
class Seams:
    """Jumps of the command that come back after a fixed number of rows."""

    period: int
    is_seam: NDArray[np.bool_]
    """[T]"""
    jump: float
    """In ranges of the joint that jumps most"""
    contrast: float
    z: float


@dataclass(frozen=True, eq=False)
class Roughness:
    """What is sudden in commands."""

    joints: NDArray[np.bool_]
    """[J]"""
    size: float
    """From row to row, in ranges of a joint"""
    share: float
    """Of the change"""
    passed_on: float
    """Part of it that the measurement, or the policy's answers, tell"""


@dataclass(frozen=True, eq=False)
class Log:
    """A recording with what several causes read. Signals are in ranges of their joint."""

    c: Array
    m: Array | None
    pieces: Pieces
    rate: float
    names: tuple[str, ...]
    clock: Array
    """[T], the second of each row"""
    gaps: Array | None = None
    """Time from row to row as recorded, in median ones"""
    chunk: int | None = None
    explained: Array | None = None
    """Commands that the policy gives in the recorded states, where it is known"""
    is_main: NDArray[np.bool_] | None = None
    """[J], joints that move about as far as the others"""
    evened: float = 0.0
    """How much smoother the commands are on even times, 0 to 1"""
    recorded: "Log | None" = None
    """The rows as they were recorded, where these are on even times"""

    @cached_property
    def is_within(self) -> NDArray[np.bool_]:
        """[T], whether a row has one before it"""
        inside = np.ones(len(self.c), bool)
        inside[[piece.start for piece in self.pieces]] = False
        return inside

    @cached_property
    def dc(self) -> Array:
        return changes(self.c, self.pieces)

    @cached_property
    def energy(self) -> Array:
        """[J], of the change of the commands"""
        return np.asarray((self.dc**2).mean(0) + 1e-30)

    @cached_property
    def is_switch(self) -> NDArray[np.bool_]:
        """[J], of few values that it holds for long: a gripper"""
        few = np.array(
            [len(np.unique(column[:: max(1, len(column) // 5000)])) for column in self.c.T]
        )
        return np.asarray((few <= 3) & ((self.dc != 0).mean(0) < 0.1))

    @cached_property
    def follows(self) -> Delay | None:
        return None if self.m is None else delay(self.c, self.m, self.pieces, self.rate)

    def flatness(self, pace: float) -> Array:
        """[J], spectral density of the commands in the highest octave that a pace shows, over that
        in the one below: 1 for noise, 1/16 for a motion that turns sharply"""
        f, density = spectra(self.pieces, self.rate, changes(self.calm, self.pieces))
        position = density.real / (2 * np.sin(np.pi * f / self.rate) + 1e-9)[:, None] ** 2
        high, low = (f >= pace / 4) & (f < pace / 2), (f >= pace / 8) & (f < pace / 4)
        return np.asarray(np.median(position[high], 0) / (np.median(position[low], 0) + 1e-30))

    @cached_property
    def swings(self) -> list[tuple[float, int, Line, float]]:
        """Lines of the measurement that the command does not ask for: share of the joint's speed,
        joint, line, and the command's power there; the strongest first"""
        if self.m is None:
            return []
        dc, dm = self.dc * self.rate, changes(self.m, self.pieces) * self.rate
        f, asked = spectra(self.pieces, self.rate, dc)
        _, seen = spectra(self.pieces, self.rate, dm)
        coarse, strange = unasked(self.pieces, self.rate, dc, dm)
        power, highest, found = (dm**2).mean(0) + 1e-30, 0.48 * self.rate, []
        for j in range(self.c.shape[1]):

            def there(line: Line, own: Array = asked[:, j].real) -> float:
                return power_near(f, own, line.hz)

            far = [
                one for one in lines(f, seen[:, j].real, 1.2, highest) if one.power > 4 * there(one)
            ]
            for line in [*far, *lines(coarse, strange[:, j], 1.2, highest)]:
                share = float(line.power / power[j])
                # A slow one is told from a motion by its strength alone.
                if share < (LEAST_SHARE if line.hz > 2 else 0.1) or line.amplitude < VISIBLE / 2:
                    continue
                if line.prominence > PROMINENT:
                    found.append((share, j, line, there(line)))
                    break
        return sorted(found, key=lambda one: -one[0])

    @cached_property
    def roughness(self) -> Roughness | None:
        """What of the commands their past does not tell, where a person would see it"""
        for every in dict.fromkeys((1, max(1, round(self.rate / _PACE)))):
            own = surprises(self.calm, self.pieces, every=every)
            if not len(own):
                continue
            rows = len(self.calm) // every * every
            means = self.calm[:rows].reshape(-1, every, self.calm.shape[1]).mean(1)
            rest = np.maximum(usual_size(own) ** 2 - self.level**2, 0)
            bend = 3 * rest / ((np.diff(means, n=2, axis=0) ** 2).mean(0) + 1e-30)
            rough = (np.sqrt(rest) > VISIBLE) & (bend > (0.12 if every == 1 else 0.3))
            if (
                rough & ~self.is_switch
            ).mean() < 0.25:  # one of many joints may just move like that
                rough &= bend > 0.3
            rough &= ~self.is_switch
            rough &= (self.at_bound.mean(0) < 0.03) & (self.flatness(self.rate / every) > FLAT)
            if not rough.any():
                continue
            told_by, is_answer = self.explained, self.explained is not None
            if told_by is None and self.m is not None:
                told_by = self.m
                # The measurement of a row may hold the answer to the command of that row.
                lag = 0.0 if self.follows is None else float(np.median(self.follows.lag))
                is_answer = lag * self.rate > 0.6
            passed_on = 0.0
            if told_by is not None:
                seen = surprises(told_by, self.pieces, like=self.calm, every=every)
                passed_on = told(
                    own, seen, np.flatnonzero(rough), (0, 1, 2) if is_answer else (1, 2)
                )
            share = rest / ((np.diff(means, axis=0) ** 2).mean(0) + 1e-30)
            size, part = (float(np.median(x[rough])) for x in (np.sqrt(rest), share.clip(0, 1)))
            return Roughness(rough, size, part, passed_on)
        return None

    @cached_property
    def late(self) -> Delay | None:
        """The same without a dead band, which looks like a delay where motion is fast"""
        is_wide = self.has_dead_band
        if self.m is None or self.follows is None or not is_wide.any():
            return self.follows
        m = self.m.copy()
        m[:, self.follows.joints] += self.bands[:, 0] * self._sides
        return delay(self.c, m, self.pieces, self.rate)

    @property
    def has_dead_band(self) -> NDArray[np.bool_]:
        """[K], of the joints that follow"""
        return np.asarray((self.bands[:, 0] > VISIBLE) & (self.bands[:, 1] > 0.15))

    @cached_property
    def _sides(self) -> Array:
        """[T, K], the direction in which each joint that follows was sent last, -1 or 1"""
        assert self.follows is not None
        sides = []
        for joint, lag in zip(self.follows.joints, self.follows.lag, strict=True):
            slow = low_passed(self.c[:, [joint]], self.pieces, self.rate)
            speed = np.roll(changes(slow, self.pieces)[:, 0], round(lag * self.rate))
            is_sent = np.abs(speed) > 0.2 * np.sqrt((speed**2).mean())
            last = np.maximum.accumulate(np.where(is_sent, np.arange(len(speed)), 0))
            sides.append(np.sign(speed[last]))
        return np.stack(sides, 1)

    @cached_property
    def level(self) -> Array:
        """[J], the steps of a grid that the commands lie on; 0 without one"""
        rows = (self.recorded or self).c
        return np.array([grid_of(column) for column in rows.T])

    @cached_property
    def bands(self) -> Array:
        """[K, 2] of the joints that follow: the width of a dead band, and what it explains of the
        measurement that no linear answer to the command does"""
        found = self.follows
        if found is None or found.order or self.m is None:
            return np.zeros((0 if found is None else len(found.joints), 2))
        shift = max(1, round(0.025 * self.rate))
        answers = [k * shift for k in range(18)]
        inside = np.zeros(len(self.c), bool)
        for piece in self.pieces:
            inside[piece.start + answers[-1] + 1 : piece.stop] = True
        rows = np.flatnonzero(inside)[:: max(1, len(self.c) // 8000)]
        bands = []
        for k, joint in enumerate(found.joints):
            c, m = (
                low_passed(x[:, [joint]], self.pieces, self.rate)[:, 0] for x in (self.c, self.m)
            )
            base = np.stack([np.ones(len(c)), *(np.roll(c, k) for k in answers)], 1)[rows]
            both = np.stack([m, self._sides[:, k]], 1)[rows]
            left, side = (both - base @ np.linalg.lstsq(base, both, rcond=1e-6)[0]).T
            band = float(side @ left / (side @ side + 1e-30))
            bands.append((-band, band**2 * float(side @ side / (left @ left + 1e-30))))
        return np.array(bands)

    @cached_property
    def seams(self) -> Seams | None:
        """Where commands bend again and again after so many rows, whatever the motion does."""
        usable = ~self.is_switch
        if not usable.any():
            return None
        bend = changes(self.c, self.pieces, 2)[:, usable]
        bend = bend - medfilt2d(bend, (5, 1))
        size = np.sqrt((bend**2).sum(1))
        clipped = np.minimum(size, np.quantile(size, 0.995))
        longest = max(p.stop - p.start for p in self.pieces)
        row = np.concatenate([np.arange(p.stop - p.start) for p in self.pieces])
        mean, std, best = clipped.mean(), clipped.std() + 1e-30, (0.0, 0, 0)
        for period in [self.chunk] if self.chunk else range(4, min(400, longest // 6) + 1):
            counts = np.bincount(row % period, minlength=period)
            excess = np.bincount(row % period, clipped, period) / counts - mean
            z = excess / std * np.sqrt(counts)
            best = max(best, (float(z.max()), period, int(z.argmax())))
        z_best, period, phase = best
        if not period:
            return None
        is_seam = (row % period == phase) & (row > 2)
        after = (row - phase) % period
        apart = np.minimum(after, period - after)
        is_other = (apart > 2) & (apart < 7) if period > 5 else after > 0
        contrast = float(np.median(size[is_seam]) / (np.median(size[is_other]) + 1e-30))
        jump = float(np.sqrt((bend[is_seam] ** 2).mean(0) / 2).max())
        if is_seam.sum() < 5 or z_best < 8 or contrast < 2 or jump < VISIBLE:
            return None
        return Seams(period, is_seam, jump, contrast, z_best)

    @cached_property
    def calm(self) -> Array:
        """The commands without the jumps at seams, for what happens in between"""
        if self.seams is None:
            return self.c
        touched = (
            self.seams.is_seam | np.roll(self.seams.is_seam, -1) | np.roll(self.seams.is_seam, 1)
        )
        dc = self.dc.copy()
        dc[touched] = medfilt2d(self.dc, (7, 1))[touched]
        calm = np.cumsum(dc, axis=0)
        for piece in self.pieces:
            calm[piece] += self.c[piece.start] - calm[piece.start]
        return calm

    @cached_property
    def at_bound(self) -> NDArray[np.bool_]:
        """[T, J], commands that are clipped: at an end that is met at speed, again and again"""
        found = np.zeros(self.c.shape, bool)
        for j, x in enumerate(self.c.T):
            if self.is_switch[j]:
                continue
            least = 0.75 if self.level[j] else 0.4
            for end, sign in ((x.max(), 1), (x.min(), -1)):
                held = sign * (end - x) <= 1e-9
                nearby = sign * (end - x) <= max(0.02, 1.5 * self.level[j])
                enters = np.flatnonzero(held & ~np.roll(held, 1) & self.is_within)
                if len(enters) < 4 or held.mean() < 0.01 or held.sum() < least * nearby.sum():
                    continue
                speed = np.median(np.abs(self.dc[enters, j])) / np.sqrt(self.energy[j])
                if speed > 0.15 or (len(enters) > 20 and held.mean() > 0.05):
                    found[:, j] |= held
        return found


def grid_of(x: Array) -> float:
    """The step of the grid that values lie on; 0 where there is none, or it is too fine to see."""
    values = np.unique(x)
    gaps = np.diff(values)
    gaps = gaps[gaps > 1e-6 * max(1e-12, np.ptp(x))]
    if len(gaps) < 2 or len(gaps) > 2000 or len(values) > 0.5 * len(x):
        return 0.0
    step = float(np.median(gaps[gaps < 1.5 * gaps.min()]))
    places = (values - values[0]) / step
    step *= 1 / (np.polyfit(np.round(places), places, 1)[0] if len(places) > 2 else 1)
    places = (values - values[0]) / step
    return step if np.mean(np.abs(places - np.round(places)) < 0.05) > 0.95 else 0.0
