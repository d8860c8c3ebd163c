"""The engine of many machines: the same processes, each on a node of a Ray cluster.

Ray places the tasks and says when a node or worker is lost; its own retries are off, because a
task that it started again behind our back could write beside the one we know of. A lost process
may still compute, on a node that froze: its run is given `lost_after` seconds to end, then its
folder is seized (`runs/lock.py`), after which that process writes nothing more.
"""

import contextlib
import logging
import os
import signal
import socket
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from spacil.errors import ConfigError, RetryableError
from spacil.runs.lock import seize
from spacil.sweeps.engine import Ending, Engine, JobOptions, start_job, wait_for
from spacil.sweeps.folder import PLAN, SweepFolder
from spacil.sweeps.plan import PlannedRun
from spacil.version import __version__

LOCAL = "local"
"""Address that starts a cluster of this machine alone"""

_LOOK_SECONDS = 2.0
"""Between two looks at the list of nodes"""
_ANSWER_SECONDS, MOST_PORT = 10.0, 65_535
_NO_CLUSTER = "--ray-address {}: cannot connect: {}. `ray start --head` starts a cluster"
_OBJECT_STORE_BYTES = 100_000_000


def load_ray() -> Any:
    """Import Ray, with its reports to its makers switched off before."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray
    except ImportError:
        raise ConfigError(
            "Ray is not installed: pip install 'spacil[ray]', on every machine of the cluster"
        ) from None
    return ray


@contextlib.contextmanager
def ray_engine(
    sweep: SweepFolder, options: JobOptions, address: str, lost_after: float
) -> "Iterator[RayEngine]":
    """Connect to a cluster that can take a run."""
    ray = load_ray()
    if address not in (LOCAL, "auto"):
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or int(port) > MOST_PORT:
            raise ConfigError(f"--ray-address is {address}, expected local, auto or HOST:PORT")
        try:  # Ray itself would try for a minute without a word
            socket.create_connection((host.rpartition("/")[2], int(port)), _ANSWER_SECONDS).close()
        except OSError as error:
            raise RetryableError(_NO_CLUSTER.format(address, error.strerror or error)) from None
    own = {"include_dashboard": False, "object_store_memory": _OBJECT_STORE_BYTES}
    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level=logging.ERROR,
            **(own if address == LOCAL else {}),
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise RetryableError(_NO_CLUSTER.format(address, error)) from error
    finally:
        # Ray's own handler would end the process before a sweep has saved.
        signal.signal(signal.SIGTERM, handler)
    try:
        engine = RayEngine(replace(sweep, path=sweep.path.absolute()), options, lost_after)
        if not engine.capacity():
            raise ConfigError(
                "no node of the Ray cluster can take a run, which needs "
                f"{options.threads_per_job} CPU{' and a GPU' * (options.device == 'cuda')}"
            )
        yield engine
    finally:
        ray.shutdown()


class RayEngine(Engine):
    """Starts runs as Ray tasks, and knows which of them were lost."""

    def __init__(self, sweep: SweepFolder, options: JobOptions, lost_after: float) -> None:
        super().__init__(sweep, options)
        self.lost_after, self._ray = lost_after, load_ray()
        self._asks = {
            "num_cpus": options.threads_per_job,
            "num_gpus": int(options.device == "cuda"),
            "max_retries": 0,
        }
        self._lost: dict[PlannedRun, float] = {}
        """Runs whose process was lost, and when"""
        self._slots: dict[str, int] = {}
        """Runs that each living node can take"""
        self._next_look = 0.0

    def capacity(self) -> int:
        """Runs at a time on the nodes that are alive."""
        if time.monotonic() >= self._next_look:
            try:
                nodes = self._ray.nodes()
            except Exception as error:  # of several kinds, by what broke; the connection is gone
                raise RetryableError(f"the Ray cluster no longer answers: {error}") from error
            needs = {"CPU": self.options.threads_per_job, "GPU": self._asks["num_gpus"]}
            self._slots = {
                node["NodeID"]: min(
                    int(node["Resources"].get(name, 0)) // need
                    for name, need in needs.items()
                    if need
                )
                for node in nodes
                if node["Alive"]
            }
            self._next_look = time.monotonic() + _LOOK_SECONDS
        num_slots = sum(self._slots.values())
        return min(num_slots, self.options.jobs or num_slots)

    def start(self, run: PlannedRun) -> None:
        self._lost.pop(run, None)
        # Soft: where that node is gone by now, Ray takes another.
        taken = Counter(node for _, node in self.active.values())
        node = max(self._slots, key=lambda node: self._slots[node] - taken[node])
        strategies = self._ray.util.scheduling_strategies
        place = strategies.NodeAffinitySchedulingStrategy(node, soft=True)
        task = self._ray.remote(_run_process).options(**self._asks, scheduling_strategy=place)
        described = (self.sweep, run, self.options, __version__, Path.cwd())
        self.active[run] = task.remote(*described), node  # the one it is meant for

    def ended(self) -> list[tuple[PlannedRun, Ending]]:
        over, _ = [], self.capacity()  # which looks at the nodes
        for run, (task, node) in self.active.items():
            if self._ray.wait([task], timeout=0)[0]:
                try:
                    over.append((run, Ending(int(self._ray.get(task)))))
                except self._ray.exceptions.RayTaskError as error:
                    if isinstance(error.cause, ConfigError):  # of every run on that node
                        raise error.cause from None
                    over.append((run, Ending(1, str(error.cause))))
                except self._ray.exceptions.TaskUnschedulableError:
                    self._next_look = 0.0  # nodes went that were there a moment ago
                    over.append((run, Ending(None, "no node took it", has_begun=False)))
                except self._ray.exceptions.RayError as error:
                    self._lost[run] = time.monotonic()
                    over.append((run, Ending(None, f"lost: {type(error).__name__}")))
            elif node not in self._slots:
                # Of a frozen node Ray says that it is dead; its tasks never end.
                self._lost[run] = time.monotonic()
                over.append((run, Ending(None, "lost: its node is gone")))
        for run, _ in over:
            del self.active[run]
        return over

    def takes_over(self, run: PlannedRun) -> bool:
        """Take the folder of a lost run from its holder, which had time to end."""
        lost = self._lost.get(run)
        if lost is None or time.monotonic() - lost < self.lost_after:
            return False
        seize(self.sweep.run_dir(run))
        return True

    def stop(self, signal_number: int) -> None:
        """Ask every process to save and stop, and wait until each has, or is lost."""
        for task, _ in self.active.values():
            self._ray.cancel(task, force=False)
        while self.active:
            self.ended()
            time.sleep(0.1)


# --- on the node


def _run_process(
    sweep: SweepFolder, run: PlannedRun, options: JobOptions, version: str, folder: Path
) -> int:
    """Compute a run, if this machine has the same spacil and sees the sweep."""
    host = socket.gethostname()
    if version != __version__:
        raise ConfigError(f"{host} has spacil {__version__}, expected {version}")
    if not (sweep.path / PLAN).is_file():
        raise ConfigError(f"{host} does not see {sweep.path}: share it under one name")
    if folder.is_dir():  # an env of the user's own may lie there
        os.chdir(folder)
    process = start_job(sweep, run, options)
    # A task that is cancelled is interrupted between two calls, never within `process.wait()`; it
    # lets the run save first.
    try:
        while process.poll() is None:
            time.sleep(0.2)
    except KeyboardInterrupt:
        process.send_signal(signal.SIGTERM)
    return wait_for(process)
