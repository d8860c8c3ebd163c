"""Damaged and hostile demonstration files, each from a seed.

A case takes one good file, a native one or one that a format's own library wrote, and spoils a copy
in one way.
"""

import io
import json
import os
import pickle
import shutil
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import torch
from formats_of_others import WRITERS, Episodes, episodes_of, h5py

from spacil import storage
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import FORMAT, FORMAT_VERSION, load_demos, save_demos

COUNTS = {"cut": 40, "flip": 85, "burst": 30, "shapes": 15, "bomb": 6, "pickle": 12, "lie": 12}
"""Cases of each kind for each format: 200."""

LENGTHS = (150, 400, 90)
"""Long enough for numbers to make up most of a file."""

MAIN_FILES = {
    "native": "demos.safetensors",
    "npz": "demos.npz",
    "d4rl": "demos.hdf5",
    "minari": "demos-v0/data/main_data.hdf5",
    "imitation": "demos/data-00000-of-00001.arrow",
}


@dataclass(frozen=True)
class Case:
    format: str
    kind: str
    number: int

    @property
    def rng(self) -> np.random.Generator:
        key = f"{self.format} {self.kind} {self.number}"
        return np.random.default_rng(list(key.encode()))


def all_cases() -> list[Case]:
    return [
        Case(name, kind, number)
        for name in MAIN_FILES
        for kind, count in COUNTS.items()
        for number in range(count)
    ]


class Spoiler:
    """Good files of every format, and spoiled copies of them. `folder` is its to write in."""

    def __init__(self, folder: Path, demos: Demonstrations) -> None:
        self._folder = folder
        self.payload_ran = folder / "the payload ran"
        self.good: dict[str, Demonstrations] = {}
        for name in MAIN_FILES:
            (folder / name).mkdir()
            if name == "native":
                save_demos(demos, folder / name / _source(name))
            else:
                _write_theirs(name, episodes_of("float32", LENGTHS), folder / name)
            self.good[name] = load_demos(folder / name / _source(name))

    def spoiled(self, case: Case) -> Path:
        """A spoiled copy, to be loaded."""
        work = self._folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(self._folder / case.format, work)
        if case.kind == "pickle":
            _put_pickle(case, work, Payload(self.payload_ran))
        else:
            SPOILERS[case.kind](case, work)
        return work / _source(case.format)


def _source(name: str) -> str:
    """What is loaded: the main file, or the folder it lies in."""
    return Path(MAIN_FILES[name]).parts[0]


def _write_theirs(name: str, episodes: Episodes, folder: Path) -> None:
    target, root = folder / _source(name), folder / "root"
    with mock.patch.dict(os.environ, MINARI_DATASETS_PATH=str(root)):
        written = WRITERS[name](episodes, folder)
    Path(root / "theirs/toy-v0" if name == "minari" else written).rename(target)
    shutil.rmtree(root, ignore_errors=True)


# --- damage -----------------------------------------------------------------------------------


def _cut(case: Case, work: Path) -> None:
    file = work / MAIN_FILES[case.format]
    content = file.read_bytes()
    file.write_bytes(content[: int(case.rng.integers(0, len(content)))])


