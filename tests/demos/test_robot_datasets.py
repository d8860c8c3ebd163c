"""LeRobot and robomimic datasets as demonstrations; the LeRobot ones were written by LeRobot."""

import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from fixture_types import Spacil

from spacil.demos.file import load_demos, save_demos
from spacil.errors import ConfigError, DataError
from spacil.recordings.demonstrations import shaking_in

FILES = Path(__file__).parent / "files"
LAYOUTS = ("lerobot_v21", "lerobot_v30")


@pytest.fixture
def robomimic(tmp_path: Path) -> Path:
    """By hand, in the layout that robomimic documents."""
    rng, path = np.random.default_rng(0), tmp_path / "low_dim.hdf5"
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["env_args"] = json.dumps(
            {"env_name": "Lift", "env_kwargs": {"control_freq": 20}}
        )
        for demo, rows in ((0, 30), (10, 50), (2, 40)):
            group = data.create_group(f"demo_{demo}")
            group.attrs["num_samples"] = rows
            group["actions"] = np.full((rows, 7), float(demo))
            group["rewards"], group["states"] = np.ones(rows), rng.normal(size=(rows, 32))
            group["dones"] = np.arange(rows) == rows - 1
            for name, width in (("robot0_eef_pos", 3), ("robot0_gripper_qpos", 2), ("object", 10)):
                group[f"obs/{name}"] = rng.normal(size=(rows, width))
                group[f"next_obs/{name}"] = rng.normal(size=(rows, width))
            group["obs/agentview_image"] = np.zeros((rows, 4, 4, 3), np.uint8)
        file["mask/train"] = np.array([b"demo_0", b"demo_2"])
    return path


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_dataset_that_lerobot_wrote_is_read(layout: str) -> None:
    demos = load_demos(FILES / layout)
    assert demos.episode_lengths.tolist() == [120, 150, 180]
    assert (demos.num_states, demos.num_actions) == (5, 2)
    state = load_demos(FILES / layout, ["observation.state"])
    assert state.num_states == 2
    # What was written: the state is the action of two rows before.
    for episode in state.episodes:
        assert np.array_equal(episode.observations[2:-1], episode.executed_actions[:-2])
    assert demos.metadata.provenance["lerobot"]["fps"] == 30


def test_both_versions_hold_the_same() -> None:
    one, two = (load_demos(FILES / layout, ["observation.state"]) for layout in LAYOUTS)
    assert one.executed_actions.equal(two.executed_actions) and one.states.equal(two.states)


def test_a_robomimic_file_is_read_in_the_order_of_its_demonstrations(robomimic: Path) -> None:
    demos = load_demos(robomimic)
    assert demos.episode_lengths.tolist() == [30, 40, 50]
    assert [float(e.executed_actions[0, 0]) for e in demos.episodes] == [0, 2, 10]
    assert demos.num_states == 15 and demos.num_actions == 7
    assert demos.returns is not None and demos.returns.tolist() == [30, 40, 50]
    assert all(episode.is_terminated for episode in demos.episodes)
    chosen = load_demos(robomimic, ["object", "robot0_eef_pos"])
    with h5py.File(robomimic) as file:
        assert np.allclose(
            chosen.episodes[0].observations[:-1, :10], file["data/demo_0/obs/object"]
        )


def test_observations_are_chosen_by_name(robomimic: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no observation camera; choose --obs-keys among object"):
        load_demos(robomimic, ["camera"])
    save_demos(load_demos(robomimic), tmp_path / "mine.npz")
    with pytest.raises(ConfigError, match="nothing to choose"):
        load_demos(tmp_path / "mine.npz", ["object"])


def test_cameras_are_left_out_by_name(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(FILES / "lerobot_v30", tmp_path / "with_camera"))
    info = json.loads((folder / "meta/info.json").read_text())
    info["features"]["observation.images.top"] = {"dtype": "video", "shape": [3, 48, 64]}
    (folder / "meta/info.json").write_text(json.dumps(info))
    changes = load_demos(folder).metadata.provenance["changes"]
    assert "observation.images.top" in changes[0]["ignored"]


def test_a_dataset_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(FILES / "lerobot_v21", tmp_path / "part"))
    (folder / "data/chunk-000/episode_000001.parquet").unlink()
    with pytest.raises(DataError, match=r"300 rows, its info\.json says 450"):
        load_demos(folder)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_check_says_that_the_teleoperation_trembles(spacil: Spacil, layout: str) -> None:
    shown = spacil("demos", "check", FILES / layout, "--obs-keys", "observation.state")
    assert shown.code == 0, shown.err
    assert "your teleoperation trembles at 9 Hz in elbow" in shown.out


def test_nothing_is_said_of_simulated_demonstrations() -> None:
    for task in ("Hopper-v4", "Reacher-v4"):
        assert shaking_in(load_demos(task)) == ()
