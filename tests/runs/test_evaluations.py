"""eval.json says which run its numbers belong to, and is read back as it was written."""

import json
from pathlib import Path
from typing import Any

import pytest

import spacil
from spacil import storage
from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.errors import StorageError
from spacil.runs.evaluations import (
    Evaluations,
    FreshEvaluations,
    evaluations_of,
    read_evaluations,
    write_evaluations,
)

CONFIG = with_settings(default_config("gail", "Hopper-v4"), {"seed": 3})


def row(iteration: int, average_return: float | None) -> dict[str, Any]:
    numbers = ("env_steps", "return_std", "return_low", "return_high", "num_episodes")
    frames = ("", "_own", "_raw", "_common", "_effective")
    return {
        "iteration": iteration,
        "average_return": average_return,
        "mean_length": 50.0,
        "seconds_total": 1.5,
        **dict.fromkeys(numbers, 1),
        **{f"smoothness_j{frame}": 0.5 for frame in frames},
    }


def test_best_is_the_highest_return_and_last_the_newest_evaluation() -> None:
    metrics = [row(1, -3.0), row(2, -1.0), row(3, -2.0), row(4, None)]
    found = evaluations_of(CONFIG, metrics)
    assert found.best is not None and found.last is not None
    assert (found.best["iteration"], found.last["iteration"]) == (2, 3)
    assert found.best["warn_saturated"] is False
    assert "seconds_total" not in found.best


def test_best_is_the_newest_one_kept_where_something_else_selects() -> None:
    config = with_settings(CONFIG, {"select": "imitation"})
    kept = [True, True, False]
    metrics = [row(i + 1, 3.0 - i) | {"is_best": is_best} for i, is_best in enumerate(kept)]
    found = evaluations_of(config, metrics)
    assert found.best is not None and found.last is not None
    assert (found.best["iteration"], found.last["iteration"]) == (2, 3)


def test_a_run_without_evaluations_has_neither_best_nor_last() -> None:
    found = evaluations_of(CONFIG, [row(1, None)])
    assert (found.best, found.last) == (None, None)


@pytest.mark.parametrize("fresh", [None, FreshEvaluations(7, 150, {"average_return": 1.0}, None)])
def test_the_record_reads_back_as_it_was_written(
    tmp_path: Path, fresh: FreshEvaluations | None
) -> None:
    found = evaluations_of(CONFIG, [row(1, -3.0)])
    written = Evaluations(found.identity, found.best, found.last, fresh)
    write_evaluations(tmp_path / "eval.json", written)
    assert read_evaluations(tmp_path / "eval.json") == written


def test_the_file_names_its_format_and_its_run(tmp_path: Path) -> None:
    write_evaluations(tmp_path / "eval.json", evaluations_of(CONFIG, []))
    document = json.loads((tmp_path / "eval.json").read_text())
    assert (document["format"], document["format_version"]) == ("spacil-evaluations", 1)
    assert document["spacil_version"] == spacil.__version__
    assert (document["algorithm"], document["task"], document["seed"]) == ("gail", "Hopper-v4", 3)
    assert "commit" in document and "fresh" not in document


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "holds no evaluations"),
        ({"best": None}, "holds no evaluations"),
        ({"best": 1, "last": None}, "holds no evaluations"),
        ({"best": None, "last": None, "fresh": {"seed": 1}}, "section 'fresh' is not valid"),
        (
            {"format": "spacil-evaluations", "format_version": 2, "best": None, "last": None},
            "version 2, expected 'spacil-evaluations' version 1: use the spacil that wrote it",
        ),
    ],
)
def test_a_file_that_is_no_record_is_refused(tmp_path: Path, document: Any, message: str) -> None:
    storage.write_json(tmp_path / "eval.json", document)
    with pytest.raises(StorageError, match=message):
        read_evaluations(tmp_path / "eval.json")
