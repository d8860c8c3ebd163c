"""`--json [FILE]` is the same in every verb, and every document says what it is about."""

import json
from pathlib import Path
from typing import Any

import pytest
from fixture_types import Spacil, TinyFlags

import spacil as library
from spacil.cli import doctor
from spacil.cli.main import VERBS
from spacil.cli.output import show, with_json_target


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["--json"], ["--json", "-"]),
        (["--json", "-"], ["--json", "-"]),
        (["--json", "--seed", "1"], ["--json", "-", "--seed", "1"]),
        (["--json", "-h"], ["--json", "-", "-h"]),
        (["--json", "file", "--seed", "1"], ["--json", "file", "--seed", "1"]),
        (["--json=file", "source"], ["--json=file", "source"]),
        (["source", "--jsonl"], ["source", "--jsonl"]),
        ([], []),
    ],
)
def test_a_bare_flag_means_stdout(given: list[str], meant: list[str]) -> None:
    assert with_json_target(given) == meant


def test_what_is_not_finite_is_null(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = {"a": float("nan"), "b": [float("inf"), 1.5], "c": {"d": (-float("inf"),)}}
    expected = {"a": None, "b": [None, 1.5], "c": {"d": [None]}}
    show(document, Path("-"), lambda: print("a table"))
    assert json.loads(capsys.readouterr().out) == expected
    show(document, tmp_path / "file.json", lambda: print("a table"))
    assert capsys.readouterr().out == "a table\n"
    assert json.loads((tmp_path / "file.json").read_text()) == expected


REACHER = {"task": "Reacher-v4"}
COMMANDS: dict[str, tuple[str, dict[str, Any], str]] = {
    "train": (
        "train gail --task Reacher-v4 --quiet --seed 5 TINY --run-dir OUT",
        {**REACHER, "algorithm": "gail", "seed": 5},
        "handed out: highest return",
    ),
    "evaluate": (
        "evaluate RUN --episodes 1 --seed 3",
        {**REACHER, "algorithm": "gail", "seed": 3},
        "return G",
    ),
    "smoothness": (
        "smoothness RUN --episodes 1 --seed 3",
        {**REACHER, "algorithm": "gail", "seed": 3},
        "own trajectories",
    ),
    "demos collect": (
        "demos collect RUN --num 1 --seed 3 --out OUT.npz",
        {**REACHER, "algorithm": "gail", "seed": 3, "num_episodes": 1},
        "1 episodes, 50 steps",
    ),
    "demos import": (
        "demos import Reacher-v4 OUT.safetensors",
        {**REACHER, "algorithm": "trpo", "is_usable": True},
        "written: ",
    ),
    "demos export": (
        "demos export Reacher-v4 OUT.npz",
        {**REACHER, "algorithm": "trpo", "format": "npz"},
        "format npz",
    ),
    "demos check": (
        "demos check Reacher-v4",
        {**REACHER, "algorithm": "trpo", "is_usable": True},
        "is usable",
    ),
    "demos show": (
        "demos show Reacher-v4",
        {**REACHER, "algorithm": "trpo", "num_steps": 2500},
        "histogram",
    ),
    "tasks": ("tasks", {}, "paper expert return"),
    "doctor": ("doctor", {"is_fit": True}, "fit to train on"),
}


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Verbs whose numbers do not matter here: no health checks."""
    monkeypatch.setattr(doctor, "run_checks", lambda _: [])
    monkeypatch.setattr(doctor, "rendering", lambda: "not looked at")


TRIED_ELSEWHERE = {
    *("video", "watch"),  # tests/cli/test_video.py
    *("page", "demo"),  # tests/film/test_page.py, tests/cli/test_demo.py
    *("sweep", "compare", "report", "smooth", "diagnose", "export"),  # tests/cli/
    "experiment",  # tests/experiments
    "resume",  # the same result as train: tests/cli/test_resume.py
    "completion",  # prints a script and no result
}


def test_every_verb_is_tried_here_or_elsewhere() -> None:
    assert {name.split()[0] for name in COMMANDS} | TRIED_ELSEWHERE == set(VERBS)


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize("verb", COMMANDS)
def test_a_verb_prints_json_or_writes_it_beside_its_table(
    verb: str, spacil: Spacil, finished_run: Path, tiny_flags: TinyFlags, tmp_path: Path
) -> None:
    text, expected, in_table = COMMANDS[verb]

    def command(out: str) -> list[str]:
        words = text.replace("RUN", str(finished_run)).replace("OUT", str(tmp_path / out))
        tiny = " ".join(tiny_flags(iterations=1))
        return words.replace("TINY", tiny).split()

    printed = spacil(*command("first"), "--json")
    assert printed.code == 0, printed.err
    document = json.loads(printed.out)
    assert document.items() >= {"spacil_version": library.__version__, **expected}.items()

    file = tmp_path / "document.json"
    shown = spacil(*command("second"), "--json", file)
    assert shown.code == 0, shown.err
    assert in_table in shown.out
    assert json.loads(file.read_text()).keys() == document.keys()
    assert [path.name for path in tmp_path.glob(".tmp-*")] == []


@pytest.mark.parametrize(
    ("target", "message"),
    [("none/file.json", "there is no folder"), (".", "it exists and is no result of spacil")],
)
def test_a_target_that_cannot_be_written_is_refused_before_the_work(
    spacil: Spacil, tmp_path: Path, target: str, message: str
) -> None:
    command = ("train", "trpo", "--task", "Reacher-v4", "--run-dir", tmp_path / "run")
    refused = spacil(*command, "--json", tmp_path / target)
    assert (refused.code, refused.out) == (74, "")
    assert "cannot write --json" in refused.err and message in refused.err
    assert not (tmp_path / "run").exists()
