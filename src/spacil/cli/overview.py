"""What a user sees of a sweep at work: live on a terminal, plain lines elsewhere."""

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, get_args

from spacil.plain_text import printable
from spacil.runs.progress import duration
from spacil.sweeps.folder import RunState, State, SweepFolder

if TYPE_CHECKING:
    from spacil.sweeps.plan import PlannedRun

_LOOK_SECONDS = 2.0
"""Between two looks at all folders of a sweep on a terminal"""
_LINE_SECONDS = 60.0
"""Between two summary lines without one"""


def summary_line(states: "Mapping[PlannedRun, RunState]", jobs: int) -> str:
    """`12 runs: 3 finished, 3 running (a 2, b 1), 6 waiting; about 1:20:00 left`"""
    counts = Counter(state.state for state in states.values())
    hosts = Counter(printable(state.host) for state in states.values() if state.host)
    places = ", ".join(f"{host} {count}" for host, count in sorted(hosts.items()))
    where = {"running": f" ({places})"} if len(hosts) > 1 else {}
    parts = [f"{counts[s]} {s}{where.get(s, '')}" for s in get_args(State) if counts[s]]
    paces = [s.seconds_per_iteration for s in states.values() if s.seconds_per_iteration]
    open_states = [s for s in states.values() if s.state not in ("finished", "failed")]
    time_left = ""
    if jobs and paces and open_states:  # at the mean pace of all
        num_left = sum(state.iterations - state.iteration for state in open_states)
        time_left = f"; about {duration(num_left * sum(paces) / len(paces) / jobs)} left"
    noun = "run" if len(states) == 1 else "runs"
    return f"{len(states)} {noun}: {', '.join(parts) or 'none'}{time_left}"


class Overview:
    """A row per active run and a summary, redrawn in place; without a terminal, lines."""

    def __init__(
        self, sweep: SweepFolder, runs: "Sequence[PlannedRun]", jobs: int, *, is_live: bool
    ) -> None:
        from rich.console import Console
        from rich.live import Live

        self._sweep, self._runs, self._jobs = sweep, runs, jobs
        self._states = sweep.states(runs)
        self._live = Live(console=Console(stderr=True), refresh_per_second=4) if is_live else None
        self._next = 0.0 if is_live else time.monotonic() + _LINE_SECONDS

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        else:
            self._say(summary_line(self._states, 0))
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def report(self, run: "PlannedRun", words: str) -> None:
        self._say(f"{run.name}: {words}")

    def refresh(self, active: "Sequence[PlannedRun]") -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + (_LINE_SECONDS if self._live is None else _LOOK_SECONDS)
        self._states = self._sweep.states(self._runs, self._states)
        if self._live is None:
            self._say(summary_line(self._states, self._jobs))
        else:
            self._live.update(self._drawn(active))

    def _say(self, line: str) -> None:
        if self._live is not None:
            self._live.console.print(line, markup=False, highlight=False)
            return
        # The reader may be gone (`... | head`); the sweep does not need one.
        with contextlib.suppress(OSError):
            print(line, file=sys.stderr, flush=True)

    def _drawn(self, active: "Sequence[PlannedRun]") -> Any:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        table = Table.grid(padding=(0, 2))
        for run in active:
            state = self._states[run]
            shown = "" if state.average_return is None else f"G {state.average_return:.1f}"
            bar = ProgressBar(total=state.iterations, completed=state.iteration, width=24)
            done = f"{state.iteration}/{state.iterations}"
            table.add_row(run.name, bar, done, shown, printable(state.host))
        return Group(table, summary_line(self._states, self._jobs))
