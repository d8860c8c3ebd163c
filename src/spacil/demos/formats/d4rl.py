"""HDF5 files in D4RL's layout; those in robomimic's are read as such.

All episodes one after the other: `observations`, `actions` (those that were executed), `rewards`,
`terminals`, `timeouts`, with as many observations as actions, and `next_observations` where the
final ones are known.
"""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spacil.demos.formats import robomimic
from spacil.demos.formats.npz import NAMES, flat_arrays
from spacil.errors import DataError
from spacil.foreign import Arrays

if TYPE_CHECKING:
    from spacil.demos.demonstrations import Demonstrations


def read(path: Path) -> tuple[Arrays, dict[str, Any]]:
    import h5py

    found: Arrays = {}
    ignored: list[str] = []

    def visit(name: str, item: Any) -> None:  # hard links alone are visited
        if not isinstance(item, h5py.Dataset):
            return
        if name not in NAMES:
            ignored.append(name)
        elif item.is_virtual or item.external:
            raise DataError(f"{path}: '{name}' takes its numbers from other files: not opened")
        else:
            found[name] = item[()]

    with h5py.File(path, "r") as file:
        if robomimic.is_there(file):
            return robomimic.read(file, path)
        file.visititems(visit)
    return flat_arrays(found, ignored, path), {"ignored": sorted(ignored)[:100]}


def write(demos: "Demonstrations", path: Path) -> None:
    """Readers of D4RL cut episodes by their flags, so an end without one counts as a timeout."""
    import h5py

    from spacil import storage

    flat, episodes = demos.tensors(), demos.episodes
    is_last = demos.step_in_episode == demos.episode_lengths[demos.episode_of_step] - 1
    arrays: dict[str, Any] = {
        "observations": np.concatenate([episode.observations[:-1] for episode in episodes]),
        "terminals": flat["terminations"],
        "timeouts": flat["truncations"] | (is_last & ~flat["terminations"]),
    }
    if demos.num_actions:
        arrays["actions"] = flat["executed_actions"]
    if demos.rewards is not None:
        arrays["rewards"] = demos.rewards
    if any(not e.observations[-1].equal(e.observations[-2]) for e in episodes):
        following = [episode.observations[1:] for episode in episodes]
        arrays["next_observations"] = np.concatenate(following)
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        for name, array in arrays.items():
            file[name] = np.asarray(array)
    storage.replace_file(path, buffer.getvalue())
