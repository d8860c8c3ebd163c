"""What a person sees: lines with the figures that matter, on whatever there is to write to."""

import io
from types import SimpleNamespace
from typing import Any

import pytest

from spacil.runs import progress
from spacil.runs.progress import PlainProgress, Silent, progress_for


def metrics(iteration: int, **more: Any) -> dict[str, Any]:
    return {"iteration": iteration, "env_steps": iteration * 1_000, "kl": 0.0099, **more}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A clock that is set by hand."""
    now = [100.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_a_line_per_evaluation_and_at_most_one_per_second_between(clock: Any) -> None:
    out = io.StringIO()
    lines = PlainProgress(100, out)
    for iteration in range(1, 8):
        clock[0] += 0.3
        is_evaluated = iteration == 3
        lines.update(metrics(iteration, average_return=5.0 if is_evaluated else None))
    shown = [line.split("]")[0] for line in out.getvalue().splitlines()]
    # The first, the evaluated one, and one more after a second.
    assert shown == ["[1/100", "[3/100", "[7/100"]


def test_pace_and_time_left_are_those_of_this_process(clock: Any) -> None:
    out = io.StringIO()
    lines = PlainProgress(70, out)  # a resumed run: iterations 1 to 49 were done by another process
    clock[0] += 2.0
    lines.update(metrics(50))
    clock[0] += 2.0
    lines.update(metrics(51))
    first, second = out.getvalue().splitlines()
    assert "steps/s 500" in first and "left 0:40" in first
    assert "steps/s 500" in second and "left 0:38" in second


def test_a_line_tells_return_smoothness_and_warnings() -> None:
    out = io.StringIO()
    PlainProgress(9, out).update(
        metrics(
            4,
            average_return=-4.321,
            smoothness_j=0.75,
            disc_acc=0.9,
            warn_saturated=True,
            warn_line_search=True,
            line_search_reason="kl",
        )
    )
    line = out.getvalue()
    for part in ("[4/9] return -4.32", "J 0.750", "accuracy 0.90", "saturated", "failing: kl"):
        assert part in line


def test_the_own_frame_stands_in_and_says_so_where_there_is_no_common_one() -> None:
    out = io.StringIO()
    PlainProgress(9, out).update(
        metrics(4, average_return=1.0, smoothness_j=None, smoothness_j_own=2.0)
    )
    assert "J own 2.000" in out.getvalue()


class Broken(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_reader_who_went_away_is_no_reason_to_stop() -> None:
    PlainProgress(9, Broken()).update(metrics(1))


def test_plain_lines_go_to_the_stream_that_was_asked_about() -> None:
    out = io.StringIO()
    progress_for(9, out).update(metrics(1))
    assert out.getvalue().startswith("[1/9] ")


def test_silence_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    silent = Silent()
    silent.update(metrics(1))
    silent.close()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0:00"), (59.6, "1:00"), (61, "1:01"), (3661, "1:01:01")]
)
def test_durations_read_like_a_clock(seconds: float, text: str) -> None:
    assert progress.duration(seconds) == text
