"""Recordings of a robot with a known fault each: motions, a joint's physics, and what goes wrong.

A motion is what somebody wants the joints to do; the command is what a policy or a demonstrator
sends for it; the joint is of second order (natural frequency, damping, dead band, delay), and what
is recorded is its encoder. Every fault is seeded where it arises in a robot.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.signal import butter, sosfiltfilt

import spacil

Array = NDArray[np.float64]
Rng = np.random.Generator
FAULTS = (
    *("timing", "latency", "chunk-seams", "limit-cycle", "quantisation", "dead-band"),
    *("saturation", "sensor-noise", "rough-policy", "tremor"),
)
"""Faults that are seeded; `dead-band` has the cause `quantisation`, the others their own name"""
JOINTS_OF = {"Hopper-v4": (2, 5), "Walker2d-v4": (2, 8), "HalfCheetah-v4": (2, 8)}
JOINTS_OF |= {"Ant-v4": (5, 13)}
"""Columns of a task's observations that are positions of driven joints"""


@dataclass(frozen=True)
class Split:
    """What recordings of one half of the benchmark are drawn from."""

    motions: tuple[str, ...]
    rates: tuple[int, ...]
    joints: tuple[int, ...]
    seconds: tuple[float, float]
    natural_hz: tuple[float, float]
    severity: tuple[float, float]
    """Amplitude of a fault as a share of a joint's range, from what is still seen to plain"""
    encoder: tuple[float, ...]
    """Steps of the encoder, rad"""
    seed: int


SPLITS = {
    "tuning": Split(
        ("gait", "reaches", "wander", "Hopper-v4", "HalfCheetah-v4"),
        (20, 50, 100),
        (6, 7, 14),
        (20, 60),
        (4.0, 12.0),
        (0.008, 0.05),
        (0.0, 2 * np.pi / 4096),
        1,
    ),
    "test": Split(
        ("teleoperation", "spline", "sweep", "Walker2d-v4", "Ant-v4"),
        (30, 60, 125, 200),
        (6, 9, 12, 22, 30),
        (15, 90),
        (3.0, 15.0),
        (0.006, 0.06),
        (0.0, 1e-4, 2 * np.pi / 4096, 2 * np.pi / 8192),
        3,
    ),
}


@dataclass(frozen=True, eq=False)
class Recording:
    """What a log holds, and what is wrong with it."""

    commands: Array
    measured: Array | None
    time: Array | None
    rate: float
    faults: tuple[str, ...]
    latency_s: float
    """Delay, half a row for which a command is held, and the joints' own lag"""
    details: dict[str, object] = field(default_factory=dict)

    @property
    def arrays(self) -> dict[str, Array]:
        columns = {"commands": self.commands, "measured": self.measured, "time": self.time}
        return {name: column for name, column in columns.items() if column is not None}


# --- motions, [T, J] as functions of time stamps, about 1 rad


def low_passed(
    rng: Rng, rate: float, shape: tuple[int, int], cutoff: float, order: int = 2
) -> Array:
    noise = rng.normal(size=shape)
    smooth = sosfiltfilt(butter(order, cutoff, fs=rate, output="sos"), noise, axis=0)
    return np.asarray(smooth / smooth.std(0))


def _gait(rng: Rng, t: Array, joints: int) -> Array:
    period = rng.uniform(0.45, 1.4)
    drift = rng.uniform(0, 0.05) * low_passed(rng, 1 / (t[1] - t[0]), (len(t), 1), 0.3)[:, 0]
    phase = 2 * np.pi * (t / period + drift)
    parts = [
        rng.normal(size=joints)
        / k ** rng.uniform(1.5, 3)
        * np.sin(k * phase[:, None] + rng.uniform(0, 6.3, joints))
        for k in range(1, 6)
    ]
    return np.asarray(0.5 * np.sum(parts, axis=0))


def _reaches(rng: Rng, t: Array, joints: int) -> Array:
    x, now = np.zeros((len(t), joints)), t[0]
    here = rng.uniform(-1, 1, joints)
    home = here
    while now < t[-1]:
        there = home if rng.random() < 0.3 else rng.uniform(-1, 1, joints)
        lasts, rests = rng.uniform(0.5, 2.5), rng.choice([0.0, rng.uniform(0.3, 2)])
        s = np.clip((t - now) / lasts, 0, 1)[:, None]
        inside = (t >= now)[:, None]
        x = np.where(inside, here + (there - here) * (10 * s**3 - 15 * s**4 + 6 * s**5), x)
        here, now = there, now + lasts + rests
    return x


