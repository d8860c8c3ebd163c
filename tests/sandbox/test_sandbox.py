"""The child process that parses foreign files: kept, limited, and replaced when it dies."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from spacil.demos.formats.npz import READER
from spacil.errors import ConfigError, DataError
from spacil.sandbox.parent import Importer, Limits


@pytest.fixture
def importer() -> Iterator[Importer]:
    importer = Importer()
    yield importer
    importer.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    np.savez(tmp_path / "a.npz", observations=np.arange(6.0).reshape(3, 2), actions=np.ones((2, 1)))
    return tmp_path / "a.npz"


def _limited(**limits: float) -> Importer:
    return Importer(Limits(**limits))  # type: ignore[arg-type]


def test_one_child_reads_file_after_file(importer: Importer, file: Path) -> None:
    arrays, notes = importer.read(READER, file)
    assert arrays["observations"].tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert notes == {"ignored": []}
    child = importer.process_id
    for _ in range(20):
        importer.read(READER, file)
    assert importer.process_id == child


def test_a_refusal_keeps_the_child(importer: Importer, file: Path) -> None:
    importer.read(READER, file)
    child = importer.process_id
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(DataError, match="damaged, or not an npz file"):
        importer.read(READER, file)
    assert importer.process_id == child


def test_empty_arrays_scalars_and_every_number_type_come_back_as_they_are(
    importer: Importer, tmp_path: Path
) -> None:
    for dtype in ("bool", "int8", "uint16", "int64", "float16", "float32", ">f8"):
        arrays = {
            "obs": np.ones((2, 0), dtype),
            "acts": np.array(1, dtype),
            "rewards": np.eye(3, dtype=dtype),
        }
        np.savez(tmp_path / "a.npz", **arrays)
        found, _ = importer.read(READER, tmp_path / "a.npz")
        for name, array in arrays.items():
            assert found[name].shape == array.shape
            assert found[name].dtype == array.dtype.newbyteorder("=")
            assert np.array_equal(found[name], array)


def test_a_child_that_was_killed_is_replaced(importer: Importer, file: Path) -> None:
    importer.read(READER, file)
    child = importer.process_id
    assert child is not None
    os.kill(child, signal.SIGKILL)
    assert len(importer.read(READER, file)[0]) == 2
    assert importer.process_id != child


@pytest.mark.parametrize(
    ("number", "message"),
    [(signal.SIGSEGV, r"its parser crashed \(SIGSEGV\)"), (signal.SIGABRT, r"\(SIGABRT\)")],
)
def test_a_crash_of_the_parser_is_a_refusal_and_the_next_file_is_read(
    importer: Importer, file: Path, tmp_path: Path, number: signal.Signals, message: str
) -> None:
    importer.read(READER, file)
    child = importer.process_id
    assert child is not None
    os.mkfifo(
        tmp_path / "pipe.npz"
    )  # opening it waits for a writer: the child is inside its parser
    threading.Timer(0.2, os.kill, (child, number)).start()
    with pytest.raises(DataError, match=f"pipe.npz: .*{message}"):
        importer.read(READER, tmp_path / "pipe.npz")
    assert len(importer.read(READER, file)[0]) == 2


def test_a_file_that_does_not_answer_is_given_up(file: Path, tmp_path: Path) -> None:
    importer = _limited(seconds=0.01, patience=0.3)
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(DataError, match=r"pipe.npz: reading it did not finish"):
        importer.read(READER, tmp_path / "pipe.npz")
    importer.close()


def test_processor_time_is_limited(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.savez_compressed(tmp_path / "a.npz", observations=rng.integers(0, 9, (2_000_000, 1)))
    importer = _limited(seconds=0.01, seconds_per_byte=0)  # a fifth of what it takes
    started = time.monotonic()
    with pytest.raises(DataError, match=r"took more than 0.0 s of processor time"):
        importer.read(READER, tmp_path / "a.npz")
    assert time.monotonic() - started < 5
    importer.close()


def test_memory_is_limited(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", observations=np.ones((8_000_000, 1)), actions=np.ones((1, 1)))
    importer = _limited(memory_bytes=20 * 2**20, memory_per_byte=0)
    with pytest.raises(DataError, match=r"would take more than 20 MiB of memory|parser crashed"):
        importer.read(READER, tmp_path / "a.npz")
    importer.close()


def test_a_reader_is_one_of_ours(importer: Importer, file: Path) -> None:
    with pytest.raises(ConfigError, match="not a reader of spacil"):
        importer.read("os:system", file)


def test_a_missing_file_is_told_before_the_child_is_asked(importer: Importer) -> None:
    with pytest.raises(DataError, match="there is no such file or folder"):
        importer.read(READER, Path("missing.npz"))
    assert importer.process_id is None


def test_the_child_imports_nothing_from_the_working_folder_and_ends_with_its_parent(
    file: Path,
) -> None:
    """It would otherwise run whatever numpy.py lies beside somebody's data."""
    (file.parent / "numpy.py").write_text("open('ran', 'w').close()")
    script = (
        "from pathlib import Path; from spacil.sandbox.parent import _shared; import os, signal;"
        f"os.chdir({str(file.parent)!r}); arrays, _ = _shared.read({READER!r}, Path('a.npz'));"
        "print(len(arrays), _shared.process_id, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    num_arrays, child = done.stdout.split()
    assert num_arrays == "2"
    assert not (file.parent / "ran").exists()
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and _is_running(int(child)):
        time.sleep(0.05)
    assert not _is_running(int(child))


def _is_running(process_id: int) -> bool:
    """A process that ended and waits to be fetched by nobody is not running."""
    try:
        state = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
