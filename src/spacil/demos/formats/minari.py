"""Minari datasets: `minari:mujoco/hopper/expert-v0` in the local Minari root, or their folder.

An env specification in a dataset names code that Gymnasium would import: here its id is read and
nothing is built.
"""

import copy
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spacil.errors import DataError, StorageError
from spacil.foreign import Arrays

if TYPE_CHECKING:
    from spacil.demos.demonstrations import Demonstrations

PREFIX, MARKER = "minari:", "data/metadata.json"
_ABOUT = ("dataset_id", "algorithm_name", "author", "author_email", "code_permalink", "description")


def dataset_folder(dataset_id: str) -> Path:
    """Return where the dataset of an id lies in the local Minari root."""
    root = os.environ.get("MINARI_DATASETS_PATH") or Path.home() / ".minari" / "datasets"
    return Path(root) / dataset_id.removeprefix(PREFIX)


def read(folder: Path) -> tuple[Arrays, dict[str, Any]]:
    from minari.dataset.minari_storage import MinariStorage

    metadata = MinariStorage.read_raw_metadata(folder / "data")
    if not {"observation_space", "action_space"} <= metadata.keys():
        # Minari would make the env to ask it for its spaces.
        raise DataError(f"{folder}: its metadata name no spaces; create it with a newer Minari")
    storage = MinariStorage.read(folder / "data")
    episodes = list(storage.get_episodes(range(storage.total_episodes)))
    if any(not isinstance(e[n], np.ndarray) for e in episodes for n in ("observations", "actions")):
        raise DataError(
            f"{folder}: a space is a Dict or Tuple, expected a Box of observations and of actions"
        )
    arrays: Arrays = {
        name: np.concatenate([episode[name] for episode in episodes])
        for name in ("observations", "actions", "rewards", "terminations", "truncations")
    }
    arrays["executed_actions"] = arrays.pop("actions")
    lengths = [len(episode["actions"]) for episode in episodes]
    arrays["episode_lengths"] = np.array(lengths)
    if sum(lengths) != metadata.get("total_steps"):
        raise DataError(f"{folder}: {sum(lengths)} steps, its metadata say another number: damaged")
    spec = metadata.get("env_spec")
    task = None if spec is None else json.loads(spec)["id"]
    return arrays, {
        "ignored": sorted(set().union(*(episode["infos"] or {} for episode in episodes)))[:100],
        "task": task,
        "env_fingerprint": None if task is None else {"gymnasium_id": task},
        "provenance": {"minari": {key: metadata[key] for key in _ABOUT if key in metadata}},
    }


def write(demos: "Demonstrations", folder: Path) -> None:
    """Minari knows no episodes without rewards, so unknown ones are written as zeros."""
    import gymnasium
    import minari
    from gymnasium.spaces import Box
    from minari.data_collector import EpisodeBuffer
    from minari.dataset.minari_dataset import parse_dataset_id
    from minari.dataset.minari_storage import MinariStorage

    from spacil import storage
    from spacil.envs.registry import TASKS

    root, folder = dataset_folder("").absolute(), folder.absolute()
    name = folder.relative_to(root) if folder.is_relative_to(root) else folder.name
    try:
        parse_dataset_id(str(name))
    except (TypeError, ValueError):
        wrong = f"{str(name)!r} is no name that Minari reads"
        raise DataError(f"{folder}: {wrong}; expected one like hopper/expert-v0") from None
    states, actions = (x.numpy() for x in (demos.observations, demos.executed_actions))
    task, fingerprint = demos.metadata.task, demos.metadata.env_fingerprint or {}
    spec = None
    if task and task in TASKS:
        spec = copy.deepcopy(gymnasium.spec(TASKS[task].gymnasium_id))
        spec.kwargs.update(TASKS[task].kwargs)
    unbounded = [None] * demos.num_actions
    low, high = (
        np.nan_to_num(np.array(fingerprint.get(name, unbounded), actions.dtype), nan=limit)
        for name, limit in (("action_low", -np.inf), ("action_high", np.inf))
    )
    observation_space = Box(-np.inf, np.inf, states.shape[1:], states.dtype.type)
    action_space = Box(low, high, actions.shape[1:], actions.dtype.type)
    with storage.os_errors_as(StorageError, "create a folder in", folder.parent):
        folder.parent.mkdir(parents=True, exist_ok=True)
    with storage.new_folder(folder) as stage:
        target = MinariStorage.new(stage / "data", observation_space, action_space, spec)
        target.update_metadata({"dataset_id": str(name), "minari_version": minari.__version__})
        target.update_episodes(
            EpisodeBuffer(
                observations=episode.observations.numpy(),
                actions=episode.executed_actions.numpy(),
                rewards=np.asarray(
                    np.zeros(len(episode)) if episode.rewards is None else episode.rewards
                ),
                **{name: flags.numpy() for name, flags in episode.step_flags.items()},
            )
            for episode in demos.episodes
        )
