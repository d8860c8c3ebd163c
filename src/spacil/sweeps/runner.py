"""Runs the runs of a sweep, each in a process of its own, until all are finished or have failed.

Before a run starts, its folder is asked: finished runs are never computed again, and a run that
another process holds is waited for, and taken over should that process die. The lock of the run
folder decides, so several sweeps may share one folder. Where processes are started is the engine's
business (`engine.py`, `on_ray.py`). A process that an engine started ends with it: it saves
and stops when its parent is gone, even when that was killed.
"""

import signal
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spacil.config.algorithms import ALGORITHMS
from spacil.envs.registry import require_task
from spacil.errors import RunDirError
from spacil.learning.intake import found_demonstrations
from spacil.runs.interruption import EXIT_CODES, Interruption
from spacil.runs.lock import is_held
from spacil.sweeps.engine import Ending, Engine
from spacil.sweeps.folder import SweepFolder
from spacil.sweeps.plan import SWEEP_FOLDER, PlannedRun, words_of

SWEEP_PARTIAL = 3
"""Exit code of a sweep that ended while some of its runs failed or were stopped"""

_POLL_SECONDS = 0.2
_ASK_AGAIN_SECONDS = 2.0
"""Between two looks at a run that another process holds"""
_TRY_AGAIN_CODES = (73, 75)
"""Run folder in use; out of memory or a preemption notice: worth a second attempt"""
_PATIENCE_SECONDS = 300.0
"""How long a run that no machine takes is offered again and again"""
_MOST_ATTEMPTS = 3
"""How often a run is started that was lost, killed or told to try again"""
_STOPPED_CODES = frozenset(EXIT_CODES.values()) - {*_TRY_AGAIN_CODES}
"""Saved and stopped by a signal of its own: no failure, and somebody's wish"""


OnEvent = Callable[[PlannedRun, str], None]
"""Called with a run and what is worth a line"""


def run_sweep(
    sweep: SweepFolder,
    runs: Sequence[PlannedRun],
    engine: Engine,
    on_event: OnEvent,
    on_tick: Callable[[], None],
) -> int:
    """Compute what is missing, as fast as the engine can; failures are recorded, never raised.

    `on_tick` is called several times a second. Returns the exit code: that of the signal which
    stopped it, or `SWEEP_PARTIAL` where some run is not finished.
    """
    with Interruption() as interruption:
        runner = _Runner(sweep, engine, on_event, deque(runs))
        try:
            while interruption.requested is None and runner.advance():
                on_tick()
                time.sleep(_POLL_SECONDS)
            if interruption.requested is not None:
                engine.stop(interruption.requested)
        finally:
            engine.stop(signal.SIGTERM)
        is_done = all(state.state == "finished" for state in sweep.states(runs).values())
        return interruption.exit_code or (0 if is_done else SWEEP_PARTIAL)


@dataclass
class _Runner:
    sweep: SweepFolder
    engine: Engine
    on_event: OnEvent
    queue: deque[PlannedRun]
    elsewhere: dict[PlannedRun, float] = field(default_factory=dict)
    """Runs that another process holds, and when to ask again"""
    attempts: dict[PlannedRun, int] = field(default_factory=dict)
    refused: dict[PlannedRun, float] = field(default_factory=dict)
    """Runs that no machine took when they were last started, and since when"""

    def advance(self) -> bool:
        """Take in what ended, look after runs of others, start what may start; False: all done."""
        for run, ending in self.engine.ended():
            self._take_in(run, ending)
        now = time.monotonic()
        for run, when in list(self.elsewhere.items()):
            if now >= when:
                del self.elsewhere[run]
                self.queue.appendleft(run)
        while self.queue and len(self.engine.active) < self.engine.capacity():
            self._start(self.queue.popleft())
        return bool(self.queue or self.engine.active or self.elsewhere)

    def _start(self, run: PlannedRun) -> None:
        run_dir = self.sweep.run_dir(run)
        if self.sweep.state(run).state == "finished":
            self.sweep.forget_failure(run)  # somebody else's, or of an earlier attempt
            return
        if is_held(run_dir):
            if not self.engine.takes_over(run):
                self._wait_for(run)
                return
            self.on_event(run, "its process was lost; taking the run over")
        self.attempts[run] = self.attempts.get(run, 0) + 1
        self.sweep.forget_failure(run)
        self.on_event(run, "resumed" if run_dir.exists() else "started")
        try:
            self.engine.start(run)
        except RunDirError as error:  # somebody was faster, or the log cannot be opened
            self._take_in(run, Ending(error.exit_code, str(error)))

    def _wait_for(self, run: PlannedRun) -> None:
        if run not in self.attempts:
            self.attempts[run] = 0
            self.on_event(run, "runs in another process; waiting for it")
        self.elsewhere[run] = time.monotonic() + _ASK_AGAIN_SECONDS

    def _take_in(self, run: PlannedRun, ending: Ending) -> None:
        code, now = ending.code, time.monotonic()
        if ending.has_begun:
            self.refused.pop(run, None)
        elif now < self.refused.setdefault(run, now) + _PATIENCE_SECONDS:
            # Nodes that went are still listed for a moment, and others may come.
            self.attempts[run] -= 1
            self.elsewhere[run] = now + _ASK_AGAIN_SECONDS
            return
        is_worth_another = code is None or code < 0 or code in _TRY_AGAIN_CODES
        if self.sweep.state(run).state == "finished":
            self.sweep.forget_failure(run)
            self.on_event(run, "finished")
        elif is_held(self.sweep.run_dir(run)):
            self.on_event(run, f"{_said(ending)}; a process still holds it, waiting")
            self._wait_for(run)
        elif is_worth_another and self.attempts[run] < _MOST_ATTEMPTS:
            self.on_event(run, f"{_said(ending)}; trying again")
            self.queue.appendleft(run)
        elif code in _STOPPED_CODES:
            self.on_event(run, f"interrupted: {_said(ending)}; the same command goes on")
        else:
            reason = _said(ending, self.sweep.log(run))
            self.sweep.record_failure(run, -1 if code is None else code, reason)
            self.on_event(run, f"failed: {reason}")


def _said(ending: Ending, log: Path | None = None) -> str:
    """How a run ended: what is known of it, else its exit code and the last words in its log."""
    if ending.words:
        return ending.words
    words = ""
    if log is not None and log.is_file():
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-50:]
        said = [line for line in lines if line.startswith("spacil: ")] or lines
        words = f": {said[-1].removeprefix('spacil: ')}" if said else ""
    return f"exit code {ending.code}{words}"


def refuse_missing_inputs(runs: Sequence[PlannedRun]) -> None:
    """Refuse what `spacil train` would: a task or demonstrations that are not there.

    A file in the sweep's own folder may come later.
    """
    for task in dict.fromkeys(run.task for run in runs):
        require_task(task)
    seen = set()
    for run in runs:
        words = tuple(words_of(dict(run.choices).get("demos", ())))
        if ALGORITHMS[run.algorithm].needs_demonstrations and (run.task, words) not in seen:
            seen.add((run.task, words))
            sources = [word for word in words if SWEEP_FOLDER not in word]
            if sources or not words:
                found_demonstrations(run.config(), run.task, sources)
