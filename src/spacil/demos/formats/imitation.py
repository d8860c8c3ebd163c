"""Trajectories of the imitation library: a folder written by Hugging Face `datasets`.

One row per trajectory with `obs` (one more than actions), `acts`, `infos`, `terminal` and, where
known, `rews`. `infos` hold jsonpickle, which can run code: never read, and written empty.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spacil.errors import DataError
from spacil.foreign import Arrays

if TYPE_CHECKING:
    from spacil.demos.demonstrations import Demonstrations

_COLUMNS = {"obs": "observations", "acts": "executed_actions", "rews": "rewards"}


def read(folder: Path) -> tuple[Arrays, dict[str, Any]]:
    """`terminal` says whether an episode terminated; one that did not counts as truncated."""
    import datasets

    dataset = datasets.load_from_disk(str(folder))
    if not {"obs", "acts", "terminal"} <= set(dataset.column_names):
        raise DataError(
            f"{folder}: has columns {dataset.column_names}, expected obs, acts and terminal, as "
            "the imitation library saves trajectories"
        )
    known = [name for name in (*_COLUMNS, "terminal") if name in dataset.column_names]
    dataset.data.validate(full=True)  # offsets in a damaged file may point anywhere
    rows = list(dataset.select_columns(known).with_format("numpy", dtype=None))
    arrays: Arrays = {
        field: np.concatenate([row[name] for row in rows])
        for name, field in _COLUMNS.items()
        if name in known
    }
    arrays["episode_lengths"] = np.array([len(row["acts"]) for row in rows])
    is_terminal = np.array([row["terminal"] for row in rows])
    ends = np.cumsum(arrays["episode_lengths"]) - 1
    for field, flags in (("terminations", is_terminal), ("truncations", ~is_terminal)):
        arrays[field] = np.zeros(len(arrays["executed_actions"]), bool)
        arrays[field][ends[flags]] = True
    return arrays, {"ignored": sorted(set(dataset.column_names) - set(known))}


def write(demos: "Demonstrations", folder: Path) -> None:
    import datasets

    from spacil import storage

    episodes = demos.episodes
    columns: dict[str, list[Any]] = {
        "obs": [episode.observations.numpy() for episode in episodes],
        "acts": [episode.executed_actions.numpy() for episode in episodes],
        "infos": [["{}"] * len(episode) for episode in episodes],
        "terminal": [episode.is_terminated for episode in episodes],
        "rews": [episode.rewards.numpy() for episode in episodes if episode.rewards is not None],
    }
    if demos.rewards is None:
        del columns["rews"]
    with storage.new_folder(folder) as stage:
        datasets.Dataset.from_dict(columns).save_to_disk(str(stage))
