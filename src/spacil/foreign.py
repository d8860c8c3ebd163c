"""Foreign files are parsed in a child process with limits; only plain arrays come back.

Parsers of HDF5, Arrow, zip and ONNX are large pieces of C and C++ that a file can crash, hang or
make use up all memory. Each file gets a child of its own, `python -m spacil.foreign`, with limits
on memory, processor time and what it writes. It answers with one npz of numbers on its standard
output, which is read without pickle. Readers import no torch, so a child starts in 0.2 s.
"""

import importlib
import io
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacil.errors import ConfigError, DataError, SpacilError

Arrays = dict[str, NDArray[Any]]
Reader = Callable[[Path], tuple[Arrays, dict[str, Any]]]
"""What a file holds: arrays of numbers, and JSON about them."""

_SECONDS, _SECONDS_PER_BYTE = 2.0, 1e-7
"""Processor time beyond the imports, so that a busy machine refuses no honest file."""
_MEMORY, _MEMORY_PER_BYTE, _MAX_MEMORY = 2**30, 64, 8 * 2**30
"""Address space beyond what the imports took."""
_PATIENCE = 20.0
"""Wall-clock seconds beyond ten times the processor time: a lost disk uses none."""
_NOTES = "notes_json"
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # the others reserve more than they use
    "HDF5_PLUGIN_PRELOAD": "::",  # no filter plugins: a file must not choose code to load
}


def read_foreign(
    reader: Reader, path: Path, library: str = "numpy", extra: str = ""
) -> tuple[Arrays, dict[str, Any]]:
    """What `reader` finds in a file or folder; anything wrong with it is a `DataError`.

    `library` is what the reader imports, and `extra` the optional part of spacil that brings it.
    """
    files = path.rglob("*") if path.is_dir() else [path]
    size = sum(file.lstat().st_size for file in files)
    seconds = _SECONDS + _SECONDS_PER_BYTE * size
    memory = min(_MEMORY + _MEMORY_PER_BYTE * size, _MAX_MEMORY)
    name = f"{reader.__module__}:{reader.__name__}"
    # -P: a numpy.py in the working folder is not numpy.
    command = [sys.executable, "-P", "-m", "spacil.foreign", name, os.fspath(path), library, extra]
    roots = [os.fspath(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, **_ENVIRONMENT, "PYTHONPATH": os.pathsep.join(filter(None, roots))}
    with tempfile.TemporaryFile() as answer:
        try:
            ending = subprocess.run(
                [*command, str(seconds), str(memory)],
                stdin=subprocess.DEVNULL,
                stdout=answer,
                stderr=subprocess.DEVNULL,
                env=environment,
                timeout=10 * seconds + _PATIENCE,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            raise DataError(f"{path}: reading did not finish; is its disk reachable?") from None
        answer.seek(0)
        for kind in (ConfigError, DataError):
            if ending == kind.exit_code:
                raise kind(answer.read().decode(errors="replace"))
        if ending:
            reason = signal.Signals(-ending).name if ending < 0 else f"exit code {ending}"
            fault = f"its parser crashed ({reason})"
            if ending == -signal.SIGPROF:
                fault = f"reading it took more than {seconds:.1f} s of processor time"
            raise DataError(f"{path}: {fault}: the file is damaged; download or create it again")
        with np.load(answer, allow_pickle=False) as found:
            arrays = dict(found)
    return arrays, json.loads(arrays.pop(_NOTES).tobytes())


def _answer(reader: str, path: str, library: str, extra: str, seconds: str, memory: str) -> bytes:
    """What the reader finds, as the content of an npz file."""
    try:
        importlib.import_module(library)
    except ImportError:
        raise ConfigError(
            f"{path}: reading it needs {library}: pip install 'spacil[{extra}]'"
        ) from None
    module, _, function = reader.partition(":")
    read: Reader = getattr(importlib.import_module(module), function)
    _limit(float(seconds), int(memory))
    try:
        arrays, notes = read(Path(path))
        for name, array in arrays.items():
            if array.dtype.kind not in "biuf":
                raise DataError(f"{path}: {name} is {array.dtype}, expected numbers or flags")
        text = np.frombuffer(json.dumps(notes).encode(), np.uint8)
        content = io.BytesIO()
        np.savez(content, allow_pickle=False, **arrays, **{_NOTES: text})
    except SpacilError:
        raise
    except MemoryError:
        needed = f"{int(memory) / 2**20:,.0f} MiB"
        raise DataError(f"{path}: takes more than {needed} of memory to read") from None
    except Exception as error:  # a parser may raise anything on a damaged file
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise DataError(f"{path}: damaged, or of another kind: {reason}") from None
    return content.getvalue()


def _limit(seconds: float, memory: int) -> None:
    status = Path("/proc/self/statm")
    num_pages = int(status.read_text().split()[0]) if status.exists() else 2**20
    most_memory = num_pages * resource.getpagesize() + memory
    for limit, most in (
        (resource.RLIMIT_AS, most_memory),
        (resource.RLIMIT_FSIZE, _MAX_MEMORY),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(limit)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (most, hard))
    # Processor time, of C code too: the default action of SIGPROF ends the process.
    signal.setitimer(signal.ITIMER_PROF, seconds)


if __name__ == "__main__":
    with os.fdopen(os.dup(1), "wb") as answer:
        os.dup2(2, 1)  # what a library prints is no answer
        try:
            answer.write(_answer(*sys.argv[1:]))
        except SpacilError as error:
            answer.write(str(error).encode(errors="replace"))
            sys.exit(error.exit_code)