def _wander(rng: Rng, t: Array, joints: int) -> Array:
    return 0.5 * low_passed(rng, 1 / (t[1] - t[0]), (len(t), joints), rng.uniform(0.4, 1.2))


def _teleoperation(rng: Rng, t: Array, joints: int) -> Array:
    """Slow, with pauses: a smooth path that is gone along at a speed that stops at times."""
    rate = 1 / (t[1] - t[0])
    speed = np.clip(low_passed(rng, rate, (len(t), 1), 0.25)[:, 0] + 0.5, 0, None)
    speed = sosfiltfilt(butter(2, 1.0, fs=rate, output="sos"), speed)
    path = np.cumsum(speed) / rate
    knots = np.arange(-2, path.max() + 4, rng.uniform(1.2, 2.5))
    return np.asarray(CubicSpline(knots, rng.uniform(-1, 1, (len(knots), joints)))(path))


def _spline(rng: Rng, t: Array, joints: int) -> Array:
    knots = np.cumsum(rng.uniform(0.4, 1.5, int(3 * t[-1]) + 8)) - 2
    return np.asarray(CubicSpline(knots, rng.uniform(-1, 1, (len(knots), joints)))(t))


def _sweep(rng: Rng, t: Array, joints: int) -> Array:
    low, high = rng.uniform(0.1, 0.4, joints), rng.uniform(0.8, 2.0, joints)
    phase = 2 * np.pi * (low * t[:, None] + (high - low) * t[:, None] ** 2 / (2 * t[-1]))
    return np.asarray(rng.uniform(0.2, 1, joints) * np.sin(phase + rng.uniform(0, 6.3, joints)))


@cache
def _episodes(task: str) -> tuple[Array, ...]:
    first, last = JOINTS_OF[task]
    demos = spacil.load_demos(task)
    return tuple(e.observations[:, first:last].double().numpy() for e in demos.episodes)


def _of_task(task: str, rng: Rng, t: Array, joints: int) -> Array:
    """Joints of a task's demonstrations as somebody plays them, slowed down to what arms can do."""
    episodes = _episodes(task)
    dt = {"Hopper-v4": 0.008, "Walker2d-v4": 0.008}.get(task, 0.05) * rng.uniform(1.5, 3)
    if task not in ("Hopper-v4", "Walker2d-v4"):
        dt *= 2
    columns = []
    for _ in range(joints):
        x = episodes[rng.integers(len(episodes))]
        x = x[:, rng.integers(x.shape[1])]
        spline = CubicSpline(np.arange(len(x)) * dt, x, bc_type="natural")
        columns.append(
            spline(np.abs((t + rng.uniform(0, 2)) % (2 * (len(x) - 1) * dt) - (len(x) - 1) * dt))
        )
    return np.stack(columns, 1)


MOTIONS: dict[str, Callable[[Rng, Array, int], Array]] = {
    "gait": _gait,
    "reaches": _reaches,
    "wander": _wander,
    "teleoperation": _teleoperation,
    "spline": _spline,
    "sweep": _sweep,
}


def motion(name: str, rng: Rng, t: Array, joints: int) -> Array:
    made = MOTIONS[name](rng, t, joints) if name in MOTIONS else _of_task(name, rng, t, joints)
    return made * rng.uniform(0.3, 1.2, joints) + rng.uniform(-0.5, 0.5, joints)


# --- a joint


@dataclass(frozen=True)
class Joint:
    """A servo: what it does with a command that arrives `delay` seconds late."""

    natural_hz: float
    damping: float
    delay: float = 0.0
    dead_band: float = 0.0
    """Half width, rad, of the error that moves nothing; with it comes friction that holds"""
    noise: float = 0.0
    encoder: float = 0.0

    @property
    def lag(self) -> float:
        return self.delay + 2 * self.damping / (2 * np.pi * self.natural_hz)


