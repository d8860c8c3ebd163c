"""Demonstrations that hold states alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from spacil.config.defaults import default_config
from spacil.config.settings import DemoChoice
from spacil.demos.check import check_demonstrations
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import load_demos, save_demos
from spacil.errors import DataError
from spacil.learning.intake import found_demonstrations

FIRST = np.arange(8, dtype=np.float32).reshape(4, 2)
SECOND = 10 + np.arange(6, dtype=np.float32).reshape(3, 2)
TABLE = "episode,obs_0,obs_1\n0,0,1\n0,2,3\n0,4,5\n0,6,7\n1,10,11\n1,12,13\n1,14,15\n"


def two_clips() -> Demonstrations:
    return Demonstrations.from_arrays([FIRST, SECOND])


def test_every_state_but_the_last_of_an_episode_is_a_step() -> None:
    demos = two_clips()
    assert demos.episode_lengths.tolist() == [3, 2]
    assert demos.dims == (2, None)
    assert demos.states[:, 0].tolist() == [0, 2, 4, 10, 12]
    assert demos.next_states[:, 0].tolist() == [2, 4, 6, 12, 14]
    assert demos.action_change is None


def test_flags_and_rewards_say_that_every_state_is_a_step() -> None:
    demos = Demonstrations.from_arrays([FIRST], rewards=[np.ones(4)])
    assert demos.num_steps == 4


@pytest.mark.parametrize(
    "arrays",
    [
        {"states": np.concatenate([FIRST, SECOND]), "episode_lengths": [4, 3]},
        {"obs": np.concatenate([FIRST, SECOND]), "episode_lengths": [3, 2], "speed": np.ones(7)},
    ],
)
def test_a_file_counts_states_or_steps(tmp_path: Path, arrays: dict[str, Any]) -> None:
    np.savez(tmp_path / "clips.npz", **arrays)
    demos = load_demos(tmp_path / "clips.npz")
    assert demos.num_actions == 0
    assert torch.equal(demos.observations, two_clips().observations)


def test_stacked_clips_have_one_state_more_than_steps(tmp_path: Path) -> None:
    np.savez(tmp_path / "clips.npz", states=np.stack([FIRST, FIRST + 1]))
    assert load_demos(tmp_path / "clips.npz").episode_lengths.tolist() == [3, 3]


def test_a_table_of_states(tmp_path: Path) -> None:
    (tmp_path / "clips.csv").write_text(TABLE)
    demos = load_demos(tmp_path / "clips.csv")
    assert torch.equal(demos.observations.float(), two_clips().observations)
    assert demos.num_actions == 0


def test_hdf5_with_flags(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "clips.hdf5", "w") as file:
        file["observations"] = np.concatenate([FIRST, SECOND])
        file["timeouts"] = np.array([0, 0, 0, 1, 0, 0, 1], bool)
    assert load_demos(tmp_path / "clips.hdf5").episode_lengths.tolist() == [4, 3]


@pytest.mark.parametrize("name", ["x.demos.safetensors", "x.npz", "x.csv", "x.hdf5"])
def test_states_go_through_a_file_as_they_are(tmp_path: Path, name: str) -> None:
    save_demos(two_clips(), tmp_path / name)
    demos = load_demos(tmp_path / name)
    assert demos.num_actions == 0
    assert torch.equal(demos.next_states, two_clips().next_states)


def test_a_format_that_needs_actions_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no actions, and imitation needs them: choose npz"):
        save_demos(two_clips(), tmp_path / "x", "imitation")


def test_where_episodes_end_is_not_guessed(tmp_path: Path) -> None:
    np.savez(tmp_path / "clips.npz", states=FIRST)
    with pytest.raises(DataError, match="does not say where episodes end"):
        load_demos(tmp_path / "clips.npz")


def test_ignored_actions_are_left_out_and_the_states_stay() -> None:
    config = default_config("spacil", "Reacher-v4")
    whole, fitted = found_demonstrations(config, "Reacher-v4")
    assert fitted is config
    alone, fitted = found_demonstrations(
        config, "Reacher-v4", choice=DemoChoice(ignore_actions=True)
    )
    assert alone.num_actions == 0
    assert alone.actions is None
    assert torch.equal(alone.states, whole.states)
    assert fitted.discriminator.discriminator_inputs == ("states", "changes")
    assert alone.content_hash != whole.content_hash


@pytest.mark.parametrize(("value", "words"), [(0.0, "are 0"), (0.3, "are the same")])
def test_actions_that_never_change_are_an_error_with_its_remedy(value: float, words: str) -> None:
    demos = load_demos("Reacher-v4").first(3)
    padded = demos.with_actions(torch.full_like(demos.executed_actions, value))
    report = check_demonstrations(padded, None)
    assert not report.is_usable
    (found,) = [each for each in report.findings if each.check == "constant_actions"]
    assert words in found.message
    assert "--ignore-actions" in found.message


def test_a_check_says_how_states_alone_are_read() -> None:
    report = check_demonstrations(load_demos("Reacher-v4").without_actions(), None)
    assert report.is_usable
    assert [each.check for each in report.findings] == ["no_actions"]
    assert report.facts["mean_action_change"] is None


def test_airl_and_delays_refuse_states_alone() -> None:
    choice = DemoChoice(ignore_actions=True)
    with pytest.raises(DataError, match="airl compares the policy's likelihood of actions"):
        found_demonstrations(default_config("airl", "Reacher-v4"), "Reacher-v4", None, choice)


@pytest.mark.parametrize("algorithm", ["spacil", "gail"])
def test_single_states_are_compared_alone(algorithm: str) -> None:
    config = default_config(algorithm, "Reacher-v4")
    choice = DemoChoice(single_states=True)
    demos, fitted = found_demonstrations(config, "Reacher-v4", None, choice)
    assert not demos.has_successors
    assert not demos.subsample(20).has_successors
    assert demos.num_actions == 0
    whole = load_demos("Reacher-v4")
    assert torch.equal(demos.states, whole.states[whole.step_in_episode > 0])
    assert fitted.discriminator.discriminator_inputs == ("states",)
    (found,) = check_demonstrations(demos, None).findings
    assert found.check == "single_states"


def test_single_states_stay_so_in_a_file(tmp_path: Path) -> None:
    clips = load_demos("Reacher-v4").first(2).without_actions()
    save_demos(clips.as_single_states(), tmp_path / "x.npz")
    assert clips.has_successors
    assert not load_demos(tmp_path / "x.npz").has_successors


# --- some columns


@pytest.mark.parametrize("is_narrow", [False, True])
def test_some_columns_are_read_from_whole_states_or_alone(is_narrow: bool) -> None:
    whole = load_demos("Hopper-v4").first(3)
    rows = [episode.observations for episode in whole.episodes]
    alone = Demonstrations.from_arrays([row[:, [0, 1, 2, 4]] for row in rows])
    source = alone if is_narrow else whole
    config, choice = default_config("spacil", "Hopper-v4"), DemoChoice(demo_columns="0-2,4")
    demos, fitted = found_demonstrations(config, "Hopper-v4", source, choice)
    known = [0, 1, 2, 4]
    assert torch.nonzero(demos.is_known)[:, 0].tolist() == known
    assert torch.equal(demos.states[:, known], whole.states[:, known])
    assert not demos.states[:, ~demos.is_known].any()
    assert demos.num_actions == 0
    assert fitted.discriminator.discriminator_inputs == ("states", "changes")
    assert fitted.discriminator.discriminator_columns == "0-2,4"
    (found,) = check_demonstrations(demos, None).findings
    assert "pairs of columns 0-2,4" in found.message
    thinned = demos.subsample(20, 3)
    assert torch.equal(thinned.next_states[:, known], whole.subsample(20, 3).next_states[:, known])


def test_fewer_columns_than_the_task_has_are_refused_with_their_remedy() -> None:
    alone = Demonstrations.from_arrays([np.zeros((5, 3), np.float32)])
    with pytest.raises(DataError, match="name them, as --demo-columns 0-7"):
        found_demonstrations(default_config("spacil", "Hopper-v4"), "Hopper-v4", alone)


def test_columns_are_checked_from_the_command_line(
    tmp_path: Path, spacil: Callable[..., Any]
) -> None:
    observations = [e.observations[:, :5] for e in load_demos("Hopper-v4").first(3).episodes]
    save_demos(Demonstrations.from_arrays(observations), tmp_path / "x.npz")
    words = ("demos", "check", tmp_path / "x.npz", "--task", "Hopper-v4")
    assert spacil(*words).code == 65
    checked = spacil(*words, "--demo-columns", "0-4")
    assert checked.code == 0
    assert "pairs of columns 0-4" in checked.out + checked.err


@pytest.mark.parametrize("columns", ["9-11", "0-5", "speed", "4-2"])
def test_columns_that_are_not_there_are_refused(columns: str) -> None:
    narrow = Demonstrations.from_arrays([np.zeros((5, 3), np.float32)])
    with pytest.raises(DataError, match=f"columns {columns} are asked for, the observation has 11"):
        narrow.in_columns(columns, 11)


def test_parts_with_different_columns_are_not_put_together() -> None:
    clips = load_demos("Reacher-v4").first(1)
    parts = [clips.in_columns(columns, clips.num_states) for columns in ("0-3", "0-4")]
    with pytest.raises(DataError, match="know different columns"):
        Demonstrations.concatenate(parts)


def test_single_states_in_some_columns_are_refused() -> None:
    choice = DemoChoice(single_states=True, demo_columns="0-3")
    with pytest.raises(DataError, match="neither speeds nor actions"):
        found_demonstrations(default_config("spacil", "Reacher-v4"), "Reacher-v4", None, choice)
