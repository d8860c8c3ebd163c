"""Numbers of recorded signals that several causes read: spectra, lines, surprises, delays.

A signal is [T, J], rows by joints, in units of the joint's range; `pieces` are the runs of rows
that follow each other. Pure functions, numpy and scipy alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy import optimize, signal
from scipy.fft import irfft, next_fast_len, rfft

Array = NDArray[np.float64]
Pieces = Sequence[slice]

WINDOW_S, DELAY_WINDOW_S = 5.0, 10.0
"""Seconds of a window of the spectra: lines are told apart to 0.4 Hz"""
LINE_HZ = 0.7
"""Half width of what counts as one line: a hand's tremor wanders"""
_LAGS = 24
"""Changes that predict the next one, fewer in a short recording: a gait's period where possible"""
_MOST_LEARNED = 6000
"""Rows that predictions are learned from"""
_MAX_LAG_S = 0.6
MOTION_HZ = 4.0
"""Of motions, which tell a delay"""
MOST_FOLLOWERS = 10
"""Joints of which a delay is read"""


def changes(x: Array, pieces: Pieces, order: int = 1) -> Array:
    """Differences from row to row within pieces, [T, J]; the first rows of a piece are 0."""
    found = np.zeros_like(x)
    for piece in pieces:
        found[piece.start + order : piece.stop] = np.diff(x[piece], n=order, axis=0)
    return found


def low_passed(x: Array, pieces: Pieces, rate: float) -> Array:
    """The motion without what is faster, [T, J], not delayed."""
    cut = signal.butter(2, min(MOTION_HZ, 0.35 * rate), fs=rate, output="sos")
    found = np.empty_like(x)
    for piece in pieces:
        spare = min(piece.stop - piece.start - 1, 30)
        found[piece] = signal.sosfiltfilt(cut, x[piece], axis=0, padlen=spare)
    return found


