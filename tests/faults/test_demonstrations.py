"""Bad demonstrations, as a user meets them: refused or told, by `train` and by `demos check`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from demo_edits import with_value

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import load_demos
from spacil.errors import DataError
from spacil.runs import checkpoint
from spacil.runs.facts import read_run

Saved = Callable[..., Path]

STEP = 2 * 50 + 17  # of episode 2, in the rows of the actions
ROW = 2 * 51 + 17  # the same in the rows of the observations, one more per episode


def npz(path: Path, demos: Demonstrations, dtype: str = "f4", **changes: Any) -> Path:
    """The file that anyone would write: arrays, and nothing about where they are from."""
    arrays = {
        "observations": demos.states.numpy().astype(dtype),
        "actions": demos.executed_actions.numpy().astype(dtype),
        "episode_lengths": demos.episode_lengths.numpy(),
    }
    np.savez(path, **arrays | changes)
    return path


@pytest.fixture
def both(spacil: Callable[..., Any], train: Callable[..., Any], tmp_path: Path) -> Any:
    """Train on a file, and check it; they agree on whether it can be used."""

    def use(file: object, *flags: object, task: str = "Reacher-v4") -> tuple[Any, Any]:
        trained = train(
            *("gail", "--demos", file, "--run-dir", tmp_path / "run", *flags),
            task=task,
            iterations=1,
        )
        checked = spacil("demos", "check", file, "--task", task, *flags)
        assert trained.code == checked.code
        return trained, checked

    return use


@pytest.fixture
def refused(both: Any, tmp_path: Path) -> Callable[..., str]:
    """Both refuse the file with code 65 and leave no run folder; returns the message of train."""

    def use(file: object, **options: Any) -> str:
        trained, checked = both(file, **options)
        assert trained.code == 65
        assert not (tmp_path / "run").exists()
        message = trained.err.removeprefix("spacil: ").strip()
        if checked.out:  # a file that cannot even be read has no report
            assert message.splitlines()[0] in checked.out
            assert "not usable" in checked.out
        else:
            assert message in checked.err
        return message

    return use


# --- row 1: NaN and infinity


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize(
    ("name", "row"), [("observations", ROW), ("executed_actions", STEP), ("actions", STEP)]
)
def test_a_non_finite_number_is_refused_with_its_place(
    good_demos: Demonstrations,
    saved: Saved,
    refused: Callable[..., str],
    name: str,
    row: int,
    value: float,
) -> None:
    file = saved(with_value(good_demos, name, (row, 1), value))
    message = refused(file)
    assert f"{file}: 1 non-finite value in {name}, first {value} at episode 2, step 17" in message
    assert "column 1" in message
    assert "--drop-nonfinite" in message


def test_nan_is_refused_where_demonstrations_are_measured_against(
    good_demos: Demonstrations, saved: Saved, spacil: Callable[..., Any], finished_run: Path
) -> None:
    file = saved(with_value(good_demos, "observations", (ROW, 1), float("nan")))
    message = f"{file}: 1 non-finite value in observations, first nan at episode 2, step 17"
    for command in (("evaluate", "--demos"), ("smoothness", "--demos"), ("smoothness", "--states")):
        refused = spacil(command[0], finished_run, command[1], file, "--episodes", 1)
        assert (refused.code, refused.out) == (65, "")
        assert message in refused.err


def test_episodes_with_nan_are_dropped_on_request_and_that_is_recorded(
    good_demos: Demonstrations, saved: Saved, train: Callable[..., Any], tmp_path: Path
) -> None:
    file = saved(with_value(good_demos, "observations", (ROW, 1), float("nan")))
    run_dir = tmp_path / "run"
    trained = train("gail", "--demos", file, "--drop-nonfinite", "--run-dir", run_dir)
    assert trained.code == 0
    used = load_demos(file).without_nonfinite_episodes()
    assert used.num_episodes == 4
    assert used.metadata.provenance["changes"][-1] == {
        "operation": "drop_nonfinite_episodes",
        "episodes": [2],
    }
    last = checkpoint.newest(run_dir / "checkpoints")
    assert last is not None and last.document["demonstrations"] == used.content_hash


# --- rows 2 and 3: shapes and types


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"actions": np.zeros((249, 2))}, "add up to 250, but there are 249 actions"),
        ({"episode_lengths": np.array([50, 50])}, "add up to 100, but there are 250 actions"),
        ({"observations": np.zeros((250, 0))}, "observations of episode 0 has shape (50, 0)"),
        ({"observations": np.zeros((250, 12))}, "12 state dims, Reacher-v4 has 11"),
        ({"actions": np.zeros((250, 3))}, "3 action dims, Reacher-v4 has 2"),
        ({"actions": np.zeros(250, dtype="i8")}, "actions must be continuous vectors"),
        (
            {"actions": np.array([None] * 250)},
            "Object arrays cannot be loaded",
        ),
        ({"actions": np.zeros((250, 2), dtype="c8")}, "actions is complex64, expected numbers"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_arrays_that_do_not_fit_are_refused(
    good_demos: Demonstrations,
    refused: Callable[..., str],
    tmp_path: Path,
    changes: dict[str, Any],
    message: str,
) -> None:
    assert message in refused(npz(tmp_path / "my.npz", good_demos, **changes))


# --- row 4: another env


def test_demonstrations_of_another_env_of_the_same_sizes_are_refused(
    refused: Callable[..., str],
) -> None:
    message = refused("HalfCheetah-v4", task="Walker2d-v4")
    assert "gymnasium_id 'HalfCheetah-v4' there, 'Walker2d-v4' here" in message
    assert "--allow-env-mismatch" in message


def test_another_env_of_the_same_sizes_is_used_on_request_with_a_warning(both: Any) -> None:
    trained, checked = both("HalfCheetah-v4", "--allow-env-mismatch", task="Walker2d-v4")
    assert trained.code == 0
    assert "recorded in another env" in trained.err and "used as asked" in trained.err
    assert "warning: " in checked.out and checked.out.endswith("usable\n")


def test_a_file_that_says_nothing_is_compared_with_resets_of_the_task(
    both: Any, tmp_path: Path
) -> None:
    file = npz(tmp_path / "cheetah.npz", load_demos("HalfCheetah-v4").first(3))
    trained, checked = both(file, task="Walker2d-v4")
    assert trained.code == 0
    for told in (trained.err, checked.out):
        assert "does not say which env it is from" in told
        assert "3 of 3 episodes do not begin like resets" in told


# --- row 5: units


def test_actions_beyond_the_bounds_are_told_and_refused_when_most_are(
    good_demos: Demonstrations, both: Any, refused: Callable[..., str], tmp_path: Path
) -> None:
    actions = good_demos.executed_actions.numpy().copy()
    message = refused(npz(tmp_path / "ten.npz", good_demos, actions=100 * np.sign(actions)))
    assert "100.0% of the action entries are outside Reacher-v4's bounds" in message
    actions[STEP, 1] = 1.5
    trained, _ = both(npz(tmp_path / "one.npz", good_demos, actions=actions))
    assert trained.code == 0
    assert "0.2% of the action entries are outside" in trained.err
    assert "first 1.5 at episode 2, step 17, column 1" in trained.err


def test_scaled_and_normalised_states_are_told(
    good_demos: Demonstrations, both: Any, refused: Callable[..., str], tmp_path: Path
) -> None:
    states = good_demos.states.numpy()
    trained, _ = both(npz(tmp_path / "scaled.npz", good_demos, observations=100 * states))
    assert trained.code == 0
    assert "scaled states" in trained.err
    (tmp_path / "run").rename(tmp_path / "the first run")
    normalised = (states - states.mean(0)) / (states.std(0) + 1e-6)
    message = refused(npz(tmp_path / "normalised.npz", good_demos, observations=normalised))
    assert "the states look normalised" in message


# --- row 7: too few


def test_no_episodes_and_empty_episodes_are_refused(
    good_demos: Demonstrations, saved: Saved, refused: Callable[..., str]
) -> None:
    none = with_value(good_demos, "observations", slice(None), torch.nan)
    with pytest.raises(DataError, match="holds no episodes"):
        none.without_nonfinite_episodes()
    rows = [np.ones((1, 11), np.float32)] * 5
    empty = Demonstrations.from_arrays(rows, [np.zeros((0, 2), np.float32)] * 5)
    assert "without a single step" in refused(saved(empty))


def test_one_episode_trains_with_a_warning(
    good_demos: Demonstrations, saved: Saved, train: Callable[..., Any], tmp_path: Path
) -> None:
    run_dir = tmp_path / "run"
    trained = train("gail", "--demos", saved(good_demos), "--num-demos", 1, "--run-dir", run_dir)
    assert trained.code == 0
    assert "1 episode only; the result will depend on luck" in trained.err
    assert read_run(run_dir).last is not None


# --- files that are no demonstrations


def test_files_of_another_kind_are_named_and_nothing_in_them_runs(
    refused: Callable[..., str], tmp_path: Path
) -> None:
    torch.save({"observations": torch.zeros(3)}, tmp_path / "demos.pt")
    assert "can run code and are never opened" in refused(tmp_path / "demos.pt")
    (tmp_path / "demos.hdf5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    assert "damaged, or of another kind" in refused(tmp_path / "demos.hdf5")
    assert "no such file; bundled tasks: " in refused(tmp_path / "missing")
