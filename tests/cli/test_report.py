"""`spacil report`: one page about all runs, with every number's run, command and commit."""

import base64
import re
import sys
from html import unescape
from pathlib import Path

import drawing
import pytest
from fixture_types import Spacil
from generated_runs import write_run

from spacil.cli import report


def test_a_page_holds_the_tables_the_paper_and_every_run(spacil: Spacil, tmp_path: Path) -> None:
    for task in ("Hopper-v4", "Walker2d-v4"):
        for seed in (0, 1):
            write_run(tmp_path / "runs" / f"{task}{seed}", task=task, seed=seed)
    out = tmp_path / "report.html"
    flags = ("--title", "Two & two", "--no-videos")  # these runs hold no policy
    shown = spacil("report", tmp_path / "runs", "-o", out, *flags)
    assert (shown.code, shown.err) == (0, "")
    page = unescape(out.read_text())
    assert "<h1>Two & two</h1>" in page
    assert "2990 ± 0" in page
    assert "3326 ± 872.4" in page  # the paper's GAIL on Hopper
    assert page.count("data-chart=") == 6
    assert "<h2>Over all tasks</h2>" in page
    for seed in (0, 1):
        command = f"spacil train gail --task Walker2d-v4 --seed {seed} --iterations 20"
        assert command in page
    assert "cccccccccc" in page


def test_what_is_missing_is_on_the_page_and_the_exit_code(spacil: Spacil, tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "whole", fresh=None)
    damaged = write_run(tmp_path / "runs" / "damaged", seed=1)
    (damaged / "run.json").write_text("")
    out = tmp_path / "report.html"
    shown = spacil("report", tmp_path / "runs", "-o", out)
    assert shown.code == 3
    assert "damaged" in shown.out
    for told in ("missing: ", "no fresh episodes", "<p>No video: "):  # these runs hold no policy
        assert told in out.read_text()


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [
        *((name, 2, "expected a file name that ends in .html") for name in ("plan.json", "report")),
        ("nowhere/report.html", 74, "create its folder first"),
    ],
)
def test_a_page_that_cannot_be_written_or_would_be_another_file_is_refused_first(
    spacil: Spacil, tmp_path: Path, name: str, code: int, told: str
) -> None:
    write_run(tmp_path / "run")
    (tmp_path / "plan.json").write_text("hours of work")
    refusal = spacil("report", tmp_path / "run", "-o", tmp_path / name)
    assert (refusal.code, refusal.out) == (code, "")
    assert told in refusal.err
    assert (tmp_path / "plan.json").read_text() == "hours of work"


def test_a_real_run_is_seen_beside_the_demonstrator(
    spacil: Spacil, finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing.require_gl()
    monkeypatch.setattr(report, "SECONDS", 0.6)
    out = tmp_path / "report.html"
    shown = spacil("report", finished_run, "-o", out)
    assert (shown.code, shown.err) == (0, "")
    page = out.read_text()
    assert "left to right: demonstrator; gail, seed 0." in page
    (film,) = re.findall(r"data:video/mp4;base64,([^\"]+)", page)
    (tmp_path / "film.mp4").write_bytes(base64.b64decode(film))
    frames, stream = drawing.decoded(tmp_path / "film.mp4")
    assert frames.shape[2] == 2 * 256 + 8 and "yuv420p" in stream
    assert len(page) < 1_000_000


def test_without_ffmpeg_the_page_says_so(
    spacil: Spacil, finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    out = tmp_path / "report.html"
    shown = spacil("report", finished_run, "-o", out)
    assert (shown.code, shown.err) == (0, "")
    page = unescape(out.read_text())
    assert "No video: writing mp4 needs imageio-ffmpeg" in page
    assert "<video" not in page
