"""Commands on chosen nodes: each a Ray task that starts a process there and waits for it.

The process is the one that a sweep on one machine starts, with the same words, threads and log, so
it computes the same bits. A task says how its process ended; it is never the only witness, because
a node may freeze, and then its tasks end never.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spacil.cluster.connection import Node, load_ray
from spacil.runs.child_process import spawn, wait_for
from spacil.runs.heartbeat import Silence, forget_beats
from spacil.version import __version__

_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class JobEnding:
    """How a task ended."""

    code: int | None
    """Exit code of its process, negative for a signal; None when nobody knows"""
    words: str = ""


@dataclass(frozen=True)
class Placement:
    """What a task asks of the node that it is put on."""

    num_cpus: int
    num_gpus: int = 0

    def options(self, node: Node) -> dict[str, Any]:
        strategies = load_ray().util.scheduling_strategies
        return {
            "num_cpus": self.num_cpus,
            "num_gpus": self.num_gpus,
            "max_retries": 0,
            "scheduling_strategy": strategies.NodeAffinitySchedulingStrategy(node.id, soft=False),
        }


@dataclass(frozen=True)
class Job:
    """A process to be started on a node."""

    words: Sequence[str]
    """Module and arguments"""
    run_dir: Path
    log: Path
    num_threads: int


class RemoteJob:
    """A process on a node that sees the run folder."""

    def __init__(self, node: Node, placement: Placement, job: Job) -> None:
        self.node = node
        self._run_dir, self._silence = job.run_dir, Silence()
        forget_beats(job.run_dir)
        run = load_ray().remote(_run_process).options(**placement.options(node))
        self._ref = run.remote(list(job.words), str(job.log), job.num_threads, str(Path.cwd()))

    def poll(self) -> JobEnding | None:
        """How it ended; None while it runs, or waits, or nobody knows."""
        if not load_ray().wait([self._ref], timeout=0)[0]:
            return None
        return ending_of(self._ref, self.node)

    def silent_seconds(self) -> float | None:
        """Since its last sign of life; None before the first."""
        return self._silence.seconds(self._run_dir)

    def cancel(self) -> None:
        """Ask its process to save and stop; a node that is frozen does not hear it."""
        load_ray().cancel(self._ref, force=False)

    def give_up(self) -> None:
        """It is taken for lost."""
        self.cancel()


def ending_of(ref: Any, node: Node) -> JobEnding:
    """What a task that ended says, or what Ray says for it."""
    ray = load_ray()
    try:
        return JobEnding(int(ray.get(ref)))
    except ray.exceptions.RayTaskError as error:
        return JobEnding(1, f"{node.host}: {error.cause}")
    except ray.exceptions.RayError as error:
        return JobEnding(None, f"lost on {node.host}: {type(error).__name__}")


@dataclass(frozen=True)
class Look:
    """What a node sees."""

    version: str
    sees_folder: bool


class NodeProbe:
    """The question to a node whether it is fit; a frozen one never answers."""

    def __init__(self, node: Node, nonce_file: Path, nonce: str) -> None:
        look = load_ray().remote(_look).options(**Placement(0).options(node))
        self.node = node
        self._ref = look.remote(str(nonce_file), nonce)

    def poll(self) -> Look | None:
        ray = load_ray()
        if not ray.wait([self._ref], timeout=0)[0]:
            return None
        try:
            return Look(*ray.get(self._ref))
        except ray.exceptions.RayError as error:
            return Look(f"none that runs ({type(error).__name__})", False)


# --- on the node


def _run_process(words: list[str], log: str, num_threads: int, folder: str) -> int:
    if Path(folder).is_dir():  # an env of the user's own may lie there
        os.chdir(folder)
    process = spawn([sys.executable, "-m", *words], Path(log), num_threads)
    return wait_or_stop(process)


def wait_or_stop(process: "subprocess.Popen[bytes]") -> int:
    """Its exit code; a task that is cancelled lets it save first."""
    # Not `process.wait()`: a cancelled task is interrupted between two calls, never within one.
    try:
        while process.poll() is None:
            time.sleep(_POLL_SECONDS)
    except KeyboardInterrupt:
        process.send_signal(signal.SIGTERM)
    return wait_for(process)


def _look(nonce_file: str, nonce: str) -> tuple[str, bool]:
    try:
        return __version__, Path(nonce_file).read_text() == nonce
    except OSError:
        return __version__, False
