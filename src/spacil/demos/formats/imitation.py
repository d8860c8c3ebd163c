"""Trajectories of the imitation library, in and out.

A folder written by Hugging Face `datasets`, as imitation's `serialize.save` does: one row per
trajectory with `obs` (one more than actions), `acts`, `infos`, `terminal` and, where known, `rews`.
`infos` hold jsonpickle, which can run code: they are never read, and written empty. The layout has
no place for raw actions and start states; `file` leaves them out of an export.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacil import storage
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.edits import with_flagged_ends
from spacil.demos.metadata import DemoMetadata
from spacil.demos.schema import SUCCESSOR_FIELDS
from spacil.demos.seal import FORMAT, imported, seal
from spacil.errors import ConfigError, DataError
from spacil.sandbox.parent import read_foreign

READER = "spacil.demos.formats.arrow_archive:read_imitation"
INFO_FILE = "dataset_info.json"
LEAVES_OUT = ("actions", "initial_qpos", "initial_qvel", *SUCCESSOR_FIELDS)


def import_imitation(folder: Path) -> Demonstrations:
    """Demonstrations from a trajectory folder of anyone.

    `terminal` says whether an episode terminated; one that did not counts as truncated.
    """
    found, notes = read_foreign(READER, folder)
    columns = {
        name: _split(found[column], found[f"{column}_lengths"])
        for name, column in (
            ("observations", "obs"),
            ("executed_actions", "acts"),
            ("rewards", "rews"),
        )
        if column in found
    }
    is_terminal = found["terminal"]
    if is_terminal.dtype != np.bool_:
        raise DataError(f"{folder}: terminal is {is_terminal.dtype}, expected true or false")
    lengths = [len(actions) for actions in columns["executed_actions"]]
    if len(is_terminal) != len(lengths):
        raise DataError(f"{folder}: {len(lengths)} trajectories, {len(is_terminal)} ends")
    for name, flags in (("terminations", is_terminal), ("truncations", ~is_terminal)):
        columns[name] = [
            (np.arange(length) == length - 1) & flag
            for length, flag in zip(lengths, flags, strict=True)
        ]
    change = {"operation": "import_imitation", "folder": folder.name, "ignored": notes["ignored"]}
    return imported(columns, _document(folder), DemoMetadata(), change, str(folder))


def export_imitation(demos: Demonstrations, folder: Path) -> None:
    """A new folder that `import_imitation`, `datasets` and the imitation library read."""
    try:
        import datasets
    except ImportError:
        raise ConfigError(
            "writing trajectories of the imitation library needs datasets: "
            "pip install 'spacil[imitation]'"
        ) from None
    demos = with_flagged_ends(demos)
    episodes = [demos.episode(index) for index in range(demos.num_episodes)]
    columns: dict[str, list[Any]] = {
        "obs": [episode.observations.numpy() for episode in episodes],
        "acts": [episode.executed_actions.numpy() for episode in episodes],
        "infos": [["{}"] * len(episode.executed_actions) for episode in episodes],
        "terminal": [episode.is_terminated for episode in episodes],
    }
    if demos.rewards is not None:
        columns["rews"] = [
            episode.rewards.numpy() for episode in episodes if episode.rewards is not None
        ]
    info = datasets.DatasetInfo(description=seal(demos).decode("ascii"))
    with storage.staged_folder(folder.parent) as stage:
        bars = datasets.is_progress_bar_enabled()
        datasets.disable_progress_bars()
        try:
            datasets.Dataset.from_dict(columns, info=info).save_to_disk(str(stage))
        finally:
            if bars:
                datasets.enable_progress_bars()
        storage.publish(stage, folder)


def _split(rows: NDArray[Any], lengths: NDArray[Any]) -> list[NDArray[Any]]:
    return np.split(rows, np.cumsum(lengths)[:-1])


def _document(folder: Path) -> bytes | None:
    """Our own document, which an export keeps where `datasets` keeps a description."""
    try:
        info = storage.read_json(folder / INFO_FILE)
    except storage.DamagedFileError as error:
        raise DataError(str(error)) from None
    description = info.get("description") if isinstance(info, dict) else None
    is_ours = isinstance(description, str) and f'"{FORMAT}"' in description
    return description.encode("utf-8", "surrogatepass") if is_ours and description else None
