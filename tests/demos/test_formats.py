"""Third-party formats, written and read by their own libraries: nothing is lost on the way."""

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from formats_of_others import (
    LENGTHS,
    READERS,
    TARGETS,
    WRITERS,
    datasets,
    episodes_of,
    h5py,
    minari,
    write_imitation,
    write_minari,
)
from numpy.typing import NDArray

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.edits import with_observation_noise
from spacil.demos.file import load_demos, save_demos
from spacil.errors import ConfigError, DataError, StorageError

MakeDemos = Callable[..., Demonstrations]

FORMATS = ("npz", "d4rl", "minari", "imitation")
DTYPES = ("float32", "float64")


@pytest.fixture(autouse=True)
def minari_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "minari"
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(root))
    datasets.disable_progress_bars()
    return root


def _target(name: str, folder: Path) -> str:
    target = TARGETS[name]
    return target if target.startswith("minari:") else str(folder / target)


# --- round trips ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FORMATS)
def test_theirs_to_native_to_theirs_loses_no_bit(tmp_path: Path, name: Any, dtype: str) -> None:
    episodes = episodes_of(dtype)
    native = tmp_path / "native.demos.safetensors"
    save_demos(load_demos(WRITERS[name](episodes, tmp_path)), native)
    save_demos(load_demos(native), _target(name, tmp_path), name)
    again = READERS[name](_target(name, tmp_path))
    assert len(again) == len(episodes)
    for ours, theirs in zip(again, episodes, strict=True):
        for field, array in theirs.items():
            assert ours[field].dtype == array.dtype, field
            assert ours[field].tobytes() == array.tobytes(), field


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FORMATS)
def test_an_import_holds_what_the_library_wrote(tmp_path: Path, name: Any, dtype: str) -> None:
    episodes = episodes_of(dtype)
    demos = load_demos(WRITERS[name](episodes, tmp_path))
    assert demos.episode_lengths.tolist() == list(LENGTHS)
    assert demos.actions is None
    for index, theirs in enumerate(episodes):
        ours = demos.episode(index)
        assert ours.observations.numpy().tobytes() == theirs["observations"].tobytes()
        assert ours.executed_actions.numpy().tobytes() == theirs["actions"].tobytes()
        assert ours.rewards is not None
        assert ours.rewards.numpy().tobytes() == theirs["rewards"].tobytes()
        assert ours.is_terminated == (index == 1)
        assert ours.is_truncated == (index != 1)
    assert demos.metadata.provenance["changes"][0]["operation"] == f"import_{name}"


@pytest.mark.parametrize("is_raw_known", [True, False])
@pytest.mark.parametrize("name", ["npz", "d4rl", "minari"])
def test_native_to_theirs_to_native_is_the_same_record(
    make_demos: MakeDemos, tmp_path: Path, name: Any, is_raw_known: bool
) -> None:
    demos = make_demos(is_raw_known=is_raw_known)
    save_demos(demos, _target(name, tmp_path), name)
    again = load_demos(_target(name, tmp_path))
    assert again.content_hash == demos.content_hash
    assert again.metadata == demos.metadata


def test_imitation_leaves_out_raw_actions_and_start_states_and_records_it(
    make_demos: MakeDemos, tmp_path: Path
) -> None:
    demos = make_demos()
    save_demos(demos, tmp_path / "ours", "imitation")
    again = load_demos(tmp_path / "ours")
    left_out = ["actions", "initial_qpos", "initial_qvel"]
    assert sorted(demos.tensors().keys() - again.tensors().keys()) == left_out
    for name, tensor in again.tensors().items():
        assert torch.equal(tensor, demos.tensors()[name]), name
    change = {"operation": "leave_out_tensors", "names": left_out}
    assert again.metadata.provenance["changes"] == [change]
    assert again.metadata.env_fingerprint == demos.metadata.env_fingerprint


