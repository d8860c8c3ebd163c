"""What a user sees of a sweep at work: a line per event, and how far all runs are."""

import contextlib
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self, get_args

from rich.console import Console
from rich.text import Text

from spacil.runs.progress import duration
from spacil.sweeps.folder import RunState, State, SweepFolder

if TYPE_CHECKING:
    from spacil.sweeps.plan import PlannedRun

_LOOK_SECONDS = 2.0
"""Between two looks at all folders of a sweep on a terminal"""
_LINE_SECONDS = 60.0
"""Between two summary lines without one"""


def summary_line(states: "Mapping[PlannedRun, RunState]", jobs: int) -> str:
    """`12 runs: 3 finished, 3 running, 6 waiting; about 1:20:00 left`"""
    counts = Counter(state.state for state in states.values())
    parts = [f"{counts[state]} {state}" for state in get_args(State) if counts[state]]
    paces = [s.seconds_per_iteration for s in states.values() if s.seconds_per_iteration]
    open_states = [s for s in states.values() if s.state not in ("finished", "failed")]
    time_left = ""
    if jobs and paces and open_states:  # at the mean pace of all
        num_left = sum(state.iterations - state.iteration for state in open_states)
        time_left = f"; about {duration(num_left * sum(paces) / len(paces) / jobs)} left"
    return f"{len(states)} runs: {', '.join(parts) or 'none'}{time_left}"


class Overview:
    """Lines on stderr; on a terminal the newest summary stays at the bottom."""

    def __init__(self, sweep: SweepFolder, runs: "Sequence[PlannedRun]", jobs: int) -> None:
        self._sweep, self._runs, self._jobs = sweep, runs, jobs
        self._states = sweep.states(runs)
        self._console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
        self._status = self._console.status(Text(summary_line(self._states, jobs)))
        self._next = time.monotonic() + _LINE_SECONDS

    def __enter__(self) -> Self:
        self._say(summary_line(self._states, 0))
        self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def report(self, run: "PlannedRun", words: str) -> None:
        self._say(f"{run.name}: {words}")

    def refresh(self, active: "Sequence[PlannedRun]") -> None:
        is_live, now = self._console.is_terminal, time.monotonic()
        if now >= self._next - is_live * (_LINE_SECONDS - _LOOK_SECONDS):
            self._next = now + _LINE_SECONDS
            self._states = self._sweep.states(self._runs, self._states)
            line = summary_line(self._states, self._jobs)
            self._status.update(Text(line)) if is_live else self._say(line)

    def _say(self, line: str) -> None:
        # The reader may be gone (`... | head`); the sweep does not need one.
        with contextlib.suppress(OSError):
            self._console.print(line)
