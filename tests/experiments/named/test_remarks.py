"""What is said of the episodes and policies behind an experiment's numbers."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from generated_arms import gathered_from

from spacil.comparison.run_record import read_run
from spacil.experiments.named.experiment import Gathered
from spacil.experiments.named.plan import Arm, Scope, Setting
from spacil.experiments.named.remarks import notes_on_early_best, notes_on_episodes


@pytest.fixture
def gathered(tmp_path: Path) -> Gathered:
    arms = [Arm(Setting("gail", "gail"), "Hopper-v4", (0, 1))]
    return gathered_from(tmp_path, arms, lambda arm, run: (100.0, 2.0), Scope())


def test_of_runs_that_are_alike_nothing_is_said(gathered: Gathered) -> None:
    assert notes_on_episodes(gathered.records) == []


def test_numbers_of_episodes_are_told_where_they_differ(gathered: Gathered) -> None:
    path = gathered.records[0].path / "eval.json"
    document = json.loads(path.read_text())
    for which in ("best", "last"):
        document["fresh"][which]["num_episodes"] = 7
    path.write_text(json.dumps(document))
    records = [read_run(record.path) for record in gathered.records]
    (note,) = notes_on_episodes(records)
    assert "7 in 1 runs" in note


def test_a_run_without_fresh_episodes_is_named(gathered: Gathered) -> None:
    path = gathered.records[1].path / "eval.json"
    document = json.loads(path.read_text())
    del document["fresh"]
    path.write_text(json.dumps(document))
    records = [read_run(record.path) for record in gathered.records]
    (note,) = notes_on_episodes(records)
    assert "seed1: no fresh episodes" in note


def with_best_at(gathered: Gathered, *iterations: int) -> Gathered:
    """Runs of 100 iterations whose best policies are from these."""
    (arm,) = gathered.arms
    last = {"iteration": 100}
    records = tuple(
        replace(record, best={"iteration": best}, last=last)
        for record, best in zip(arm.records, iterations, strict=True)
    )
    return replace(gathered, arms=(replace(arm, records=records),))


def test_best_policies_from_the_beginning_of_every_run_are_told(gathered: Gathered) -> None:
    (note,) = notes_on_early_best(with_best_at(gathered, 10, 20).arms)
    assert note == "Hopper-v4, gail: its best policies are of iterations 10 of 100, 20 of 100"
    assert notes_on_early_best(with_best_at(gathered, 10, 90).arms) == []