@pytest.mark.parametrize("name", FORMATS)
def test_a_number_changed_in_an_export_is_found(
    make_demos: MakeDemos, tmp_path: Path, name: Any
) -> None:
    """Also where the format itself has no checksum, or the file was rewritten with a new one."""
    demos = make_demos()
    changed = demos.observations.clone()
    changed[3, 1] += 1e-6
    save_demos(demos, _target(name, tmp_path), name)
    if name == "minari":
        file = tmp_path / "minari/ours/toy-v1/data/main_data.hdf5"
        _rewrite_hdf5(file, "episode_0/observations", lambda a: changed[:8].numpy())
    elif name == "d4rl":
        _rewrite_hdf5(tmp_path / "ours.hdf5", "rewards", lambda a: a + 1e-9)
    elif name == "npz":
        with np.load(tmp_path / "ours.npz") as file:
            arrays = {**file, "observations": changed.numpy()}
        np.savez(tmp_path / "ours.npz", **arrays)
    else:
        dataset = datasets.load_from_disk(str(tmp_path / "ours"))
        other = dataset.map(lambda row: {**row, "terminal": not row["terminal"]})
        other.save_to_disk(str(tmp_path / "changed"))
        (tmp_path / "ours").rename(tmp_path / "before")
        (tmp_path / "changed").rename(tmp_path / "ours")
    with pytest.raises(DataError, match="not those it was exported with"):
        load_demos(_target(name, tmp_path))


