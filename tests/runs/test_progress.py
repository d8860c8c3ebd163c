"""What a person sees: lines with the figures that matter, on whatever there is to write to."""

import io
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from spacil.runs import progress
from spacil.runs.progress import (
    NotebookProgress,
    PlainProgress,
    Silent,
    is_notebook,
    progress_for,
)


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
    # The start took two seconds as well, but nobody knows what an iteration takes before the end
    # of a whole one.
    assert "steps/s" not in first and "left" not in first
    assert "steps/s 500" in second and "left 0:38" in second


def test_time_left_follows_the_recent_iterations_and_not_a_slow_start(clock: Any) -> None:
    out = io.StringIO()
    lines = PlainProgress(60, out)
    lines.update(metrics(0, average_return=1.0))
    for iteration in range(1, 41):
        clock[0] += 30.0 if iteration == 1 else 1.0
        lines.update(metrics(iteration))
    shown = out.getvalue().splitlines()
    assert "policy untrained" in shown[0] and "left" not in shown[0]
    assert "left 29:30" in shown[1]
    assert "left 0:20" in shown[40] and "steps/s 1,000" in shown[40]


class FakeCell:
    """Stands for IPython's display handle: this package is not installed with spacil."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def display(self, picture: str, display_id: bool) -> "FakeCell":
        assert display_id
        self.update(picture)
        return self

    def update(self, picture: str) -> None:
        self.shown.append(picture)


def test_a_notebook_gets_one_cell_that_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = FakeCell()
    shell = type("ZMQInteractiveShell", (), {})()
    kernel = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    display = SimpleNamespace(HTML=str, display=cell.display)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    shown = progress_for(9)
    assert isinstance(shown, NotebookProgress)
    shown.update(metrics(1, average_return=5.0))
    shown.update(metrics(2, warn_line_search=True, line_search_reason="<kl>"))
    assert len(cell.shown) == 2
    assert "value=1 max=9" in cell.shown[0] and "5.00" in cell.shown[0]
    assert "5.00" in cell.shown[1], "the newest evaluation stays"
    assert "failing: &lt;kl&gt;" in cell.shown[1]


def test_outside_of_a_notebook_nothing_is_taken_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert not is_notebook()


def test_a_line_tells_return_smoothness_and_warnings() -> None:
    out = io.StringIO()
    PlainProgress(9, out).update(
        metrics(
            4,
            average_return=-4.321,
            smoothness_j=0.75,
            action_fluctuation=0.2,
            disc_acc=0.9,
            warn_saturated=True,
            warn_line_search=True,
            line_search_reason="kl",
        )
    )
    line = out.getvalue()
    assert "[4/9] return -4.32  J 0.750  action change 0.200" in line
    for part in ("accuracy 0.90", "saturated", "failing: kl"):
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
