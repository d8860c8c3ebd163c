"""Formats of others: read as their own libraries write them, and written for these to read."""

import json
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fixture_types import MakeDemos
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

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import FORMATS, left_out, load_demos, save_demos
from spacil.errors import ConfigError, DataError, StorageError

WRITTEN = [name for name, known in FORMATS.items() if known.write is not None]


@pytest.fixture(autouse=True)
def minari_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "minari"
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(root))
    datasets.disable_progress_bars()
    return root


def _target(name: str, folder: Path) -> str:
    target = {**TARGETS, "csv": "ours.csv"}[name]
    return target if target.startswith("minari:") else str(folder / target)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", WRITERS)
def test_what_others_wrote_is_read_and_written_back(tmp_path: Path, name: str, dtype: str) -> None:
    episodes = episodes_of(dtype)
    demos = load_demos(WRITERS[name](episodes, tmp_path))
    assert demos.episode_lengths.tolist() == list(LENGTHS) and demos.actions is None
    for index, (ours, theirs) in enumerate(zip(demos.episodes, episodes, strict=True)):
        assert ours.rewards is not None
        for tensor, field in (
            (ours.observations, "observations"),
            (ours.executed_actions, "actions"),
            (ours.rewards, "rewards"),
        ):
            assert tensor.numpy().tobytes() == theirs[field].tobytes(), field
        assert (ours.is_terminated, ours.is_truncated) == (index == 1, index != 1)
    assert demos.metadata.provenance["changes"][0]["operation"] == f"import_{name}"
    save_demos(demos, _target(name, tmp_path), name)
    for ours, theirs in zip(READERS[name](_target(name, tmp_path)), episodes, strict=True):
        for field, array in theirs.items():
            assert ours[field].dtype == array.dtype, field
            assert ours[field].tobytes() == array.tobytes(), field


@pytest.mark.parametrize("is_thinned", [False, True])
@pytest.mark.parametrize("name", WRITTEN)
def test_an_export_comes_back_with_all_that_its_format_has_a_place_for(
    make_demos: MakeDemos, tmp_path: Path, name: str, is_thinned: bool
) -> None:
    demos = make_demos().subsample(3, offset=1) if is_thinned else make_demos()
    save_demos(demos, _target(name, tmp_path), name)
    again = load_demos(_target(name, tmp_path))
    assert demos.tensors().keys() - again.tensors().keys() == set(left_out(demos, name))
    for field, tensor in again.tensors().items():
        if (field, name, is_thinned) == ("observations", "d4rl", True):
            continue  # has no place for where a thinned episode ended
        assert torch.equal(tensor.to(demos.tensors()[field].dtype), demos.tensors()[field]), field
    assert torch.equal(again.states, demos.states)


@pytest.mark.parametrize("name", WRITTEN)
def test_rewards_and_end_flags_may_be_missing(tmp_path: Path, name: str) -> None:
    demos = Demonstrations.from_arrays(
        [np.ones((4, 2), np.float32), np.zeros((3, 2), np.float32)],
        [np.zeros((3, 1), np.float32), np.ones((2, 1), np.float32)],
        terminations=[[0, 0, 0], [0, 1]],
    )
    save_demos(demos, _target(name, tmp_path), name)
    again = load_demos(_target(name, tmp_path))
    assert [episode.is_terminated for episode in again.episodes] == [False, True]
    has_flag = name in ("d4rl", "imitation")  # which know no episode without an end
    assert [episode.is_truncated for episode in again.episodes] == [has_flag, False]
    assert (again.rewards is None) == (name != "minari")


def test_a_format_is_found_by_the_name_of_the_target(make_demos: MakeDemos, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"the name of a csv file ends in \.csv"):
        save_demos(make_demos(), tmp_path / "out.txt", "csv")
    with pytest.raises(ConfigError, match="no format 'excel'; choose native, npz, csv"):
        save_demos(make_demos(), tmp_path / "out.xls", "excel")
    with pytest.raises(DataError, match="a folder of no demonstrations"):
        load_demos(tmp_path)
    with pytest.raises(DataError, match="no demonstrations 'minari:none/x-v0'"):
        load_demos("minari:none/x-v0")
    with pytest.raises(DataError, match="'ours' is no name that Minari reads; expected"):
        save_demos(make_demos(), tmp_path / "ours", "minari")


