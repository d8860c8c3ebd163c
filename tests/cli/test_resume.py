"""`spacil resume RUN` and `spacil evaluate RUN`: the folder knows what the run was given."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from fixture_types import Spacil, Tiny, Train
from own_env import forget_own_env, write_own_demos, write_own_env

import spacil as library


@pytest.fixture
def own_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """`my_cart:Cart-v0` of a file in the working folder, not imported before or after."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield write_own_env(tmp_path)
    forget_own_env()


def rows_of(run: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in row.items() if not k.startswith("seconds_")} for row in rows]


def test_an_own_env_trains_evaluates_and_resumes_where_its_name_is_typed_again(
    train: Train, spacil: Spacil, own_task: str, tmp_path: Path
) -> None:
    write_own_demos(tmp_path / "mine.npz")
    flags = ("--demos", "mine.npz", "--num-demos", 3, "--demo-every", 2, "--run-dir", "run")
    assert train("gail", *flags, task=own_task, iterations=1).code == 0
    inputs = json.loads(Path("run/run.json").read_text())["inputs"]
    assert inputs["task"] == own_task and inputs["env_is_named"]
    assert inputs["demonstrations"]["sources"] == [str(tmp_path / "mine.npz")]
    assert inputs["demonstrations"]["choice"]["num_demos"] == 3
    for command in (("evaluate", "run"), ("resume", "run", "--iterations", 2)):
        forget_own_env()
        refused = spacil(*command)
        assert refused.code == 65
        assert "my_cart" not in sys.modules
    assert f"type it: spacil resume run --task {own_task}" in refused.err
    forget_own_env()
    evaluated = spacil("evaluate", "run", "--episodes", 2, "--task", own_task, "--json")
    assert evaluated.code == 0
    assert evaluated.result["task"] == own_task
    assert evaluated.result["demonstrator"]["average_return"] == pytest.approx(
        inputs["demonstrator"]["average_return"]
    )
    forget_own_env()
    command = ("resume", "run", "--iterations", 2, "--quiet", "--json")
    resumed = spacil(*command, "--task", own_task)
    assert resumed.code == 0
    assert resumed.result["last"]["iteration"] == 2
    assert resumed.result["task"] == own_task


@pytest.mark.parametrize("name", ["my_cart:make_cart", "my_cart:Cart"])
def test_a_function_or_class_may_make_the_env(train: Train, own_task: str, name: str) -> None:
    assert train("trpo", "--run-dir", "run", task=name, iterations=1).code == 0


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("my_cart:Crt-v0", "is not an id that my_cart registers"),
        ("my_cart:Crt-v0", "did you mean Cart-v0"),
        ("no_such_module:Cart-v0", "cannot import 'no_such_module'"),
        ("no_such_module:Cart-v0", "put that folder on PYTHONPATH"),
        ("Cart-v7", "An env of your own, or of another package, is module:Cart-v7"),
    ],
)
def test_an_own_env_may_not_be_found(train: Train, own_task: str, task: str, message: str) -> None:
    refused = train("trpo", task=task)
    assert refused.code == 2
    assert message in refused.err


def test_a_run_on_an_env_object_says_so(spacil: Spacil, tiny: Tiny, tmp_path: Path) -> None:
    def make_pendulum() -> Any:
        return gymnasium.make("Pendulum-v1")

    agent = library.TRPO(make_pendulum, **tiny("trpo", iterations=1))
    agent.learn(run_dir=tmp_path / "run")
    for command in (["evaluate", tmp_path / "run"], ["smoothness", tmp_path / "run"]):
        refused = spacil(*command)
        assert refused.code == 2
        assert "trained in Python on an env object (make_pendulum)" in refused.err
        assert "pass --task module:Env-v0" in refused.err
    refused = spacil("resume", tmp_path / "run")
    assert refused.code == 2
    assert "run the same script again" in refused.err
    assert spacil("evaluate", tmp_path / "run", "--episodes", 1, "--task", "Pendulum-v1").code == 0


def test_demonstrations_in_memory_are_asked_for(spacil: Spacil, tiny: Tiny, tmp_path: Path) -> None:
    demos = library.load_demos("Reacher-v4").first(3)
    library.GAIL("Reacher-v4", demos, **tiny(iterations=1)).learn(run_dir=tmp_path / "run")
    command = ("resume", tmp_path / "run", "--iterations", 2, "--quiet")
    refused = spacil(*command)
    assert refused.code == 2
    assert "on demonstrations in memory" in refused.err
    library.save_demos(demos, tmp_path / "other.npz")
    other = spacil(*command, "--demos", "Reacher-v4")
    assert other.code == 2
    assert "cannot resume with other demonstrations" in other.err
    library.save_demos(demos, tmp_path / "same.demos.safetensors")
    assert spacil(*command, "--demos", tmp_path / "same.demos.safetensors").code == 0


