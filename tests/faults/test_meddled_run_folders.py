"""Run folders that somebody meddled with: links, lost files, forged checkpoints, stale names."""

import json
import resource
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fixture_types import Spacil, Train

import spacil as spacil_library
from spacil import storage
from spacil.errors import SpacilError
from spacil.plain_text import printable, shown
from spacil.runs import checkpoint
from spacil.runs.facts import read_run, write_run


@pytest.mark.parametrize(
    "name",
    [
        "metrics.jsonl",
        "run.json",
        "run.lock",
        "learning_curve.png",
        "checkpoints",
        "checkpoints/best.safetensors",
        "run.log",
        "tensorboard",
    ],
)
def test_no_part_of_a_run_folder_is_followed_through_a_link(
    train: Train, finished_run: Path, tmp_path: Path, name: str
) -> None:
    outside = tmp_path / "outside"
    for made in ("learning_curve.png", "run.log"):
        (finished_run / made).touch()
    (finished_run / name).rename(outside)
    (finished_run / name).symlink_to(outside)
    before = {p: p.read_bytes() for p in [outside, *outside.rglob("*")] if p.is_file()}
    refusal = train("gail", "--run-dir", finished_run, "--resume", iterations=4)
    assert refusal.code == 73
    assert "symbolic link" in refusal.err
    assert before == {p: p.read_bytes() for p in [outside, *outside.rglob("*")] if p.is_file()}


@pytest.mark.parametrize("loss", ["record damaged", "record lost", "lock lost"])
def test_a_run_with_checkpoints_is_recovered(train: Train, finished_run: Path, loss: str) -> None:
    if loss == "record damaged":
        (finished_run / "run.json").write_bytes(b"\x00" * 100)
    else:
        (finished_run / ("run.json" if loss == "record lost" else "run.lock")).unlink()
    other = train("gail", "--run-dir", finished_run, "--resume", iterations=4, seed=7)
    assert other.code == 2 and "  seed: 0 -> 7" in other.err
    resumed = train("gail", "--run-dir", finished_run, "--resume", iterations=4)
    assert resumed.code == 0
    assert resumed.result["last"]["iteration"] == 4
    is_told = "the settings are those of the newest checkpoint" in resumed.err
    assert is_told == (loss != "lock lost")
    assert json.loads((finished_run / "run.json").read_text())["config"]["iterations"] == 4


