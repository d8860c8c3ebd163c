"""Files of `spacil export`, read back: as they were written, or refused with words."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from spacil.errors import DataError
from spacil.export.export import export_policy
from spacil.policies.file import load_expert
from spacil.policies.open import open_policy

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

Spacil = Callable[..., Any]
SEAL_BYTES = 88


@pytest.fixture(scope="module")
def _robot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "robot"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CC", "no-such-compiler")  # the header is of no interest here
        export_policy("Reacher-v4", folder, episodes=1, num_checked=100)
    return folder


@pytest.fixture
def exported(_robot: Path, tmp_path: Path) -> Path:
    """An exported policy of Reacher-v4, to do anything with."""
    return shutil.copytree(_robot, tmp_path / "robot") / "policy.onnx"


def test_an_exported_policy_is_read_back_with_its_task(exported: Path) -> None:
    source, states = open_policy(exported), torch.randn(300, 11)
    assert source.task == "Reacher-v4"
    expected = torch.from_numpy(np.asarray(load_expert("Reacher-v4").predict(states.numpy())))
    assert (source.mean(states) - expected).abs().max() < 1e-5


def test_an_exported_policy_is_measured_without_naming_its_task(
    exported: Path, spacil: Spacil
) -> None:
    done = spacil("smoothness", exported, "--episodes", 1, "--max-states", 50, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["task"] == "Reacher-v4"


@pytest.mark.parametrize("lost", [1, SEAL_BYTES - 1, SEAL_BYTES, SEAL_BYTES + 1, 300, 1_000, 9_999])
def test_a_cut_anywhere_is_noticed(exported: Path, lost: int) -> None:
    exported.write_bytes(exported.read_bytes()[:-lost])
    with pytest.raises(DataError, match=r"policy\.onnx: "):
        open_policy(exported)


def test_the_words_for_a_cut_say_what_to_do(exported: Path, spacil: Spacil) -> None:
    exported.write_bytes(exported.read_bytes()[:-SEAL_BYTES])
    refused = spacil("smoothness", exported, "--episodes", 1)
    assert refused.code == 65
    assert "was cut short or changed after spacil wrote it" in refused.err
    assert "Export it again" in refused.err


def test_a_flipped_bit_in_a_weight_is_noticed(exported: Path) -> None:
    content = bytearray(exported.read_bytes())
    content[len(content) // 2] ^= 1
    exported.write_bytes(content)
    with pytest.raises(DataError, match="does not match its seal"):
        open_policy(exported)


def rewritten(path: Path, change: Callable[[Any], None]) -> None:
    model = onnx.load(path)
    change(model)
    onnx.save(model, path)


def rename_input(model: Any) -> None:
    model.graph.input[0].name = model.graph.node[0].input[0] = "state"


def test_a_renamed_part_is_noticed(exported: Path) -> None:
    rewritten(exported, rename_input)
    with pytest.raises(DataError, match="changed after spacil wrote it"):
        open_policy(exported)


def test_a_changed_file_under_another_producers_name_is_read_as_a_foreign_one(
    exported: Path,
) -> None:
    def change(model: Any) -> None:
        rename_input(model)
        model.producer_name = "my-tools"

    rewritten(exported, change)
    source = open_policy(exported)
    assert source.num_states == 11 and source.task is None


@pytest.mark.parametrize("verb", ["evaluate", "export"])
def test_verbs_for_our_own_policies_say_who_takes_onnx(
    verb: str, exported: Path, tmp_path: Path, spacil: Spacil
) -> None:
    more = ("-o", tmp_path / "again") if verb == "export" else ()
    refused = spacil(verb, exported, *more)
    assert refused.code == 65
    assert "spacil smoothness measures it, and spacil smooth distils it" in refused.err
    assert not (tmp_path / "again").exists()