def _rewrite_hdf5(path: Path, name: str, edit: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
    with h5py.File(path, "a") as file:
        file[name][...] = edit(file[name][()])


def test_records_without_rewards_or_end_flags_say_what_was_filled_in(tmp_path: Path) -> None:
    rows = [np.ones((4, 2), np.float32), np.zeros((3, 2), np.float32)]
    demos = Demonstrations.from_arrays(
        rows,
        [np.zeros((3, 1), np.float32), np.ones((2, 1), np.float32)],
        terminations=[[0, 0, 0], [0, 1]],
        truncations=[[0, 0, 0], [0, 0]],
    )
    save_demos(demos, "minari:my/toy-v0")
    assert load_demos("minari:my/toy-v0").metadata.provenance["changes"] == [
        {"operation": "zero_rewards"}
    ]
    for name in ("d4rl", "imitation"):
        save_demos(demos, _target(name, tmp_path), name)  # type: ignore[arg-type]
        again = load_demos(_target(name, tmp_path))
        assert again.rewards is None
        assert again.truncations.tolist() == [False, False, True, False, False]
        change = {"operation": "mark_open_ends_as_truncated", "episodes": [0]}
        assert again.metadata.provenance["changes"] == [change]


# --- D4RL -------------------------------------------------------------------------------------


def _d4rl(path: Path, **changes: Any) -> Path:
    arrays = {
        "observations": np.arange(10.0).reshape(5, 2),
        "actions": np.linspace(-1, 1, 5).reshape(5, 1),
        "rewards": np.ones(5),
        "terminals": np.array([0, 1, 0, 0, 0], bool),
        "timeouts": np.array([0, 0, 0, 0, 1], bool),
        **changes,
    }
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            if array is not None:
                file[name] = array
    return path


def test_d4rl_without_next_observations_stays_without_them(tmp_path: Path) -> None:
    demos = load_demos(_d4rl(tmp_path / "a.hdf5"))
    assert demos.episode_lengths.tolist() == [2, 3]
    assert demos.episode(0).observations[:, 0].tolist() == [0.0, 2.0, 2.0]
    save_demos(demos, tmp_path / "b.hdf5")
    with h5py.File(tmp_path / "b.hdf5") as file:
        assert "next_observations" not in file
        assert np.array_equal(file["observations"], np.arange(10.0).reshape(5, 2))
    assert load_demos(tmp_path / "b.hdf5").content_hash == demos.content_hash


def test_d4rl_start_states_are_those_of_the_first_steps(tmp_path: Path) -> None:
    infos = {"infos/qpos": np.arange(15.0).reshape(5, 3), "infos/qvel": -np.arange(5.0)[:, None]}
    demos = load_demos(_d4rl(tmp_path / "a.h5", **infos, **{"infos/log_probs": np.zeros(5)}))
    assert demos.initial_qpos is not None and demos.initial_qvel is not None
    assert demos.initial_qpos.tolist() == [[0.0, 1.0, 2.0], [6.0, 7.0, 8.0]]
    assert demos.initial_qvel.tolist() == [[0.0], [-2.0]]
    assert demos.metadata.provenance["changes"][0]["ignored_arrays"] == ["infos/log_probs"]


def _external(path: Path) -> None:
    (path.parent / "secret").write_bytes(np.ones(10).tobytes())
    with h5py.File(path, "a") as file:
        del file["rewards"]
        file.create_dataset("rewards", (5,), "f8", external=[(path.parent / "secret", 0, 40)])


def _virtual(path: Path) -> None:
    with h5py.File(path, "a") as file:
        del file["rewards"]
        layout = h5py.VirtualLayout((5,), "f8")
        layout[:] = h5py.VirtualSource(str(path.parent / "other.h5"), "rewards", (5,))
        file.create_virtual_dataset("rewards", layout)


def _linked(kind: str) -> Callable[[Path], None]:
    def link(path: Path) -> None:
        with h5py.File(path, "a") as file:
            del file["rewards"]
            target = h5py.ExternalLink("/etc/hostname", "x") if kind == "external" else None
            file["rewards"] = target or h5py.SoftLink("/actions")

    return link


def _cyclic(path: Path) -> None:
    with h5py.File(path, "a") as file:
        file.create_group("infos")
        file["infos"]["again"] = file["infos"]


def _bomb(path: Path) -> None:
    with h5py.File(path, "a") as file:
        del file["observations"]
        zeros = np.zeros((20_000_000, 1), np.float32)
        file.create_dataset("observations", data=zeros, compression="gzip")


def _unwritten(path: Path) -> None:
    with h5py.File(path, "a") as file:
        del file["observations"]
        file.create_dataset("observations", (10**11, 2), "f4", chunks=(1000, 2))


def _unwritten_and_packed(path: Path) -> None:
    with h5py.File(path, "a") as file:
        del file["rewards"]
        chunked = file.create_dataset("rewards", (5,), "f8", chunks=(2,), compression="gzip")
        chunked[:2] = 1.0  # the other chunks would read as zeros


def _text(path: Path) -> None:
    with h5py.File(path, "a") as file:
        del file["actions"]
        file["actions"] = ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_external, "takes its numbers from other files"),
        (_virtual, "takes its numbers from other files"),
        (_linked("external"), "a link to elsewhere"),
        (_linked("soft"), "a link to elsewhere"),
        (_cyclic, "nested deeper"),
        (_bomb, "refused as a zip bomb"),
        (_unwritten, "not written to its end"),
        (_unwritten_and_packed, "not written to its end"),
        (_text, "expected numbers or flags"),
        (lambda path: path.write_bytes(path.read_bytes()[:900]), "damaged, or of another kind"),
        (lambda path: path.write_bytes(b""), "damaged, or of another kind"),
        (lambda path: path.write_bytes(pickle.dumps([1])), "damaged, or of another kind"),
    ],
)
def test_hostile_hdf5_is_refused(
    tmp_path: Path, spoil: Callable[[Path], None], message: str
) -> None:
    path = _d4rl(tmp_path / "a.hdf5")
    spoil(path)
    with pytest.raises(DataError, match=message) as caught:
        load_demos(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"actions": None}, "has no executed_actions"),
        ({"terminals": None, "timeouts": None}, "does not say where episodes end"),
        ({"rewards": np.ones(4)}, "rewards has shape"),
        ({"next_observations": np.zeros((5, 2))}, "out of order"),
        ({"next_observations": np.zeros((5, 3))}, "next_observations of episode 0 have shape"),
        ({"infos/qpos": np.zeros((5, 3))}, "needs initial_qpos and initial_qvel"),
        ({"metadata/spacil": np.zeros(3, np.uint8)}, "document of spacil is not valid"),
    ],
)
def test_d4rl_arrays_that_do_not_fit_are_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        load_demos(_d4rl(tmp_path / "a.hdf5", **changes))


# --- Minari -----------------------------------------------------------------------------------


def test_an_export_is_a_dataset_that_minari_finds_and_can_make_the_env_of(
    minari_root: Path,
) -> None:
    save_demos(load_demos("Reacher-v4").first(3), "minari:mujoco/reacher/ours-v0")
    assert list(minari.list_local_datasets()) == ["mujoco/reacher/ours-v0"]
    for namespace in ("mujoco", "mujoco/reacher"):
        assert (minari_root / namespace / "namespace_metadata.json").is_file()
    dataset = minari.load_dataset("mujoco/reacher/ours-v0")
    assert (dataset.total_episodes, dataset.total_steps) == (3, 150)
    assert dataset.env_spec.id == "Reacher-v4"
    assert dataset.action_space.high.tolist() == [1.0, 1.0]
    episode = next(iter(dataset.iterate_episodes()))
    assert set(episode.infos) == {"raw_actions", "initial_qpos", "initial_qvel"}
    with pytest.raises(StorageError, match="exists already and is not written over"):
        save_demos(load_demos("Reacher-v4"), "minari:mujoco/reacher/ours-v0")


