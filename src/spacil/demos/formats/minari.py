"""Minari datasets: `minari:mujoco/hopper/expert-v0` in the local Minari root, or their folder.

An env specification in a dataset names code that Gymnasium would import: here its id is read and
nothing is built. Raw actions and start states are kept under `infos`.
"""

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spacil.errors import DataError, StorageError
from spacil.foreign import Arrays

if TYPE_CHECKING:
    from spacil.demos.demonstrations import Demonstrations

PREFIX = "minari:"
_INFOS = {
    "raw_actions": "actions",
    **{name: name for name in ("next_observations", "next_is_terminal")},
    **{name: name for name in ("initial_qpos", "initial_qvel")},
}
"""Array under `infos` -> field of the record."""
_ABOUT = ("dataset_id", "algorithm_name", "author", "author_email", "code_permalink", "description")


def dataset_folder(dataset_id: str) -> Path:
    """Return where the dataset of an id lies in the local Minari root."""
    root = os.environ.get("MINARI_DATASETS_PATH") or Path.home() / ".minari" / "datasets"
    return Path(root) / dataset_id.removeprefix(PREFIX)


def read_minari(folder: Path) -> tuple[Arrays, dict[str, Any]]:
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
    infos = [episode["infos"] or {} for episode in episodes]
    shared = set.intersection(*map(set, infos))
    for name in shared & _INFOS.keys():
        join = np.stack if name.startswith("initial") else np.concatenate
        arrays[_INFOS[name]] = join([info[name] for info in infos])
    for quantity in ("qpos", "qvel"):  # of every step: the first is the start
        if quantity in shared:
            starts = np.stack([info[quantity][0] for info in infos])
            arrays.setdefault(f"initial_{quantity}", starts)
    spec = metadata.get("env_spec")
    task = None if spec is None else json.loads(spec)["id"]
    return arrays, {
        "ignored": sorted(set().union(*infos) - _INFOS.keys() - {"qpos", "qvel"})[:100],
        "task": task,
        "env_fingerprint": None if task is None else {"gymnasium_id": task},
        "provenance": {"minari": {key: metadata[key] for key in _ABOUT if key in metadata}},
    }


def write_minari(demos: "Demonstrations", folder: Path) -> None:
    """Minari knows no episodes without rewards, so unknown ones are written as zeros."""
    import minari
    from gymnasium.envs.registration import EnvSpec as GymnasiumSpec
    from gymnasium.spaces import Box
    from minari.data_collector import EpisodeBuffer
    from minari.dataset.minari_dataset import parse_dataset_id
    from minari.dataset.minari_storage import MinariStorage

    from spacil import storage
    from spacil.envs.registry import TASKS, gymnasium_spec, make_vector_env
    from spacil.envs.vector_env import ResetSeeds

    root, folder = dataset_folder("").absolute(), folder.absolute()
    name = folder.relative_to(root) if folder.is_relative_to(root) else folder.name
    try:
        parse_dataset_id(str(name))
    except (TypeError, ValueError):
        raise DataError(
            f"{folder}: {str(name)!r} is no name that Minari reads; it ends in a version, e.g. "
            "hopper/expert-v0"
        ) from None
    states, actions = (x.numpy() for x in (demos.observations, demos.executed_actions))
    spec = None
    high = np.full(actions.shape[1:], np.inf, np.float32)
    low = -high
    if (task := demos.metadata.task) in TASKS:
        spec = GymnasiumSpec.from_json(gymnasium_spec(str(task)))
        with contextlib.closing(make_vector_env(str(task), 1, ResetSeeds(0, "probe"))) as env:
            low, high = env.spec.action_low, env.spec.action_high
    observation_space = Box(-np.inf, np.inf, states.shape[1:], states.dtype.type)
    action_space = Box(low, high, actions.shape[1:], actions.dtype.type)
    with storage.os_errors_as(StorageError, "create a folder in", folder.parent):
        folder.parent.mkdir(parents=True, exist_ok=True)
    with storage.new_folder(folder) as stage:
        target = MinariStorage.new(stage / "data", observation_space, action_space, spec)
        target.update_metadata({"dataset_id": str(name), "minari_version": minari.__version__})
        buffers = []
        for episode in demos.episodes:
            infos = {name: getattr(episode, field) for name, field in _INFOS.items()}
            known = {name: tensor.numpy() for name, tensor in infos.items() if tensor is not None}
            flags = {name: flags.numpy() for name, flags in episode.step_flags.items()}
            rewards = np.zeros(len(episode)) if episode.rewards is None else episode.rewards
            buffers.append(
                EpisodeBuffer(
                    observations=episode.observations.numpy(),
                    actions=episode.executed_actions.numpy(),
                    rewards=np.asarray(rewards),
                    infos=known,
                    **flags,
                )
            )
        target.update_episodes(buffers)
