"""Row 10: a pickle that runs code when opened, under every name and at every door: never run."""

import io
import pickle
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from corrupted_files import TRACE, TouchesAFile
from fixture_types import Spacil, Train


def plain() -> bytes:
    return pickle.dumps(TouchesAFile())


def of_the_oldest_protocol() -> bytes:
    return pickle.dumps(TouchesAFile(), protocol=0)


def as_torch_saves() -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as members:
        members.writestr("archive/data.pkl", plain())
        members.writestr("archive/version", "3\n")
    return archive.getvalue()


def as_object_array() -> bytes:
    header = b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"
    padded = header.ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded + plain()


def as_npz() -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as members:
        for name in ("observations", "actions"):
            members.writestr(f"{name}.npy", as_object_array())
    return archive.getvalue()


FORMS = (plain, of_the_oldest_protocol, as_torch_saves, as_object_array, as_npz)
NAMES = ("model.pt", "model.pth", "demos.pkl", "demos.npz", "demos.npy", "x.safetensors", "x.onnx")
VERBS: dict[str, Callable[[Path], list[object]]] = {
    "evaluate": lambda file: ["evaluate", file, "--task", "Reacher-v4"],
    "smoothness": lambda file: ["smoothness", file, "--task", "Reacher-v4"],
    "demos check": lambda file: ["demos", "check", file, "--task", "Reacher-v4"],
    "demos collect": lambda file: ["demos", "collect", file, "--num", 1, "--out", "out.npz"],
    "train": lambda file: ["train", "gail", "--task", "Reacher-v4", "--demos", file],
}


@pytest.fixture(autouse=True)
def no_payload_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    assert not TRACE.exists()


def test_the_payload_would_leave_its_trace() -> None:
    pickle.loads(plain())  # noqa: S301  # our own, to see that the others could have run
    assert TRACE.exists()
    TRACE.unlink()


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", NAMES)
def test_no_command_opens_any_pickle(spacil: Spacil, tmp_path: Path, name: str, verb: str) -> None:
    for form in FORMS:
        (tmp_path / name).write_bytes(form())
        refusal = spacil(*VERBS[verb](tmp_path / name))
        assert refusal.code in (2, 65), (form.__name__, refusal.err)
        assert refusal.err.startswith("spacil: ")


def test_no_run_goes_on_from_a_pickle(train: Train, finished_run: Path) -> None:
    for path in (finished_run / "checkpoints").glob("*.safetensors"):
        path.write_bytes(plain())
    refusal = train("gail", "--run-dir", finished_run, "--resume", iterations=4)
    assert refusal.code == 74
    assert "no checkpoint in" in refusal.err and "is valid" in refusal.err