def test_an_empty_episode_has_no_place_in_other_formats(tmp_path: Path) -> None:
    rows = [np.ones((1, 2), np.float32), np.ones((2, 2), np.float32)]
    demos = Demonstrations.from_arrays(rows, [np.ones((0, 1)), np.ones((1, 1))])
    with pytest.raises(DataError, match="an episode is empty, which d4rl cannot hold"):
        save_demos(demos, tmp_path / "a.hdf5")


def test_an_export_that_fails_leaves_nothing(
    make_demos: MakeDemos, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    for name in WRITTEN:
        with pytest.raises((StorageError, OSError)):
            save_demos(make_demos(), _target(name, tmp_path), name)
    monkeypatch.undo()
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and "ours" in path.name]
    assert not (tmp_path / "ours").exists()


def test_a_missing_library_is_named_with_its_remedy(
    make_demos: MakeDemos, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("d4rl", "minari", "imitation"):
        monkeypatch.setitem(sys.modules, FORMATS[name].library, None)
        with pytest.raises(ConfigError, match=rf"pip install 'spacil\[{FORMATS[name].extra}\]'"):
            save_demos(make_demos(), _target(name, tmp_path), name)


def _npz(path: Path, **changes: Any) -> Path:
    """Two episodes of 2 and 3 steps, as many observations as actions."""
    arrays = {
        "observations": np.arange(10, dtype=np.float32).reshape(5, 2),
        "actions": np.linspace(-1, 1, 5, dtype=np.float32).reshape(5, 1),
        "episode_lengths": np.array([2, 3]),
        **changes,
    }
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


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


@pytest.mark.parametrize("flag", ["terminals", "terminations", "timeouts", "truncations"])
def test_episodes_are_cut_by_their_flags(tmp_path: Path, flag: str) -> None:
    for last in (0, 1):  # the last episode may end without a flag
        flags = {flag: np.array([0, 1, 0, 0, last], dtype=np.uint8)}
        demos = load_demos(_npz(tmp_path / "a.npz", episode_lengths=None, **flags))
        assert demos.episode_lengths.tolist() == [2, 3]
        assert demos.episodes[1].observations[:, 0].tolist() == [4.0, 6.0, 8.0, 8.0]
        assert demos.episodes[0].is_terminated == flag.startswith("termina")
        assert demos.episodes[0].is_truncated != flag.startswith("termina")
        assert (demos.episodes[1].is_terminated or demos.episodes[1].is_truncated) == bool(last)


def test_one_more_observation_than_actions_is_one_episode(tmp_path: Path) -> None:
    for observations, actions in (("obs", "acts"), ("states", "actions")):
        arrays = {observations: np.ones((5, 2)), actions: np.ones((4, 1))}
        np.savez(tmp_path / "a.npz", **arrays, note=np.ones(3))
        demos = load_demos(tmp_path / "a.npz")
        assert demos.episode_lengths.tolist() == [4]
        assert demos.metadata.provenance["changes"][0]["ignored"] == ["note"]


def test_stacked_episodes_in_any_order_of_bytes_are_understood(tmp_path: Path) -> None:
    arrays = {
        "observations": np.asfortranarray(np.arange(24.0).reshape(2, 4, 3)).astype(">f8"),
        "actions": np.zeros((2, 3, 1)),
        "rewards": np.ones((2, 3)),
    }
    demos = load_demos(_npz(tmp_path / "a.npz", episode_lengths=None, **arrays))
    assert demos.episode_lengths.tolist() == [3, 3]
    assert demos.episodes[1].observations[0].tolist() == [12.0, 13.0, 14.0]
    assert demos.returns is not None and demos.returns.tolist() == [3.0, 3.0]


def test_both_forms_of_actions_and_next_observations_are_understood(tmp_path: Path) -> None:
    observations = np.arange(10, dtype=np.float32).reshape(5, 2)
    following = observations + 2
    following[[1, 4]] = 99
    executed = np.zeros((5, 1))
    demos = load_demos(
        _npz(tmp_path / "a.npz", next_observations=following, executed_actions=executed)
    )
    assert demos.episodes[0].observations[:, 0].tolist() == [0.0, 2.0, 99.0]
    assert demos.actions is not None and demos.actions[:, 0].tolist() == [-1, -0.5, 0, 0.5, 1]
    assert not demos.executed_actions.any()


def test_d4rl_without_next_observations_stays_without_them(tmp_path: Path) -> None:
    demos = load_demos(_d4rl(tmp_path / "a.hdf5"))
    assert demos.episodes[0].observations[:, 0].tolist() == [0.0, 2.0, 2.0]
    save_demos(demos, tmp_path / "b.hdf5")
    with h5py.File(tmp_path / "b.hdf5") as file:
        assert "next_observations" not in file
        assert np.array_equal(file["observations"], np.arange(10.0).reshape(5, 2))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"episode_lengths": None}, "does not say where episodes end"),
        ({"episode_lengths": [2, 2]}, "add up to 4, but there are 5"),
        ({"episode_lengths": [2.0, 3.0]}, "episode_lengths"),
        ({"obs": np.zeros((5, 2))}, "two arrays mean observations"),
        ({"observations": None}, "has no observations .*it has actions, episode_lengths$"),
        ({"actions": np.zeros((5, 1, 1, 1))}, r"\(2, 1, 1, 1\)"),
        ({"observations": np.float32(1)}, r"observations has shape \(1,\), expected 5 rows"),
        ({"episode_lengths": None, "terminals": [0, 1, 0, 0]}, "terminations has shape"),
        ({"actions": np.array(["a"] * 5)}, "expected numbers"),
        ({"actions": np.ones(5, int)}, "continuous vectors"),
        ({"next_observations": np.zeros((5, 2))}, "out of order"),
        ({"next_observations": np.zeros((5, 3))}, "out of order, or damage"),
    ],
)
def test_other_arrays_are_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = _npz(tmp_path / "a.npz", **changes)
    with pytest.raises(DataError, match=message) as caught:
        load_demos(path)
    assert str(path) in str(caught.value)