def followed(
    joint: Joint, t: Array, commands: Array, feedback: Array, noise: Array, bounds: Array
) -> tuple[Array, Array]:
    """Play commands plus `feedback` times the measured error, [T, J] each; what was sent, and seen.

    The command of a row holds until the next row's; the encoder is read as the row is written.
    """
    rows, joints = commands.shape
    dt, omega = float(np.median(np.diff(t))), 2 * np.pi * joint.natural_hz
    h = dt / max(2, int(np.ceil(dt * omega / 0.12)))
    steps = np.maximum(1, np.round(np.diff(t, append=t[-1] + dt) / h)).astype(int)
    late = round(joint.delay / h)
    sent, seen = np.empty_like(commands), np.empty_like(commands)
    queue = np.repeat(commands[:1], late + 1, axis=0)
    x, v, place = commands[0].copy(), np.zeros(joints), 0
    band = joint.dead_band
    for row in range(rows):
        seen[row] = x + noise[row]
        sent[row] = np.clip(commands[row] + feedback * (commands[row] - seen[row]), *bounds)
        for _ in range(steps[row]):
            queue[place] = sent[row]
            place = (place + 1) % (late + 1)
            error = queue[place] - x
            if band:
                error = np.sign(error) * np.maximum(np.abs(error) - band, 0)
                stuck = (error == 0) & (np.abs(v) < 1e-2)
            v = v + h * (omega**2 * error - 2 * joint.damping * omega * v)
            if band:
                v[stuck] = 0
            x = x + h * v
    if joint.encoder:
        seen = np.round(seen / joint.encoder) * joint.encoder
    return sent, seen


# --- recordings


def visible(fault: Array, wanted: Array, order: int = 2) -> Array:
    """Make a fault strong enough to be seen beside the motion.

    A person sees a shake by its acceleration: where the motion's own is larger, nobody would call
    the arm shaky. A jump (order 0) is as large as the motion's bends from row to row.
    """
    shakes = fault.std(0) > 0
    own = np.sqrt((np.diff(fault[:, shakes], n=order, axis=0) ** 2).mean())
    other = np.sqrt((np.diff(wanted[:, shakes], n=2, axis=0) ** 2).mean())
    return np.asarray(fault * max(1.0, other / own))


