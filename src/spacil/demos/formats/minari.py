"""Minari datasets, in and out: `minari:mujoco/hopper/expert-v0` from the local Minari root.

The HDF5 storage, which Minari's remote datasets use. An env specification in a dataset names code
that Gymnasium would import: here it is compared and handed on as text, and never built. Our exports
keep raw actions and start states under `infos`, and are checksummed by HDF5 itself.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacil import storage
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.edits import with_rewards
from spacil.demos.formats.d4rl import hdf5_bytes
from spacil.demos.formats.hdf5_archive import MINARI_FIELDS, MINARI_FILE
from spacil.demos.metadata import DemoMetadata
from spacil.demos.schema import SUCCESSOR_FIELDS
from spacil.demos.seal import imported, seal
from spacil.envs.registry import TASKS, gymnasium_spec, make_vector_env
from spacil.envs.vector_env import ResetSeeds
from spacil.errors import DataError, StorageError
from spacil.sandbox.parent import Arrays, read_foreign

READER = "spacil.demos.formats.hdf5_archive:read_minari"
PREFIX = "minari:"
METADATA_FILE = "metadata.json"
MINARI_VERSION = "0.5.3"
"""The layout our exports follow; Minari refuses datasets of versions it does not know."""

_ID = re.compile(r"(?:[\w-]+/)*[\w-]+-v\d+")
_SEAL = "spacil"
_SEEDS = "minari_episode_seeds"
_OF_THE_STORAGE = frozenset(
    {"total_episodes", "total_steps", "data_format", "jpeg_encoding", "dataset_id"}
    | {"minari_version", "dataset_size", _SEAL}
)
"""Metadata about one storage, not about the data: an export writes its own."""


def dataset_folder(name: str) -> Path:
    """Where the dataset of an id lies in the local Minari root."""
    dataset_id = name.removeprefix(PREFIX)
    if not _ID.fullmatch(dataset_id):
        raise DataError(
            f"'{name}': not a Minari dataset id; expected (namespace/)name-v0, "
            "e.g. minari:mujoco/hopper/expert-v0"
        )
    root = os.environ.get("MINARI_DATASETS_PATH")
    return (Path(root) if root else Path.home() / ".minari" / "datasets") / dataset_id


def import_minari(folder: Path) -> Demonstrations:
    """Demonstrations from the folder of a Minari dataset."""
    data = folder / "data"
    if not (data / METADATA_FILE).is_file():
        raise DataError(
            f"{folder}: no Minari dataset there; fetch it first: minari download ID, "
            "or set MINARI_DATASETS_PATH"
        )
    metadata = _metadata(data / METADATA_FILE)
    if metadata.get("data_format") != "hdf5":
        raise DataError(
            f"{folder}: stored as {metadata.get('data_format')!r}, supported is 'hdf5'; "
            "create the dataset with data_format='hdf5'"
        )
    found, notes = read_foreign(READER, data)
    episodes = _episodes(found, notes["num_episodes"])
    num_steps = sum(len(actions) for actions in episodes["executed_actions"])
    for key, number in (("total_episodes", notes["num_episodes"]), ("total_steps", num_steps)):
        if metadata.get(key) != number:
            raise DataError(
                f"{folder}: {METADATA_FILE} says {key} {metadata.get(key)!r}, the data hold "
                f"{number}: changed or damaged"
            )
    if notes["num_episodes"] == 0:
        raise DataError(f"{folder}: no episodes; at least one is needed")
    document = metadata.get(_SEAL)
    if document is not None and not isinstance(document, str):
        raise DataError(f"{folder}: its document of spacil is not valid")
    change: dict[str, Any] = {"operation": "import_minari", "dataset": metadata.get("dataset_id")}
    if notes["ignored"]:
        change["ignored_infos"] = notes["ignored"]
    text = None if document is None else document.encode("utf-8", "surrogatepass")
    ours = _our_metadata(metadata, notes["seeds"], folder)
    return imported(episodes, text, ours, change, str(folder))


def export_minari(demos: Demonstrations, folder: Path) -> None:
    """A new dataset that `import_minari` and the Minari library read.

    Minari knows no episodes without rewards, so unknown ones are written as zeros.
    """
    dataset_id = _id_of_folder(folder)
    demos = with_rewards(demos)
    arrays: dict[str, NDArray[Any]] = {}
    attributes: dict[str, Any] = {}
    for index in range(demos.num_episodes):
        for name, array in _exported(demos, index).items():
            arrays[f"episode_{index}/{name}"] = array
        attributes[f"episode_{index}/id"] = index
        attributes[f"episode_{index}/total_steps"] = int(demos.episode_lengths[index])
    seeds = demos.metadata.provenance.get(_SEEDS)
    # After episodes were chosen nobody knows which seed is whose.
    if isinstance(seeds, list) and len(seeds) == demos.num_episodes:
        for index, seed in enumerate(seeds):
            if isinstance(seed, int):
                attributes[f"episode_{index}/seed"] = seed
    content = hdf5_bytes(arrays, attributes)
    metadata = {
        **_description(demos),
        "total_episodes": demos.num_episodes,
        "total_steps": demos.num_steps,
        "data_format": "hdf5",
        "jpeg_encoding": True,
        "dataset_id": dataset_id,
        "minari_version": MINARI_VERSION,
        "dataset_size": round(len(content) / 1e6, 1),
        _SEAL: seal(demos).decode("ascii"),
    }
    _make_namespaces(folder, dataset_id)
    with storage.staged_folder(folder.parent) as stage:
        with storage.os_errors_as(StorageError, "write", folder):
            (stage / "data").mkdir()
        storage.write_synced(stage / "data" / MINARI_FILE, content)
        storage.write_synced(stage / "data" / METADATA_FILE, storage.canonical_json(metadata))
        storage.publish(stage, folder)


def _metadata(path: Path) -> dict[str, Any]:
    try:
        metadata = storage.read_json(path)
    except storage.DamagedFileError as error:
        raise DataError(str(error)) from None
    if not isinstance(metadata, dict):
        raise DataError(f"{path}: not the metadata of a Minari dataset")
    return metadata


def _our_metadata(metadata: dict[str, Any], seeds: list[int | None], folder: Path) -> DemoMetadata:
    """The env by its id, and everything else the dataset says about itself."""
    said = {key: value for key, value in metadata.items() if key not in _OF_THE_STORAGE}
    task = None
    if isinstance(spec := metadata.get("env_spec"), str):
        try:
            parsed = storage.parse_json(spec.encode("utf-8", "surrogatepass"), folder)
        except storage.DamagedFileError as error:
            raise DataError(f"{folder}: its env_spec is damaged: {error}") from None
        task = parsed.get("id") if isinstance(parsed, dict) else None
        if not isinstance(task, str):
            raise DataError(f"{folder}: its env_spec has no id: changed or damaged")
    fingerprint = None if task is None else {"gymnasium_id": task}
    provenance: dict[str, Any] = {"minari": said}
    if any(seed is not None for seed in seeds):
        provenance[_SEEDS] = seeds
    return DemoMetadata(task, fingerprint, provenance)


def _episodes(found: Arrays, num_episodes: int) -> dict[str, list[NDArray[Any]]]:
    names = dict(zip(MINARI_FIELDS, MINARI_FIELDS, strict=True))
    names |= {f"infos/{name}": name for name in ("initial_qpos", "initial_qvel", *SUCCESSOR_FIELDS)}
    names |= {"actions": "executed_actions", "infos/raw_actions": "actions"}
    episodes = {
        field: [found[f"{index}/{name}"] for index in range(num_episodes)]
        for name, field in names.items()
        if all(f"{index}/{name}" in found for index in range(num_episodes))
    }
    # Third-party datasets may hold the physics state of every step: the first is the start.
    for quantity in ("qpos", "qvel"):
        steps = [found.get(f"{index}/infos/{quantity}") for index in range(num_episodes)]
        starts = [rows[0] for rows in steps if rows is not None and rows.ndim == 2 and len(rows)]
        if starts and len(starts) == num_episodes:
            episodes.setdefault(f"initial_{quantity}", starts)
    for pair in (("initial_qpos", "initial_qvel"), SUCCESSOR_FIELDS):
        if (pair[0] in episodes) != (pair[1] in episodes):
            for name in pair:
                episodes.pop(name, None)
    return episodes


def _exported(demos: Demonstrations, index: int) -> dict[str, NDArray[Any]]:
    episode = demos.episode(index)
    length = len(episode.executed_actions)
    first = int(demos.episode_lengths[:index].sum())
    steps = slice(first, first + length)
    assert episode.rewards is not None
    arrays = {
        "observations": episode.observations.numpy(),
        "actions": episode.executed_actions.numpy(),
        "rewards": episode.rewards.numpy(),
        "terminations": demos.terminations[steps].numpy(),
        "truncations": demos.truncations[steps].numpy(),
    }
    for name, tensor in (
        ("raw_actions", episode.actions),
        ("initial_qpos", episode.initial_qpos),
        ("initial_qvel", episode.initial_qvel),
    ):
        if tensor is not None:
            arrays[f"infos/{name}"] = tensor.numpy()
    if demos.next_observations is not None and demos.next_is_terminal is not None:
        arrays["infos/next_observations"] = demos.next_observations[steps].numpy()
        arrays["infos/next_is_terminal"] = demos.next_is_terminal[steps].numpy()
    return arrays


def _description(demos: Demonstrations) -> dict[str, Any]:
    """Of the dataset that the record came from; else of its task; else of its sizes alone."""
    observation_low, observation_high = _infinite(demos.observations.numpy())
    action_low, action_high = _infinite(demos.executed_actions.numpy())
    description = {}
    task = demos.metadata.task
    if task is not None and task in TASKS:
        env = make_vector_env(task, 1, ResetSeeds(0, "probe"))
        env.close()
        if env.spec.num_actions == demos.num_actions:
            action_low = env.spec.action_low.astype(action_low.dtype)
            action_high = env.spec.action_high.astype(action_high.dtype)
        description["env_spec"] = gymnasium_spec(task)
    description["observation_space"] = _box(observation_low, observation_high)
    description["action_space"] = _box(action_low, action_high)
    said = demos.metadata.provenance.get("minari")
    return {**description, **said} if isinstance(said, dict) else description


def _infinite(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    high = np.full(rows.shape[1:], np.inf, dtype=rows.dtype)
    return -high, high


def _box(low: NDArray[Any], high: NDArray[Any]) -> str:
    """A Box space as Minari writes it, which is not strict JSON where a bound is infinite."""
    return json.dumps(
        {
            "type": "Box",
            "dtype": str(low.dtype),
            "shape": list(low.shape),
            "low": low.tolist(),
            "high": high.tolist(),
        }
    )


def _id_of_folder(folder: Path) -> str:
    """The id by which Minari finds a folder: its path below the root, else its name."""
    root = dataset_folder("root-v0").parent.absolute()
    folder = folder.absolute()
    name = str(folder.relative_to(root)) if folder.is_relative_to(root) else folder.name
    if not _ID.fullmatch(name):
        raise DataError(f"{folder}: a Minari dataset's name ends in a version, e.g. expert-v0")
    return name


def _make_namespaces(folder: Path, dataset_id: str) -> None:
    """Folders above a dataset are namespaces, and Minari marks each with a small file."""
    with storage.os_errors_as(StorageError, "create a folder in", folder.parent):
        folder.parent.mkdir(parents=True, exist_ok=True)
    for namespace in list(folder.parents)[: dataset_id.count("/")]:
        mark = namespace / "namespace_metadata.json"
        if not mark.exists():
            storage.replace_file(mark, b"{}\n")
