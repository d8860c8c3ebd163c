"""The native file: bit for bit there and back, and no damage that goes unnoticed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from demo_edits import with_value

from spacil.demos import file as demo_file
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import load_demos, save_demos
from spacil.errors import ConfigError, DataError
from spacil.storage import canonical_json, content_hash

MakeDemos = Callable[..., Demonstrations]

SEED = 20_240


@pytest.fixture
def native_file(make_demos: MakeDemos, tmp_path: Path) -> Path:
    path = tmp_path / "toy.demos.safetensors"
    save_demos(make_demos(), path)
    return path


def _with_header(path: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """Rewrite the JSON header of a safetensors file, leaving the payload as it is."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    edit(header)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])


def _forged(path: Path, tensors: dict[str, torch.Tensor], **changes: Any) -> Path:
    """A native file with a correct hash and whatever content a forger likes."""
    version = changes.pop("format_version", demo_file.FORMAT_VERSION)
    metadata: dict[str, Any] = {"task": None, "env_fingerprint": None, "provenance": {}, **changes}
    document = {
        "format": demo_file.FORMAT,
        "format_version": version,
        "content_hash": content_hash(tensors, metadata),
        **metadata,
    }
    text = canonical_json(document).decode()
    path.write_bytes(safetensors.torch.save(tensors, {"spacil": text}))
    return path


def test_a_round_trip_keeps_every_bit(make_demos: MakeDemos, tmp_path: Path) -> None:
    demos = with_value(make_demos(), "observations", (0, 0), torch.nan)  # no file's business
    demos = with_value(demos, "executed_actions", (0, 0), -0.0)
    save_demos(demos, tmp_path / "a.safetensors")
    loaded = load_demos(tmp_path / "a.safetensors")
    assert list(loaded.tensors()) == list(demos.tensors())
    for name, tensor in demos.tensors().items():
        assert loaded.tensors()[name].dtype == tensor.dtype
        assert loaded.tensors()[name].numpy().tobytes() == tensor.numpy().tobytes(), name
    assert loaded.metadata == demos.metadata
    assert loaded.content_hash == demos.content_hash
    save_demos(loaded, tmp_path / "b.safetensors")
    assert (tmp_path / "b.safetensors").read_bytes() == (tmp_path / "a.safetensors").read_bytes()


def test_every_flipped_bit_is_found(native_file: Path) -> None:
    content = native_file.read_bytes()
    header_end = 8 + int.from_bytes(content[:8], "little")
    rng = np.random.default_rng(SEED)
    # All of the length, and a sample of the header and of the payload.
    bits = [
        *range(64),
        *rng.integers(64, 8 * header_end, 400).tolist(),
        *rng.integers(8 * header_end, 8 * len(content), 200).tolist(),
    ]
    for bit in bits:
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << (bit % 8)
        native_file.write_bytes(damaged)
        with pytest.raises(DataError, match=native_file.name):
            load_demos(native_file)
    native_file.write_bytes(content)
    assert load_demos(native_file).num_episodes == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x89HDF\r\n\x1a\n" + bytes(100), "damaged, or of another kind"),
        (b"PK\x03\x04" + bytes(100), "damaged, or of another kind"),
        (b"obs,acts\n1,2\n", "damaged, or of another kind"),
        (b"", "damaged, or of another kind"),
    ],
)
def test_other_files_are_refused_in_words(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "demos.bin"
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"demos.bin: not a demonstrations file; .*{message}"):
        load_demos(path)


def test_a_declared_100_gigabyte_tensor_takes_no_memory(native_file: Path) -> None:
    def inflate(header: dict[str, Any]) -> None:
        header["observations"]["shape"] = [25_000_000_000, 1]
        header["observations"]["data_offsets"] = [0, 100_000_000_000]

    _with_header(native_file, inflate)
    with pytest.raises(DataError, match="observations"):
        load_demos(native_file)


def test_safetensors_of_something_else_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(safetensors.torch.save({"layer.weight": torch.zeros(2, 2)}))
    with pytest.raises(DataError, match="not a demonstrations file"):
        load_demos(path)


def test_a_newer_format_is_refused_naming_both_versions(
    make_demos: MakeDemos, tmp_path: Path
) -> None:
    path = _forged(tmp_path / "new.safetensors", make_demos().tensors(), format_version=2)
    with pytest.raises(DataError, match="format version 2, this spacil reads 1"):
        load_demos(path)


def test_a_forged_file_with_a_correct_hash_still_meets_all_checks(
    make_demos: MakeDemos, tmp_path: Path
) -> None:
    path = tmp_path / "forged.safetensors"
    tensors = make_demos().tensors()
    assert load_demos(_forged(path, tensors)).num_episodes == 3
    with pytest.raises(DataError, match="unknown tensors \\['extra'\\]"):
        load_demos(_forged(path, {**tensors, "extra": torch.zeros(1)}))
    lengths = tensors.pop("episode_lengths")
    with pytest.raises(DataError, match=r"no tensor .'episode_lengths'."):
        load_demos(_forged(path, tensors))
    with pytest.raises(DataError, match="episode_lengths add up to"):
        load_demos(_forged(path, {**tensors, "episode_lengths": lengths * 2**60 + 2**59}))
    with pytest.raises(DataError, match="document"):
        load_demos(_forged(path, {**tensors, "episode_lengths": lengths}, surprise=1))


def test_a_task_name_loads_the_bundled_demonstrations(
    make_demos: MakeDemos, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asset = tmp_path / "Toy-v0.demos.safetensors"
    save_demos(make_demos(), asset)
    monkeypatch.setattr(demo_file, "bundled_demos", lambda: {"Toy-v0": asset})
    assert load_demos("Toy-v0").content_hash == make_demos().content_hash
    with pytest.raises(DataError, match=r"no demonstrations 'Toi-v0': .* bundled tasks: Toy-v0"):
        load_demos("Toi-v0")
    with pytest.raises(DataError, match="no such file"):
        load_demos(Path("Toy-v0"))  # a path is a path, whatever it is called


@pytest.mark.parametrize("name", ["x" * 300, "nul\0nul", "", "no/such/folder.npz"])
def test_odd_names_are_refused_in_words(name: str) -> None:
    with pytest.raises(DataError, match=r"no demonstrations|cannot read"):
        load_demos(name)


def test_a_format_that_cannot_be_written_is_named(make_demos: MakeDemos, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"'a.txt': end the name in .safetensors or .npz or "):
        save_demos(make_demos(), tmp_path / "a.txt")
    with pytest.raises(ConfigError, match=r"'a.txt': the name of a npz file ends in .npz"):
        save_demos(make_demos(), tmp_path / "a.txt", "npz")
