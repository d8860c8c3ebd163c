"""ONNX in two files: read when the second is plainly the right one, refused with words else."""

import warnings
from pathlib import Path
from typing import Any

import policies_of_others as foreign
import pytest
import torch
from torch import Tensor

from spacil.errors import DataError
from spacil.policies.onnx_parts import is_plain_name
from spacil.policies.open import open_policy

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

NAME, DATA = "model.onnx", "model.onnx.data"


def states() -> Tensor:
    return torch.randn(20, 11, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def two_files(tmp_path: Path) -> Path:
    """A network whose weights lie in model.onnx.data."""
    folder = tmp_path / "model"
    folder.mkdir()
    model = onnx.load(foreign.write_onnx(foreign.make_module(), tmp_path / "one.onnx"))
    onnx.save_model(
        model, folder / NAME, save_as_external_data=True, location=DATA, size_threshold=0
    )
    return folder / NAME


def test_weights_in_a_second_file_are_read(two_files: Path) -> None:
    assert two_files.with_name(DATA).stat().st_size == 4 * (16 * 11 + 16 + 2 * 16 + 2)
    source = open_policy(two_files)
    assert torch.allclose(source.mean(states()), foreign.make_module()(states()), atol=1e-6)
    assert (source.kind, source.num_states, source.num_actions) == ("onnx", 11, 2)


@pytest.mark.slow
def test_what_torch_writes_is_read(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    module, path = foreign.make_module(), tmp_path / NAME
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module.eval(), (states()[:1],), path, dynamo=True)
    assert (tmp_path / DATA).is_file()
    found = open_policy(path).mean(states())
    assert torch.allclose(found, module(states()), atol=1e-6)


def damage(path: Path, kind: str) -> None:
    data = path.with_name(DATA)
    match kind:
        case "missing":
            data.unlink()
        case "renamed":
            data.rename(data.with_name("weights.bin"))
        case "a link":
            data.rename(data.with_name("real"))
            data.symlink_to("real")
        case "a folder":
            data.unlink()
            data.mkdir()
        case "cut short":
            data.write_bytes(data.read_bytes()[:-4])
        case "too long":
            data.write_bytes(data.read_bytes() + bytes(4))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("missing", r"in 'model\.onnx\.data', which is not beside it; copy both files together"),
        ("renamed", "which is not beside it"),
        ("a link", "which is a link, and none is followed"),
        ("a folder", "which cannot be read"),
        ("cut short", r"end at byte 904 of .*, which has 900 bytes: it was cut short"),
        ("too long", r"end at byte 904 of .*, which has 908 bytes"),
    ],
)
def test_a_second_file_that_does_not_fit_is_refused(two_files: Path, kind: str, words: str) -> None:
    damage(two_files, kind)
    with pytest.raises(DataError, match=words):
        open_policy(two_files)


def with_entries(path: Path, **entries: str) -> None:
    """Every weight's entry with other values."""
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            entry.value = entries.get(entry.key, entry.value)
    path.write_bytes(model.SerializeToString())


@pytest.mark.parametrize(
    "location",
    ["../model/model.onnx.data", "./model.onnx.data", "/etc/passwd", NAME, "..", "a\\b", "C:x"],
)
def test_only_a_plain_name_beside_it_is_opened(two_files: Path, location: str) -> None:
    with_entries(two_files, location=location)
    with pytest.raises(DataError, match="only another file beside it, under a plain name"):
        open_policy(two_files)


@pytest.mark.parametrize(
    "entries",
    [{"offset": "-4"}, {"length": "12"}, {"offset": "x"}, {"offset": str(2**62)}],
    ids=str,
)
def test_places_that_do_not_fit_the_weights_are_refused(
    two_files: Path, entries: dict[str, Any]
) -> None:
    with_entries(two_files, **entries)
    with pytest.raises(DataError, match=r"is not valid|end at byte"):
        open_policy(two_files)


def test_a_model_that_only_mentions_a_location_is_read(tmp_path: Path) -> None:
    path = foreign.write_onnx(foreign.make_module(), tmp_path / NAME)
    model = onnx.load(path)
    onnx.helper.set_model_props(model, {"location": "the lab"})
    path.write_bytes(model.SerializeToString())
    assert open_policy(path).num_states == 11


@pytest.mark.parametrize(
    ("name", "is_plain"),
    [("w.data", True), ("my weights.bin", True), ("", False), ("a/b", False), ("a\nb", False)],
)
def test_plain_names(name: str, is_plain: bool) -> None:
    assert is_plain_name(name) is is_plain
