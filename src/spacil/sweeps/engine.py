"""The seam for engines: where the processes of a sweep's runs are started.

Each holds one end of a pipe as its stdin. That pipe ends with the process at the other end, however
that ends, and the run then saves and stops (`cli/job.py`).
"""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from spacil import storage
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


@dataclass(frozen=True)
class Ending:
    """How an attempt at a run ended."""

    code: int | None
    """Exit code, negative for a signal; None when the process was lost and nobody knows"""
    words: str = ""
    """What is known of a lost one"""


class Engine(Protocol):
    """Starts runs somewhere and tells how they end. It decides nothing about them."""

    most_attempts: int
    """How often a run is started that was lost, killed or told to try again"""

    @property
    def capacity(self) -> int:
        """Runs at a time, as far as known now"""
        ...

    @property
    def active(self) -> list[PlannedRun]:
        """The runs that it computes now"""
        ...

    def has_room(self) -> bool:
        """Whether one more run can start now."""
        ...

    def start(self, run: PlannedRun) -> None: ...

    def ended(self) -> list[tuple[PlannedRun, Ending]]:
        """The runs that ended since the last call; they are no longer active."""
        ...

    def takes_over(self, run: PlannedRun) -> bool:
        """Whether the folder of a run was taken from a process that holds it and is dead."""
        ...

    def stop(self, signal_number: int) -> None:
        """Let every run save, and wait for it."""
        ...


def spawn(command: Sequence[str], log: Path, num_threads: int) -> "subprocess.Popen[bytes]":
    """Start a command in a session of its own: Ctrl-C reaches it through this process, once."""
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


def wait_for(process: "subprocess.Popen[bytes]") -> int:
    """Its exit code, with this side's end of the pipe closed."""
    code = process.wait()
    assert process.stdin is not None
    process.stdin.close()
    return code


def job_words(sweep: SweepFolder, run: PlannedRun, options: JobOptions) -> list[str]:
    """The module and arguments of one run's process: `spacil train`, then the fresh episodes."""
    threads = str(options.threads_per_job)
    return [
        *(JOB_MODULE, str(sweep.fresh_episodes), threads),
        *run.train_words(sweep.path),
        *("--device", options.device),
        *("--torch-threads", threads, "--simulation-threads", threads),
    ]
