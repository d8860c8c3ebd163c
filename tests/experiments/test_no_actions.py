"""The rivals without actions run to the end, and the page is made of their folders."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import no_actions
import pages
from spacil.learning import own_play

OURS = ("spacil", "--ignore-actions", "--warm-start-steps", 20)
RUNS: dict[str, tuple[object, ...]] = {
    "every 20th pair": OURS,
    "labels and GAIL": (*OURS, "--preset", "gail-like"),
    "GAIfO": ("gail", "--ignore-actions", "--discriminator-inputs", "states", "next_states"),
    "BCO": ("bc", "--ignore-actions"),
    "with actions, GAIL": ("spacil", "--preset", "gail-like", "--warm-start-steps", 20),
    "one trajectory": (*OURS, "--num-demos", 1),
    "positions": ("spacil", "--demo-columns", "0-4", "--warm-start-steps", 20),
    "single states": ("spacil", "--single-states", "--warm-start-steps", 20),
}


def test_every_arm_ends_and_has_its_line(
    train: Callable[..., Any],
    spacil: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {"NUM_ROUNDS": 2, "STEPS_PER_ENV": 20, "FIT_STEPS": 5}.items():
        monkeypatch.setattr(own_play, name, value)
    for arm, (algorithm, *flags) in RUNS.items():
        folder = tmp_path / "runs" / arm.replace(" ", "-")
        common = ("--demo-every", 20, "--run-dir", folder)
        done = train(algorithm, *flags, *common, task="Hopper-v4", iterations=1)
        assert done.code == 0, done.err
    asked = ("--which", "last", "--demos", "Hopper-v4", "--episodes", 1, "--json")
    measured = spacil("evaluate", tmp_path / "runs" / "positions", *asked).out
    (tmp_path / "runs" / "positions" / "eval.json").write_text(measured)
    document: Any = no_actions.collect([tmp_path / "runs"])
    assert not document["problems"]
    assert {row["arm"] for row in document["runs"]} == {*RUNS} == {*no_actions.ARMS}
    (of_positions,) = [row for row in document["runs"] if row["arm"] == "positions"]
    assert of_positions["J"] == json.loads(measured)["smoothness_j_common"]
    (table,) = no_actions.page_of(json.loads(json.dumps(document))).tables
    assert [row[0] for row in table.rows] == list(no_actions.ARMS)
    assert pages.markdown_table({**vars(table)}).count("| 1, 1 |") >= 7
