"""`spacil report`: one page about all runs, with every number's run, command and commit."""

import base64
import re
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import drawing
import pytest
from generated_runs import write_run

from spacil.cli import report
from spacil.comparison.comparison import compare

Spacil = Callable[..., Any]


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


def test_what_is_missing_is_on_the_page_and_in_the_exit_code(
    spacil: Spacil, tmp_path: Path
) -> None:
    write_run(tmp_path / "runs" / "whole", fresh=None)
    damaged = write_run(tmp_path / "runs" / "damaged", seed=1)
    (damaged / "run.json").write_text("")
    out = tmp_path / "report.html"
    shown = spacil("report", tmp_path / "runs", "-o", out)
    assert shown.code == 3
    assert "damaged" in shown.out
    assert "missing: " in out.read_text()
    assert "no fresh episodes" in out.read_text()


def test_a_page_that_cannot_be_written_is_refused_first(spacil: Spacil, tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    refusal = spacil("report", tmp_path / "run", "-o", tmp_path / "nowhere" / "report.html")
    assert refusal.code == 74
    assert "create its folder first" in refusal.err
    assert spacil("report", tmp_path / "empty", "-o", tmp_path / "x.html").code == 73


@pytest.mark.parametrize("name", ["plan.json", "thesis.tex", "report"])
def test_a_page_does_not_take_the_place_of_another_kind_of_file(
    spacil: Spacil, tmp_path: Path, name: str
) -> None:
    write_run(tmp_path / "run")
    precious = tmp_path / name
    precious.write_text("hours of work")
    refusal = spacil("report", tmp_path / "run", "-o", precious)
    assert (refusal.code, refusal.out) == (2, "")
    assert f"-o {precious}: expected a file name that ends in .html" in refusal.err
    assert precious.read_text() == "hours of work"


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


def test_without_ffmpeg_the_page_says_so_and_shows_the_actions(
    spacil: Spacil, finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    out = tmp_path / "report.html"
    shown = spacil("report", finished_run, "-o", out)
    assert (shown.code, shown.err) == (0, "")
    page = unescape(out.read_text())
    assert "No video, the actions as charts instead: writing mp4 needs imageio-ffmpeg" in page
    assert "<video" not in page
    assert "Executed action a1, from the same start" in page


def test_a_run_without_a_policy_is_named_and_fails_no_report(
    spacil: Spacil, tmp_path: Path
) -> None:
    write_run(tmp_path / "run")
    out = tmp_path / "report.html"
    assert spacil("report", tmp_path / "run", "-o", out).code == 0
    assert "<p>No video: " in out.read_text()


def test_the_best_run_of_each_algorithm_is_shown(tmp_path: Path) -> None:
    for algorithm in ("bc", "trpo", "airl", "gail", "spacil"):
        for seed in (0, 1):
            write_run(
                tmp_path / f"{algorithm}{seed}",
                algorithm=algorithm,
                seed=seed,
                fresh=(1000.0 + 100 * seed, 1.0),
            )
    shown = report.best_runs(compare([tmp_path]).frame)
    assert len(shown) == 3
    assert set(shown.algorithm) >= {"gail", "spacil"}
    assert set(shown.seed) == {1}


def test_room_in_the_video_goes_to_the_smoothest_settings(tmp_path: Path) -> None:
    found = {0.1: (3000.0, 2.0), 0.2: (2900.0, 0.5), 0.3: (2800.0, 0.9), 0.4: (2700.0, 0.7)}
    for weight, fresh in found.items():
        for seed in (0, 1):
            path = tmp_path / f"{weight}-{seed}"
            average_return, j = fresh
            write_run(
                path, "spacil", seed=seed, fresh=(average_return + seed, j), lambda_policy=weight
            )
    shown = report.best_runs(compare([tmp_path]).frame)
    assert set(shown.average_return) == {
        3001.0,
        2901.0,
        2701.0,
    }  # the best, and the two smoothest others
