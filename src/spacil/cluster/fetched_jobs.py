"""Processes on nodes that do not see the run folder: its files travel there and back through Ray.

The run happens in a scratch folder of the node. Every few seconds the task hands back what changed,
and this process, which holds the real folder meanwhile, puts it there. A lost node costs what was
computed since, and nothing it does later reaches the folder: nobody reads its messages any more.
"""

import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from spacil import storage
from spacil.cluster.connection import Node, load_ray
from spacil.cluster.remote_jobs import Job, JobEnding, Placement
from spacil.errors import SpacilError, StorageError
from spacil.runs import snapshot
from spacil.runs.child_process import spawn, wait_for
from spacil.runs.location import make_folder
from spacil.runs.ownership import FolderLock

FETCH_SECONDS = 5.0
"""Between two messages, which are its signs of life too"""

_POLL_SECONDS = 0.1

Message = tuple[dict[str, bytes], bytes, int | None]
"""Files that changed, what was printed since the last one, and the exit code at the end"""


class FetchedJob:
    """A process on a node with a disk of its own."""

    def __init__(self, node: Node, placement: Placement, job: Job) -> None:
        self.node = node
        self._job = job
        self._heard_at: float | None = None
        make_folder(job.run_dir)
        make_folder(job.log.parent)
        self._lock = FolderLock(job.run_dir)
        self._lock.claim()
        options = placement.options(node) | {"num_returns": "streaming"}
        task = load_ray().remote(_run_in_scratch).options(**options)
        self._messages = task.remote(
            list(job.words), str(job.run_dir), snapshot.take(job.run_dir), job.num_threads
        )

    def poll(self) -> JobEnding | None:
        """Put what arrived into the run folder; how the process ended, None while it runs."""
        ray = load_ray()
        while ray.wait([self._messages], timeout=0)[0]:
            try:
                files, printed, code = ray.get(next(self._messages))
            except StopIteration:
                return self._over(JobEnding(None, f"{self.node.host} said no more"))
            except ray.exceptions.RayTaskError as error:
                return self._over(JobEnding(1, f"{self.node.host}: {error.cause}"))
            except ray.exceptions.RayError as error:
                words = f"lost on {self.node.host}: {type(error).__name__}"
                return self._over(JobEnding(None, words))
            self._heard_at = time.monotonic()
            try:
                self._keep(files, printed)
            except SpacilError as error:  # of this run alone: the folder is gone, or full
                self.cancel()
                return self._over(JobEnding(error.exit_code, str(error)))
            if code is not None:
                return self._over(JobEnding(code))
        return None

    def _keep(self, files: dict[str, bytes], printed: bytes) -> None:
        self._lock.require_in_place()
        snapshot.put(self._job.run_dir, files)
        log = self._job.log
        with storage.os_errors_as(StorageError, "append to", log), log.open("ab") as file:
            file.write(printed)

    def silent_seconds(self) -> float | None:
        return None if self._heard_at is None else time.monotonic() - self._heard_at

    def cancel(self) -> None:
        """Stop it; what it has not handed back is computed again."""
        load_ray().cancel(self._messages, force=False)

    def give_up(self) -> None:
        self.cancel()
        self._lock.release()

    def _over(self, ending: JobEnding) -> JobEnding:
        self._lock.release()
        return ending


# --- on the node


def _run_in_scratch(
    words: list[str], run_dir: str, files: dict[str, bytes], num_threads: int
) -> Iterator[Message]:
    with tempfile.TemporaryDirectory(prefix="spacil-") as scratch:
        here, log = Path(scratch) / "run", Path(scratch) / "log"
        if files:
            snapshot.put(here, files)
        words = [str(here) if word == run_dir else word for word in words]
        process = spawn([sys.executable, "-m", *words], log, num_threads)
        num_sent = 0
        try:
            while True:
                code = process.poll()
                now, printed = snapshot.take(here), log.read_bytes()
                yield snapshot.changes(files, now), printed[num_sent:], code
                if code is not None:
                    return
                files, num_sent = now, len(printed)
                deadline = time.monotonic() + FETCH_SECONDS
                while time.monotonic() < deadline and process.poll() is None:
                    time.sleep(_POLL_SECONDS)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            wait_for(process)
