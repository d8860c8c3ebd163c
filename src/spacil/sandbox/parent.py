"""Files in third-party formats are parsed in a child process; only plain arrays come back.

Parsers of HDF5, Arrow and ONNX are large pieces of C and C++ that a hostile file can crash, hang
or make use up all memory. One child per process, started on first use and kept, reads file after
file under limits on memory and processor time. When it dies, the file is refused and the next one
gets a new child. No pickle crosses the pipe: requests are JSON, answers are a JSON header and the
raw bytes of arrays, and every size is checked before memory is allocated.

The other end of the pipe is `child`.
"""

import atexit
import contextlib
import fcntl
import itertools
import json
import math
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacil import storage
from spacil.errors import ConfigError, DataError, SpacilError
from spacil.file_sizes import bytes_on_disk
from spacil.sandbox.limits import MAX_TOTAL_BYTES

Arrays = dict[str, NDArray[Any]]
Notes = dict[str, Any]

_DTYPES = {"bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))} | {
    "float16",
    "float32",
    "float64",
}
_PIPE_BYTES = 2**20
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # the others reserve more than they use
    "PYTHONDONTWRITEBYTECODE": "1",
    "HDF5_PLUGIN_PRELOAD": "::",  # no filter plugins: a file must not choose code to load
}


@dataclass(frozen=True)
class Limits:
    """What the child may use on one file."""

    seconds: float = 0.6
    """Processor time, so that a busy machine does not refuse an honest file."""
    seconds_per_byte: float = 1e-7
    """Added for larger files: 10 MB per second is slow for any format."""
    memory_bytes: int = 256 * 2**20
    """Beyond what the child had before it opened the file."""
    memory_per_byte: int = 128
    max_memory_bytes: int = 2 * MAX_TOTAL_BYTES
    patience: float = 20.0
    """Wall-clock seconds beyond ten times the processor time: a file system that does not respond
    uses no processor time."""

    def seconds_for(self, num_bytes: int) -> float:
        return self.seconds + self.seconds_per_byte * num_bytes

    def memory_for(self, num_bytes: int) -> int:
        return min(self.memory_bytes + self.memory_per_byte * num_bytes, self.max_memory_bytes)


class Importer:
    """The parent's end: one child, restarted after it dies."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._child: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._lock = threading.Lock()

    def read(self, reader: str, path: Path, beside: Iterable[Path] = ()) -> tuple[Arrays, Notes]:
        """What `reader`, "module:function" in spacil, finds in a file or folder.

        Anything wrong with the file is a DataError. `beside`: files that it opens too, if they are
        there; they count where limits grow with the size.
        """
        with self._lock:
            size = sum(map(_size_on_disk, [path, *(file for file in beside if file.is_file())]))
            seconds = self._limits.seconds_for(size)
            request = {
                "reader": reader,
                "path": os.fspath(path.absolute()),
                "seconds": seconds,
                "memory_bytes": self._limits.memory_for(size),
            }
            try:
                return self._answer(request, path, seconds)
            except _KilledError:
                # Killed by the system, perhaps earlier and not because of this file: try once more.
                with contextlib.suppress(_KilledError):
                    return self._answer(request, path, seconds)
            raise DataError(f"{path}: the system killed its reader twice: out of memory?")

    def _answer(self, request: dict[str, Any], path: Path, seconds: float) -> tuple[Arrays, Notes]:
        child = self._running_child()
        try:
            deadline = time.monotonic() + 10 * seconds + self._limits.patience
            return _ask(child, request, path, deadline)
        except SpacilError:
            raise
        except _LateError:
            self._stop(patience=0)
            raise DataError(
                f"{path}: reading it did not finish and was stopped; is its disk reachable?"
            ) from None
        except _UnansweredError:
            ending = self._stop()
            if ending == -signal.SIGKILL:
                raise _KilledError from None
            raise DataError(_death_message(path, ending, seconds)) from None
        except BaseException:
            self._stop()  # an answer was cut short, so the pipe is unusable
            raise

    def close(self) -> None:
        with self._lock:
            self._stop()

    @property
    def process_id(self) -> int | None:
        """The child's; None while there is no child."""
        return None if self._child is None else self._child.pid

    def _running_child(self) -> "subprocess.Popen[bytes]":
        # After a fork the pipe still belongs to the parent process, which keeps using it.
        if self._child is None or self._owner != os.getpid() or self._child.poll() is not None:
            if self._child is not None and self._owner == os.getpid():
                self._stop()
            self._child, self._owner = _start_child(), os.getpid()
        return self._child

    def _stop(self, patience: float = 1.0) -> int:
        """Stop the child and return its `Popen.returncode`."""
        child, self._child = self._child, None
        if child is None or self._owner != os.getpid():
            return 0
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        # Without its pipes it exits by itself, and one that is already dying can report why.
        with contextlib.suppress(subprocess.TimeoutExpired):
            return child.wait(patience)
        child.kill()
        return child.wait()


