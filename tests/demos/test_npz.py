"""Npz files of anyone: understood by their names, refused by their sizes, never unpickled."""

import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import load_demos, save_demos
from spacil.demos.formats import npz_archive
from spacil.errors import DataError
from spacil.sandbox import limits as import_limits

MakeDemos = Callable[..., Demonstrations]

SEED = 20_240


def _npz(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


def _flat_arrays() -> dict[str, Any]:
    """Two episodes of 2 and 3 steps, as many observations as actions."""
    return {
        "observations": np.arange(10, dtype=np.float32).reshape(5, 2),
        "actions": np.linspace(-1, 1, 5, dtype=np.float32).reshape(5, 1),
    }


def _npy(shape: tuple[int, ...], descr: str = "<f4", data: bytes = b"") -> bytes:
    """A hand-made .npy file that may promise anything."""
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def _zip(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression=method) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


def test_an_export_is_read_by_numpy_alone(make_demos: MakeDemos, tmp_path: Path) -> None:
    demos = make_demos()
    save_demos(demos, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        assert np.array_equal(arrays["observations"], demos.observations.numpy())
        assert np.array_equal(arrays["episode_lengths"], [7, 12, 5])


def test_episodes_are_cut_by_their_lengths(tmp_path: Path) -> None:
    path = _npz(tmp_path / "a.npz", **_flat_arrays(), episode_lengths=np.array([2, 3]))
    demos = load_demos(path)
    assert demos.episode_lengths.tolist() == [2, 3]
    assert demos.actions is None
    assert demos.episode(1).observations[:, 0].tolist() == [4.0, 6.0, 8.0, 8.0]
    assert demos.source == str(path)


@pytest.mark.parametrize("flag", ["terminals", "terminations", "timeouts", "truncations"])
def test_episodes_are_cut_by_their_flags(tmp_path: Path, flag: str) -> None:
    flags = {flag: np.array([0, 1, 0, 0, 1], dtype=np.uint8)}
    demos = load_demos(_npz(tmp_path / "a.npz", **_flat_arrays(), **flags))
    assert demos.episode_lengths.tolist() == [2, 3]
    is_termination = flag.startswith("termina")
    assert demos.episode(0).is_terminated == is_termination
    assert demos.episode(0).is_truncated != is_termination


def test_a_last_episode_without_a_flag_is_kept(tmp_path: Path) -> None:
    flags = {"terminals": np.array([0, 1, 0, 0, 0]), "timeouts": np.zeros(5)}
    demos = load_demos(_npz(tmp_path / "a.npz", **_flat_arrays(), **flags))
    assert demos.episode_lengths.tolist() == [2, 3]
    assert not demos.episode(1).is_terminated
    assert not demos.episode(1).is_truncated


@pytest.mark.parametrize(("observations", "actions"), [("obs", "acts"), ("states", "actions")])
def test_the_names_people_use_are_understood(
    tmp_path: Path, observations: str, actions: str
) -> None:
    flat = _flat_arrays()
    arrays = {observations: flat["observations"], actions: flat["actions"][:4]}
    demos = load_demos(_npz(tmp_path / "a.npz", **arrays))
    assert demos.episode_lengths.tolist() == [4]  # one observation more than actions: one episode


def test_stacked_episodes_are_understood(tmp_path: Path) -> None:
    arrays = {
        "observations": np.arange(24.0).reshape(2, 4, 3),
        "actions": np.zeros((2, 3, 1)),
        "rewards": np.ones((2, 3)),
    }
    demos = load_demos(_npz(tmp_path / "a.npz", **arrays))
    assert demos.episode_lengths.tolist() == [3, 3]
    assert demos.episode(1).observations[0].tolist() == [12.0, 13.0, 14.0]
    assert demos.returns is not None
    assert demos.returns.tolist() == [3.0, 3.0]


def test_fortran_order_and_big_endian_numbers_mean_the_same(tmp_path: Path) -> None:
    plain = load_demos(_npz(tmp_path / "a.npz", **_flat_arrays(), episode_lengths=[2, 3]))
    flat = _flat_arrays()
    flat["observations"] = np.asfortranarray(flat["observations"])
    flat["actions"] = flat["actions"].astype(">f4")
    other = load_demos(_npz(tmp_path / "b.npz", **flat, episode_lengths=[2, 3]))
    assert torch.equal(other.observations, plain.observations)
    assert torch.equal(other.executed_actions, plain.executed_actions)


@pytest.mark.parametrize("dtype", ["float16", "int64"])
def test_casts_are_recorded_in_the_provenance(tmp_path: Path, dtype: str) -> None:
    flat = _flat_arrays()
    flat["observations"] = flat["observations"].astype(dtype)
    demos = load_demos(_npz(tmp_path / "a.npz", **flat, episode_lengths=[2, 3]))
    casts = [c for c in demos.metadata.provenance["changes"] if c["operation"] == "cast"]
    assert casts == [{"operation": "cast", "observations": f"{dtype} -> float32"}]


def test_arrays_that_are_not_read_are_listed(tmp_path: Path) -> None:
    extra = {"next_actions": np.zeros(3), "infos": np.array([{"a": 1}], dtype=object)}
    path = _npz(tmp_path / "a.npz", **_flat_arrays(), episode_lengths=[2, 3], **extra)
    change = load_demos(path).metadata.provenance["changes"][0]
    assert change["ignored_arrays"] == ["infos", "next_actions"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "does not say where episodes end; add episode_lengths"),
        ({"episode_lengths": [2, 4]}, "episode_lengths add up to 6, but there are 5 actions"),
        ({"episode_lengths": [-1, 6]}, "episode_lengths add up to 5"),
        ({"episode_lengths": [2.0, 3.0]}, "float64 of shape .*one integer per episode"),
        ({"episode_lengths": [2, 3], "obs": np.zeros((5, 2))}, "two arrays mean observations"),
        ({"episode_lengths": [2, 3], "rewards": np.zeros(4)}, "rewards has shape .4,.*5 rows"),
        ({"episode_lengths": [2, 3], "actions": np.zeros((5, 1, 1, 1))}, r"\(2, 1, 1, 1\)"),
        ({"episode_lengths": [2, 3], "observations": np.zeros((9, 2))}, "5 rows or 7"),
        ({"episode_lengths": [2, 3], "observations": np.float32(1)}, "is a single number"),
        ({"terminals": [0, 1, 0, 0]}, r"shapes \[\(4,\)\], expected \(5,\)"),
        ({"terminals": [0, 2, 0, 0, 1]}, "terminations of episode 0 holds values other than 0"),
        ({"episode_lengths": [2, 3], "initial_qpos": np.zeros((2, 4))}, "needs initial_qpos and"),
        ({"episode_lengths": [2, 3], "initial_qpos": np.zeros((1, 4))}, "has 1 episodes"),
        ({"episode_lengths": [2, 3], "actions": np.array(["a"] * 5)}, "type 'U1', expected num"),
        ({"episode_lengths": [2, 3], "actions": np.ones(5, int)}, "continuous vectors"),
        ({"episode_lengths": [2, 3], "metadata_json": np.zeros(4, np.uint8)}, "not valid JSON"),
        (
            {"episode_lengths": [2, 3], "metadata_json": np.frombuffer(b"[]", "u1")},
            "document of spacil",
        ),
    ],
)
def test_arrays_that_do_not_fit_are_refused_in_words(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    path = _npz(tmp_path / "a.npz", **{**_flat_arrays(), **changes})
    with pytest.raises(DataError, match=message) as caught:
        load_demos(path)
    assert str(path) in str(caught.value)


def test_a_file_without_actions_says_what_it_has(tmp_path: Path) -> None:
    path = _npz(tmp_path / "a.npz", observations=np.zeros((3, 2)), x=np.zeros(3))
    with pytest.raises(DataError, match=r"has no executed_actions .*it has observations, x$"):
        load_demos(path)
    path = _npz(tmp_path / "b.npz", xs=np.zeros((3, 2)), us=np.zeros(3))
    with pytest.raises(DataError, match=r"has no observations .*it has us, xs$"):
        load_demos(path)


def test_object_arrays_are_refused_and_their_payload_does_not_run(tmp_path: Path) -> None:
    target = tmp_path / "the payload ran"

    class Payload:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (target,))

    actions = np.empty(5, dtype=object)
    actions[0] = Payload()
    path = _npz(tmp_path / "a.npz", **{**_flat_arrays(), "actions": actions})
    with pytest.raises(DataError, match="object array, which only pickle can read"):
        load_demos(path)
    assert not target.exists()