def spectra(
    pieces: Pieces, rate: float, x: Array, y: Array | None = None, seconds: float = WINDOW_S
) -> tuple[Array, NDArray[np.complex128]]:
    """Cross spectral density [F, J] of x and y (or of x), mean over pieces; first the "
    "frequencies."""
    longest = max(piece.stop - piece.start for piece in pieces)
    size = min(longest, int(seconds * rate))
    total, weight = np.zeros((size // 2 + 1, x.shape[1]), complex), 0
    for piece in pieces:
        rows = piece.stop - piece.start
        if rows >= size:
            other = x if y is None else y
            f, density = signal.csd(x[piece], other[piece], rate, nperseg=size, axis=0)
            total, weight = total + rows * density, weight + rows
    return np.asarray(f), np.asarray(total / weight)


@dataclass(frozen=True)
class Line:
    """A narrow peak in the spectrum of one joint's speed."""

    hz: float
    amplitude: float
    """Of the position, in the joint's ranges"""
    power: float
    """Of the speed"""
    prominence: float
    """Power over that of a background as high as around it"""


def unasked(pieces: Pieces, rate: float, c: Array, m: Array) -> tuple[Array, Array]:
    """Spectral density [F, J] of what in m no linear answer to c explains, and the frequencies."""
    rows = sum(piece.stop - piece.start for piece in pieces)
    seconds = float(np.clip(rows / rate / 10, 2.0, WINDOW_S))
    f, own = spectra(pieces, rate, c, seconds=seconds)
    _, cross = spectra(pieces, rate, c, m, seconds=seconds)
    _, theirs = spectra(pieces, rate, m, seconds=seconds)
    return f, np.maximum(theirs.real - np.abs(cross) ** 2 / (own.real + 1e-30), 0)


def lines(f: Array, density: Array, lowest: float, highest: float) -> list[Line]:
    """Peaks of the spectral density of a speed, [F]; the strongest first."""
    step = f[1]
    reach = max(1, round(LINE_HZ / step))
    found = []
    peaks, _ = signal.find_peaks(density, distance=reach)
    for place in peaks:
        if not lowest <= f[place] <= highest:
            continue
        near = slice(max(1, place - reach), place + reach + 1)
        left = density[max(1, place - 4 * reach) : max(1, place - reach)]
        right = density[place + reach + 1 : place + 4 * reach + 1]
        sides = [float(np.median(side)) for side in (left, right) if len(side) >= reach]
        background = max(sides, default=float(density[near].min()))
        inside = density[near]
        power = float(np.maximum(inside - background, 0).sum() * step)
        hz = float((f[near] * inside).sum() / inside.sum())
        below = background * step * len(inside) + 1e-30
        found.append(Line(hz, np.sqrt(2 * power) / (2 * np.pi * hz), power, power / below))
    return sorted(found, key=lambda line: -line.power)


def surprises(x: Array, pieces: Pieces, like: Array | None = None, every: int = 1) -> Array:
    """What of each change the last changes do not tell, [T', J]: errors of linear prediction.

    `like`: predict as that signal is predicted best, so that two signals stay comparable.
    `every`: over means of so many rows, at a slower pace.
    """
    past_rows = min(_LAGS, sum(p.stop - p.start for p in pieces) // every // 30)
    cut = [(p.start, p.stop) for p in pieces if (p.stop - p.start) // every > past_rows + 8]
    if past_rows < 3 or not cut:
        return np.zeros((0, x.shape[1]))

    def parts(y: Array) -> list[Array]:
        coarse = (y[a : b - (b - a) % every].reshape(-1, every, y.shape[1]) for a, b in cut)
        return [np.diff(part.mean(1), axis=0) for part in coarse]

    mine = parts(x)
    learned = mine if like is None else parts(like)
    thin = max(1, sum(map(len, learned)) // _MOST_LEARNED)
    found = np.concatenate([part[past_rows:] for part in mine])
    for j in range(x.shape[1]):
        windows = np.concatenate(
            [sliding_window_view(part[:, j], past_rows + 1)[::thin] for part in learned]
        )
        past, last = windows[:, :-1], windows[:, -1]
        gram = past.T @ past
        gram[np.diag_indices(past_rows)] += 1e-9 * np.trace(gram) + 1e-30
        error = np.append(1.0, -np.linalg.solve(gram, past.T @ last)[::-1])
        found[:, j] = np.concatenate(
            [signal.lfilter(error, [1.0], part[:, j])[past_rows:] for part in mine]
        )
    return found


def usual_size(x: Array, share: float = 0.75) -> Array:
    """Standard deviation per column as the quantile of a Gaussian tells it: outliers do not "
    "count."""
    quantile = {0.5: 0.6745, 0.75: 1.1503}[share]
    return np.asarray(np.quantile(np.abs(x), share, axis=0) / quantile)


def told(own: Array, seen: Array, joints: NDArray[np.int64], ago: Sequence[int]) -> float:
    """Share of the surprises of joints that those of the measurement tell, median; [T, J] both.

    Those of so many rows ago; of all joints, or of the same one where rows are few.
    """
    own, seen = (np.clip(x, -(limit := 4 * usual_size(x) + 1e-30), limit) for x in (own, seen))
    past = np.stack([seen[2 - k : len(seen) - k] for k in ago], 2)  # [T - 2, J, K]
    is_many = past[0].size > len(past) / 10
    shares = []
    for j in joints:
        told_by = past[:, j] if is_many else past.reshape(len(past), -1)
        gram = told_by.T @ told_by
        gram[np.diag_indices(len(gram))] += 1e-6 * np.trace(gram) / len(gram) + 1e-30
        left = own[2:, j] - told_by @ np.linalg.solve(gram, told_by.T @ own[2:, j])
        spare = len(past) / (len(past) - len(gram))
        shares.append(1 - spare * (left @ left) / (own[2:, j] @ own[2:, j] + 1e-30))
    return float(np.clip(np.median(shares), 0, 1))


def power_near(f: Array, density: Array, hz: float) -> float:
    """Power of a spectral density within a line's width of a frequency."""
    return float(density[np.abs(f - hz) < 0.9].sum() * f[1])


@dataclass(frozen=True)
class Delay:
    """How a measurement follows a command, per joint [K]."""

    joints: NDArray[np.int64]
    order: int
    """0: the command is a position, 1: a speed or a step, 2: a force"""
    slope: Array
    """Seconds, as the phase of the strong frequencies has them"""
    lag: Array
    """Seconds in all, as slow motions have them"""
    dead: Array
    """Seconds in which nothing happens; the rest is the joint's own inertia"""
    agreement: Array
    """Correlation at that lag"""
    blocks: Array
    """Lag, median of joints, in parts of the recording"""
    fastest_hz: float
    """Of what the motion tells: the slower, the less is known of how a lag is made up"""


def delay(c: Array, m: Array, pieces: Pieces, rate: float) -> Delay | None:
    """Lag of m behind c: the peak of the cross-correlation of their changes, then the phase.

    Below a row it follows from the phase of the cross spectrum, to which a dead time and a joint
    of second order are fitted where the command is a position. None where nothing follows.
    """
    # Noise that is passed on has a delay of its own.
    c, m = (low_passed(x, pieces, rate) for x in (c, m))
    leader = changes(c, pieces)
    best: tuple[float, int, Array, Array] | None = None
    for order in (0, 1, 2):
        rows, heights = _peaks(leader, changes(m, pieces, 1 + order), pieces, rate)
        quality = float(np.sort(heights)[-max(1, len(heights) // 2) :].mean())
        if best is None or quality > best[0] + 0.1:  # the simpler one wins where both fit
            best = (quality, order, rows, heights)
    assert best is not None
    quality, order, rows, heights = best
    joints = np.argsort(-heights, kind="stable")[:MOST_FOLLOWERS]
    joints = joints[heights[joints] > max(0.5, 0.6 * quality)]
    if not len(joints):
        return None
    leader, follower = leader[:, joints], changes(m, pieces, 1 + order)[:, joints]
    for k, shift in enumerate(rows[joints].astype(int)):  # a window sees both move at once
        follower[:, k] = np.roll(follower[:, k], -shift)

    def fits(parts: Pieces, order: int) -> tuple[Array, float]:
        f, own = spectra(parts, rate, leader, None, DELAY_WINDOW_S)
        _, cross = spectra(parts, rate, leader, follower, DELAY_WINDOW_S)
        _, theirs = spectra(parts, rate, follower, None, DELAY_WINDOW_S)
        response = cross / (own.real + 1e-30)
        coherence = np.abs(response) ** 2 * own.real / (theirs.real + 1e-30)
        trust = np.where(coherence > 0.9, coherence, 0) * np.abs(cross)
        trust[0] = 0
        trust /= trust.max(0) + 1e-30
        near = rows[joints] / rate
        found = [_fit(f, *one, order) for one in zip(response.T, trust.T, near, strict=True)]
        return np.array(found), float(f[(np.median(trust, 1) > 0.01).nonzero()[0].max(initial=0)])

    half = 0.5 * order / rate  # a difference more lies half a row later
    found, fastest = fits(pieces, order)
    slope, lag, dead = found.T - half
    parts = _quarters(pieces, int(DELAY_WINDOW_S * rate))
    blocks = np.array([np.median(fits(part, 1)[0][:, 0]) for part in parts]) - half
    return Delay(joints, order, slope, lag, dead, heights[joints], blocks, fastest)


def _quarters(pieces: Pieces, least: int) -> Iterator[Pieces]:
    if len(pieces) >= 4:
        for k in range(4):
            yield list(pieces)[k::4]
        return
    for piece in pieces:
        rows = piece.stop - piece.start
        count = min(5, rows // max(1, least))
        for k in range(count if count > 1 else 0):
            start = piece.start + k * rows // count
            yield [slice(start, start + rows // count)]


def _peaks(a: Array, b: Array, pieces: Pieces, rate: float) -> tuple[Array, Array]:
    """Row lag and height of the first high peak of each cross-correlation, b behind a."""
    reach = int(_MAX_LAG_S * rate) + 2
    total = np.zeros((reach + 2, a.shape[1]))
    for piece in pieces:
        x, y = a[piece] - a[piece].mean(0), b[piece] - b[piece].mean(0)
        size = next_fast_len(len(x) + reach + 2)
        product = rfft(y, size, axis=0) * np.conj(rfft(x, size, axis=0))
        total += irfft(product, size, axis=0)[np.arange(-1, reach + 1)]
    total /= np.sqrt((a**2).sum(0) * (b**2).sum(0)) + 1e-30
    place = np.empty(a.shape[1], int)
    for j, height in enumerate(total.T):  # a gait comes back; the first hill as high counts
        foot, top = 0.7 * height.max(), 0.9 * height.max()
        first = int((height >= top).argmax())
        falls = np.flatnonzero(height[first:] < foot)
        last = first + max(1, int(falls[0])) if len(falls) else len(height)
        place[j] = first + int(height[first:last].argmax())
    return place - 1.0, np.take_along_axis(total, place[None], 0)[0]


def _fit(
    f: Array, response: NDArray[np.complex128], weights: Array, near: float, order: int
) -> tuple[float, float, float]:
    """Lag by the slope of the phase; lag and dead time of a joint of second order; all seconds."""
    use = weights > 1e-3
    if use.sum() < 2:
        return near, near, near
    f, weights = f[use], weights[use]
    rest = np.angle(response[use])  # after the shift by `near`
    slope = near - float((weights * f * rest).sum() / (2 * np.pi * (weights * f**2).sum()))
    if order:
        return slope, slope, slope
    size, phase = np.log(np.abs(response[use]) + 1e-12), rest - 2 * np.pi * f * near
    trust = np.sqrt(weights)

    def misfit(parameters: Array) -> Array:
        log_gain, log_hz, damping, dead = parameters
        ratio = f / np.exp(log_hz)
        joint = 1 - ratio**2 + 2j * damping * ratio
        sizes = size - log_gain + np.log(np.abs(joint))
        phases = phase + np.unwrap(np.angle(joint)) + 2 * np.pi * f * dead
        # What the motion does not tell: an ordinary servo, of 8 Hz within a factor of two.
        usual = 0.003 * np.array([log_gain, log_hz - np.log(8.0), 2 * (damping - 0.8)])
        return np.concatenate([trust * sizes, trust * phases, usual])

    start = [0.0, np.log(8.0), 0.8, max(0.0, near - 0.03)]
    bounds = ([-3, np.log(0.5), 0.2, 0.0], [3, np.log(200.0), 2.0, 1.0])
    found = optimize.least_squares(misfit, start, bounds=bounds, max_nfev=60).x
    inertia = found[2] / (np.pi * np.exp(found[1]))
    return slope, float(found[3] + inertia), float(found[3])
