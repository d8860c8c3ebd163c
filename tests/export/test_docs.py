"""The Python and the C of docs/deploy.md, run as a reader would."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tiny_runs import tiny

import spacil

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

PAGE = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_works_from_python_to_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (python,), (c, with_past) = blocks("python"), blocks("c")
    exec(compile(python, "docs/deploy.md", "exec"), {})
    assert (tmp_path / "robot" / "policy.onnx").is_file()
    if shutil.which("cc") is None:
        pytest.skip("no C compiler here: the C of the page was not tried")
    Path("main.c").write_text(c)
    subprocess.run(
        ["cc", "-std=c99", "-O1", "-I", "robot", "main.c", "-o", "main"], check=True, timeout=120
    )
    done = subprocess.run(["./main"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and -1 <= float(done.stdout) <= 1
    agent = spacil.BC("Reacher-v4", action_delay=2, **tiny("bc", iterations=1)).learn()
    spacil.export_policy(agent, "late", episodes=0, num_checked=50)
    agent.close()
    Path("with_past.c").write_text(with_past)
    subprocess.run(["cc", "-std=c99", "-I", "late", "-c", "with_past.c"], check=True, timeout=120)


def test_every_entry_that_a_file_can_hold_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spacil.export.export import export_policy

    monkeypatch.setenv("CC", "no-such-compiler")  # which takes most of the time
    facts = export_policy("Reacher-v4", tmp_path / "a", episodes=1, num_checked=100).facts
    bare = export_policy("Reacher-v4", tmp_path / "b", episodes=0, num_checked=100).facts
    about_the_format = {"format", "format_version", "spacil_version", "onnx_opset", "dtype"}
    explained = set(re.findall(r"`(\w+)`", PAGE))
    assert not (facts.keys() | bare.keys()) - about_the_format - explained
