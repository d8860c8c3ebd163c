"""What a person sees: lines with the figures that matter, on whatever there is to write to."""

import io
from types import SimpleNamespace
from typing import Any

import pytest

from spacil.runs import progress
from spacil.runs.progress import Progress


def metrics(iteration: int, **more: Any) -> dict[str, Any]:
    return {"iteration": iteration, "env_steps": iteration * 1_000, "kl": 0.0099, **more}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A clock that is set by hand."""
    now = [100.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Broken(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_line_per_evaluation_and_at_most_one_per_second_between(clock: Any) -> None:
    out = io.StringIO()
    lines = Progress(100, out=out)
    for iteration in range(1, 8):
        clock[0] += 0.3
        is_evaluated = iteration == 3
        lines.update(metrics(iteration, average_return=5.0 if is_evaluated else None))
    shown = [line.split("]")[0] for line in out.getvalue().splitlines()]
    # The first, the evaluated one, and one more after a second.
    assert shown == ["[1/100", "[3/100", "[7/100"]


def test_the_time_left_is_that_of_this_process(clock: Any) -> None:
    out = io.StringIO()
    lines = Progress(70, out=out)  # a resumed run: another process did iterations 1 to 49
    lines.update(metrics(50))
    clock[0] += 2.0
    lines.update(metrics(51))
    first, second = out.getvalue().splitlines()
    assert "left" not in first and "left 0:00:38" in second


def test_a_terminal_keeps_the_newest_evaluation_in_its_line() -> None:
    out = Terminal()
    line = Progress(9, out=out)
    line.update(metrics(1, average_return=5.0))
    line.update(metrics(2, average_return=None, warn_line_search=True, line_search_reason="[kl]"))
    line.close()
    last = out.getvalue().rpartition("[2/9]")[2]
    assert "return 5.00" in last and "failing: [kl]" in last


def test_a_line_tells_return_smoothness_and_warnings() -> None:
    out = io.StringIO()
    row = {
        "average_return": -4.321,
        "train_return": 1.0,
        "action_fluctuation": 0.2,
        "disc_acc": 0.9,
    }
    row |= {"warn_saturated": True, "warn_line_search": True, "line_search_reason": "kl"}
    Progress(9, out=out).update(metrics(4, smoothness_j=0.75, smoothness_j_own=2.0, **row))
    Progress(9, out=out).update(metrics(5, train_return=1.0, smoothness_j_own=2.0))
    first, second = out.getvalue().splitlines()
    assert "[4/9]  return -4.32  J 0.750  action change 0.200" in first
    for part in ("accuracy 0.90", "saturated", "failing: kl"):
        assert part in first
    assert "[5/9]  training return 1.00  J own 2.000" in second


def test_a_reader_who_went_away_is_no_reason_to_stop() -> None:
    Progress(9, out=Broken()).update(metrics(1))


def test_silence_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    silent = Progress(9, is_shown=False)
    silent.update(metrics(1))
    silent.close()
    assert capsys.readouterr() == ("", "")
