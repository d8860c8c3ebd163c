"""Damaged and hostile demonstration files, each from a seed.

A case takes one good file, a native one or one that a format's own library wrote, and spoils a copy
in one way.
"""

import os
import pickle
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from formats_of_others import WRITERS, Episodes, episodes_of

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import load_demos, save_demos

COUNTS = {"cut": 40, "flip": 100, "burst": 40, "pickle": 20}
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
        return np.random.default_rng(list(f"{self.format} {self.kind} {self.number}".encode()))


def all_cases() -> list[Case]:
    return [
        Case(name, kind, number)
        for name in MAIN_FILES
        for kind, count in COUNTS.items()
        for number in range(count)
    ]


class Payload:
    """Touches a file when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self._target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self._target,))


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
        file = work / MAIN_FILES[case.format]
        if case.kind == "pickle":
            file.write_bytes(pickle.dumps(Payload(self.payload_ran), protocol=case.number % 6))
        else:
            file.write_bytes(DAMAGE[case.kind](file.read_bytes(), case.rng))
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


def _cut(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: int(rng.integers(0, len(content)))]


def _flip(content: bytes, rng: np.random.Generator) -> bytes:
    """One bit."""
    bit = int(rng.integers(0, 8 * len(content)))
    return content[: bit // 8] + bytes([content[bit // 8] ^ 1 << bit % 8]) + content[bit // 8 + 1 :]


def _burst(content: bytes, rng: np.random.Generator) -> bytes:
    """Sixteen bytes in a row, as a bad sector's edge."""
    start = int(rng.integers(0, len(content) - 16))
    return content[:start] + rng.bytes(16) + content[start + 16 :]


DAMAGE: dict[str, Callable[[bytes, np.random.Generator], bytes]] = {
    "cut": _cut,
    "flip": _flip,
    "burst": _burst,
}
