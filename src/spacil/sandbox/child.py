"""The child process that reads third-party files: `python -m spacil.sandbox.child`.

It answers requests on its standard input until that closes. Before a reader runs, its memory and
processor time are limited; what `restrictions` lists is forbidden from the start. It does not
import torch, so it starts in a fraction of a second.
"""

import contextlib
import importlib
import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from spacil.errors import ConfigError, DataError
from spacil.sandbox.restrictions import restrict

Reader = Callable[[Path], tuple[dict[str, Any], dict[str, Any]]]


def main() -> None:
    answers = os.dup(1)
    # Anything a library prints must not be mistaken for an answer.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for limit in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):
        resource.setrlimit(limit, (0, 0))
    restrict()
    for line in sys.stdin.buffer:
        header, buffers = _answer(json.loads(line))
        text = json.dumps(header).encode("ascii")
        _write(answers, len(text).to_bytes(8, "little") + text)
        for buffer in buffers:
            _write(answers, buffer)


def _answer(request: dict[str, Any]) -> tuple[dict[str, Any], list[memoryview]]:
    path = Path(request["path"])
    try:
        read = _reader(request["reader"])  # imports first: they are not limited
        with _limited(request["seconds"], request["memory_bytes"]):
            arrays, notes = read(path)
            plain = {name: _plain(array) for name, array in arrays.items()}
    except ConfigError as error:
        return {"error": str(error), "kind": "ConfigError"}, []
    except DataError as error:
        return {"error": str(error)}, []
    except MemoryError:
        needed = f"{request['memory_bytes'] / 2**20:.0f} MiB"
        return {"error": f"{path}: would take more than {needed} of memory to read"}, []
    except Exception as error:  # a parser may raise anything on a damaged file
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        return {"error": f"{path}: damaged, or of another kind: {reason}"}, []
    entries = [[name, array.dtype.name, list(array.shape)] for name, array in plain.items()]
    buffers = [memoryview(array.reshape(-1).view(np.uint8)) for array in plain.values()]
    return {"arrays": entries, "notes": notes}, buffers


def _reader(name: str) -> Reader:
    """A function of spacil by name. The name comes from our own code, never from a file."""
    module_name, _, function_name = name.partition(":")
    if not module_name.startswith("spacil."):
        raise ConfigError(f"{name}: not a reader of spacil")
    module = importlib.import_module(module_name)
    reader: Reader = getattr(module, function_name)
    # Loading a library on first use must not count as reading.
    getattr(module, "load_library", lambda: None)()
    return reader


@contextlib.contextmanager
def _limited(seconds: float, memory_bytes: int) -> Iterator[None]:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = _address_space() + memory_bytes
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    # Processor time, of C code too: the default action of SIGPROF ends the process.
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def _address_space() -> int:
    try:
        num_pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return 2**32  # no /proc on this system: a generous guess
    return num_pages * resource.getpagesize()


def _plain(array: Any) -> Any:
    """Contiguous, in this machine's byte order."""
    array = np.asarray(array)
    return np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")


def _write(descriptor: int, content: "bytes | memoryview") -> None:
    view = memoryview(content)
    while len(view):
        view = view[os.write(descriptor, view) :]


if __name__ == "__main__":
    main()
