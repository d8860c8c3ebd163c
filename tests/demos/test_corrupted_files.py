"""Damaged and hostile files: no crash, no hang, no payload, no error of another kind.

A native file is refused, by its hash; npz has the checksums of zip. HDF5 and Arrow have none over
their numbers: a flip in there loads as other numbers. `docs/demonstrations.md` says so.
"""

import os
import random
from pathlib import Path

import pytest
import torch
from corrupted_files import BYTE_DAMAGE, TRACE, copy_of
from fixture_types import MakeDemos
from formats_of_others import WRITERS, episodes_of

from spacil.demos.file import load_demos, save_demos
from spacil.errors import DataError

MAX_SECONDS = 5.0
"""Processor time, of the child too: what starts a reader of Arrow takes one of them."""
SOURCES = {
    "native": ("demos.safetensors", ""),
    "npz": ("theirs.npz", ""),
    "d4rl": ("theirs.hdf5", ""),
    "minari": ("minari/theirs/toy-v0", "data/main_data.hdf5"),
    "imitation": ("theirs", "data-00000-of-00001.arrow"),
}
"""What is loaded, and the file in it that is damaged."""
WITHOUT_CHECKSUM = ("d4rl", "minari", "imitation")
REFUSED = (*("cut short", "nothing", "text instead"), *("a pickle instead", "torch.save instead"))


@pytest.fixture
def good(make_demos: MakeDemos, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Good files: a native one, and one of each format as its own library writes it."""
    folder = tmp_path / "good"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)  # where a payload that ran would leave its trace
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(folder / "minari"))
    for write in WRITERS.values():
        write(episodes_of("float32", (150, 400, 90)), folder)  # numbers make up most of a file
    save_demos(make_demos((30, 35, 20)), folder / SOURCES["native"][0])
    return folder


def _spoil_all(good: Path, form: str, kinds: list[str], num_each: int) -> None:
    source, damaged = SOURCES[form]
    expected = load_demos(good / source).tensors()
    for case in [f"{form}, {kind}, {number}" for kind in kinds for number in range(num_each)]:
        kind = case.split(", ")[1]
        copy = copy_of(good, good.parent / "copy") / source
        content = (copy / damaged).read_bytes()
        (copy / damaged).write_bytes(BYTE_DAMAGE[kind](content, random.Random(case)))
        started = sum(os.times()[:4])
        try:
            found = load_demos(copy).tensors()
        except DataError as error:
            assert str(copy) in str(error), case
        else:
            assert kind not in REFUSED, case
            is_same = found.keys() == expected.keys() and all(
                map(torch.equal, found.values(), expected.values())
            )
            assert is_same or form in WITHOUT_CHECKSUM, case
        assert sum(os.times()[:4]) - started <= MAX_SECONDS, case
    assert not TRACE.exists()


@pytest.mark.parametrize("form", SOURCES)
def test_a_spoiled_file_is_refused_or_of_a_format_without_checksums(good: Path, form: str) -> None:
    kinds = list(BYTE_DAMAGE) if form == "native" else ["one bit flipped", *REFUSED]
    _spoil_all(good, form, kinds, 1)


@pytest.mark.slow
@pytest.mark.parametrize("form", SOURCES)
def test_two_hundred_spoiled_files_are_refused(good: Path, form: str) -> None:
    _spoil_all(good, form, list(BYTE_DAMAGE), 11)
