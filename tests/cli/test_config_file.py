"""`spacil train --config FILE`: a run's settings once more, or a few written by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from fixture_types import Spacil, Tiny, Train

import spacil as library


def config_in(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "run.json").read_text())["config"]
    return found


def demonstrations_in(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "run.json").read_text())["inputs"]["demonstrations"]
    return found


@pytest.fixture
def own_demos(tmp_path: Path) -> Path:
    """Demonstrations in a file of one's own."""
    file = tmp_path / "mine.demos.safetensors"
    library.save_demos(library.load_demos("Reacher-v4").first(4), file)
    return file


def test_the_config_of_a_run_brings_its_demonstrations_and_flags_win(
    train: Train, spacil: Spacil, own_demos: Path, tmp_path: Path
) -> None:
    given = ("--demos", own_demos, "--num-demos", 3, "--demo-every", 2, "--drop-nonfinite")
    first = train("gail", "--run-dir", tmp_path / "a", *given, iterations=1)
    command = ("train", "--config", tmp_path / "a" / "run.json", "--quiet", "--json")
    again = spacil(*command, "--run-dir", tmp_path / "b")
    assert (first.code, again.code) == (0, 0)
    assert config_in(tmp_path / "b") == config_in(tmp_path / "a")
    assert demonstrations_in(tmp_path / "b") == demonstrations_in(tmp_path / "a")
    assert again.result["last"] == first.result["last"]

    own = ("--demos", "Reacher-v4", "--num-demos", 2, "--no-drop-nonfinite")
    assert spacil(*command, "--run-dir", tmp_path / "c", *own).code == 0
    chosen = demonstrations_in(tmp_path / "c")
    assert (chosen["sources"], chosen["choice"]["num_demos"]) == (["Reacher-v4"], 2)
    choice = chosen["choice"]
    assert (choice["demo_every"], choice["drop_nonfinite"]) == (2, False)


def test_demonstrations_that_are_not_found_again_are_asked_for(
    train: Train, spacil: Spacil, tiny: Tiny, own_demos: Path
) -> None:
    folder = own_demos.parent
    assert train("gail", "--run-dir", folder / "a", "--demos", own_demos, iterations=1).code == 0
    in_memory = library.load_demos(own_demos)
    library.GAIL("Reacher-v4", in_memory, **tiny(iterations=1)).learn(run_dir=folder / "b")
    moved = own_demos.rename(folder / "moved.demos.safetensors")
    for run, code, reason in (("a", 65, f"{own_demos}"), ("b", 2, "in memory: save them")):
        command = ("train", "--config", folder / run / "run.json", "--quiet")
        refused = spacil(*command, "--run-dir", folder / "again")
        assert refused.code == code and reason in refused.err
        assert not (folder / "again").exists()
        assert spacil(*command, "--run-dir", folder / f"{run}2", "--demos", moved).code == 0


def test_flags_win_over_the_file_and_that_over_the_preset(spacil: Spacil, tmp_path: Path) -> None:
    settings = {"task": "Reacher-v4", "preset": "fast", "max_kl": 0.02, "lambda_policy": 0.5}
    settings |= {"iterations": 1, "num_envs": 10, "steps_per_iteration": 200, "seed": 7}
    settings |= {"policy_hidden": [8], "evaluation_steps": 50, "warm_start_steps": 1}
    settings |= {"torch_threads": 1, "simulation_threads": 1}
    (tmp_path / "mine.json").write_text(json.dumps(settings))
    trained = spacil(
        *("train", "spacil", "--config", tmp_path / "mine.json", "--run-dir", tmp_path / "run"),
        *("--seed", 8, "--quiet"),
    )
    assert trained.code == 0
    config = config_in(tmp_path / "run")
    assert config["initial_log_std"] == -1.5  # of the preset
    assert config["max_kl"] == 0.02  # of the file, against the preset
    assert config["penalty"] == ["exact=0.5"]
    assert config["policy_hidden"] == [8]
    assert config["seed"] == 8  # of the command line, against the file


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ('{"max_kll": 1}', ["gail"], "unknown setting --max-kll: did you mean --max-kl"),
        ('{"max_kl": "big"}', ["gail"], "--max-kl is 'big', expected a finite number"),
        ('{"lambda_cost": 1}', ["trpo"], "trpo has no such setting"),
        ('{"algorithm": "trpo"}', ["gail"], "is of trpo, another algorithm"),
        ('{"task": 5}', ["gail"], "task is 5, expected a name"),
        ("[1]", ["gail"], "expected one JSON object"),
        ("{", ["gail"], "mine.json"),
        (None, ["gail"], "mine.json"),
        ("{}", [], "expected one of spacil, gail"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(
    spacil: Spacil, tmp_path: Path, content: str | None, arguments: list[str], message: str
) -> None:
    if content is not None:
        (tmp_path / "mine.json").write_text(content)
    refused = spacil("train", *arguments, "--config", tmp_path / "mine.json")
    assert refused.code == 2
    assert message in " ".join(refused.err.split())
