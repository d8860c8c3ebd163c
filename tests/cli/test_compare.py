"""`spacil compare`: every format, the files it writes, and its exit codes."""

import json
import re
import sys
from pathlib import Path

import pytest
from fixture_types import Spacil
from generated_runs import write_run
from pictures import assert_drawn

from spacil.comparison import figures
from spacil.comparison.figures import COLOURS
from spacil.errors import RunDirError, StorageError


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    for seed in (0, 1):
        returns = {"final_return": 2500.0 + 400 * seed, "fresh": (2990.0 + seed, 1.0)}
        write_run(folder / f"gail{seed}", seed=seed, **returns)
        write_run(folder / f"spacil{seed}", "spacil", seed=seed, fresh=(3100.0 + seed, 0.4), j=0.5)
    return folder


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("table", "Hopper-v4 spacil"),
        ("markdown", "| Hopper-v4 | spacil | 2 |"),
        ("csv", "Hopper-v4,spacil,spacil,0 1,True"),
        ("latex", "Hopper-v4 & spacil & 2"),
    ],
)
def test_each_format_prints_the_rows(spacil: Spacil, runs: Path, form: str, expected: str) -> None:
    shown = spacil("compare", runs, "--format", form)
    assert (shown.code, shown.err) == (0, "")
    assert expected in re.sub(r" +", " ", shown.out)


def test_a_folder_gets_all_formats_and_figures(spacil: Spacil, runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert spacil("compare", runs, "-o", out).code == 0
    names = {path.name for path in out.iterdir()}
    assert names == {
        *(f"comparison.{suffix}" for suffix in ("json", "md", "csv", "tex")),
        *(f"{figure}.{suffix}" for figure in ("curves", "front") for suffix in ("png", "svg")),
    }
    assert_drawn(out / "curves.png", COLOURS[:2])
    assert_drawn(out / "front.png", COLOURS[:2])
    for name in ("curves.svg", "front.svg"):
        assert COLOURS[0] in (out / name).read_text()
    document = json.loads((out / "comparison.json").read_text())
    assert document == spacil("compare", runs, "--format", "json").result
    gail, spacil_row = document["rows"]
    assert spacil_row["summaries"]["average_return"]["mean"] == 3100.5
    assert gail["published_return"] == {"mean": 3326.43, "std": 872.42}


def test_a_file_in_the_way_of_the_folder_is_named_before_anything_is_shown(
    spacil: Spacil, runs: Path, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for out in (tmp_path / "notes.txt", tmp_path / "notes.txt" / "deeper"):
        refused = spacil("compare", runs, "-o", out)
        assert (refused.code, refused.out) == (StorageError.exit_code, "")
        assert "notes.txt' is a file, expected a folder" in refused.err
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(("verb", "name"), [("compare", "front.png"), ("report", "page.html")])
def test_what_is_there_is_replaced_only_if_asked_for(
    spacil: Spacil, runs: Path, tmp_path: Path, verb: str, name: str
) -> None:
    (tmp_path / name).write_text("mine")
    target = tmp_path if verb == "compare" else tmp_path / name
    refused = spacil(verb, runs, "-o", target)
    assert (refused.code, refused.out) == (StorageError.exit_code, "")
    assert f"{name}' exists already: --overwrite replaces it" in refused.err
    assert (tmp_path / name).read_text() == "mine"
    assert spacil(verb, runs, "-o", target, "--overwrite").code == 0
    assert (tmp_path / name).read_bytes() != b"mine"


@pytest.mark.parametrize("verb", ["compare", "report"])
def test_a_file_and_an_empty_folder_are_no_runs(spacil: Spacil, here: Path, verb: str) -> None:
    (here / "metrics.jsonl").write_text("{}")
    (here / "empty").mkdir()
    for source, told in (("metrics.jsonl", "is a file, expected a run"), ("empty", "holds no run")):
        refused = spacil(verb, source)
        assert (refused.code, refused.out) == (RunDirError.exit_code, "")
        assert f"{source}: {told}" in refused.err


@pytest.mark.parametrize("seeds", [(0, 1), (0,)], ids=["with intervals", "without"])
def test_several_tasks_get_a_figure_of_their_own(
    spacil: Spacil, runs: Path, tmp_path: Path, seeds: tuple[int, ...]
) -> None:
    for algorithm in ("gail", "spacil"):
        for seed in seeds:
            write_run(runs / f"walker-{algorithm}{seed}", algorithm, "Walker2d-v4", seed)
    out = tmp_path / "out"
    assert spacil("compare", runs, "-o", out).code == 0
    assert_drawn(out / "aggregate.png", COLOURS[:2])
    assert (out / "aggregate.svg").is_file()
    _, ours = json.loads((out / "comparison.json").read_text())["aggregates"]
    assert (ours["normalized_return"]["low"] is None) == (len(seeds) == 1)


def test_missing_runs_end_with_code_3_and_are_named_beside_csv(spacil: Spacil, runs: Path) -> None:
    (runs / "spacil1" / "run.json").write_text("not json")
    shown = spacil("compare", runs)
    assert shown.code == 3
    assert "Hopper-v4  spacil" in shown.out
    for text in (str(runs / "spacil1"), "Hopper-v4, spacil: no run of seed 1"):
        assert f"missing: {text}" in shown.out
    shown = spacil("compare", runs, "--format", "csv")
    assert shown.code == 3
    assert all(line.count(",") > 50 for line in shown.out.splitlines())
    for text in (str(runs / "spacil1"), "Hopper-v4, spacil: no run of seed 1"):
        assert f"missing: {text}" in shown.err


@pytest.mark.parametrize("verb", ["compare", "report"])
def test_folders_names_are_escaped(spacil: Spacil, runs: Path, tmp_path: Path, verb: str) -> None:
    hostile = runs / "red \x1b[31m\nmissing: nothing"
    (runs / "spacil1").rename(hostile)
    (hostile / "run.json").write_text("not json")
    out = {"compare": tmp_path / "out", "report": tmp_path / "page.html"}[verb]
    shown = spacil(verb, runs, "-o", out)
    assert shown.code == 3
    assert "\x1b" not in shown.out + shown.err
    assert r"red \x1b[31m\nmissing: nothing" in shown.out


@pytest.mark.parametrize("package", ["pandas", "scipy"])
def test_without_its_packages_the_extra_to_install_is_named(
    spacil: Spacil, runs: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    for name in [*sys.modules]:
        if name.startswith("spacil.comparison"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    refusal = spacil("compare", runs)
    assert (refusal.code, refusal.out) == (2, "")
    assert f"comparing runs needs {package}: pip install 'spacil[report]'" in refusal.err


def test_a_full_disk_leaves_all_files_or_none(
    spacil: Spacil, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> Path:
        raise StorageError("no space left")

    monkeypatch.setattr(figures, "draw_charts", full)
    assert spacil("compare", runs, "-o", tmp_path / "tables").code == 74
    assert list((tmp_path / "tables").iterdir()) == []
