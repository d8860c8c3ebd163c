"""The Python of docs/video.md runs as it stands."""

import re
from pathlib import Path

import drawing
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "video.md"


def test_the_python_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drawing.require_gl()
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    exec(compile(block, "docs/video.md", "exec"), {})
    assert "after" in capsys.readouterr().out
    assert (tmp_path / "clip.gif").stat().st_size > 10_000


def test_the_picture_of_the_page_is_there_and_small() -> None:
    (picture,) = re.findall(r"!\[.*?\]\((.*?)\)", PAGE.read_text())
    assert 20_000 < (PAGE.parent / picture).stat().st_size < 200_000