def _elsewhere(path: Path, kind: str) -> None:
    """Take the rewards from another file."""
    with h5py.File(path, "a") as file:
        del file["rewards"]
        if kind == "external":
            (path.parent / "secret").write_bytes(np.ones(10).tobytes())
            file.create_dataset("rewards", (5,), "f8", external=[(path.parent / "secret", 0, 40)])
        elif kind == "virtual":
            layout = h5py.VirtualLayout((5,), "f8")
            layout[:] = h5py.VirtualSource(str(path.parent / "other.h5"), "rewards", (5,))
            file.create_virtual_dataset("rewards", layout)
        else:
            file["rewards"] = h5py.ExternalLink("/etc/hostname", "x")


def _endless(path: Path, kind: str) -> None:
    with h5py.File(path, "a") as file:
        del file["observations"]
        if kind == "unwritten":
            file.create_dataset("observations", (10**11, 2), "f4", chunks=(1000, 2))
        else:
            zeros = np.zeros((10**8, 1), np.uint8)
            file.create_dataset("observations", data=zeros, compression="gzip")
            file.create_group("infos")
            file["infos"]["again"] = file["infos"]  # a cycle


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: _elsewhere(path, "external"), "takes its numbers from other files"),
        (lambda path: _elsewhere(path, "virtual"), "takes its numbers from other files"),
        (lambda path: _endless(path, "unwritten"), "memory"),
        (lambda path: _endless(path, "packed"), r"observations has shape \(100000000, 1\)"),
        (lambda path: path.write_bytes(path.read_bytes()[:900]), "damaged, or of another kind"),
        (lambda path: path.write_bytes(b""), "damaged, or of another kind"),
        (lambda path: path.write_bytes(pickle.dumps([1])), "damaged, or of another kind"),
    ],
)
def test_hostile_hdf5_is_fatal(tmp_path: Path, spoil: Callable[[Path], None], message: str) -> None:
    path = _d4rl(tmp_path / "a.hdf5")
    spoil(path)
    with pytest.raises(DataError, match=message) as caught:
        load_demos(path)
    assert str(path) in str(caught.value)