def test_a_resumed_run_is_the_run_as_planned(train: Train, spacil: Spacil, tmp_path: Path) -> None:
    edits = ("--num-demos", 3, "--demo-noise", 0.01)
    assert train("gail", "--run-dir", tmp_path / "a", *edits, iterations=4).code == 0
    assert train("gail", "--run-dir", tmp_path / "b", *edits, iterations=2).code == 0
    assert spacil("resume", tmp_path / "b", "--iterations", 4, "--quiet").code == 0
    first, second = rows_of(tmp_path / "a"), rows_of(tmp_path / "b")
    # The shorter run was evaluated at its end; that is no part of learning.
    assert first[-1] == second[-1]
    assert [row["iteration"] for row in second] == [0, 1, 2, 3, 4]


def test_a_finished_run_has_nothing_left_to_do(spacil: Spacil, finished_run: Path) -> None:
    before = (finished_run / "metrics.jsonl").read_bytes()
    done = spacil("resume", finished_run)
    assert done.code == 0
    assert "handed out" in done.out
    assert "all 3 iterations are done: --iterations 4 or more goes on" in done.err
    assert spacil("resume", finished_run, "--iterations", 3, "--quiet").code == 0
    assert len(rows_of(finished_run)) == 4
    assert (finished_run / "metrics.jsonl").read_bytes() == before


def test_fewer_iterations_than_are_done_are_refused(spacil: Spacil, finished_run: Path) -> None:
    def files() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in finished_run.rglob("*") if path.is_file()}

    before = files()
    refused = spacil("resume", finished_run, "--iterations", 2)
    assert (refused.code, refused.out) == (2, "")
    assert "--iterations is 2, but 3 iterations are done: --iterations 4 or more" in refused.err
    assert files() == before


def test_no_run_folder_is_refused_with_the_runs_in_it(spacil: Spacil, finished_run: Path) -> None:
    for folder, message in (
        (finished_run / "missing", "does not exist"),
        (finished_run / "run.json", "is not a run folder"),
        (finished_run.parent, "name one of the runs in it"),
    ):
        refused = spacil("resume", folder)
        assert refused.code == 73
        assert message in refused.err
    assert str(finished_run) in refused.err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--task", "Hopper-v4"], "another task is another run"),
        (["--iterations", "0"], "expected 1 or more"),
    ],
)
def test_a_resumed_run_stays_the_same_run(
    spacil: Spacil, finished_run: Path, flags: list[str], message: str
) -> None:
    refused = spacil("resume", finished_run, *flags)
    assert refused.code == 2
    assert message in refused.err


@pytest.mark.parametrize("text", ["{}", "{", '{"format": "spacil-run", "format_version": 9}'])
def test_a_damaged_record_is_an_error(spacil: Spacil, finished_run: Path, text: str) -> None:
    (finished_run / "run.json").write_text(text)
    refused = spacil("resume", finished_run)
    assert refused.code == 74
    assert "run.json" in refused.err


def test_warnings_and_progress_are_in_the_log(train: Train, spacil: Spacil, tmp_path: Path) -> None:
    run = tmp_path / "run"
    few = ("--num-demos", 1, "--demo-every", 10)
    assert train("gail", "--run-dir", run, *few, iterations=1).code == 0
    assert spacil("resume", run, "--iterations", 2, "--quiet").code == 0
    lines = (run / "run.log").read_text().splitlines()
    said = [line.split(" ", 1)[1] for line in lines]
    assert sum(line.startswith("WARNING") for line in said) >= 2, "few pairs, at each start"
    assert any(line.startswith("INFO    started: gail on Reacher-v4, seed 0") for line in said)
    assert any("resumed after iteration 1: gail" in line for line in said)
    assert any("finished after iteration 2, last return" in line for line in said)


def test_an_error_ends_the_log(train: Train, own_task: str, tmp_path: Path) -> None:
    source = tmp_path / "my_cart.py"
    source.write_text(source.read_text().replace("self.elapsed += 1", "raise OSError('unplugged')"))
    assert train("trpo", "--run-dir", "run", task=own_task).code == 69
    last = Path("run/run.log").read_text().splitlines()[-1]
    assert "ERROR   ended by EnvError" in last and "unplugged" in last