def _flip(case: Case, work: Path) -> None:
    """One bit of any file."""
    rng = case.rng
    files = sorted(path for path in work.rglob("*") if path.is_file())
    file = files[int(rng.integers(len(files)))]
    content = bytearray(file.read_bytes())
    bit = int(rng.integers(0, 8 * len(content)))
    content[bit // 8] ^= 1 << bit % 8
    file.write_bytes(content)


def _burst(case: Case, work: Path) -> None:
    """Sixteen bytes in a row, as a bad sector's edge."""
    rng, file = case.rng, work / MAIN_FILES[case.format]
    content = bytearray(file.read_bytes())
    start = int(rng.integers(0, len(content) - 16))
    content[start : start + 16] = rng.bytes(16)
    file.write_bytes(content)


# --- arrays that do not fit -------------------------------------------------------------------


def _fewer_actions(episodes: Episodes, index: int) -> None:
    episodes[index]["actions"] = episodes[index]["actions"][1:]


def _fewer_observations(episodes: Episodes, index: int) -> None:
    episodes[index]["observations"] = episodes[index]["observations"][:-2]


def _fewer_rewards(episodes: Episodes, index: int) -> None:
    episodes[index]["rewards"] = episodes[index]["rewards"][1:]


def _more_axes(episodes: Episodes, index: int) -> None:
    for episode in episodes:
        episode["observations"] = episode["observations"][:, :, np.newaxis]


def _no_columns(episodes: Episodes, index: int) -> None:
    for episode in episodes:
        episode["actions"] = episode["actions"][:, :0]


_EDITS = (_fewer_actions, _fewer_observations, _fewer_rewards, _more_axes, _no_columns)


def _shapes(case: Case, work: Path) -> None:
    """A file that is in order as a file, of arrays that do not fit together."""
    rng = case.rng
    if case.format == "native":
        _native_of_other_shapes(rng, work / MAIN_FILES["native"])
        return
    episodes = episodes_of("float32", LENGTHS)
    _EDITS[int(rng.integers(len(_EDITS)))](episodes, int(rng.integers(len(LENGTHS))))
    shutil.rmtree(work)
    work.mkdir()
    _write_theirs(case.format, episodes, work)


def _native_of_other_shapes(rng: np.random.Generator, file: Path) -> None:
    """With a hash that is right."""
    sealed = storage.load_sealed(file, FORMAT, FORMAT_VERSION)
    tensors, document = sealed.tensors, sealed.document
    name = sorted(tensors)[int(rng.integers(len(tensors)))]
    edits: list[Callable[[torch.Tensor], torch.Tensor]] = [
        lambda tensor: tensor[1:],
        lambda tensor: tensor.unsqueeze(-1),
        lambda tensor: torch.cat([tensor, tensor]),
    ]
    tensors[name] = edits[int(rng.integers(len(edits)))](tensors[name])
    storage.save_sealed(file, tensors, document, FORMAT, FORMAT_VERSION)


# --- bombs ------------------------------------------------------------------------------------


def _bomb(case: Case, work: Path) -> None:
    """A small file that unpacks, or claims to unpack, to a large one."""
    file = work / MAIN_FILES[case.format]
    num_rows = int(case.rng.integers(70, 90)) * 2**18  # 70 to 90 MB of float32
    if case.format == "native":
        _declare_native_shape(file, [num_rows * 10**4, 3])
        return
    zeros = np.zeros((num_rows, 1), np.float32)
    if case.format == "npz":
        np.savez_compressed(file, observations=zeros, actions=np.zeros((1, 1)))
    elif case.format == "imitation":
        _write_arrow(file, _nested(zeros[:, 0], [0, 1], [0, num_rows]), "zstd")
    else:
        name = _observations_in_hdf5(case)
        with h5py.File(file, "a") as archive:
            del archive[name]
            archive.create_dataset(name, data=zeros, compression="gzip", compression_opts=1)


# --- pickles ----------------------------------------------------------------------------------


class Payload:
    """Touches a file when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self._target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self._target,))


def _put_pickle(case: Case, work: Path, payload: Payload) -> None:
    """Instead of the file, or inside it where the format can hold one."""
    file, content = work / MAIN_FILES[case.format], pickle.dumps(payload, protocol=case.number % 6)
    if case.number % 2 or case.format in ("native", "imitation"):
        file.write_bytes(content)
    elif case.format == "npz":
        actions = np.array([payload, None], dtype=object)
        np.savez(file, observations=np.ones((3, 2)), actions=actions)
    else:
        name = _observations_in_hdf5(case)
        with h5py.File(file, "a") as archive:
            del archive[name]
            archive[name] = np.void(content)


# --- headers that lie -------------------------------------------------------------------------


def _lie(case: Case, work: Path) -> None:
    """A file whose header promises other sizes than it has."""
    rng, file = case.rng, work / MAIN_FILES[case.format]
    if case.format == "native":
        shapes = ([1, 3], [10**9, 3], [2**62, 4], [3])
        _declare_native_shape(file, shapes[int(rng.integers(4))])
    elif case.format == "npz":
        _npz_that_lies(rng, file)
    elif case.format == "imitation":
        _arrow_that_lies(rng, file)
    elif case.format == "minari" and rng.integers(2):
        metadata_file = file.with_name("metadata.json")
        metadata = json.loads(metadata_file.read_text())
        metadata[("total_steps", "total_episodes")[int(rng.integers(2))]] += 1
        metadata_file.write_text(json.dumps(metadata))
    else:
        name = _observations_in_hdf5(case)
        with h5py.File(file, "a") as archive:
            columns = archive[name].shape[1]
            del archive[name]
            num_rows = int(rng.integers(10**3, 10**11))
            archive.create_dataset(name, (num_rows, columns), "f4", chunks=(100, columns))


def _observations_in_hdf5(case: Case) -> str:
    return "observations" if case.format == "d4rl" else "episode_0/observations"


def _declare_native_shape(file: Path, shape: list[int]) -> None:
    content = file.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header["observations"]["shape"] = shape
    text = json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])


def _npz_that_lies(rng: np.random.Generator, file: Path) -> None:
    """Valid as a zip, checksums and all."""
    shape = ((2, 2), (10**6, 10**6), (3, 3), (2**40,))[int(rng.integers(4))]
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    lying = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + rng.bytes(24)
    buffer = io.BytesIO()
    np.save(buffer, np.ones((2, 1)))
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("observations.npy", lying)
        archive.writestr("actions.npy", buffer.getvalue())


def _arrow_that_lies(rng: np.random.Generator, file: Path) -> None:
    """Rows that reach beyond the numbers, or run backwards."""
    offsets = (0, 2, 4, 6)
    _write_arrow(file, _nested(np.zeros(6, np.float32), [0, 3], offsets), None)
    lying = list(offsets)
    lying[int(rng.integers(1, 4))] = int(rng.integers(7, 2**31 - 1)) * int(rng.choice([-1, 1]))
    honest = struct.pack("<4i", *offsets)
    assert file.read_bytes().count(honest) == 1
    file.write_bytes(file.read_bytes().replace(honest, struct.pack("<4i", *lying)))


def _nested(values: Any, outer: Any, inner: Any) -> Any:
    """list<list<float>> with these offsets."""
    rows = pa.Array.from_buffers(
        pa.list_(pa.float32()), len(inner) - 1, [None, _offsets(inner)], children=[pa.array(values)]
    )
    return pa.Array.from_buffers(
        pa.list_(rows.type), len(outer) - 1, [None, _offsets(outer)], children=[rows]
    )


def _offsets(numbers: Any) -> Any:
    return pa.py_buffer(np.array(numbers, np.int32).tobytes())


def _write_arrow(file: Path, obs: Any, compression: str | None) -> None:
    acts = _nested(np.zeros(2, np.float32), [0, 2], [0, 1, 2])
    batch = pa.RecordBatch.from_arrays(
        [obs, acts, pa.array([True])], names=["obs", "acts", "terminal"]
    )
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(str(file), batch.schema, options=options) as writer:
        writer.write_batch(batch)


SPOILERS: dict[str, Callable[[Case, Path], None]] = {
    "cut": _cut,
    "flip": _flip,
    "burst": _burst,
    "shapes": _shapes,
    "bomb": _bomb,
    "lie": _lie,
}
