"""`spacil smooth` and `spacil diagnose` at the command line."""

import json
import sys
from pathlib import Path

import drawing
import pytest
from fixture_types import Spacil

from spacil.cli import smooth

TINY = (
    *("--iterations", "2", "--steps-per-iteration", "400", "--fit-steps", "10"),
    *("--policy-hidden", "16", "--episodes", "2", "--quiet"),
    *("--simulation-threads", "1", "--torch-threads", "1", "--no-export", "--no-video"),
)


def test_a_bundled_expert_is_smoothed_into_a_folder(spacil: Spacil, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    done = spacil("smooth", "Reacher-v4", "--run-dir", folder, *TINY)
    assert done.code == 0, done.err
    for words in ("smooth policy", "moving average 0.5", "low-pass 0.2 of Nyquist", "do as well"):
        assert words in done.out
    assert "NOT done" in done.out  # ten steps of Adam a round teach nothing
    for name in ("policy.safetensors", "smoothing.json", "metrics.jsonl", "run.json"):
        assert (folder / name).is_file(), name
    for name in ("actions.png", "returns.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
    verdict = json.loads((folder / "smoothing.json").read_text())
    assert verdict["is_done"] is False and verdict["teacher"]["return_share"] == 1.0

    again = spacil("smooth", "Reacher-v4", "--run-dir", folder, *TINY)
    assert again.code == 73 and "--resume continues it" in again.err
    resumed = spacil("smooth", "Reacher-v4", "--run-dir", folder, "--resume", "--json", *TINY)
    assert resumed.code == 0, resumed.err
    document = json.loads(resumed.out)
    assert document["smooth"] == verdict["smooth"]
    assert (document["algorithm"], document["task"]) == ("smooth", "Reacher-v4")

    refused = spacil("resume", folder)  # which holds no teacher
    assert refused.code == 2
    assert f"give that command again, with --run-dir {folder} --resume" in refused.err

    measured = spacil("evaluate", folder / "policy.safetensors", "--episodes", "2", "--json")
    assert json.loads(measured.out)["provenance"]["teacher"] == "Reacher-v4"


def test_it_ends_with_a_video_and_with_files_for_a_robot(spacil: Spacil, tmp_path: Path) -> None:
    drawing.require_gl()
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    folder = tmp_path / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(smooth, "VIDEO_SECONDS", 0.5)
        done = spacil("smooth", "Reacher-v4", "--run-dir", folder, *TINY[:-2])
    assert done.code == 0, done.err
    assert f"video: {folder / 'video.mp4'}" in done.out
    frames, _ = drawing.decoded(folder / "video.mp4")
    assert frames.shape[2] == 2 * 320 + 8 and len(frames) > 20
    assert f"export: {folder / 'deploy'}" in done.out
    facts = json.loads((folder / "deploy" / "policy.json").read_text())
    assert facts["task"] == "Reacher-v4" and (folder / "deploy" / "policy.onnx").is_file()


def test_what_is_missing_for_video_and_onnx_changes_nothing_else(
    spacil: Spacil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("imageio_ffmpeg", "onnx"):
        monkeypatch.setitem(sys.modules, module, None)
    folder = tmp_path / "run"
    done = spacil("smooth", "Reacher-v4", "--run-dir", folder, *TINY[:-2])
    assert (done.code, done.err) == (0, "")
    assert "no video: writing mp4 needs imageio-ffmpeg" in done.out
    assert (folder / "policy.safetensors").is_file() and not (folder / "video.mp4").exists()
    names = {path.name for path in (folder / "deploy").iterdir()}
    assert "policy.h" in names and "policy.onnx" not in names


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("Reacher-v4", "--penalty", "lcp=1"), 2, "smooth takes exact"),
        (("Reacher-v4", "--keep-return", "1.5"), 2, "keep_return is 1.5"),
        (("Reacher-v4", "--task", "Hopper-v4"), 65, "2 action dims, Hopper-v4 has 3"),
        (("nowhere.policy", "--task", "Hopper-v4"), 65, "no such file"),
        (("Reacher-v4", "--episodes", "0"), 2, "--episodes is 0"),
    ],
)
def test_mistakes_are_named_before_anything_is_trained(
    spacil: Spacil, tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    folder = tmp_path / "run"
    refused = spacil("smooth", *arguments, "--run-dir", folder, "--quiet")
    assert (refused.code, words in refused.err.replace("-return", "_return")) == (code, True), (
        refused.err
    )
    assert not folder.exists()


def test_diagnose_does_not_count_what_it_could_not_measure(spacil: Spacil, here: Path) -> None:
    (here / "still.py").write_text(
        "import numpy as np\ndef worst(states):\n    return np.ones((len(states), 2), np.float32)\n"
    )
    done = spacil("diagnose", "still:worst", "--task", "Reacher-v4", "--episodes", "2")
    assert done.code == 0, done.err
    assert "note  delay: not known" in done.out
    assert "of 6 checks found something; 1 could not be measured" in done.out


def test_diagnose_prints_findings_with_remedies_and_json(spacil: Spacil, tmp_path: Path) -> None:
    target = tmp_path / "findings.json"
    done = spacil("diagnose", "Reacher-v4", "--episodes", "2", "--json", target)
    assert done.code == 0, done.err
    assert "checks found something" in done.out and "saturation" in done.out
    document = json.loads(target.read_text())
    keys = {"check", "severity", "message", "remedy", "evidence", "is_measured"}
    assert keys == set(document["findings"][0])
    assert document["task"] == "Reacher-v4"