def test_a_zip_bomb_is_refused_before_it_unpacks(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    num_rows = 80_000_000  # bytes of zeros, about 80 kB in the file
    np.savez_compressed(path, observations=np.zeros((num_rows, 1), np.uint8), actions=np.zeros(1))
    with pytest.raises(DataError, match="refused as a zip bomb"):
        load_demos(path)


def test_more_than_the_limit_is_refused_by_what_is_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _npz(tmp_path / "a.npz", **_flat_arrays(), episode_lengths=[2, 3])
    monkeypatch.setattr(import_limits, "MAX_TOTAL_BYTES", 100)
    with pytest.raises(DataError, match="MiB of arrays, more than"):
        npz_archive.read_npz(path)  # in this process, where the limit was changed


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((25_000_000_000, 1), "declares shape .*too large"),
        ((2_000_000, 12_500), "declares shape .*100000000.* bytes, but holds"),
        ((0, 10**30), "declares shape .*too large"),
    ],
)
def test_a_declared_100_gigabyte_array_takes_no_memory(
    tmp_path: Path, shape: tuple[int, ...], message: str
) -> None:
    members = {"observations": _npy(shape), "actions": _npy((1, 1), data=bytes(4))}
    with pytest.raises(DataError, match=message):
        load_demos(_zip(tmp_path / "a.npz", members))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"not an array", "is not a numpy array"),
        (b"\x93NUMPY\x01\x00", "damaged, or not an npz"),
        (b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31), "header of 2147483648 bytes"),
        (_npy((1,), descr="__import__('os')"), "not an array of plain numbers"),
        (_npy((1,), descr="<<f4", data=bytes(4)), "type '<f4', expected numbers"),
        (_npy((1, 1), data=bytes(5)), "declares shape"),
    ],
)
def test_odd_array_headers_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_demos(_zip(tmp_path / "a.npz", {"observations": content}))


