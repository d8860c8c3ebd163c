"""run.json says what a run is, and is read back as it was written."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from run_folders import some_config

import spacil
from spacil.config.flat import flat_settings
from spacil.errors import ConfigError, SpacilError
from spacil.runs.facts import (
    RUN_FILE,
    DemoChoice,
    DemoInputs,
    FreshEvaluations,
    RunInputs,
    best_and_last,
    new_facts,
    read_run,
    task_to_play,
    write_run,
)

CONFIG = some_config()
DEMOS = DemoInputs(("Hopper-v4", "/a/b.npz"), DemoChoice(num_demos=3, demo_noise=0.1), "c" * 64)


def row(iteration: int, average_return: float | None, **more: Any) -> dict[str, Any]:
    return {"iteration": iteration, "average_return": average_return, "seconds_fit": 1.0, **more}


def test_best_is_the_highest_return_and_last_the_newest_evaluation() -> None:
    metrics = [row(0, 5.0), row(1, -3.0), row(2, -1.0), row(3, -2.0), row(4, None)]
    best, last = best_and_last(metrics)
    assert (best["iteration"], last["iteration"]) == (2, 3)
    assert best["warn_saturated"] is False
    assert "seconds_fit" not in best
    assert best_and_last([row(1, None)]) == (None, None)


def test_best_is_the_newest_one_kept_where_something_else_selects() -> None:
    kept = [True, True, False]
    metrics = [row(i + 1, 3.0 - i, is_best=is_best) for i, is_best in enumerate(kept)]
    best, last = best_and_last(metrics)
    assert (best["iteration"], last["iteration"]) == (2, 3)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"inputs": RunInputs("Hopper-v4", True, None), "status": "finished"},
        {"inputs": RunInputs("Hopper-v4", False, DEMOS, {"average_return": 1.0, "j": None})},
        {"best": {"iteration": 1}, "last": {"iteration": 2}, "common_frame": {"hash": "x"}},
        {"fresh": FreshEvaluations(7, 150, {"average_return": 1.0}, None), "reason": "SIGTERM"},
    ],
)
def test_the_record_reads_back_as_it_was_written(tmp_path: Path, changes: dict[str, Any]) -> None:
    written = replace(new_facts(tmp_path, CONFIG), **changes)
    write_run(written)
    found = read_run(tmp_path)
    assert found == written
    assert found.config == CONFIG


def test_the_file_names_its_format_and_its_code(tmp_path: Path) -> None:
    write_run(new_facts(tmp_path, CONFIG))
    document = json.loads((tmp_path / RUN_FILE).read_text())
    assert (document["format"], document["format_version"]) == ("spacil-run", 1)
    assert document["spacil_version"] == spacil.__version__
    assert document["config"] == json.loads(json.dumps(flat_settings(CONFIG)))
    assert document["status"] == "running"
    assert "commit" in document and "path" not in document


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "no record of a run"),
        ({"format_version": 2}, "no record of a run that this version reads"),
        ({"config": []}, "no record of a run"),
        ({"status": 3}, "status is 3, expected str"),
        ({"extra": 3}, "should be the values"),
        ({"inputs": {"task": "x"}}, "inputs should be the values"),
        ({"fresh": {"seed": 1}}, "fresh should be the values"),
    ],
)
def test_what_is_no_record_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    write_run(new_facts(tmp_path, CONFIG))
    document = json.loads((tmp_path / RUN_FILE).read_text())
    (tmp_path / RUN_FILE).write_text(json.dumps(document | change))
    with pytest.raises(SpacilError, match=message):
        read_run(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [({"seed": "three"}, "seed is .three."), ({"policy_hidden": 5}, "policy-hidden is 5")],
)
def test_wrong_types_are_told_as_such(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    facts = new_facts(tmp_path, CONFIG)
    write_run(replace(facts, settings=facts.settings | change))
    with pytest.raises(ConfigError, match=message):
        _ = read_run(tmp_path).config


def test_an_env_object_cannot_be_made_again_from_its_name(tmp_path: Path) -> None:
    for is_named in (True, False):
        inputs = RunInputs("Hopper-v4", is_named, None)
        write_run(replace(new_facts(tmp_path, CONFIG), inputs=inputs))
        if is_named:
            assert task_to_play("Hopper-v4", tmp_path) == "Hopper-v4"
    with pytest.raises(ConfigError, match="was trained in Python on an env object"):
        task_to_play("Hopper-v4", tmp_path)