def _line(rng: Rng, t: Array, joints: int, hz: float) -> Array:
    """A tone of amplitude about 1 that wanders in frequency and strength, on some joints."""
    dt = float(np.median(np.diff(t)))
    count = rng.integers(1, max(2, joints // 2) + 1)
    mine = rng.permutation(joints)[:count]
    drift = rng.uniform(0.0, 0.35) * low_passed(rng, 1 / dt, (len(t), 1), 0.5)[:, 0]
    phase = 2 * np.pi * np.cumsum((hz + drift) * dt)
    strength = 1 + 0.25 * low_passed(rng, 1 / dt, (len(t), 1), 0.3)[:, 0]
    tone = np.zeros((len(t), joints))
    tone[:, mine] = (strength * np.sin(phase))[:, None] * rng.uniform(0.7, 1.3, count)
    return tone


def record(
    faults: tuple[str, ...], split: Split, rng: Rng, is_broadband: bool | None = None
) -> Recording:
    """One recording with these faults; healthy without any."""
    rate, joints = int(rng.choice(split.rates)), int(rng.choice(split.joints))
    rows = int(rng.uniform(*split.seconds) * rate)
    name = str(rng.choice(split.motions))
    t = np.arange(rows) / rate
    details: dict[str, object] = {"motion": name, "joints": joints, "rows": rows}

    def size() -> float:
        low, high = np.log(split.severity)
        return float(np.exp(rng.uniform(low, high)))

    stamps = t + rng.normal(size=rows) * rng.choice([0.0, 0.005, 0.02]) / rate
    if "timing" in faults:
        gaps = np.full(rows, 1 / rate)
        if rng.random() < 0.5:
            gaps *= rng.gamma(1 / (s := rng.uniform(0.12, 0.5)) ** 2, s**2, rows)
            details["jitter"] = s
        else:
            share = rng.uniform(0.01, 0.1)
            gaps *= 1 + (rng.random(rows) < share) * rng.integers(1, 4, rows)
            details["dropped"] = share
        stamps = np.cumsum(gaps)
        fine = np.arange(0, stamps[-1] + 0.1, 1 / max(rate, 100))
        wanted = np.asarray(CubicSpline(fine, motion(name, rng, fine, joints))(stamps))
    else:
        wanted = motion(name, rng, t, joints)
    span = np.ptp(wanted, axis=0)
    usual = float(np.median(span))
    commands, noise = wanted, rng.normal(size=wanted.shape) * rng.choice([0, 2e-4, 1e-3]) * usual
    feedback = np.full(joints, rng.choice([0.0, 0.0, 0.2]))
    servo = Joint(
        rng.uniform(*split.natural_hz), rng.uniform(0.6, 1.1), rng.choice([0.0, 0.5, 1.0]) / rate
    )
    servo = replace(servo, encoder=float(rng.choice(split.encoder)))
    if "latency" in faults:
        late = rng.uniform(max(0.045, 2.0 / rate), 0.25)
        servo = replace(servo, delay=late)
        details["late"] = late
    if "tremor" in faults:
        hz = rng.uniform(4, min(12, 0.42 * rate))
        commands = commands + visible(size() * 0.5 * usual * _line(rng, t, joints, hz), wanted)
        details["hz"] = hz
    if "rough-policy" in faults:
        wide = rng.random() < 0.5 if is_broadband is None else is_broadband
        rough = rng.normal(size=commands.shape)
        if not wide:
            rough = low_passed(rng, rate, commands.shape, rng.uniform(0.2, 0.4) * min(rate, 60))
        commands = commands + visible(0.5 * size() * usual * rough, wanted)
    if "chunk-seams" in faults:
        period = int(rng.choice([8, 10, 16, 20, 25, 32, 50]))
        frame, which = np.arange(rows) % period, np.arange(rows) // period
        jumps = visible(rng.normal(size=(which[-1] + 1, joints)) * size() * usual, wanted, 0)
        if rng.random() < 0.5:  # each chunk drifts away from where it began, and is re-anchored
            commands = commands + jumps[which] * (frame / period)[:, None]
        else:
            commands = commands + jumps[which]
        details["period"] = period
    if "sensor-noise" in faults:
        feedback = np.full(joints, rng.uniform(0.4, 1.2))
        noise = visible(rng.normal(size=wanted.shape) * 0.5 * size() * usual, wanted) / feedback[0]
    if "quantisation" in faults:
        step = span.max() * rng.choice([0.25, 0.5, 1]) * max(size(), 0.008)
        commands = np.round(commands / step) * step
        details["step"] = step
    if "dead-band" in faults:
        servo = replace(servo, dead_band=max(size(), 0.012) * usual)
    bounds = np.full((2, joints), np.inf) * [[-1], [1]]
    if "saturation" in faults:
        low, high = np.quantile(commands, [0.1, 0.9], axis=0)
        middle, half = (high + low) / 2, (high - low) / 2 * rng.uniform(0.6, 1.0)
        chatter = rng.choice([0.0, 0.3, 0.6]) * half * rng.normal(size=commands.shape)
        gain = rng.uniform(1.0, 4)
        commands = middle + np.clip(gain * (commands + chatter - middle), -half, half)
        bounds = np.stack([middle - half, middle + half])
        details["chatter"] = bool(chatter.any())
    if "limit-cycle" in faults:
        hz = rng.uniform(2.0, min(14, 0.42 * rate))
        details["hz"] = hz
        tone = _line(rng, t, joints, hz)
        if rng.random() < 0.4:  # it hunts while it holds still
            speed = np.abs(np.gradient(wanted, axis=0)).mean(1)
            calm = 1 / (1 + (speed / (np.median(speed) + 1e-12)) ** 2)
            tone = tone * calm[:, None] * 1.5
        sway = visible(size() * 0.5 * usual * tone, wanted)
    else:
        sway = np.zeros_like(commands)
    clock = t if "timing" not in faults else stamps
    sent, seen = followed(servo, clock, commands, feedback, noise + sway, bounds)
    if "quantisation" in faults:
        sent = np.round(sent / step) * step
    lost = rng.random()
    measured = (
        seen
        if lost < 0.9 or set(faults) & {"latency", "limit-cycle", "sensor-noise", "dead-band"}
        else None
    )
    shown = stamps if lost > 0.1 or "timing" in faults else None
    return Recording(sent, measured, shown, rate, faults, servo.lag + 0.5 / rate, details)
