"""Demonstrations in the formats of others, as their own libraries write and read them.

The imitation library itself needs an old gymnasium, which excludes ours. Its `serialize.save` hands
a dict of columns to `datasets.Dataset.from_dict` and calls `save_to_disk`; the same is done here.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

h5py = pytest.importorskip("h5py", reason="h5py reads and writes HDF5")
minari = pytest.importorskip("minari", reason="Minari makes and reads its own datasets")
datasets = pytest.importorskip("datasets", reason="the imitation library saves with datasets")

Episodes = list[dict[str, NDArray[Any]]]

LENGTHS = (4, 7, 3)
NAMES = ("observations", "actions", "rewards", "terminations", "truncations")


def episodes_of(dtype: str, lengths: Sequence[int] = LENGTHS) -> Episodes:
    """Three episodes, the second terminated; every bit of the numbers is in use."""
    rng = np.random.default_rng(7)
    return [
        {
            "observations": rng.normal(size=(length + 1, 3)).astype(dtype),
            "actions": rng.uniform(-1, 1, (length, 2)).astype(dtype),
            "rewards": rng.normal(size=length).astype(dtype),
            "terminations": (np.arange(length) == length - 1) & (index == 1),
            "truncations": (np.arange(length) == length - 1) & (index != 1),
        }
        for index, length in enumerate(lengths)
    ]


def joined(episodes: Episodes, name: str) -> NDArray[Any]:
    return np.concatenate([episode[name] for episode in episodes])


def write_npz(episodes: Episodes, folder: Path) -> str:
    arrays = {name: joined(episodes, name) for name in NAMES}
    lengths = [len(episode["terminations"]) for episode in episodes]
    np.savez(folder / "theirs.npz", **arrays, episode_lengths=lengths)
    return str(folder / "theirs.npz")


def read_npz(source: str) -> Episodes:
    with np.load(source, allow_pickle=False) as file:
        arrays, steps = dict(file), file["episode_lengths"]
    arrays["actions"] = arrays["executed_actions"]
    split = {
        name: np.split(arrays[name], np.cumsum(steps + (name == "observations"))[:-1])
        for name in NAMES
    }
    return [{name: parts[i] for name, parts in split.items()} for i in range(len(steps))]


def write_d4rl(episodes: Episodes, folder: Path) -> str:
    with h5py.File(folder / "theirs.hdf5", "w") as file:
        file["observations"] = np.concatenate([e["observations"][:-1] for e in episodes])
        file["next_observations"] = np.concatenate([e["observations"][1:] for e in episodes])
        file["actions"] = joined(episodes, "actions")
        file["rewards"] = joined(episodes, "rewards")
        file["terminals"] = joined(episodes, "terminations")
        file["timeouts"] = joined(episodes, "truncations")
    return str(folder / "theirs.hdf5")


def read_d4rl(source: str) -> Episodes:
    """Cut at its flags, as readers of D4RL do."""
    with h5py.File(source, "r") as file:
        arrays = {name: file[name][()] for name in file if isinstance(file[name], h5py.Dataset)}
    ends = np.flatnonzero(arrays["terminals"] | arrays["timeouts"]) + 1
    cut = {name: np.split(array, ends[:-1]) for name, array in arrays.items()}
    return [
        {
            "observations": np.concatenate(
                [cut["observations"][i], cut["next_observations"][i][-1:]]
            ),
            "actions": cut["actions"][i],
            "rewards": cut["rewards"][i],
            "terminations": cut["terminals"][i],
            "truncations": cut["timeouts"][i],
        }
        for i in range(len(ends))
    ]


def write_minari(episodes: Episodes, folder: Path) -> str:
    from gymnasium.spaces import Box

    dtype = episodes[0]["observations"].dtype.type
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about metadata that nobody needs here
        minari.create_dataset_from_buffers(
            "theirs/toy-v0",
            [
                minari.data_collector.EpisodeBuffer(**episode, seed=100 + index)
                for index, episode in enumerate(episodes)
            ],
            observation_space=Box(-np.inf, np.inf, (3,), dtype),
            action_space=Box(-1, 1, (2,), dtype),
            algorithm_name="by hand",
            author={"someone"},
        )
    return "minari:theirs/toy-v0"


def read_minari(source: str) -> Episodes:
    dataset = minari.load_dataset(source.removeprefix("minari:"))
    return [{name: getattr(e, name) for name in NAMES} for e in dataset.iterate_episodes()]


def write_imitation(episodes: Episodes, folder: Path) -> str:
    columns = {
        "obs": [episode["observations"] for episode in episodes],
        "acts": [episode["actions"] for episode in episodes],
        "infos": [["{}"] * len(episode["actions"]) for episode in episodes],
        "terminal": [bool(episode["terminations"].any()) for episode in episodes],
        "rews": [episode["rewards"] for episode in episodes],
    }
    datasets.Dataset.from_dict(columns).save_to_disk(str(folder / "theirs"))
    return str(folder / "theirs")


def read_imitation(source: str) -> Episodes:
    """As imitation's TrajectoryDatasetSequence does, which takes these columns and no others."""
    dataset = datasets.load_from_disk(source)
    assert dataset.column_names == ["obs", "acts", "infos", "terminal", "rews"]
    dtypes = {name: dataset.features[name].feature.feature.dtype for name in ("obs", "acts")}
    dtypes["rews"] = dataset.features["rews"].feature.dtype
    episodes = []
    for row in dataset:
        assert set(row["infos"]) == {"{}"}
        is_last = np.arange(len(row["acts"])) == len(row["acts"]) - 1
        episodes.append(
            {
                "observations": np.asarray(row["obs"], dtypes["obs"]),
                "actions": np.asarray(row["acts"], dtypes["acts"]),
                "rewards": np.asarray(row["rews"], dtypes["rews"]),
                "terminations": is_last & row["terminal"],
                "truncations": is_last & (not row["terminal"]),
            }
        )
    return episodes


WRITERS = {"npz": write_npz, "d4rl": write_d4rl, "minari": write_minari}
WRITERS["imitation"] = write_imitation
READERS = {"npz": read_npz, "d4rl": read_d4rl, "minari": read_minari}
READERS["imitation"] = read_imitation
TARGETS = {"npz": "ours.npz", "d4rl": "ours.hdf5", "minari": "minari:ours/toy-v1"}
TARGETS["imitation"] = "ours"