def test_links_in_hdf5_are_not_followed(tmp_path: Path) -> None:
    path = _d4rl(tmp_path / "a.hdf5")
    _elsewhere(path, "link")
    assert load_demos(path).rewards is None


def test_an_export_is_a_dataset_that_minari_finds_and_can_make_the_env_of() -> None:
    save_demos(load_demos("Reacher-v4").first(3), "minari:mujoco/reacher/ours-v0")
    assert list(minari.list_local_datasets()) == ["mujoco/reacher/ours-v0"]
    dataset = minari.load_dataset("mujoco/reacher/ours-v0")
    assert (dataset.id, dataset.total_steps) == ("mujoco/reacher/ours-v0", 150)
    assert dataset.env_spec.id == "Reacher-v4"
    assert dataset.action_space.high.tolist() == [1.0, 1.0]
    with pytest.raises(StorageError, match="exists already and is not written over"):
        save_demos(load_demos("Reacher-v4"), "minari:mujoco/reacher/ours-v0")


@pytest.mark.parametrize("has_spaces", [True, False])
def test_a_datasets_env_is_never_made(tmp_path: Path, minari_root: Path, has_spaces: bool) -> None:
    source = write_minari(episodes_of("float32"), tmp_path)
    (tmp_path / "evil.py").write_text("open('ran', 'w').close()")
    path = minari_root / "theirs/toy-v0/data/metadata.json"
    metadata = json.loads(path.read_text())
    metadata["env_spec"] = json.dumps({"id": "Evil-v0", "entry_point": "evil:Evil"})
    if not has_spaces:
        del metadata["action_space"]
    path.write_text(json.dumps(metadata))
    if has_spaces:
        about = load_demos(source).metadata
        assert (about.task, about.env_fingerprint) == ("Evil-v0", {"gymnasium_id": "Evil-v0"})
        assert about.provenance["minari"]["algorithm_name"] == "by hand"
    else:  # Minari would make the env to ask it
        with pytest.raises(DataError, match="its metadata name no spaces"):
            load_demos(source)
    assert not Path("ran").exists()


@pytest.mark.parametrize(
    "changes", [{"total_episodes": 4}, {"total_steps": 1}, {"env_spec": "{"}, {"env_spec": "{}"}]
)
def test_metadata_that_does_not_fit_the_data_is_refused(
    tmp_path: Path, minari_root: Path, changes: dict[str, Any]
) -> None:
    source = write_minari(episodes_of("float32"), tmp_path)
    path = minari_root / "theirs/toy-v0/data/metadata.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    with pytest.raises(DataError, match="damaged"):
        load_demos(source)


