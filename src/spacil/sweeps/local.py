"""The engine of one machine: each run of a sweep in a process of its own, a few at a time."""

import subprocess
import sys
from dataclasses import dataclass, field, replace

from spacil.config.settings import num_cores
from spacil.sweeps.engine import Ending, JobOptions, job_words, spawn, wait_for
from spacil.sweeps.folder import SweepFolder
from spacil.sweeps.plan import PlannedRun


def local_engine(sweep: SweepFolder, options: JobOptions) -> "LocalEngine":
    """With `jobs` 0: one process per core, or a single one where they share a GPU."""
    default = num_cores() if options.device == "cpu" else 1
    return LocalEngine(sweep, replace(options, jobs=options.jobs or default))


@dataclass
class LocalEngine:
    """`options.jobs` processes side by side."""

    sweep: SweepFolder
    options: JobOptions
    most_attempts = 2
    _processes: "dict[PlannedRun, subprocess.Popen[bytes]]" = field(default_factory=dict)

    @property
    def capacity(self) -> int:
        return self.options.jobs

    @property
    def active(self) -> list[PlannedRun]:
        return list(self._processes)

    def has_room(self) -> bool:
        return len(self._processes) < self.options.jobs

    def start(self, run: PlannedRun) -> None:
        command = [sys.executable, "-m", *job_words(self.sweep, run, self.options)]
        log = self.sweep.log(run)
        self._processes[run] = spawn(command, log, self.options.threads_per_job)

    def ended(self) -> list[tuple[PlannedRun, Ending]]:
        over = [run for run, process in self._processes.items() if process.poll() is not None]
        return [(run, Ending(wait_for(self._processes.pop(run)))) for run in over]

    def takes_over(self, run: PlannedRun) -> bool:
        """Never: on one machine the lock of a dead process is free, and a stopped one may go on."""
        return False

    def stop(self, signal_number: int) -> None:
        for process in self._processes.values():
            process.send_signal(signal_number)
        for process in self._processes.values():
            wait_for(process)
        self._processes.clear()
