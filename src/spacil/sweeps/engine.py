"""The seam for engines: where the processes of a sweep's runs are started."""

from dataclasses import dataclass
from typing import Protocol

from spacil.sweeps.folder import SweepFolder
from spacil.sweeps.plan import PlannedRun

JOB_MODULE = "spacil.cli.experiments.job"


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


def job_words(sweep: SweepFolder, run: PlannedRun, options: JobOptions) -> list[str]:
    """The module and arguments of one run's process: `spacil train`, then the fresh episodes."""
    threads = str(options.threads_per_job)
    return [
        *(JOB_MODULE, str(sweep.fresh_episodes), threads),
        *run.train_words(sweep.path),
        *("--device", options.device),
        *("--torch-threads", threads, "--simulation-threads", threads),
    ]
