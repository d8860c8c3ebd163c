"""The native file: bit for bit there and back, and no damage that goes unnoticed."""

from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from demo_edits import with_value
from fixture_types import MakeDemos

from spacil import storage
from spacil.demos import file as demo_file
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import load_demos, save_demos
from spacil.errors import ConfigError, DataError


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


@pytest.mark.parametrize(
    "content",
    [
        b"\x89HDF\r\n\x1a\n" + bytes(100),
        b"obs,acts\n1,2\n",
        safetensors.torch.save({"a": torch.zeros(2)}),
    ],
)
def test_other_files_are_refused_in_words(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "demos.bin"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"demos\.bin: not a demonstrations file"):
        load_demos(path)


def test_a_forged_file_with_its_hash_is_refused(make_demos: MakeDemos, tmp_path: Path) -> None:
    tensors = make_demos().tensors()
    lengths = tensors["episode_lengths"]

    def forged(changes: dict[str, torch.Tensor], **more: Any) -> Demonstrations:
        path = tmp_path / "forged.safetensors"
        found = {k: v for k, v in (tensors | changes).items() if len(v)}
        document = {"task": None, "env_fingerprint": None, "provenance": {}, **more}
        storage.save_sealed(path, found, document, demo_file.FORMAT, demo_file.FORMAT_VERSION)
        return load_demos(path)

    assert forged({}).num_episodes == 3
    with pytest.raises(DataError, match="unknown tensors \\['extra'\\]"):
        forged({"extra": torch.zeros(1)})
    with pytest.raises(DataError, match=r"no tensor .'episode_lengths'."):
        forged({"episode_lengths": lengths[:0]})
    with pytest.raises(DataError, match="episode_lengths add up to"):
        forged({"episode_lengths": lengths * 2**60 + 2**59})
    with pytest.raises(DataError, match="document"):
        forged({}, surprise=1)


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
