"""A smooth motion with one thing wrong, and the cause that is named first."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import spacil
from spacil.errors import ConfigError, DataError
from spacil.recordings.diagnosis import RecordingDiagnosis

Array = NDArray[np.float64]
RATE, ROWS, JOINTS = 50, 1500, 6
CLOCK = np.arange(ROWS) / RATE


def motion(clock: Array, seed: int = 0) -> Array:
    """Sums of slow tones, other ones for each joint, about 1 rad."""
    rng = np.random.default_rng(seed)
    hz = rng.uniform(0.1, 1.2, (3, JOINTS))
    phase = rng.uniform(0, 6.3, (3, JOINTS))
    return np.asarray(np.sin(2 * np.pi * hz * clock[:, None, None] + phase).sum(1) / 2)


def smooth(clock: Array = CLOCK) -> dict[str, Array]:
    """What a good robot records: it follows a row later, with a little noise of the encoder."""
    rng = np.random.default_rng(1)
    measured = motion(clock - 1 / RATE) + 2e-4 * rng.normal(size=(len(clock), JOINTS))
    return {"commands": motion(clock), "measured": measured, "time": clock.copy()}


def uneven() -> dict[str, Array]:
    gaps = np.random.default_rng(2).gamma(10, 0.1, ROWS) / RATE
    return smooth(np.cumsum(gaps))


def dropped() -> dict[str, Array]:
    gaps = np.where(np.random.default_rng(2).random(ROWS) < 0.03, 3, 1) / RATE
    return smooth(np.cumsum(gaps))


def late(seconds: float = 0.11) -> dict[str, Array]:
    return smooth() | {"measured": motion(CLOCK - seconds)}


def seams() -> dict[str, Array]:
    jumps = 0.04 * np.random.default_rng(3).normal(size=(ROWS // 25, JOINTS)).repeat(25, 0)
    return smooth() | {"commands": smooth()["commands"] + jumps}


def swinging() -> dict[str, Array]:
    arrays = smooth()
    arrays["measured"][:, 2] += 0.03 * np.sin(2 * np.pi * 6.3 * CLOCK)
    return arrays


def coarse() -> dict[str, Array]:
    arrays = smooth()
    return arrays | {"commands": np.round(arrays["commands"] / 0.04) * 0.04}


def with_play() -> dict[str, Array]:
    """The joint stays where it is until the command is more than 0.03 rad away."""
    arrays = smooth()
    x = arrays["measured"][0]
    for row, wanted in enumerate(arrays["commands"]):
        x = np.clip(x, wanted - 0.03, wanted + 0.03)
        arrays["measured"][row] += x - motion(CLOCK[row : row + 1] - 1 / RATE)[0]
    return arrays


def clipped() -> dict[str, Array]:
    rng = np.random.default_rng(4)
    return smooth() | {"commands": np.clip(motion(CLOCK) + rng.normal(size=(ROWS, 6)), -0.6, 0.6)}


def noisy() -> dict[str, Array]:
    """The policy reads the encoder and answers its noise in the same row."""
    arrays = smooth()
    noise = 0.02 * np.random.default_rng(5).normal(size=(ROWS, JOINTS))
    measured = motion(CLOCK - 3 / RATE) + noise
    return arrays | {"measured": measured, "commands": arrays["commands"] - 0.7 * noise}


def rough() -> dict[str, Array]:
    arrays = smooth()
    return arrays | {
        "commands": arrays["commands"] + 0.02 * np.random.default_rng(6).normal(size=(ROWS, JOINTS))
    }


def trembling() -> dict[str, Array]:
    tone = np.zeros((ROWS, JOINTS))
    tone[:, 4] = 0.03 * np.sin(2 * np.pi * (9 * CLOCK + 0.05 * np.sin(CLOCK)))
    arrays = smooth()
    return arrays | {name: arrays[name] + tone for name in ("commands", "measured")}


@pytest.mark.parametrize(
    ("made", "cause"),
    [
        (smooth, "healthy"),
        (uneven, "timing"),
        (dropped, "timing"),
        (late, "latency"),
        (seams, "chunk-seams"),
        (swinging, "limit-cycle"),
        (coarse, "quantisation"),
        (with_play, "quantisation"),
        (clipped, "saturation"),
        (noisy, "sensor-noise"),
        (rough, "rough-policy"),
        (trembling, "tremor"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_the_cause_that_was_put_in_comes_first(
    made: Callable[[], dict[str, Array]], cause: str
) -> None:
    found = spacil.diagnose_recording(made())
    first = found.causes[0]
    assert first.cause == cause, [one.cause for one in found.causes]
    assert 0 < first.share <= 1
    assert first.evidence and first.remedy
    document = found.as_dict()
    assert document["causes"][0].items() >= {"cause": cause, "share": first.share}.items()


@pytest.mark.parametrize("seconds", [0.0, 0.013, 0.06, 0.11])
def test_the_latency_is_told_to_a_fraction_of_a_row(seconds: float) -> None:
    found = spacil.diagnose_recording(late(seconds))
    assert found.latency_s is not None and found.latency_interval_s is not None
    assert abs(found.latency_s - seconds) < 0.25 / RATE
    low, high = found.latency_interval_s
    assert low <= found.latency_s <= high


def test_two_causes_are_both_named() -> None:
    shift = {"measured": np.roll(trembling()["measured"], 5, axis=0)}
    found = spacil.diagnose_recording(trembling() | shift)
    assert {"tremor", "latency"} <= {one.cause for one in found.causes[:3]}


def test_numbers_say_where_and_how_much() -> None:
    def first(arrays: dict[str, Array], **how: Any) -> dict[str, Any]:
        return spacil.diagnose_recording(arrays, **how).causes[0].numbers

    assert first(seams())["period"] == 25
    names = ("a", "b", "c", "d", "e", "f")
    assert first(swinging(), names=names)["hz"] == pytest.approx({"c": 6.3}, abs=0.1)
    assert first(trembling(), names=names)["hz"] == pytest.approx({"e": 9.0}, abs=0.2)
    assert first(with_play())["dead_band"] == pytest.approx(0.01, rel=0.5)  # ranges of 3 rad


def test_what_is_not_recorded_is_not_looked_for() -> None:
    found = spacil.diagnose_recording({"commands": smooth()["commands"]}, rate=RATE)
    assert found.causes[0].cause == "healthy"
    assert found.not_checked.keys() == {"latency", "limit-cycle", "sensor-noise", "timing"}
    assert found.latency_s is None
    with pytest.raises(ConfigError, match=r"no time stamps: say how many rows .* with rate"):
        spacil.diagnose_recording({"commands": smooth()["commands"]})


def test_nothing_can_be_told_of_a_robot_that_stands_still() -> None:
    still = {name: np.ones((ROWS, JOINTS)) for name in ("commands", "measured")}
    first = spacil.diagnose_recording(still, rate=RATE).causes[0]
    assert first.cause == "unknown" and "Record 30 s or more" in first.remedy


def test_a_joint_that_never_moves_and_a_gripper_are_no_fault() -> None:
    arrays = smooth()
    for name in ("commands", "measured"):
        arrays[name][:, 0] = 0.3
        arrays[name][:, 1] = np.where(CLOCK % 12 < 6, 0.0, 1.0)
    found = spacil.diagnose_recording(arrays)
    assert found.causes[0].cause == "healthy", str(found)
    assert "the command of joint 0 never changes" in found.notes


def test_stamps_may_be_in_other_units_and_episodes_begin_anew() -> None:
    arrays = smooth()
    stamps = np.concatenate([CLOCK[:700], CLOCK[:800]])
    arrays |= {"time": 1e3 * stamps, "episode": np.repeat([0, 1], [700, 800])}
    found = spacil.diagnose_recording(arrays)
    assert found.rate_hz == pytest.approx(RATE)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"commands": np.ones((1, 3))}, "has 1 row, expected 40 or more"),
        (
            {"commands": np.full((99, 2), np.nan)},
            "198 values that are not finite, the first in row",
        ),
        ({"commands": np.ones((99, 2)), "time": np.arange(99)[::-1]}, "runs backward in row 1"),
        ({"commands": np.ones((99, 2)), "time": np.zeros(99)}, "time stands still"),
        ({"commands": np.ones((99, 2)), "measured": np.ones((98, 2))}, "expected 99 rows"),
        ({"commands": np.ones((99, 2)), "measured": np.ones((99, 3))}, "expected the same joints"),
        ({"commands": np.array([["a"]])}, "expected numbers"),
        ({"speed": np.ones((99, 2))}, r"has speed; expected commands \[T, J\]"),
    ],
)
def test_what_is_broken_is_said_in_words(change: dict[str, Array], words: str) -> None:
    with pytest.raises(DataError, match=words):
        spacil.diagnose_recording(change, rate=RATE)


def test_a_policy_tells_whether_sudden_commands_are_its_answers() -> None:
    noise = 0.03 * np.random.default_rng(7).normal(size=(ROWS, JOINTS))
    states = motion(CLOCK) + noise

    def policy(states: Array) -> Array:
        return -0.8 * states

    arrays = {"commands": policy(states), "observations": states, "time": CLOCK}
    own = spacil.diagnose_recording(arrays, policy=policy).causes[0]
    assert own.cause == "sensor-noise" and "answers" in own.evidence
    sampled = arrays | {"commands": policy(motion(CLOCK)) + noise, "observations": motion(CLOCK)}
    assert spacil.diagnose_recording(sampled, policy=policy).causes[0].cause == "rough-policy"


def test_a_long_recording_is_looked_at_in_pieces() -> None:
    rows = 300_000
    clock = np.arange(rows) / 200
    commands = np.sin(clock[:, None] * [0.7, 1.1]).astype(np.float32)
    commands[:, 1] += 0.02 * np.sin(2 * np.pi * 7 * clock)
    found: RecordingDiagnosis = spacil.diagnose_recording({"commands": commands}, rate=200)
    assert found.causes[0].cause == "tremor"
    assert found.num_rows == rows and len(found.log.c) <= 130_000
