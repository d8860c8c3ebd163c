"""A results folder read back: documents that real analyses made, and damaged ones."""

import json
from pathlib import Path
from typing import Any

import pytest
from generated_results import write_result, write_results
from generated_runs import write_run

from spacil.errors import StorageError
from spacil.experiments.named.outcome import Outcome, Panel, Series, Table
from spacil.experiments.named.results_folder import Result, read_results, result_of

OUTCOME = Outcome(
    title="Two methods",
    text="What `it` is.",
    tables=(Table("Returns", ("setting", "G"), (("gail", "3"), ("bc", "1")), num_words=1),),
    numbers={"answer": 42},
    panels=(
        Panel(
            "Hopper-v4",
            "J",
            "G",
            (Series("gail", [1, 2], [3.0, 4.0], [2.0, 3.0], [4.0, 5.0]),
             Series("bc", [2.0], [1.0], is_joined=False)),
            reference=5.0,
            is_log_x=True,
            reference_label="97 %",
        ),
    ),
    notes=("a note",),
    problems=("seed 3 failed",),
)  # fmt: skip


def read_back(folder: Path) -> Result:
    (found,) = read_results(folder).results
    return found


def changed(folder: Path, **changes: Any) -> dict[str, Any]:
    """The document of OUTCOME with other values; None takes a key away."""
    document = json.loads(write_result(folder, "returns", OUTCOME).read_text()) | changes
    return {name: value for name, value in document.items() if value is not None}


def test_a_document_gives_back_what_the_experiment_found(tmp_path: Path) -> None:
    path = write_result(tmp_path, "returns", OUTCOME)
    found = read_back(tmp_path)
    assert (found.name, found.path, found.title) == ("returns", path, OUTCOME.title)
    assert found.tables is not None
    assert [table.title for table in found.tables] == ["Returns"]
    assert found.tables[0].rows == [("gail", "3"), ("bc", "1")]
    assert found.panels == OUTCOME.panels
    assert (found.text, found.notes, found.problems) == (
        OUTCOME.text, OUTCOME.notes, OUTCOME.problems,
    )  # fmt: skip
    assert found.command == "spacil experiment returns"


def test_documents_stand_in_the_order_of_the_experiments(tmp_path: Path) -> None:
    write_results(tmp_path / "results", tmp_path / "runs")
    write_result(tmp_path / "results", "a-new-one", OUTCOME)
    (tmp_path / "results" / "speed.json").write_text('{"iteration": []}')
    (tmp_path / "results" / "experts.json").write_text("[]")
    found = read_results(tmp_path / "results")
    names = [result.name for result in found.results]
    assert names == ["returns", "curves", "perturbation", "front", "claims", "a-new-one"]
    assert found.others == ("experts.json", "speed.json")
    assert found.not_there == [
        "recipe",
        "lambda-grid",
        "cost-smoothness",
        "mixing",
        "demonstrators",
    ]
    returns = found.results[0]
    assert (returns.num_runs, returns.commits) == (6, ("c" * 40,))
    assert found.problems == ()


def test_a_document_from_before_tables_were_kept_is_readable(tmp_path: Path) -> None:
    runs = [{"seed": 0, "commit": "abc"}, {"seed": 1, "commit": "abc"}]
    without = {"text": None, "tables": None, "num_runs": None, "commits": None, "runs": runs}
    document = changed(tmp_path, **without)
    for panel in document["panels"]:
        del panel["reference_label"]
    found = result_of(document, tmp_path / "returns.json")
    assert (found.text, found.tables) == ("", None)
    assert (found.num_runs, found.commits) == (2, ("abc",))
    assert found.panels[0].reference_label == "dashed"


def test_points_that_were_not_finite_are_left_out(tmp_path: Path) -> None:
    holes = Series("gail", [1.0, 2.0, 3.0], [1.0, float("nan"), 3.0])
    panel = Panel("", "", "", [holes])
    write_result(tmp_path, "returns", Outcome("", "", [], {}, [panel]))
    (series,) = read_back(tmp_path).panels[0].series
    assert (series.x, series.y) == ([1.0, 3.0], [1.0, 3.0])


def test_damaged_files_are_named_and_the_others_read(tmp_path: Path) -> None:
    write_result(tmp_path, "returns", OUTCOME)
    (tmp_path / "curves.json").write_text('{"experiment": "curves", ')
    (tmp_path / "mixing.json").write_text('{"experiment": "mixing"}')
    found = read_results(tmp_path)
    assert [result.name for result in found.results] == ["returns"]
    curves, mixing = found.problems
    assert "curves.json: not valid JSON" in curves
    assert "mixing.json: no document of an experiment, 'title' is missing" in mixing


@pytest.mark.parametrize(
    "changes",
    [
        {"experiment": 3},
        {"title": ["a"]},
        {"tables": [{"title": "a", "header": ["a", "b"], "rows": [["1"]], "num_words": 1}]},
        {"tables": [{"title": "a", "header": "ab", "rows": [], "num_words": 1}]},
        {"panels": {"title": "a"}},
        {"panels": [{"title": "a"}]},
        {"problems": "many"},
        {"num_runs": "many"},
    ],
)
def test_a_document_of_another_shape_is_refused_with_its_name(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    document = changed(tmp_path, **changes)
    with pytest.raises(StorageError, match=r"returns\.json: no document of an experiment"):
        result_of(document, tmp_path / "returns.json")


def test_columns_of_different_lengths_are_refused(tmp_path: Path) -> None:
    document = changed(tmp_path)
    document["panels"][0]["series"][0]["y"] = [1.0]
    with pytest.raises(StorageError, match="no document of an experiment"):
        result_of(document, tmp_path / "returns.json")


def test_runs_sweeps_and_missing_folders_hold_no_results(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    sweep = tmp_path / "sweep"
    sweep.mkdir()
    (sweep / "sweep.json").write_text("")
    for folder in (run, sweep, tmp_path / "nowhere", run / "eval.json"):
        found = read_results(folder)
        assert (found.results, found.others, found.problems) == ((), (), ())