def test_what_a_dataset_says_about_itself_comes_out_again(tmp_path: Path) -> None:
    source = write_minari(episodes_of("float32"), tmp_path)
    demos = load_demos(source)
    assert demos.metadata.provenance["minari"]["algorithm_name"] == "by hand"
    save_demos(demos, "minari:ours/toy-v1")
    storage = minari.load_dataset("ours/toy-v1").storage
    assert [each["seed"] for each in storage.get_episode_metadata(range(3))] == [100, 101, 102]
    metadata = storage.metadata
    assert metadata["algorithm_name"] == "by hand"
    assert metadata["author"] == {"someone"}
    assert metadata["action_space"].low.tolist() == [-1.0, -1.0]


def _edit_metadata(root: Path, **changes: Any) -> None:
    path = root / "theirs/toy-v0/data/metadata.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_the_env_of_a_dataset_is_its_id_and_never_made(tmp_path: Path, minari_root: Path) -> None:
    source = write_minari(episodes_of("float32"), tmp_path)
    spec = {"id": "Evil-v0", "entry_point": "this_module_does_not_exist:Evil"}
    _edit_metadata(minari_root, env_spec=json.dumps(spec))
    demos = load_demos(source)
    assert demos.metadata.task == "Evil-v0"
    assert demos.metadata.env_fingerprint == {"gymnasium_id": "Evil-v0"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"total_episodes": 4}, "says total_episodes 4, the data hold 3"),
        ({"total_steps": 1}, "says total_steps 1, the data hold 14"),
        ({"data_format": "arrow"}, "stored as 'arrow', supported is 'hdf5'"),
        ({"env_spec": "{"}, "env_spec is damaged"),
        ({"env_spec": "{}"}, "env_spec has no id"),
        ({"spacil": 3}, "document of spacil is not valid"),
    ],
)
def test_metadata_that_does_not_fit_the_data_is_refused(
    tmp_path: Path, minari_root: Path, changes: dict[str, Any], message: str
) -> None:
    source = write_minari(episodes_of("float32"), tmp_path)
    _edit_metadata(minari_root, **changes)
    with pytest.raises(DataError, match=message):
        load_demos(source)


@pytest.mark.parametrize("name", ["minari:../secret-v0", "minari:/etc/x-v0", "minari:a", "minari:"])
def test_an_id_cannot_lead_out_of_the_minari_root(name: str) -> None:
    with pytest.raises(DataError, match="not a Minari dataset id"):
        load_demos(name)


def test_a_missing_dataset_and_a_folder_of_something_else_are_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no demonstrations 'minari:none/x-v0'"):
        load_demos("minari:none/x-v0")
    with pytest.raises(DataError, match="a folder that holds no demonstrations"):
        load_demos(tmp_path)
    with pytest.raises(DataError, match="name ends in a version"):
        save_demos(load_demos("Reacher-v4").first(1), tmp_path / "ours", "minari")


# --- imitation --------------------------------------------------------------------------------


def test_jsonpickle_in_infos_is_never_decoded(tmp_path: Path) -> None:
    payload = json.dumps({"py/reduce": [{"py/function": "os.mkdir"}, {"py/tuple": ["ran"]}]})
    columns = {
        "obs": [np.ones((3, 2), np.float32)],
        "acts": [np.zeros((2, 1), np.float32)],
        "infos": [[payload, payload]],
        "terminal": [True],
    }
    datasets.Dataset.from_dict(columns).save_to_disk(str(tmp_path / "theirs"))
    demos = load_demos(tmp_path / "theirs")
    assert demos.episode(0).is_terminated and demos.rewards is None
    assert not Path("ran").exists() and not (tmp_path / "ran").exists()


