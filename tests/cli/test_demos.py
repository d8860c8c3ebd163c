"""`spacil demos`: what is collected can be checked and trained on, in every format."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fixture_types import Spacil, Train
from pictures import assert_drawn
from policies_of_others import make_module, write_onnx

from spacil.demos.file import load_demos
from spacil.errors import DataError
from spacil.measuring import evaluate as measuring


@pytest.mark.parametrize("suffix", [".demos.safetensors", ".npz"])
def test_what_is_collected_can_be_checked_and_trained_on(
    spacil: Spacil, train: Train, finished_run: Path, tmp_path: Path, suffix: str
) -> None:
    file = tmp_path / f"my{suffix}"
    collected = spacil("demos", "collect", finished_run, "--num", 4, "-o", file)
    assert collected.code == 0
    assert collected.out.startswith(f"{file}: 4 episodes, 200 steps, return -")
    assert collected.err == "recorded 4 of 4 episodes\n"
    checked = spacil("demos", "check", file)
    assert checked.code == 0
    said = " ".join(checked.out.split())
    assert "num episodes 4 num steps 200" in said and "is usable yes" in said
    assert ("Reacher-v4" in checked.out) == (suffix != ".npz")  # which holds arrays alone
    assert "warning" not in said
    report = spacil("demos", "check", file, "--json").result
    assert report["is_usable"] and report["has_raw_actions"] and report["has_start_states"]
    trained = train("gail", "--demos", file, "--run-dir", tmp_path / "again", iterations=1)
    assert trained.code == 0
    assert ("does not say which env it is from" in trained.err) == (suffix == ".npz")


def test_a_seed_repeats_its_episodes(spacil: Spacil, finished_run: Path, tmp_path: Path) -> None:
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
    starts = [demos.tensors()["initial_qpos"] for demos in (noisy, first)]
    assert torch.equal(*starts)
    assert not torch.equal(noisy.executed_actions, first.executed_actions)
    assert noisy.metadata.provenance["noise"] == 0.5
    assert first.metadata.provenance["policy"]["iteration"] > 0


def test_any_policy_is_evaluated_and_a_recording_outlives_its_evaluation(
    spacil: Spacil, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime", reason="ONNX files are computed by onnxruntime")
    (here / "their_module.py").write_text(
        "from policies_of_others import make_module\nmodule = make_module(11, 2)\n"
    )
    write_onnx(make_module(11, 2), here / "policy.onnx")
    evaluations = []
    for source in ("their_module:module", "policy.onnx"):
        collect = ("demos", "collect", source, "--task", "Reacher-v4", "--num", 2)
        done = spacil(*collect, "--out", "a.safetensors", "--overwrite", "--evaluation-episodes", 2)
        assert done.code == 0, done.err
        evaluations.append(load_demos("a.safetensors").metadata.provenance["evaluation"])
    exact, by_differences = evaluations
    assert exact["smoothness_j"] == exact["smoothness_j_common"] > 0
    known = {name: value for name, value in exact.items() if value is not None}
    assert {name: by_differences[name] for name in known} == pytest.approx(known, rel=1e-3)
    assert exact["num_episodes"] == 2
    assert load_demos("a.safetensors").metadata.provenance["policy"]["kind"] == "onnx"

    def broken(*_: object) -> None:
        raise DataError("no evaluation")

    monkeypatch.setattr(measuring, "evaluate", broken)
    lost = spacil(*collect, "--out", "b.safetensors", "--evaluation-episodes", 2)
    assert lost.code == 65 and "no evaluation" in lost.err
    assert load_demos("b.safetensors").num_episodes == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--out", "my.txt"], 65, "end the name in .safetensors or .npz"),
        (["--out", "none/my.npz"], 74, "create its folder first"),
        (["--out", "run.npz"], 74, "is not written over"),
        (["--out", "my.npz", "--num", "0"], 2, "--num is 0, expected 1 or more"),
        (["--out", "my.npz", "--seed", "-1"], 2, "--seed is -1, expected 0 or more"),
        (["--out", "my.npz", "--noise", "-1"], 2, "--noise is -1.0, expected 0 or more"),
        (["--out", "my.npz", "--noise", "nan"], 2, "--noise is nan, expected 0 or more"),
        (["--out", "my.npz", "--evaluation-episodes", "-1"], 2, "--evaluation-episodes is -1"),
        (["--out", "my.npz", "--task", "Hopper-v4"], 65, "2 action dims"),
        ([], 2, "--out"),
    ],
)
def test_a_mistake_is_refused_before_anything_is_recorded(
    spacil: Spacil, finished_run: Path, here: Path, arguments: list[str], code: int, message: str
) -> None:
    (here / "run.npz").mkdir()
    refusal = spacil("demos", "collect", finished_run, *arguments)
    assert (refusal.code, refusal.out) == (code, "")
    assert message in refusal.err
    assert "recorded" not in refusal.err
    assert not (here / "my.npz").exists()


def test_bundled_demonstrations_are_good(spacil: Spacil) -> None:
    for row in spacil("tasks", "--json").result["tasks"]:
        if row["has_bundled_demonstrations"]:
            checked = spacil("demos", "check", row["task"], "--json")
            assert checked.code == 0
            findings = [finding["check"] for finding in checked.result["findings"]]
            assert findings == []
            assert checked.result["num_episodes"] == row["paper_demonstrations"]


def test_a_report_of_unusable_demonstrations_is_json_too(spacil: Spacil, tmp_path: Path) -> None:
    checked = spacil("demos", "check", "HalfCheetah-v4", "--task", "Walker2d-v4", "--json")
    assert checked.code == 65
    report = json.loads(checked.out)
    assert report["is_usable"] is False
    assert report["findings"][0]["check"] == "env_mismatch"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["colect"], 2, "Available subcommands: collect, import, export, check, show"),
        (["check"], 2, "required"),
        (["check", "missing"], 65, "no such file; bundled tasks: "),
        (["check", "Reacher-v4", "--task", "Reacher-v44"], 2, "did you mean Reacher-v4"),
    ],
)
def test_another_mistake_is_refused_in_words(
    spacil: Spacil, arguments: list[str], code: int, message: str
) -> None:
    refusal = spacil("demos", *arguments)
    assert refusal.code == code
    assert message in refusal.err


@pytest.mark.parametrize(
    ("target", "flags"),
    [
        ("my.npz", []),
        ("my.hdf5", []),
        ("minari:mine/reacher-v0", []),
        ("my trajectories", ["--format", "imitation"]),
    ],
)
def test_an_export_is_imported_checked_and_trained_on(
    spacil: Spacil,
    train: Train,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    target: str,
    flags: list[str],
) -> None:
    pytest.importorskip("h5py", reason="HDF5 and Minari need h5py")
    pytest.importorskip("datasets", reason="imitation's trajectories need datasets")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(here / "minari"))
    exported = spacil("demos", "export", "Reacher-v4", target, *flags)
    assert exported.code == 0
    assert exported.out.startswith(f"{target}: 50 episodes, 2500 steps, format ")
    assert ("left out" in exported.err) == (target != "my.npz")
    imported = spacil("demos", "import", target, "my.demos.safetensors", "--task", "Reacher-v4")
    assert imported.code == 0, imported.err
    assert imported.out.endswith("written: my.demos.safetensors\n")
    bundled = load_demos("Reacher-v4")
    assert torch.equal(load_demos("my.demos.safetensors").observations, bundled.observations)
    trained = train("gail", "--demos", target, "--run-dir", here / "run", iterations=1)
    assert trained.code == 0


def test_an_import_names_the_task_and_refuses_misfits(spacil: Spacil, tmp_path: Path) -> None:
    demos = load_demos("Reacher-v4")
    flat = {
        "obs": demos.states.numpy(),
        "acts": demos.executed_actions.numpy(),
        "timeouts": demos.truncations.numpy(),
    }
    np.savez(tmp_path / "theirs.npz", **flat)
    native = tmp_path / "my.demos.safetensors"
    refused = spacil("demos", "import", tmp_path / "theirs.npz", native, "--task", "Hopper-v4")
    assert refused.code == 65
    assert "11 state dims" not in refused.err and "2 action dims, Hopper-v4 has 3" in refused.err
    assert not native.exists()
    done = spacil("demos", "import", tmp_path / "theirs.npz", native, "--task", "Reacher-v4")
    assert done.code == 0
    assert "warning" not in done.out
    metadata = load_demos(native).metadata
    assert metadata.task == "Reacher-v4"
    assert metadata.provenance["changes"][-1] == {"operation": "name_task", "task": "Reacher-v4"}


def test_a_name_without_a_format_is_refused(spacil: Spacil, tmp_path: Path) -> None:
    refused = spacil("demos", "export", "Reacher-v4", tmp_path / "folder")
    assert refused.code == 65 and "name the format: native, npz, csv" in refused.err
    assert spacil("demos", "import", "Reacher-v4", tmp_path / "a.npz").code == 0
    assert load_demos(tmp_path / "a.npz").num_episodes == 50


def test_demonstrations_are_shown_in_text_and_as_a_picture(spacil: Spacil, tmp_path: Path) -> None:
    shown = spacil("demos", "show", "Reacher-v4", "--figure", tmp_path / "a.png")
    assert shown.code == 0
    assert re.search(
        r"^lengths +\S* +50.000 +0.000 +50.000 +50.000 +1.000$", shown.out, re.MULTILINE
    )
    assert "0 ended by the task, 50 cut" in shown.out
    assert shown.out.count("█") >= 6 and "executed action a1" in shown.out
    assert_drawn(tmp_path / "a.png")
    refused = spacil("demos", "show", "Reacher-v4", "--figure", tmp_path / "a.gif9")
    assert refused.code == 2 and "a.gif9" in refused.err


def test_several_files_subsampled_and_noisy_are_what_a_run_learns_from(
    spacil: Spacil, train: Train, tmp_path: Path
) -> None:
    spacil("demos", "collect", "Reacher-v4", "--num", 2, "--out", tmp_path / "my.npz")
    files = ("--demos", "Reacher-v4", tmp_path / "my.npz")
    options = ("--num-demos", 51, "--demo-every", 10, "--demo-noise", 0.05)
    run_dir = tmp_path / "run"
    trained = train("gail", *files, *options, "--run-dir", run_dir, iterations=1)
    assert trained.code == 0
    assert "taken to be from Reacher-v4" in trained.err
    for flags, code, message in (
        (("--demo-every", 0), 2, "--demo-every is 0, expected 1 or more"),
        (("--demo-noise", -1), 2, "--demo-noise is -1.0, expected 0 or more"),
        (("--num-demos", 53), 65, "53 episodes asked for, 52 there"),
    ):
        refused = train("gail", *files, *flags, "--run-dir", tmp_path / "none", iterations=1)
        assert refused.code == code
        assert message in refused.err
    refused = train("trpo", "--demo-every", 2, "--run-dir", tmp_path / "none")
    assert refused.code == 2 and "takes no --demo-every" in refused.err
