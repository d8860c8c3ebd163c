"""What the folder of a run that no sweep planned says of it: settings, data, command."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from generated_runs import write_run

from spacil.cli.training import train
from spacil.comparison.comparison import compare
from spacil.comparison.run_record import read_run
from spacil.config.flat import flat_settings
from spacil.runs.inputs import DemoChoice, DemoInputs, RunInputs, full_names, write_inputs
from spacil.runs.resuming import config_of_run
from spacil.sweeps.plan import Grid, assignment

Spacil = Callable[..., Any]

TASK = "Hopper-v4"


def given(
    run_dir: Path,
    sources: tuple[str, ...] | None = (),
    content_hash: str = "a" * 64,
    **choice: Any,
) -> Path:
    """The run with a record of the demonstrations it was given."""
    demos = DemoInputs(sources, DemoChoice(**choice), content_hash)
    write_inputs(run_dir / "inputs.json", RunInputs(TASK, True, demos))
    return run_dir


@pytest.fixture
def parsed(spacil: Spacil, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Config and arguments that `spacil train` reads from a command, which is not run."""
    seen: list[Any] = []

    def keep(config: Any, arguments: Any) -> int:
        seen.append((config, arguments))
        return 0

    monkeypatch.setattr(train, "_train", keep)

    def read(command: str) -> Any:
        name, *words = shlex.split(command)
        shown = spacil(*words)
        assert (name, shown.code, shown.err) == ("spacil", 0, "")
        return seen.pop()

    return read


@pytest.mark.parametrize(
    ("algorithm", "settings"),
    [
        ("gail", {}),
        ("spacil", {"smoothest": True}),
        ("spacil", {"staggered_starts": False, "policy_hidden": (32, 16)}),
        ("spacil", {"penalty": ("exact=0.2", "cats=0.1")}),
        ("spacil", {"penalty": ("exact=0.2",), "penalty_weight": "auto"}),
        ("spacil", {"warm_start_epochs": 3}),
        ("bc", {"penalty": ("exact=0.2",)}),
    ],
)
def test_the_command_of_a_run_trains_the_same_run(
    tmp_path: Path, parsed: Callable[[str], Any], algorithm: str, settings: dict[str, Any]
) -> None:
    run_dir = given(write_run(tmp_path / "run", algorithm, TASK, 3, **settings))
    config, _ = parsed(read_run(run_dir).command)
    assert flat_settings(config) == flat_settings(config_of_run(run_dir))


def test_the_command_of_a_run_names_its_demonstrations(
    tmp_path: Path, parsed: Callable[[str], Any]
) -> None:
    mine = full_names([Path(__file__)])
    choice = DemoChoice(4, 1, 20, 3, 0.5, True, True)
    run_dir = given(write_run(tmp_path / "run"), mine, **vars(choice))
    _, arguments = parsed(read_run(run_dir).command)
    assert arguments.demos == mine
    assert {name: getattr(arguments, name) for name in vars(choice)} == vars(choice)


@pytest.mark.parametrize("sources", [(), (TASK,)])
def test_all_bundled_demonstrations_are_not_worth_a_word(
    tmp_path: Path, sources: tuple[str, ...]
) -> None:
    record = read_run(given(write_run(tmp_path / "run"), sources))
    assert (record.choices, "demonstrations" in record.settings) == ({"iterations": "20"}, False)


def test_whole_and_thinned_demonstrations_are_two_rows(tmp_path: Path) -> None:
    given(write_run(tmp_path / "whole", seed=0))
    given(write_run(tmp_path / "thinned", seed=1), content_hash="b" * 64, demo_every=20)
    rows = {row.label: row.seeds for row in compare(tmp_path).rows}
    assert rows == {"gail": [0], "gail demo_every=20": [1]}


def test_the_same_file_in_another_place_is_the_same_data(tmp_path: Path) -> None:
    for seed, place in enumerate(("/here/d.npz", "/there/d.npz")):
        given(write_run(tmp_path / f"{seed}", seed=seed), (place,))
    (row,) = compare(tmp_path).rows
    assert row.seeds == [0, 1]


def test_seeds_share_their_noise_and_not_what_it_did(tmp_path: Path) -> None:
    for seed in (0, 1):
        run_dir = write_run(tmp_path / f"{seed}", seed=seed)
        given(run_dir, content_hash=str(seed) * 64, demo_noise=0.1)
    (row,) = compare(tmp_path).rows
    assert row.seeds == [0, 1]


def test_demonstrations_that_were_in_memory_are_told(tmp_path: Path) -> None:
    record = read_run(given(write_run(tmp_path / "run"), None))
    assert record.choices["demos"] == "(in memory)"
    assert record.command.endswith("--demos '(in memory)'")


def test_yes_and_no_are_flags_in_a_sweep_too() -> None:
    values = tuple(assignment(word) for word in ("smoothest=true", "staggered_starts=false"))
    (run,) = Grid(("spacil",), (TASK,), (0,), values).runs()
    words = run.train_words(Path("here"))
    assert words[6:8] == ["--smoothest", "--no-staggered-starts"]
