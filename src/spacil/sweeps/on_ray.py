"""The engine of many machines: the same processes, each on a node of a Ray cluster.

This process places every run itself, on a node that has answered. It believes three witnesses: Ray,
for a process that ended; the list of nodes; and the heartbeat in the run folder. A node that Ray
calls dead may still compute, and then its heartbeat says so and its run is left to it. A node that
is frozen looks alive to Ray for a minute, and its tasks never end: after `lost_after` seconds of
silence its runs are taken from it (`runs/ownership.py: take_away`) and started elsewhere, and it
gets no more before it answers again.
"""

import contextlib
import logging
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from spacil import storage
from spacil.cluster.connection import Node, connected, living_nodes
from spacil.cluster.remote_jobs import Job, Look, NodeProbe, Placement, RemoteJob
from spacil.errors import ConfigError
from spacil.runs.heartbeat import Silence
from spacil.runs.ownership import take_away
from spacil.sweeps.engine import Ending, JobOptions, job_words
from spacil.sweeps.folder import SweepFolder
from spacil.sweeps.plan import PlannedRun
from spacil.version import __version__

LOST_AFTER_SECONDS = 60.0

_LOOK_SECONDS = 2.0
"""Between two looks at all nodes and heartbeats: files on a disk that many share"""
_FIRST_ANSWER_SECONDS = 60.0

_logger = logging.getLogger(__name__)


def refuse_device(device: str) -> None:
    """Which devices there are, the nodes know."""
    if device not in ("cpu", "cuda"):
        raise ConfigError(
            f"--device {device}: with --engine ray it is cpu or cuda; Ray numbers the GPUs"
        )


@contextlib.contextmanager
def ray_engine(
    sweep: SweepFolder, options: JobOptions, address: str, lost_after: float
) -> "Iterator[RayEngine]":
    """Connect, and wait until one node at least can take a run."""
    refuse_device(options.device)
    sweep = replace(sweep, path=sweep.path.absolute())
    nonce_file = sweep.path / f".nonce-{uuid.uuid4().hex}"
    with connected(address):
        storage.replace_file(nonce_file, nonce_file.name.encode())
        try:
            engine = RayEngine(sweep, options, lost_after, nonce_file)
            engine.wait_for_a_node()
            yield engine
        finally:
            nonce_file.unlink(missing_ok=True)


