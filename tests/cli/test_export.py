"""`spacil export` at the command line."""

import json
from pathlib import Path

import pytest
from fixture_types import Spacil

import spacil as library

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def test_a_run_is_exported_and_measured(finished_run: Path, tmp_path: Path, spacil: Spacil) -> None:
    done = spacil("export", finished_run, "-o", tmp_path / "robot", "--episodes", 1)
    assert done.code == 0, done.err
    for words in (
        "num observations",
        "50.000",
        "ONNX Runtime",
        "10000",
        "latency us",
        "policy.onnx",
    ):
        assert words in done.out
    again = spacil("export", finished_run, "-o", tmp_path / "robot")
    assert again.code == 74 and "--overwrite replaces it" in again.err


def test_one_document_for_programs(finished_run: Path, tmp_path: Path, spacil: Spacil) -> None:
    more = ("--episodes", 0, "--num-checked", 100, "--which", "last", "--seed", 3, "--json")
    done = spacil("export", finished_run, "--out", tmp_path / "robot", *more)
    document = json.loads(done.out)
    assert document["files"] == [
        *("policy.onnx", "policy.h", "golden.json", "policy.json"),
        "README.md",
    ]
    assert [check["form"] for check in document["checks"]] == ["predict", "ONNX Runtime", "C"]
    assert document["checks"][1]["largest_difference"] <= 1e-5
    assert document["spacil_version"] == library.__version__
    assert (document["task"], document["algorithm"]) == ("Reacher-v4", "gail")
    assert (document["seed"], document["training_seed"]) == (3, 0)


def test_a_policy_of_a_module_is_sent_to_smooth(tmp_path: Path, spacil: Spacil) -> None:
    refused = spacil("export", "math:sqrt", "-o", tmp_path / "robot")
    assert refused.code == 2 and "spacil smooth distils it into one" in refused.err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--episodes", -1), "--episodes is -1"),
        (("--num-checked", 0), "--num-checked is 0"),
        (("--seed", -1), "--seed is -1"),
        (("--task", "Hopper-v4"), "2 action dims, Hopper-v4 has 3"),
    ],
)
def test_mistakes_are_named_before_anything_is_written(
    flags: tuple[object, ...], words: str, tmp_path: Path, spacil: Spacil
) -> None:
    refused = spacil("export", "Reacher-v4", "-o", tmp_path / "robot", *flags)
    assert refused.code in (2, 65) and words in refused.err
    assert not (tmp_path / "robot").exists()