_shared = Importer()
atexit.register(_shared.close)


def read_foreign(reader: str, path: Path, beside: Iterable[Path] = ()) -> tuple[Arrays, Notes]:
    """Read with this process's importer, under the usual limits."""
    return _shared.read(reader, path, beside)


def refused_to_the_child() -> list[str]:
    """What the kernel refuses to the child, found by having it try; empty where nothing is."""
    refused: list[str] = read_foreign("spacil.sandbox.restrictions:report", Path(__file__))[1][
        "refused"
    ]
    return refused


class _UnansweredError(Exception):
    """The child died, or sent something that is not an answer."""


class _LateError(Exception):
    """The child is alive and does not answer."""


class _KilledError(Exception):
    """The child was killed from outside."""


def _start_child() -> "subprocess.Popen[bytes]":
    package_parent = os.fspath(Path(__file__).parents[2])
    paths = [package_parent, *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        # -P: a numpy.py in the working folder is not numpy.
        [sys.executable, "-P", "-m", "spacil.sandbox.child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **_ENVIRONMENT, "PYTHONPATH": os.pathsep.join(paths)},
        bufsize=0,
        start_new_session=True,  # Ctrl-C is for the parent; the child exits when its pipe closes
    )


def _ask(
    child: "subprocess.Popen[bytes]", request: dict[str, Any], path: Path, deadline: float
) -> tuple[Arrays, Notes]:
    assert child.stdin is not None and child.stdout is not None
    try:
        child.stdin.write(json.dumps(request).encode("ascii") + b"\n")
    except OSError:
        raise _UnansweredError from None
    answers = child.stdout.fileno()
    with contextlib.suppress(OSError, AttributeError):
        fcntl.fcntl(answers, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    head = bytearray(8)
    _fill(memoryview(head), answers, deadline)
    size = int.from_bytes(head, "little")
    if size > storage.MAX_JSON_BYTES:
        raise _UnansweredError
    text = bytearray(size)
    _fill(memoryview(text), answers, deadline)
    try:
        answer = storage.parse_json(text, path)
    except storage.DamagedFileError:
        raise _UnansweredError from None
    if "error" in answer:
        raise (ConfigError if answer.get("kind") == "ConfigError" else DataError)(
            str(answer["error"])
        )
    arrays = {}
    for name, dtype, shape in _declared(answer):
        array = np.empty(shape, dtype)
        if array.size:
            _fill(array.reshape(-1).view(np.uint8).data, answers, deadline)
        arrays[name] = array
    return arrays, answer["notes"]


def _declared(answer: dict[str, Any]) -> list[tuple[str, str, tuple[int, ...]]]:
    """The announced arrays, refused if their sizes are not plausible."""
    declared, total = [], 0
    match answer:
        case {"arrays": list(entries), "notes": dict()}:
            for entry in entries:
                match entry:
                    case [str(name), str(dtype), list(shape)] if dtype in _DTYPES and all(
                        type(size) is int and 0 <= size <= MAX_TOTAL_BYTES for size in shape
                    ):
                        total += math.prod(size or 1 for size in shape) * np.dtype(dtype).itemsize
                        declared.append((name, dtype, tuple(shape)))
                    case _:
                        raise _UnansweredError
        case _:
            raise _UnansweredError
    if total > 2 * MAX_TOTAL_BYTES:
        raise _UnansweredError
    return declared


def _fill(view: memoryview, descriptor: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    while len(view):
        remaining = deadline - time.monotonic()
        if remaining <= 0 or not poll.poll(1000 * remaining):
            raise _LateError
        num_read = os.readv(descriptor, [view])
        if num_read == 0:
            raise _UnansweredError
        view = view[num_read:]


def _death_message(path: Path, ending: int, seconds: float) -> str:
    if ending == -signal.SIGPROF:
        return (
            f"{path}: reading it took more than {seconds:.1f} s of processor time and was stopped; "
            "the file is damaged, or built to stall its reader"
        )
    reason = signal.Signals(-ending).name if ending < 0 else f"exit code {ending}"
    return (
        f"{path}: its parser crashed ({reason}): the file is damaged, download or create it again"
    )


def _size_on_disk(path: Path) -> int:
    """Bytes of a file, or of the first files in a folder: enough to set the limits."""
    with storage.os_errors_as(DataError, "read", path):
        if not path.is_dir():
            return bytes_on_disk(path.stat())
        first_files = itertools.islice(path.rglob("*"), 10_000)
        return sum(bytes_on_disk(file.lstat()) for file in first_files)
