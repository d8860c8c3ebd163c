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
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from spacil.errors import ConfigError, RetryableError
from spacil.runs.lock import seize
from spacil.sweeps.engine import Ending, JobOptions, job_words, spawn, wait_for
from spacil.sweeps.folder import PLAN, SweepFolder
from spacil.sweeps.plan import PlannedRun
from spacil.version import __version__

LOST_AFTER_SECONDS = 60.0
LOCAL = "local"
"""Address that starts a cluster of this machine alone"""

_LOOK_SECONDS = 2.0
"""Between two looks at the list of nodes"""
_FIRST_ANSWER_SECONDS = 180.0
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


def refuse_device(device: str) -> None:
    """Refuse a number of a GPU: which devices there are, the nodes know."""
    if device not in ("cpu", "cuda"):
        raise ConfigError(
            f"--device {device}: with --engine ray it is cpu or cuda; Ray numbers the GPUs"
        )


@contextlib.contextmanager
def ray_engine(
    sweep: SweepFolder, options: JobOptions, address: str, lost_after: float
) -> "Iterator[RayEngine]":
    """Connect, and check that every node can take a run."""
    refuse_device(options.device)
    ray = load_ray()
    own = {"include_dashboard": False, "object_store_memory": _OBJECT_STORE_BYTES}
    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level=logging.ERROR,
            **(own if address == LOCAL else {}),
        )
    except ConnectionError as error:
        raise ConfigError(
            f"--ray-address {address}: no cluster there: {error}. `ray start --head` starts one"
        ) from None
    except (OSError, ValueError, RuntimeError, TimeoutError) as error:
        raise RetryableError(f"--ray-address {address}: cannot connect: {error}") from error
    finally:
        # Ray's own handler would end the process before a sweep has saved.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)
    try:
        sweep = replace(sweep, path=sweep.path.absolute())
        engine = RayEngine(sweep, options, lost_after)
        engine.require_fit_nodes()
        yield engine
    finally:
        ray.shutdown()


class RayEngine:
    """Starts runs as Ray tasks, and knows which of them were lost."""

    most_attempts = 4

    def __init__(self, sweep: SweepFolder, options: JobOptions, lost_after: float) -> None:
        self.sweep, self.options, self.lost_after = sweep, options, lost_after
        self._ray = load_ray()
        self._asks = {
            "num_cpus": options.threads_per_job,
            "num_gpus": int(options.device == "cuda"),
            "max_retries": 0,
        }
        self._tasks: dict[PlannedRun, tuple[Any, str]] = {}
        """Task of each run, and the node it was meant for"""
        self._lost: dict[PlannedRun, float] = {}
        """Runs whose process was lost, and when"""
        self._slots: dict[str, int] = {}
        """Runs that each living node can take"""
        self._next_look = 0.0

    @property
    def capacity(self) -> int:
        """Runs at a time on the nodes that are alive."""
        if time.monotonic() >= self._next_look:
            self._slots = {node["NodeID"]: self._slots_of(node) for node in self._living_nodes()}
            self._next_look = time.monotonic() + _LOOK_SECONDS
        num_slots = sum(self._slots.values())
        return min(num_slots, self.options.jobs or num_slots)

    @property
    def active(self) -> list[PlannedRun]:
        return list(self._tasks)

    def start(self, run: PlannedRun) -> None:
        self._lost.pop(run, None)
        # Soft: where that node is gone by now, Ray takes another.
        taken = Counter(node for _, node in self._tasks.values())
        node = max(self._slots, key=lambda node: self._slots[node] - taken[node])
        place = self._place(node, soft=True)
        task = self._ray.remote(_run_process).options(**self._asks, scheduling_strategy=place)
        words = job_words(self.sweep, run, self.options)
        log, threads = str(self.sweep.log(run)), self.options.threads_per_job
        self._tasks[run] = task.remote(words, log, threads, str(Path.cwd())), node

    def ended(self) -> list[tuple[PlannedRun, Ending]]:
        over, _ = [], self.capacity  # which looks at the nodes
        for run, (task, node) in list(self._tasks.items()):
            if self._ray.wait([task], timeout=0)[0]:
                over.append((run, self._ending(run, task)))
            elif node not in self._slots:
                # Of a frozen node Ray says that it is dead; its tasks never end.
                self._lost[run] = time.monotonic()
                over.append((run, Ending(None, "lost: its node is gone")))
        for run, _ in over:
            del self._tasks[run]
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
        for task, _ in self._tasks.values():
            self._ray.cancel(task, force=False)
        while self._tasks:
            self.ended()
            time.sleep(0.1)

    def require_fit_nodes(self) -> None:
        """Refuse a cluster with a node of another version, or one that does not see the folder."""
        probe = self._ray.remote(_look).options(num_cpus=0, max_retries=0)
        nodes = [node for node in self._living_nodes() if self._slots_of(node)]
        if not nodes:
            asked = f"{self._asks['num_cpus']} CPU and {self._asks['num_gpus']} GPU"
            raise ConfigError(f"no node of the Ray cluster can take a run, which needs {asked}")
        plan = str(self.sweep.path / PLAN)
        looks = [
            probe.options(scheduling_strategy=self._place(node["NodeID"], soft=False)).remote(plan)
            for node in nodes
        ]
        try:
            answers = self._ray.get(looks, timeout=_FIRST_ANSWER_SECONDS)
        except self._ray.exceptions.RayError as error:
            raise RetryableError(f"a node of the Ray cluster does not answer: {error}") from error
        for node, (version, sees_plan) in zip(nodes, answers, strict=True):
            host = node["NodeManagerHostname"]
            if version != __version__:
                raise ConfigError(f"{host} has spacil {version}, expected {__version__}")
            if not sees_plan:
                raise ConfigError(f"{host} does not see {plan}: share the folder under one name")

    def _place(self, node: str, *, soft: bool) -> Any:
        strategies = self._ray.util.scheduling_strategies
        return strategies.NodeAffinitySchedulingStrategy(node, soft=soft)

    def _living_nodes(self) -> list[Any]:
        try:
            return [node for node in self._ray.nodes() if node["Alive"]]
        except Exception as error:  # of several kinds, by what broke; the connection is gone
            raise RetryableError(f"the Ray cluster no longer answers: {error}") from error

    def _slots_of(self, node: Any) -> int:
        has = node["Resources"]
        slots = int(has.get("CPU", 0)) // self.options.threads_per_job
        return min(slots, int(has.get("GPU", 0))) if self._asks["num_gpus"] else slots

    def _ending(self, run: PlannedRun, task: Any) -> Ending:
        try:
            return Ending(int(self._ray.get(task)))
        except self._ray.exceptions.RayTaskError as error:
            return Ending(1, str(error.cause))
        except self._ray.exceptions.RayError as error:
            self._lost[run] = time.monotonic()
            return Ending(None, f"lost: {type(error).__name__}")


# --- on the node


def _run_process(words: list[str], log: str, num_threads: int, folder: str) -> int:
    if Path(folder).is_dir():  # an env of the user's own may lie there
        os.chdir(folder)
    process = spawn([sys.executable, "-m", *words], Path(log), num_threads)
    # A task that is cancelled is interrupted between two calls, never within `process.wait()`; it
    # lets the run save first.
    try:
        while process.poll() is None:
            time.sleep(0.2)
    except KeyboardInterrupt:
        process.send_signal(signal.SIGTERM)
    return wait_for(process)


def _look(plan: str) -> tuple[str, bool]:
    return __version__, Path(plan).is_file()
