"""Files are written whole or not at all, and nothing that is read is trusted."""

import contextlib
import errno
import json
import os
import pickle
import random
import re
import resource
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from run_folders import names_in

from spacil import storage
from spacil.errors import DataError, StorageError
from spacil.storage import DamagedFileError

SEED = 7

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # Lone surrogates too: a path that is not valid text may end up in a document.
    | st.text(st.characters(codec=None), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)


@contextlib.contextmanager
def file_size_limit(num_bytes: int) -> Iterator[None]:
    """A real fault: the kernel refuses to let any file grow beyond this."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(json_values)
def test_a_document_reads_back_as_it_was_written(document: Any) -> None:
    assert storage.parse_json(storage.canonical_json(document), "test") == document


def test_the_order_of_keys_does_not_change_the_bytes() -> None:
    assert storage.canonical_json({"b": 1, "a": [2]}) == storage.canonical_json({"a": [2], "b": 1})


def test_what_could_not_be_read_back_is_not_written() -> None:
    for value in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="not JSON compliant"):
            storage.canonical_json([value])


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b'{"a": NaN}', b"[Infinity]", b"[-Infinity]", b"[1] 2", b'"\xe9"'),
        *(b"[" * 1_000_000, b'{"a":' * 1_000_000, b"9" * 10_000, pickle.dumps({"a": 1})),
    ],
    ids=lambda content: repr(content[:16]),
)
def test_json_that_is_not_strict_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "document.json"
    path.write_bytes(content)
    with pytest.raises(DamagedFileError, match=r"document\.json"):
        storage.read_json(path)


def test_a_huge_json_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(100 * 2**30)
    with pytest.raises(DamagedFileError, match="107,374,182,400 bytes"):
        storage.read_json(path)


@pytest.mark.timeout(10)
def test_what_is_not_a_regular_file_is_refused_and_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/full")
    for name, reason in (
        ("pipe", "not a regular file"),
        ("link", "not a regular file"),
        (".", "Is a directory"),
        ("missing", "No such file"),
        ("pipe/inside", "Not a directory"),
    ):
        with pytest.raises(DamagedFileError, match=reason):
            storage.read_json(tmp_path / name)


def test_a_failed_replacement_keeps_the_old_file_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "file"
    storage.replace_file(path, b"old")
    with (
        file_size_limit(4096),
        pytest.raises(StorageError, match="File too large; free some space") as failure,
    ):
        storage.replace_file(path, b"n" * 5000)
    assert str(path) in str(failure.value)
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["file"]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EACCES, "Permission denied; check the path"),
        (errno.ENAMETOOLONG, "File name too long"),
        (errno.ENOSPC, "No space left on device; free some space"),
    ],
)
def test_each_reason_is_named_with_a_remedy(number: int, words: str) -> None:
    with (
        pytest.raises(StorageError, match=f"cannot write 'a.*nb': {words}"),
        storage.os_errors_as(StorageError, "write", Path("a\nb")),
    ):
        raise OSError(number, os.strerror(number))


def test_a_file_reaches_the_disk_before_its_name_and_the_name_before_the_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    record_syncs_and_renames(monkeypatch, events)
    storage.replace_file(tmp_path / "file", b"content")
    assert events == ["fsync .tmp-", "replace .tmp- file", f"fsync {tmp_path.name}"]


def test_a_new_folder_is_named_when_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    record_syncs_and_renames(monkeypatch, events)
    with storage.new_folder(tmp_path / "target") as stage:
        (stage / "part").write_bytes(b"content")
    assert events == ["fsync .tmp-", "rename .tmp- target", f"fsync {tmp_path.name}"]
    assert names_in(tmp_path) == ["target"]
    with (
        pytest.raises(StorageError, match="already exists"),
        storage.new_folder(tmp_path / "target"),
    ):
        pass
    with storage.new_folder(tmp_path / "target", replace=True) as stage:
        (stage / "other").write_bytes(b"content")
    with pytest.raises(ZeroDivisionError), storage.new_folder(tmp_path / "never"):
        _ = 1 / 0
    assert names_in(tmp_path) == ["target"] and names_in(tmp_path / "target") == ["other"]


def record_syncs_and_renames(monkeypatch: pytest.MonkeyPatch, events: list[str]) -> None:
    def short(path: Any) -> str:
        name = Path(path).name
        return re.sub(r"[0-9a-f]{32}$", "", name) if storage.is_leftover(name) else name

    def recording(name: str, call: Any) -> Any:
        def recorded(*paths: Any) -> Any:
            known = [Path(f"/proc/self/fd/{paths[0]}").readlink()] if name == "fsync" else paths
            events.append(" ".join([name, *map(short, known)]))
            return call(*paths)

        return recorded

    for name in ("fsync", "rename", "replace"):
        monkeypatch.setattr(os, name, recording(name, getattr(os, name)))


FORM, VERSION = "spacil-thing", 1


def save(path: Path, tensors: dict[str, torch.Tensor]) -> bytes:
    storage.save_sealed(path, tensors, {"a": [1, 2.5]}, FORM, VERSION, {"host": "x"})
    return path.read_bytes()


def load(path: Path) -> storage.Sealed:
    return storage.load_sealed(path, FORM, VERSION)


def some_tensors() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(SEED)
    table = torch.randn(5, 4, generator=generator)
    return {
        "table": table,
        "view of it": table[1:3],
        "transposed": table.T,
        "scalar": torch.tensor(3.5, dtype=torch.float64),
        "empty": torch.zeros(0, 3),
        "mask": torch.tensor([True, False, True]),
        "half": torch.arange(3, dtype=torch.float16),
        "brain": torch.arange(3, dtype=torch.bfloat16),
        "state": generator.get_state(),
        "counter": torch.tensor([2**63 + 1], dtype=torch.uint64),
        "not a number": torch.tensor([float("nan"), float("-inf")]),
    }


def assert_same_bits(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> None:
    assert ours.keys() == theirs.keys()
    assert storage.content_hash(ours, {}) == storage.content_hash(theirs, {})


def test_tensors_read_back_bit_for_bit_here_and_in_the_library(tmp_path: Path) -> None:
    tensors, path = some_tensors(), tmp_path / "file"
    content = save(path, tensors)
    sealed = load(path)
    assert_same_bits(sealed.tensors, tensors)
    assert_same_bits(safetensors.torch.load(content), tensors)
    assert (sealed.document, sealed.notes) == ({"a": [1, 2.5]}, {"host": "x"})
    assert sealed.content_hash == storage.content_hash(tensors, sealed.document)
    assert save(path, dict(reversed(tensors.items()))) == content
    assert all(tensor.data_ptr() % 64 == 0 for tensor in sealed.tensors.values())
    sealed.tensors["table"] += 1
    assert_same_bits({"v": sealed.tensors["view of it"]}, {"v": tensors["view of it"]})


def crafted(header: Any, payload: bytes = b"") -> bytearray:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return bytearray(struct.pack("<Q", len(text)) + text + payload)


def entry(dtype: Any, shape: Any, offsets: Any) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


ATTACKS = {
    "100 GB declared": crafted({"a": entry("F32", [25 * 10**9], [0, 10**11])}, b"1234"),
    "overflow": crafted({"a": entry("F32", [2**62, 4], [0, 0])}),
    "empty with huge strides": crafted({"a": entry("F32", [0, 2**62, 2**62], [0, 0])}),
    "unknown type": crafted({"a": entry("F4", [8], [0, 4])}, b"1234"),
    "negative size": crafted({"a": entry("U8", [-4, -1], [0, 4])}, b"1234"),
    "size is a float": crafted({"a": entry("U8", [4.0], [0, 4])}, b"1234"),
    "size is a bool": crafted({"a": entry("U8", [True], [0, 1])}, b"1"),
    "hole": crafted({"a": entry("U8", [2], [0, 2]), "b": entry("U8", [1], [3, 4])}, b"1234"),
    "overlap": crafted({"a": entry("U8", [3], [0, 3]), "b": entry("U8", [2], [2, 4])}, b"1234"),
    "rest": crafted({"a": entry("U8", [2], [0, 2])}, b"1234"),
    "beyond the end": crafted({"a": entry("U8", [8], [0, 8])}, b"1234"),
    "backwards": crafted({"a": entry("U8", [], [1, 0])}, b"1"),
    "deep header": crafted(b'{"a":' * 100_000),
    "header beyond the end": bytearray(struct.pack("<Q", 2**40) + b"{}"),
    "too short": bytearray(b"{}"),
    "empty": bytearray(),
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
def test_a_header_that_lies_is_refused(tmp_path: Path, attack: bytearray) -> None:
    (tmp_path / "file").write_bytes(attack)
    with pytest.raises(DataError, match="file"):
        load(tmp_path / "file")


def test_a_flip_or_a_cut_anywhere_is_refused(tmp_path: Path) -> None:
    chance, path = random.Random(SEED), tmp_path / "file"
    whole = save(path, some_tensors())
    for case in range(600):
        damaged = bytearray(whole)
        if case % 3 == 0:
            del damaged[chance.randrange(len(whole)) :]
        else:
            damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(DataError):
            load(path)


def test_the_hash_sees_names_types_shapes_bytes_and_the_document() -> None:
    zeros = torch.zeros(4)
    hashes = [
        storage.content_hash(tensors, document)
        for tensors, document in [
            ({"a": zeros}, {}),
            ({"b": zeros}, {}),
            ({"a": zeros.reshape(2, 2)}, {}),
            ({"a": zeros.to(torch.int32)}, {}),
            ({"a": zeros + 1}, {}),
            ({"a": -zeros}, {}),
            ({"a": zeros}, {"a": 0}),
            ({"a": zeros, "b": torch.zeros(0)}, {}),
            ({}, {}),
        ]
    ]
    assert len(set(hashes)) == len(hashes)
    assert storage.content_hash({"a": torch.zeros(8)[::2]}, {}) == hashes[0]
