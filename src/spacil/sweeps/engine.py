"""Where the processes of a sweep's runs are started.

Each holds one end of a pipe as its stdin. That pipe ends with the process at the other end, however
that ends, and the run then saves and stops (`cli/job.py`).
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

from spacil import storage
from spacil.config.settings import num_cores
from spacil.errors import RunDirError
from spacil.runs.folder import make_folder
from spacil.sweeps.folder import SweepFolder
from spacil.sweeps.plan import PlannedRun

JOB_MODULE = "spacil.cli.job"


@dataclass(frozen=True)
class JobOptions:
    """What runs share out among themselves; nothing here makes it another run."""

    jobs: int
    threads_per_job: int
    device: str


class Ending(NamedTuple):
    """How an attempt at a run ended."""

    code: int | None
    """Exit code, negative for a signal; None when the process was lost and nobody knows"""
    words: str = ""
    """What is known of a lost one"""
    has_begun: bool = True
    """False where no machine took it: that was no attempt at the run"""


class Engine:
    """Starts runs and tells how they end; it decides nothing about them.

    This one is of one machine: each run in a process of its own, a few at a time. With `jobs` 0:
    one process per core, or a single one where they share a GPU.
    """

    def __init__(self, sweep: SweepFolder, options: JobOptions) -> None:
        self.sweep, self.options = sweep, options
        self.active: dict[PlannedRun, Any] = {}
        """The runs that it computes now, and what computes each"""

    def capacity(self) -> int:
        """Runs at a time, as far as known now."""
        return self.options.jobs or (num_cores() if self.options.device == "cpu" else 1)

    def start(self, run: PlannedRun) -> None:
        self.active[run] = start_job(self.sweep, run, self.options)

    def ended(self) -> list[tuple[PlannedRun, Ending]]:
        """The runs that ended since the last call; they are no longer active."""
        over = [run for run, process in self.active.items() if process.poll() is not None]
        return [(run, Ending(wait_for(self.active.pop(run)))) for run in over]

    def takes_over(self, run: PlannedRun) -> bool:
        """Whether the folder of a run was taken from a process that holds it and is dead.

        Never on one machine: there the lock of a dead process is free, and a stopped one may go on.
        """
        return False

    def stop(self, signal_number: int) -> None:
        """Let every run save, and wait for it."""
        for process in self.active.values():
            process.send_signal(signal_number)
        for process in self.active.values():
            wait_for(process)
        self.active.clear()


def start_job(sweep: SweepFolder, run: PlannedRun, options: JobOptions) -> subprocess.Popen[bytes]:
    """Start the process of a run: `spacil train`, then the fresh episodes.

    In a session of its own: Ctrl-C reaches it through this process, once.
    """
    log, threads = sweep.log(run), str(options.threads_per_job)
    command = [
        *(sys.executable, "-m", JOB_MODULE, str(sweep.fresh_episodes), threads),
        *run.train_words(sweep.path),
        *("--device", options.device),
        *("--torch-threads", threads, "--simulation-threads", threads),
    ]
    make_folder(log.parent)
    with storage.os_errors_as(RunDirError, "open", log), log.open("ab") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | {"OMP_NUM_THREADS": threads},
            start_new_session=True,
        )


def wait_for(process: subprocess.Popen[bytes]) -> int:
    """Its exit code, with this side's end of the pipe closed."""
    code = process.wait()
    assert process.stdin is not None
    process.stdin.close()
    return code
