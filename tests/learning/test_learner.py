"""Cloning as a run: evaluated, repeated, resumed, and read like any other."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixture_types import Spacil, Train
from tiny_runs import tiny

import spacil as library
from spacil.demos.file import load_demos
from spacil.policies.open import load_policy

QUICK = {"iterations": 4, "lambda_policy": 0.01, "holdout_fraction": 0.1}


def test_one_seed_gives_one_run_and_another_seed_another(
    train: Train, state_of: Callable[..., Any], tmp_path: Path
) -> None:
    for name, seed in (("first", 0), ("again", 0), ("other", 1)):
        assert train("bc", "--run-dir", tmp_path / name, seed=seed, **QUICK).code == 0
    assert state_of(tmp_path / "first") == state_of(tmp_path / "again")
    assert state_of(tmp_path / "first").content_hash != state_of(tmp_path / "other").content_hash


def test_a_stopped_run_goes_on_bit_for_bit(state_of: Callable[..., Any], tmp_path: Path) -> None:
    for name, stops in (("whole", ()), ("stopped", (1, 3))):
        for stop in (*stops, None):
            agent = library.BC("Reacher-v4", **tiny("bc", **QUICK))
            agent.learn(
                run_dir=tmp_path / name, callback=lambda _, row, stop=stop: row["iteration"] != stop
            )
            agent.close()
    assert state_of(tmp_path / "whole") == state_of(tmp_path / "stopped")
    assert json.loads((tmp_path / "stopped" / "run.json").read_text())["status"] == "finished"


def test_a_run_that_stopped_early_is_finished_and_evaluated(
    train: Train, state_of: Callable[..., Any], tmp_path: Path
) -> None:
    flags = {"iterations": 300, "clone_learning_rate": 0.05, "clone_patience": 1}
    result = train("bc", "--run-dir", tmp_path / "run", **flags).result
    rows = state_of(tmp_path / "run").metrics
    assert len(rows) < 300
    assert result["last"]["iteration"] == rows[-1]["iteration"]
    assert json.loads((tmp_path / "run" / "run.json").read_text())["status"] == "finished"


def test_a_cloning_run_is_read_like_any_other(train: Train, spacil: Spacil, tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    trained = train("bc", "--run-dir", run_dir, **QUICK).result
    for which in ("best", "last"):
        done = spacil("evaluate", run_dir, "--which", which, "--episodes", 3, "--json", "-")
        assert done.code == 0
        assert done.result["provenance"]["iteration"] == trained[which]["iteration"]
        assert done.result["smoothness_j"] == pytest.approx(done.result["smoothness_j_own"])
    for name in ("metrics.jsonl", "run.json", "learning_curve.png"):
        assert (run_dir / name).is_file()
    assert trained["last"]["env_steps"] == 0


@pytest.mark.parametrize("seed", [0, 1])
def test_the_best_of_a_run_is_the_policy_of_the_lowest_held_out_loss_whatever_it_earns(
    state_of: Callable[..., Any], tmp_path: Path, seed: int
) -> None:
    settings = {"iterations": 20, "holdout_fraction": 0.2, "clone_learning_rate": 0.01}
    demos = load_demos("Reacher-v4").first(8)
    agent = library.BC("Reacher-v4", demos, **tiny("bc", seed=seed, **settings))
    agent.learn(run_dir=tmp_path)
    states = demos.states[:20].numpy()
    best = load_policy(tmp_path, "best").policy
    assert np.array_equal(best.predict(states), agent.policy.predict(states))
    rows = [row for row in state_of(tmp_path).metrics if "is_best" in row]
    chosen = [row["chosen_iteration"] for row in rows]
    is_new = [now > before for before, now in zip([0, *chosen], chosen, strict=False)]
    assert [row["is_best"] for row in rows] == is_new
    assert False in is_new
    agent.close()
