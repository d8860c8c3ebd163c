"""`spacil report`: one page about all runs, with every number's run, command and commit."""

from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

from generated_runs import write_run

Spacil = Callable[..., Any]


def test_a_page_holds_the_tables_the_paper_and_every_run(spacil: Spacil, tmp_path: Path) -> None:
    for task in ("Hopper-v4", "Walker2d-v4"):
        for seed in (0, 1):
            write_run(tmp_path / "runs" / f"{task}{seed}", task=task, seed=seed)
    out = tmp_path / "report.html"
    shown = spacil("report", tmp_path / "runs", "-o", out, "--title", "Two & two")
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
    (damaged / "eval.json").write_text("")
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
