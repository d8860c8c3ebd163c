"""`spacil demo`: one command from nothing to a page."""

import webbrowser
from pathlib import Path

import pytest

from spacil.cli.main import run


@pytest.mark.slow
def test_the_demo_learns_and_opens_a_page_and_shows_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda page: opened.append(page) or True)
    words = ["demo", "--out", str(tmp_path), "--iterations", "1"]
    assert run(words) == 0
    trained = (tmp_path / "run" / "metrics.jsonl").read_text()
    assert run([*words, "--no-browser"]) == 0
    assert (tmp_path / "run" / "metrics.jsonl").read_text() == trained
    page = tmp_path / "page.html"
    assert opened == [page.as_uri()] and page.stat().st_size < 8e6
    assert "spacil, from 300 steps" in capsys.readouterr().out
