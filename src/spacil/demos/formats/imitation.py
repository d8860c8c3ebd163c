"""Trajectories of the imitation library: a folder written by Hugging Face `datasets`.

One row per trajectory with `obs` (one more than actions), `acts`, `infos`, `terminal` and, where
known, `rews`. `infos` hold jsonpickle, which can run code: never read, and written empty.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spacil.errors import DataError
from spacil.foreign import Arrays

if TYPE_CHECKING:
    from spacil.demos.demonstrations import Demonstrations

_COLUMNS = {"obs": "observations", "acts": "executed_actions", "rews": "rewards"}


def read_imitation(folder: Path) -> tuple[Arrays, dict[str, Any]]:
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
    table = dataset.select_columns(known).with_format("arrow")[:].combine_chunks()
    arrays: Arrays = {}
    for name in set(known) - {"terminal"}:
        rows = table[name].combine_chunks()
        lengths = rows.value_lengths().to_numpy(zero_copy_only=False)
        flat, width = rows.flatten(), list[int]()
        if name != "rews":
            widths = np.unique(flat.value_lengths().to_numpy(zero_copy_only=False))
            if len(widths) != 1:
                raise DataError(f"{folder}: {name} has rows of {widths[:5]} numbers")
            flat, width = flat.flatten(), [int(widths[0])]
        arrays[_COLUMNS[name]] = flat.to_numpy(zero_copy_only=False).reshape(-1, *width)
        if name == "acts":
            arrays["episode_lengths"] = lengths.astype(np.int64)
    is_terminal = table["terminal"].to_numpy()
    ends = np.cumsum(arrays["episode_lengths"]) - 1
    for field, flags in (("terminations", is_terminal), ("truncations", ~is_terminal)):
        at_steps: NDArray[np.bool_] = np.zeros(len(arrays["executed_actions"]), bool)
        at_steps[ends[flags]] = True
        arrays[field] = at_steps
    return arrays, {"ignored": sorted(set(dataset.column_names) - set(known))}


def write_imitation(demos: "Demonstrations", folder: Path) -> None:
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
        has_bars = datasets.is_progress_bar_enabled()
        datasets.disable_progress_bars()
        try:
            datasets.Dataset.from_dict(columns).save_to_disk(str(stage))
        finally:
            if has_bars:
                datasets.enable_progress_bars()
