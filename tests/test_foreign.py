"""The child process that parses foreign files: limited, and alone with what goes wrong in it."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spacil import foreign
from spacil.errors import ConfigError, DataError
from spacil.foreign import Arrays, read_foreign


def read(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """A reader as formats have them; the name of the file says how it behaves."""
    match path.name:
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "stall":
            while True:
                pass
        case "hang":
            time.sleep(600)
        case "greed":
            np.ones(2**36)
        case "text":
            return {"a": np.array(["a"])}, {}
        case "pickle":
            return {"a": np.array([{"a": 1}])}, {}
        case "noise":
            print("a library says hello", flush=True)
        case "torch":
            import sys

            return {}, {"torch": "torch" in sys.modules}
        case "damaged":
            raise KeyError("missing")
    return {"a": np.arange(6.0).reshape(3, 2), "b": np.ones((2, 0), np.float16)}, {"note": [1]}


@pytest.fixture
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child imports the reader from here."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.setattr(read, "__module__", Path(__file__).stem)


def _file(folder: Path, name: str) -> Path:
    (folder / name).touch()
    return folder / name


@pytest.mark.parametrize("name", ["plain", "noise"])
def test_arrays_and_notes_come_back_as_they_are(on_path: None, tmp_path: Path, name: str) -> None:
    arrays, notes = read_foreign(read, _file(tmp_path, name))
    assert notes == {"note": [1]}
    assert arrays["a"].tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert (arrays["b"].shape, arrays["b"].dtype) == ((2, 0), np.float16)


def test_the_child_loads_no_torch(on_path: None, tmp_path: Path) -> None:
    assert read_foreign(read, _file(tmp_path, "torch"))[1] == {"torch": False}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("crash", r"its parser crashed \(SIGSEGV\)"),
        ("stall", "took more than 0.2 s of processor time"),
        ("hang", "did not finish"),
        ("greed", "takes more than 1,024 MiB of memory"),
        ("text", "a is <U1, expected numbers"),
        ("pickle", "a is object, expected numbers"),
        ("damaged", "damaged, or of another kind: 'missing'"),
    ],
)
def test_what_goes_wrong_is_a_refusal_that_names_the_file(
    on_path: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    monkeypatch.setattr(foreign, "_SECONDS", 0.2)
    monkeypatch.setattr(foreign, "_PATIENCE", 1.0 if name == "hang" else 100.0)
    with pytest.raises(DataError, match=rf"{name}: .*{message}"):
        read_foreign(read, _file(tmp_path, name))


def test_a_missing_library_is_named_with_its_remedy(on_path: None, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"needs no_such: pip install 'spacil\[hdf5\]'"):
        read_foreign(read, _file(tmp_path, "a"), "no_such", "hdf5")


def test_nothing_is_imported_from_the_working_folder(
    on_path: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would otherwise run whatever numpy.py lies beside somebody's data."""
    (tmp_path / "numpy.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    assert read_foreign(read, _file(tmp_path, "a"))[1] == {"note": [1]}