def test_jsonpickle_in_infos_is_never_decoded_and_shards_are_one_set(tmp_path: Path) -> None:
    source = write_imitation(episodes_of("float64"), tmp_path)
    payload = json.dumps({"py/reduce": [{"py/function": "os.mkdir"}, {"py/tuple": ["ran"]}]})
    dataset = datasets.load_from_disk(source).map(
        lambda row: {**row, "infos": [payload] * len(row["acts"])}
    )
    dataset.save_to_disk(str(tmp_path / "shards"), num_shards=2)
    one, two = load_demos(source), load_demos(tmp_path / "shards")
    for name, tensor in one.tensors().items():
        assert torch.equal(tensor, two.tensors()[name]), name
    assert not Path("ran").exists()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"acts": [[[0.0]]]}, "has columns .'acts'., expected obs, acts and terminal"),
        ({"obs": [[[0.0], [1.0]]], "acts": [["a"]], "terminal": [True]}, "expected numbers"),
        ({"obs": [[[0.0], [1.0, 2.0]]], "acts": [[[0.0]]], "terminal": [True]}, "damaged|numbers"),
        ({"obs": [[[0.0], [1.0]]], "acts": [[[0.0]]], "terminal": [2]}, "damaged"),
        ({"obs": [[[0.0]] * 4], "acts": [[[0.0]]], "terminal": [True]}, "expected 1 rows"),
    ],
)
def test_other_columns_are_refused(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    datasets.Dataset.from_dict(columns).save_to_disk(str(tmp_path / "theirs"))
    with pytest.raises(DataError, match=message):
        load_demos(tmp_path / "theirs")


PEOPLES = """\
episode,obs_0,obs_1,action_0,reward,terminated,truncated,note
7,0.5,1,-0.25,1.5,False,False,warming up
7,0.75,2,0.5,2.5,True,False,
3,1e-3,-4,0.125,0,0,0,"a, b"
"""
HEAD = "episode,obs_0,action_0,terminated\n"


def _csv(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_what_people_write_is_understood(tmp_path: Path) -> None:
    demos = load_demos(_csv(tmp_path / "theirs.csv", PEOPLES))
    assert demos.episode_lengths.tolist() == [2, 1]
    assert demos.executed_actions.flatten().tolist() == [-0.25, 0.5, 0.125]
    assert demos.states.tolist() == [[0.5, 1.0], [0.75, 2.0], [pytest.approx(1e-3), -4.0]]
    assert demos.returns is not None and demos.returns.tolist() == [4.0, 0.0]
    assert [episode.is_terminated for episode in demos.episodes] == [True, False]
    changes = demos.metadata.provenance["changes"]
    assert changes[0]["ignored"] == ["note"]
    assert changes[1] == {"operation": "repeat_last_observation_as_final"}


def test_columns_come_in_any_order_with_blank_lines_and_a_byte_order_mark(tmp_path: Path) -> None:
    text = "\ufeffaction_0, obs_1,obs_0,episode\r\n\r\n1,2,3,0\r\n,5,6,0\r\n"
    demos = load_demos(_csv(tmp_path / "excel.csv", text))
    assert demos.observations.tolist() == [[3.0, 2.0], [6.0, 5.0]]
    assert demos.executed_actions.tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected columns episode, obs_0, .*action_0, .*; its first line is ''"),
        ("a;b;c\n", "its first line is 'a;b;c'"),
        ("episode,obs_0,action_0,obs_0\n0,1,1,1\n", "action_0, ..., with no gap"),
        ("episode,obs_0,action_0,x,x\n0,1,1,1,1\n", "no name twice"),
        ("episode,obs_0,obs_2,action_0\n", "with no gap"),
        (HEAD, "and rows below"),
        (HEAD + "0,1,2\n", "row 2 has 3 cells, expected 4"),
        (HEAD + "0,x,2,0\n", "could not convert string to float: .*x"),
        (HEAD + "0,1,2,maybe\n", "could not convert string to float: .*maybe"),
        (HEAD + "0,1,2,0\n1,1,2,0\n0,1,2,0\n", "do not stand together"),
        (HEAD + "0,1,,\n0,1,2,0\n", "a row without an action before the end"),
        (HEAD + "0,1,2,0\n0,1,,\n1,1,2,0\n", r"observations has shape \(3, 1\)"),
        (HEAD + '0,"1,2,0\n', "unexpected end of data"),
        ("PK\x03\x04", "its first line is"),
    ],
)
def test_what_is_no_such_table_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=rf"bad\.csv.*{message}"):
        load_demos(_csv(tmp_path / "bad.csv", text))
