"""`spacil demos`: what is collected can be checked and trained on, in every format."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from spacil.data.demo_file import load_demos

Spacil = Callable[..., Any]


@pytest.mark.parametrize("suffix", [".demos.safetensors", ".npz"])
def test_what_is_collected_can_be_checked_and_trained_on(
    spacil: Spacil, train: Callable[..., Any], finished_run: Path, tmp_path: Path, suffix: str
) -> None:
    file = tmp_path / f"my{suffix}"
    collected = spacil("demos", "collect", finished_run, "--num", 4, "--out", file)
    assert collected.code == 0
    assert collected.out.startswith(f"{file}: 4 episodes, 200 steps, return -")
    assert collected.err == "recorded 4 of 4 episodes\n"
    checked = spacil("demos", "check", file)
    assert checked.code == 0
    assert checked.out.startswith(f"{file}: 4 episodes, 200 steps of Reacher-v4\n")
    assert "warning" not in checked.out and checked.out.endswith("\nusable\n")
    report = spacil("demos", "check", file, "--json").result
    assert report["is_usable"] and report["has_raw_actions"] and report["has_start_states"]
    trained = train("gail", "--demos", file, "--run-dir", tmp_path / "again", iterations=1)
    assert (trained.code, trained.err) == (0, "")


def test_a_seed_collects_the_same_episodes_and_noise_others(
    spacil: Spacil, finished_run: Path, tmp_path: Path
) -> None:
    def collect(name: str, *flags: object) -> Any:
        file = tmp_path / f"{name}.demos.safetensors"
        command = ("demos", "collect", finished_run, "--num", 2, "--out", file)
        assert spacil(*command, *flags).code == 0
        return load_demos(file)

    first, again = collect("first"), collect("again")
    assert again.content_hash == first.content_hash
    other = collect("other", "--seed", 1)
    assert not torch.equal(other.observations, first.observations)
    noisy = collect("noisy", "--noise", 0.5)
    assert torch.equal(noisy.initial_qpos, first.initial_qpos)
    assert not torch.equal(noisy.executed_actions, first.executed_actions)
    assert noisy.metadata.provenance["noise"] == 0.5
    assert first.metadata.provenance["policy"]["iteration"] > 0


def test_an_evaluation_is_kept_with_the_file_and_shown_beside_what_is_learned(
    spacil: Spacil, train: Callable[..., Any], finished_run: Path, tmp_path: Path
) -> None:
    file = tmp_path / "my.demos.safetensors"
    collect = ("demos", "collect", finished_run, "--num", 3, "--evaluation-episodes", 5)
    assert spacil(*collect, "--out", file).code == 0
    kept = load_demos(file).metadata.provenance["evaluation"]
    assert kept["num_episodes"] == 5
    assert kept["smoothness_j"] == kept["smoothness_j_common"] > 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--out", "my.txt"], 65, "end the name in .safetensors or .npz"),
        (["--out", "none/my.npz"], 74, "there is no folder of that name"),
        (["--out", "run.npz"], 74, "it is a folder"),
        (["--out", "my.npz", "--num", "0"], 2, "--num is 0, expected 1 or more"),
        (["--out", "my.npz", "--seed", "-1"], 2, "--seed is -1, expected 0 or more"),
        (["--out", "my.npz", "--noise", "-1"], 2, "--noise is -1.0, expected 0 or more"),
        (["--out", "my.npz", "--noise", "nan"], 2, "--noise is nan, expected 0 or more"),
        (["--out", "my.npz", "--evaluation-episodes", "-1"], 2, "--evaluation-episodes is -1"),
        (["--out", "my.npz", "--task", "Hopper-v4"], 65, "the policy has 2 action dims"),
        ([], 2, "--out"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_refused_before_anything_is_recorded(
    spacil: Spacil,
    finished_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.npz").mkdir()
    refusal = spacil("demos", "collect", finished_run, *arguments)
    assert (refusal.code, refusal.out) == (code, "")
    assert message in refusal.err
    assert "recorded" not in refusal.err
    assert not (tmp_path / "my.npz").exists()


def test_bundled_demonstrations_are_good(spacil: Spacil) -> None:
    for row in spacil("tasks", "--json").result:
        if row["has_bundled_demonstrations"]:
            checked = spacil("demos", "check", row["task"], "--json")
            assert checked.code == 0
            findings = [finding["check"] for finding in checked.result["findings"]]
            assert findings == []
            assert checked.result["num_episodes"] == row["paper_demonstrations"]


def test_a_report_of_unusable_demonstrations_is_json_all_the_same(
    spacil: Spacil, tmp_path: Path
) -> None:
    checked = spacil("demos", "check", "HalfCheetah-v4", "--task", "Walker2d-v4", "--json")
    assert checked.code == 65
    report = json.loads(checked.out)
    assert report["is_usable"] is False
    assert report["findings"][0]["check"] == "env_mismatch"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["colect"], 2, "expected collect, import, export, check or show"),
        (["check"], 2, "required"),
        (["check", "missing"], 65, "no such file; bundled tasks: "),
        (["check", "Reacher-v4", "--task", "Reacher-v44"], 2, "did you mean Reacher-v4"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_another_mistake_is_refused_in_words(
    spacil: Spacil, arguments: list[str], code: int, message: str
) -> None:
    refusal = spacil("demos", *arguments)
    assert refusal.code == code
    assert message in refusal.err