def test_several_shards_are_one_set_of_trajectories(tmp_path: Path) -> None:
    write_imitation(episodes_of("float64"), tmp_path)
    dataset = datasets.load_from_disk(str(tmp_path / "theirs"))
    dataset.save_to_disk(str(tmp_path / "shards"), num_shards=2)
    one, two = load_demos(tmp_path / "theirs"), load_demos(tmp_path / "shards")
    for name, tensor in one.tensors().items():
        assert torch.equal(tensor, two.tensors()[name]), name


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["../secret.arrow"], "not in this folder"),
        (["/etc/passwd"], "not in this folder"),
        ([], "names no data files"),
        (["link.arrow"], "not a regular file"),
        (["data-00000-of-00001.arrow"] * 2, "list of files is damaged"),
    ],
)
def test_the_state_of_a_folder_cannot_name_files_elsewhere(
    tmp_path: Path, names: list[str], message: str
) -> None:
    folder = Path(write_imitation(episodes_of("float32"), tmp_path))
    (folder / "link.arrow").symlink_to("/etc/passwd")
    state = {"_data_files": [{"filename": name} for name in names]}
    (folder / "state.json").write_text(json.dumps(state))
    with pytest.raises(DataError, match=message):
        load_demos(folder)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"acts": [[[0.0]]]}, "has no column 'obs'"),
        ({"obs": [[[0.0], [1.0]]], "acts": [["a"]], "terminal": [True]}, "column 'acts'"),
        ({"obs": [[[0.0], [1.0, 2.0]]], "acts": [[[0.0]]], "terminal": [True]}, "one width"),
        ({"obs": [[[0.0], [None]]], "acts": [[[0.0]]], "terminal": [True]}, "without gaps"),
        ({"obs": [[[0.0], [1.0]]], "acts": [[[0.0]]], "terminal": [2]}, "expected true or false"),
        ({"obs": [[[0.0]] * 4], "acts": [[[0.0]]], "terminal": [True]}, "4 observations and 1"),
    ],
)
def test_columns_that_are_no_trajectories_are_refused(
    tmp_path: Path, columns: dict[str, Any], message: str
) -> None:
    datasets.Dataset.from_dict(columns).save_to_disk(str(tmp_path / "theirs"))
    with pytest.raises(DataError, match=message):
        load_demos(tmp_path / "theirs")


# --- any format -------------------------------------------------------------------------------


def test_an_export_that_fails_leaves_nothing(
    make_demos: MakeDemos, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    for name in FORMATS:
        with pytest.raises((StorageError, OSError)):
            save_demos(make_demos(), _target(name, tmp_path), name)  # type: ignore[arg-type]
    monkeypatch.undo()
    assert [
        path.name for path in tmp_path.rglob("*") if "ours" in path.name and path.is_file()
    ] == []
    assert not (tmp_path / "ours").exists()


def test_a_missing_library_is_named_with_its_remedy(
    make_demos: MakeDemos, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    for module, name, extra in (("h5py", "d4rl", "hdf5"), ("datasets", "imitation", "imitation")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ConfigError, match=rf"pip install 'spacil\[{extra}\]'"):
            save_demos(make_demos(), _target(name, tmp_path), name)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", FORMATS)
def test_changed_records_come_back_as_they_are(
    make_demos: MakeDemos, tmp_path: Path, name: Any
) -> None:
    """Subsampled, noisy and mixed ones, with final observations that were only repeated."""
    repeated = load_demos(_d4rl(tmp_path / "a.hdf5"))
    subsampled = repeated.subsample(2)
    noisy = with_observation_noise(repeated, 0.1, seed=0)
    mixed = Demonstrations.concatenate([repeated, noisy])
    for number, demos in enumerate((subsampled, noisy, mixed)):
        target = _target(name, tmp_path).replace("ours", f"ours{number}")
        save_demos(demos, target, name)
        again = load_demos(target)
        assert again.content_hash == demos.content_hash or name == "imitation"
        assert torch.equal(again.observations, demos.observations)


@pytest.mark.parametrize("name", ["d4rl", "imitation"])
def test_an_empty_episode_has_no_place_in_some_formats(tmp_path: Path, name: Any) -> None:
    rows = [np.ones((1, 2), np.float32), np.ones((2, 2), np.float32)]
    demos = Demonstrations.from_arrays(rows, [np.ones((0, 1)), np.ones((1, 1))])
    with pytest.raises(DataError, match="episode 0 is empty"):
        save_demos(demos, _target(name, tmp_path), name)