class RayEngine:
    """Places runs on nodes, and knows which of them are lost."""

    most_attempts = 4

    def __init__(
        self, sweep: SweepFolder, options: JobOptions, lost_after: float, nonce_file: Path
    ) -> None:
        self.sweep, self.options, self.lost_after = sweep, options, lost_after
        self._nonce_file = nonce_file
        self._placement = Placement(options.threads_per_job, int(options.device == "cuda"))
        self._probes: dict[str, NodeProbe] = {}
        self._fit: dict[str, Node] = {}
        """Nodes that are alive, of our version, and see the sweep's folder"""
        self._unfit: set[str] = set()
        self._jobs: dict[PlannedRun, RemoteJob] = {}
        self._abandoned: list[RemoteJob] = []
        """Taken for lost; their nodes get nothing before these have ended"""
        self._silence = Silence()
        """Of runs that others hold"""
        self._next_look = 0.0

    # --- what the sweep asks

    @property
    def capacity(self) -> int:
        num_slots = sum(self._num_slots(node) for node in self._fit.values())
        return min(num_slots, self.options.jobs or num_slots)

    @property
    def active(self) -> list[PlannedRun]:
        return list(self._jobs)

    def has_room(self) -> bool:
        return self._next_node() is not None

    def start(self, run: PlannedRun) -> None:
        node = self._next_node()
        assert node is not None  # has_room said so
        job = Job(
            job_words(self.sweep, run, self.options),
            self.sweep.run_dir(run),
            self.sweep.log(run),
            self.options.threads_per_job,
        )
        self._jobs[run] = RemoteJob(node, self._placement, job)

    def ended(self) -> list[tuple[PlannedRun, Ending]]:
        is_due = time.monotonic() >= self._next_look
        if is_due:
            self._look_at_nodes()
            self._next_look = time.monotonic() + _LOOK_SECONDS
        over = []
        for run, job in list(self._jobs.items()):
            known = job.poll()
            ending = None if known is None else Ending(known.code, known.words)
            if ending is None and is_due:
                ending = self._given_up(job)
            if ending is not None:
                del self._jobs[run]
                over.append((run, ending))
        return over

    def takes_over(self, run: PlannedRun) -> bool:
        """Take the folder from its holder if that has been silent for too long."""
        silent = self._silence.seconds(self.sweep.run_dir(run))
        if silent is None or silent <= self.lost_after:
            return False
        take_away(self.sweep.run_dir(run))
        return True

    def stop(self, signal_number: int) -> None:
        """Ask every process to save and stop, and wait until each has, or is lost."""
        for job in self._jobs.values():
            job.cancel()
        while self._jobs:
            self.ended()
            time.sleep(0.1)

    # --- nodes

    def wait_for_a_node(self) -> None:
        deadline = time.monotonic() + _FIRST_ANSWER_SECONDS
        while self.capacity == 0:
            self._look_at_nodes()
            if time.monotonic() > deadline or (self._probes and not self._unanswered):
                break
            time.sleep(0.1)
        if self.capacity == 0:
            needed = f"{self._placement.num_cpus} CPU and {self._placement.num_gpus} GPU"
            raise ConfigError(
                f"no node of the Ray cluster can take a run: it needs {needed}, and spacil "
                f"{__version__}"
            )

    @property
    def _unanswered(self) -> set[str]:
        return {id for id, probe in self._probes.items() if probe.poll() is None}

    def _look_at_nodes(self) -> None:
        alive = {node.id: node for node in living_nodes() if self._num_slots(node) > 0}
        for id in (self._fit.keys() | self._probes.keys()) - alive.keys():
            self._fit.pop(id, None)
            self._probes.pop(id, None)
        for id, node in alive.items():
            if id not in self._probes:
                self._probes[id] = NodeProbe(node, self._nonce_file, self._nonce_file.name)
            look = self._probes[id].poll()
            if look is not None and id not in self._fit and id not in self._unfit:
                self._admit(node, look)
        self._abandoned = [job for job in self._abandoned if job.poll() is None]

    def _admit(self, node: Node, look: Look) -> None:
        if look.version != __version__:
            self._unfit.add(node.id)
            _logger.warning(
                "%s has spacil %s, this is %s: it gets no runs",
                *(node.host, look.version, __version__),
            )
            return
        if not look.sees_folder:
            self._unfit.add(node.id)
            _logger.warning(
                "%s does not see %s: it gets no runs; share the folder under one name",
                *(node.host, self.sweep.path),
            )
            return
        self._fit[node.id] = node

    def _num_slots(self, node: Node) -> int:
        slots = node.num_cpus // self._placement.num_cpus
        return min(slots, node.num_gpus) if self._placement.num_gpus else slots

    def _next_node(self) -> Node | None:
        """The node with the most room, if there is room at all."""
        if 0 < self.options.jobs <= len(self._jobs):
            return None
        frozen = {job.node.id for job in self._abandoned}
        free = {
            node.id: self._num_slots(node) - sum(j.node.id == node.id for j in self._jobs.values())
            for node in self._fit.values()
            if node.id not in frozen
        }
        best = max(free, key=free.__getitem__, default=None)
        return None if best is None or free[best] <= 0 else self._fit[best]

    # --- what is lost

    def _given_up(self, job: RemoteJob) -> Ending | None:
        """The ending of a run whose process is lost although its task has not ended."""
        silent = job.silent_seconds()
        if silent is None and job.node.id not in self._fit:
            words = f"{job.node.host} is gone"
        elif silent is not None and silent > self.lost_after:
            words = f"{job.node.host} has been silent for {silent:.0f} s"
        else:
            return None
        job.give_up()
        self._abandoned.append(job)
        return Ending(None, words)