def test_unusual_zip_methods_and_repeated_names_are_refused(tmp_path: Path) -> None:
    array = _npy((1, 1), data=bytes(4))
    path = _zip(tmp_path / "a.npz", {"observations": array}, zipfile.ZIP_LZMA)
    with pytest.raises(DataError, match="zip method 14, which numpy never writes"):
        load_demos(path)
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "w") as archive:
        archive.writestr("actions.npy", array)
        archive.writestr("actions.npy", array)
    with pytest.raises(DataError, match="two arrays named 'actions'"):
        load_demos(path)


def test_an_encrypted_file_is_refused(tmp_path: Path) -> None:
    path = _zip(tmp_path / "a.npz", {"observations": _npy((1, 1), data=bytes(4))})
    content = bytearray(path.read_bytes())
    content[6] |= 1  # the flag in the local header, and in the directory
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match="without a password"):
        load_demos(path)


def test_other_files_named_npz_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(50))
    with pytest.raises(DataError, match="not an npz file; it looks like an HDF5 file"):
        load_demos(path)


def test_every_cut_is_found(make_demos: MakeDemos, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    save_demos(make_demos(), path)
    content = path.read_bytes()
    rng = np.random.default_rng(SEED)
    for length in {0, 1, 4, len(content) - 1, *rng.integers(0, len(content), 150).tolist()}:
        path.write_bytes(content[:length])
        with pytest.raises(DataError, match=path.name):
            load_demos(path)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_flipped_bit_is_found_or_changes_nothing(
    tmp_path: Path, save: Callable[..., None]
) -> None:
    """A zip has fields that no checksum covers (dates, attributes, versions): flips there load.

    What must never happen is other numbers, a crash, or an error of another type.
    """
    buffer = io.BytesIO()
    save(buffer, **_flat_arrays(), episode_lengths=[2, 3], rewards=np.arange(5.0))
    content = buffer.getvalue()
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    expected = load_demos(path)
    num_refused = 0
    bits = np.random.default_rng(SEED).integers(0, 8 * len(content), 600).tolist()
    for bit in bits:
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(damaged)
        try:
            loaded = load_demos(path)
        except DataError:
            num_refused += 1
            continue
        assert loaded.tensors().keys() == expected.tensors().keys(), bit
        for name, tensor in loaded.tensors().items():
            assert torch.equal(tensor, expected.tensors()[name]), (bit, name)
    assert num_refused > len(bits) // 2