def forge(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the document of a checkpoint, and make its hash right again."""
    found = checkpoint.read(path)
    change(found.document)
    form, version = checkpoint.FORMAT, checkpoint.FORMAT_VERSION
    storage.save_sealed(path, found.tensors, found.document, form, version, found.notes)


FORGERIES: dict[str, Callable[[dict[str, Any]], None]] = {
    "negative counter": lambda d: d["counters"].update(iteration=-3),
    "a counter of 400 digits": lambda d: d["counters"].update(env_steps=10**400),
    "a counter beyond 2**53": lambda d: d["counters"].update(env_steps=2**60),
    "a counter ahead of its checkpoint": lambda d: d["counters"].update(iteration=1000),
    "counters as a list": lambda d: d.update(counters=[1, 2]),
    "a list as config": lambda d: d.update(config=["gail"]),
    "text as config": lambda d: d.update(config="gail"),
    "no config": lambda d: d.pop("config"),
    "best of 400 digits": lambda d: d.update(best={"average_return": 10**400, "iteration": 1}),
    "a negative best": lambda d: d.update(best={"average_return": 0.5, "iteration": -1}),
    "env as text": lambda d: d.update(env="\x1b[31mReacher"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_checkpoint_is_never_resumed_and_never_a_traceback(
    train: Train, spacil: Spacil, finished_run: Path, forgery: str
) -> None:
    for path in (finished_run / "checkpoints").glob("iter-*"):
        forge(path, FORGERIES[forgery])
    refusal = train("gail", "--run-dir", finished_run, "--resume", iterations=4)
    assert refusal.code in (2, 65, 74) and refusal.out == ""
    assert "\x1b" not in refusal.err
    assert spacil("evaluate", finished_run, "--which", "last", "--episodes", 1).code in (0, 65, 74)


@pytest.mark.parametrize("name", ["discriminator_hidden", "policy_hidden", "value_hidden"])
def test_forged_widths_do_not_take_memory(spacil: Spacil, finished_run: Path, name: str) -> None:
    forge(
        finished_run / "checkpoints" / checkpoint.BEST,
        lambda document: document["config"].update({name: [40_000, 40_000]}),
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(SpacilError, match="needs more numbers than the checkpoint holds"):
        spacil_library.GAIL.load(finished_run)
    if name == "discriminator_hidden":
        refusal = spacil("smoothness", finished_run, "--episodes", 1)
        assert refusal.code == 65
        assert "need more numbers than the file holds" in refusal.err
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # kB


def test_a_policy_file_of_holes_takes_no_memory(spacil: Spacil, tmp_path: Path) -> None:
    num_bytes = 7 * 2**30
    header = json.dumps(
        {"w": {"dtype": "U8", "shape": [num_bytes], "data_offsets": [0, num_bytes]}}
    ).encode()
    for metadata in ({}, {"__metadata__": {"spacil": "{}"}}):
        header = json.dumps({**json.loads(header), **metadata}).encode()
        path = tmp_path / "big.policy.safetensors"
        with path.open("wb") as file:
            file.write(len(header).to_bytes(8, "little") + header)
            file.truncate(8 + len(header) + num_bytes)
        refusal = spacil("evaluate", path, "--task", "Reacher-v4", "--episodes", 1)
        assert refusal.code == 65
        assert "not a policy file" in refusal.err or "mostly holes" in refusal.err


def test_escapes_in_files_reach_no_terminal(
    train: Train, spacil: Spacil, finished_run: Path, tmp_path: Path
) -> None:
    evil = "\x1b]0;owned\x07\x1b[31m\nspacil: all is well\u202e" + "A" * 5_000
    (finished_run / "run.lock").write_text(evil)
    facts = read_run(finished_run)
    write_run(replace(facts, settings=facts.settings | {"init": evil, evil: evil}))
    refusal = train("gail", "--run-dir", finished_run, "--resume")
    assert refusal.code == 2
    write_run(replace(facts, status="running"))
    resumed = train("gail", "--run-dir", finished_run, "--resume")
    assert resumed.code == 0 and "exited without recording a status" in resumed.err
    forge(
        finished_run / "checkpoints" / checkpoint.BEST,
        lambda document: document["policy"].update(task=evil),
    )
    evaluated = spacil("evaluate", finished_run, "--task", "Reacher-v4", "--episodes", 1)
    measured = spacil("smoothness", finished_run, "--episodes", 1)
    demos = spacil_library.load_demos("Reacher-v4").first(2)
    path = tmp_path / "evil.demos.safetensors"
    spacil_library.save_demos(replace(demos, metadata=replace(demos.metadata, task=evil)), path)
    shows = [spacil("demos", verb, path) for verb in ("show", "check")]
    for finished in (refusal, resumed, evaluated, measured, *shows):
        text = finished.out + finished.err
        assert "\x1b" not in text and "\x07" not in text and "\u202e" not in text
        assert "\nspacil: all is well" not in text
        assert "A" * 1_000 not in finished.err
    assert "\\x1b]0;owned" in refusal.err + resumed.err


def test_one_function_escapes_and_shortens() -> None:
    assert shown("plain Läufer 走る") == "plain Läufer 走る"
    assert shown("a\x1b[1m\nb\u202e\udcff") == "a\\x1b[1m\\nb\\u202e\\udcff"
    assert len(shown("x" * 10_000)) < 210
    assert printable("two\nlines\x07") == "two\n  lines\\x07"
    assert len(printable("y" * 100_000)) < 9_000


def test_rows_of_metrics_without_keys_do_not_cost_the_run(train: Train, finished_run: Path) -> None:
    path = finished_run / "metrics.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[1] = {"iteration": 1, "average_return": "high", "target_verdict": "met"}
    rows[2] = {"iteration": 2, "average_return": 0.5}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    resumed = train("gail", "--run-dir", finished_run, "--resume", iterations=4)
    assert resumed.code == 0
    assert resumed.result["best"]["average_return"] == 0.5
    assert resumed.result["last"]["iteration"] == 4
    rows[3] = {"no iteration": 3}
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, {"iteration": 4}]))
    refusal = train("gail", "--run-dir", finished_run, "--resume", iterations=5)
    assert refusal.code == 74
    assert "metrics.jsonl, line 4: not a complete record with an iteration" in refusal.err
