"""Runs the runs of a sweep, each in a process of its own, until all are finished or have failed.

Before a run starts, its folder is asked: finished runs are never computed again, and a run that
another process holds is waited for, and taken over should that process die. The lock of the run
folder decides, so several sweeps may share one folder. A process that this one started ends with
it: it saves and stops when its parent is gone, even when that was killed.
"""

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spacil import storage
from spacil.errors import RunDirError
from spacil.experiments.sweep_folder import RunState, SweepFolder
from spacil.experiments.sweep_plan import PlannedRun
from spacil.runs.interruption import Interruption
from spacil.runs.location import make_folder
from spacil.runs.ownership import FolderLock

JOB_MODULE = "spacil.cli.experiments.job"
SWEEP_PARTIAL = 3
"""Exit code of a sweep that ended while some of its runs failed"""

_POLL_SECONDS = 0.2
_ASK_AGAIN_SECONDS = 2.0
"""Between two looks at a run that another process holds"""
_TRY_AGAIN_CODES = (73, 75)
"""Run folder in use; out of memory or a preemption notice: worth a second attempt"""
_MOST_ATTEMPTS = 2


@dataclass(frozen=True)
class JobOptions:
    """What runs share out among themselves; nothing here makes it another run."""

    jobs: int
    threads_per_job: int
    device: str


@dataclass(frozen=True)
class Event:
    """Something worth a line."""

    run: PlannedRun
    words: str


@dataclass(frozen=True)
class SweepOutcome:
    """How the runs that were asked for ended."""

    states: Mapping[PlannedRun, RunState]
    signal_code: int
    """0, or the exit code of the signal that stopped the sweep"""

    @property
    def exit_code(self) -> int:
        if self.signal_code:
            return self.signal_code
        return SWEEP_PARTIAL if any(s.state == "failed" for s in self.states.values()) else 0


OnEvent = Callable[[Event], None]
OnTick = Callable[[Sequence[PlannedRun]], None]
"""Called several times a second with the runs that are being computed here"""


def job_command(sweep: SweepFolder, run: PlannedRun, options: JobOptions) -> list[str]:
    """The process of one run: `spacil train`, then the fresh episodes."""
    threads = str(options.threads_per_job)
    return [
        *(sys.executable, "-m", JOB_MODULE),
        *(str(sweep.fresh_episodes), threads),
        *run.train_words(sweep.run_dir(run)),
        *("--device", options.device),
        *("--torch-threads", threads, "--simulation-threads", threads),
    ]


def run_sweep(
    sweep: SweepFolder,
    runs: Sequence[PlannedRun],
    options: JobOptions,
    on_event: OnEvent,
    on_tick: OnTick,
) -> SweepOutcome:
    """Compute what is missing, `options.jobs` at a time; failures are recorded, never raised."""
    with Interruption() as interruption:
        runner = _Runner(sweep, options, on_event, deque(runs))
        try:
            while runner.is_busy and interruption.requested is None:
                runner.advance()
                on_tick(runner.active)
                time.sleep(_POLL_SECONDS)
            if interruption.requested is not None:
                runner.stop(interruption.requested)
        finally:
            runner.stop(signal.SIGTERM)
        return SweepOutcome(sweep.states(runs), interruption.exit_code)


@dataclass
class _Runner:
    sweep: SweepFolder
    options: JobOptions
    on_event: OnEvent
    queue: deque[PlannedRun]
    processes: dict[PlannedRun, subprocess.Popen[bytes]] = field(default_factory=dict)
    elsewhere: dict[PlannedRun, float] = field(default_factory=dict)
    """Runs that another process holds, and when to ask again"""
    attempts: dict[PlannedRun, int] = field(default_factory=dict)

    @property
    def is_busy(self) -> bool:
        return bool(self.queue or self.processes or self.elsewhere)

    @property
    def active(self) -> list[PlannedRun]:
        return list(self.processes)

    def advance(self) -> None:
        """Take in what ended, look after runs of others, start what may start."""
        for run, process in list(self.processes.items()):
            if process.poll() is not None:
                del self.processes[run]
                _close(process)
                self._take_in(run, process.returncode)
        now = time.monotonic()
        for run, when in list(self.elsewhere.items()):
            if now >= when:
                del self.elsewhere[run]
                self.queue.append(run)
        while self.queue and len(self.processes) < self.options.jobs:
            self._start(self.queue.popleft())

    def stop(self, signal_number: int) -> None:
        """Let every process save, and wait for it."""
        for process in self.processes.values():
            process.send_signal(signal_number)
        for process in self.processes.values():
            process.wait()
            _close(process)
        self.processes.clear()

    def _start(self, run: PlannedRun) -> None:
        run_dir = self.sweep.run_dir(run)
        if self.sweep.state(run).state == "finished":
            return
        if _is_held(run_dir):
            if run not in self.attempts:
                self.attempts[run] = 0
                self.on_event(Event(run, "runs in another process; waiting for it"))
            self.elsewhere[run] = time.monotonic() + _ASK_AGAIN_SECONDS
            return
        self.attempts[run] = self.attempts.get(run, 0) + 1
        self.sweep.forget_failure(run)
        self.on_event(Event(run, "resumed" if run_dir.exists() else "started"))
        self.processes[run] = _spawn(
            job_command(self.sweep, run, self.options),
            self.sweep.log(run),
            self.options.threads_per_job,
        )

    def _take_in(self, run: PlannedRun, code: int) -> None:
        state = self.sweep.state(run)
        if code == 0 and state.state == "finished":
            self.on_event(Event(run, "finished"))
        elif _is_held(self.sweep.run_dir(run)):
            self.elsewhere[run] = time.monotonic() + _ASK_AGAIN_SECONDS
        elif (code < 0 or code in _TRY_AGAIN_CODES) and self.attempts[run] < _MOST_ATTEMPTS:
            self.on_event(Event(run, f"{_ending(code)}; trying again"))
            self.queue.append(run)
        else:
            reason = _reason(code, self.sweep.log(run))
            self.sweep.record_failure(run, code, reason)
            self.on_event(Event(run, f"failed: {reason}"))


def _spawn(command: Sequence[str], log: Path, num_threads: int) -> "subprocess.Popen[bytes]":
    """A job in a session of its own: Ctrl-C reaches it through this process, once.

    It holds the other end of its stdin pipe: that pipe ends when this process does.
    """
    make_folder(log.parent)
    environment = os.environ | {"OMP_NUM_THREADS": str(num_threads)}
    with storage.os_errors_as(RunDirError, "open", log), log.open("ab") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )


def _close(process: "subprocess.Popen[bytes]") -> None:
    """This side's end of its stdin pipe."""
    assert process.stdin is not None
    process.stdin.close()


def _is_held(run_dir: Path) -> bool:
    """Whether a process holds the folder, by its lock; a folder that is not there is not held."""
    if not run_dir.is_dir():
        return False
    try:
        FolderLock(run_dir).release()
    except RunDirError:
        return True
    return False


def _ending(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"


def _reason(code: int, log: Path) -> str:
    """The run's own last words, or how it ended where it left none."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-50:]
    except OSError:
        lines = []
    said = [line for line in lines if line.startswith("spacil: ")] or [
        x for x in lines if x.strip()
    ]
    words = said[-1].removeprefix("spacil: ") if said and code > 0 else ""
    return f"{_ending(code)}: {words}" if words else _ending(code)
