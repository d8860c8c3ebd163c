"""Bad demonstrations, as a user meets them: refused or told, by `train` and by `demos check`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from demo_edits import with_value
from fixture_types import Spacil, Train

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import load_demos, save_demos
from spacil.runs import checkpoint

Make = Callable[[Demonstrations, Path], object]

ROW = 2 * 51 + 17  # step 17 of episode 2, in the rows of the observations


def npz(demos: Demonstrations, folder: Path, **changes: Any) -> Path:
    """The file that anyone would write: arrays, and nothing about where they are from."""
    arrays = {
        "observations": demos.states.numpy(),
        "actions": demos.executed_actions.numpy(),
        "episode_lengths": demos.episode_lengths.numpy(),
    }
    np.savez(folder / "my.npz", **arrays | changes)
    return folder / "my.npz"


def native(demos: Demonstrations, folder: Path) -> Path:
    save_demos(demos, folder / "my.demos.safetensors")
    return folder / "my.demos.safetensors"


def with_nan(demos: Demonstrations, folder: Path) -> Path:
    return native(with_value(demos, "observations", (ROW, 1), torch.nan), folder)


def pickled(demos: Demonstrations, folder: Path) -> Path:
    torch.save({"observations": torch.zeros(3)}, folder / "demos.pt")
    return folder / "demos.pt"


def no_hdf5(demos: Demonstrations, folder: Path) -> Path:
    (folder / "demos.hdf5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    return folder / "demos.hdf5"


def squeezed(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture
def both(spacil: Spacil, train: Train, tmp_path: Path) -> Any:
    """Train on a file, and check it; they agree on whether it can be used."""

    def use(file: object, *flags: object, task: str = "Reacher-v4") -> tuple[Any, Any]:
        command = ("gail", "--demos", file, "--run-dir", tmp_path / "run", *flags)
        trained = train(*command, task=task, iterations=1)
        checked = spacil("demos", "check", file, "--task", task, *flags)
        assert trained.code == checked.code
        return trained, checked

    return use


@pytest.mark.parametrize(
    ("make", "task", "messages"),
    [
        (
            with_nan,
            "Reacher-v4",
            "1 non-finite value in observations, first nan at episode 2, step 17, column 1: "
            "|--drop-nonfinite",
        ),
        (
            lambda demos, folder: npz(demos, folder, actions=np.array([None] * 250)),
            "Reacher-v4",
            "Object arrays cannot be loaded",
        ),
        (npz, "Hopper-v4", "2 action dims, Hopper-v4 has 3"),
        (
            lambda demos, folder: "HalfCheetah-v4",
            "Walker2d-v4",
            "gymnasium_id 'HalfCheetah-v4' there, 'Walker2d-v4' here|--allow-env-mismatch",
        ),
        (pickled, "Reacher-v4", "can run code and are never opened"),
        (no_hdf5, "Reacher-v4", "damaged, or of another kind"),
        (lambda demos, folder: folder / "missing", "Reacher-v4", "no such file; bundled tasks: "),
    ],
)
def test_what_cannot_be_learned_from_is_refused_by_both_and_leaves_no_folder(
    good_demos: Demonstrations, both: Any, tmp_path: Path, make: Make, task: str, messages: str
) -> None:
    trained, checked = both(make(good_demos, tmp_path), task=task)
    assert trained.code == 65
    assert not (tmp_path / "run").exists()
    assert all(message in trained.err for message in messages.split("|"))
    told = trained.err.removeprefix("spacil: ").strip()
    if checked.out:  # a file that cannot even be read has no report
        assert told.splitlines()[0] in checked.out and "is usable no" in squeezed(checked.out)
    else:
        assert told in checked.err


@pytest.mark.parametrize(
    ("make", "flags", "task", "messages"),
    [
        (
            lambda demos, folder: "HalfCheetah-v4",
            ("--allow-env-mismatch",),
            "Walker2d-v4",
            "recorded in another env|used as asked",
        ),
        (
            lambda demos, folder: npz(load_demos("HalfCheetah-v4").first(3), folder),
            (),
            "Walker2d-v4",
            "does not say which env it is from|3 of 3 episodes do not begin like resets",
        ),
    ],
)
def test_what_is_doubtful_is_told_and_used(
    good_demos: Demonstrations,
    both: Any,
    tmp_path: Path,
    make: Make,
    flags: tuple[object, ...],
    task: str,
    messages: str,
) -> None:
    trained, checked = both(make(good_demos, tmp_path), *flags, task=task)
    assert trained.code == 0
    assert "is usable yes" in squeezed(checked.out)
    for message in messages.split("|"):
        assert message in trained.err and message in checked.out


def test_nan_is_refused_where_demonstrations_are_measured_against(
    good_demos: Demonstrations, tmp_path: Path, spacil: Spacil, finished_run: Path
) -> None:
    file = with_nan(good_demos, tmp_path)
    message = f"{file}: 1 non-finite value in observations, first nan at episode 2, step 17"
    for command in (("evaluate", "--demos"), ("smoothness", "--demos"), ("smoothness", "--states")):
        refused = spacil(command[0], finished_run, command[1], file, "--episodes", 1)
        assert (refused.code, refused.out) == (65, "")
        assert message in refused.err


def test_episodes_with_nan_are_dropped_on_request_and_that_is_recorded(
    good_demos: Demonstrations, train: Train, tmp_path: Path
) -> None:
    file, run_dir = with_nan(good_demos, tmp_path), tmp_path / "run"
    assert train("gail", "--demos", file, "--drop-nonfinite", "--run-dir", run_dir).code == 0
    used = load_demos(file).without_nonfinite_episodes()
    assert used.num_episodes == 4
    change = {"operation": "drop_nonfinite_episodes", "episodes": [2]}
    assert used.metadata.provenance["changes"][-1] == change
    last = checkpoint.newest(run_dir / "checkpoints")
    assert last is not None and last.document["demonstrations"] == used.content_hash
