"""Numpy `.npz` files: arrays under the names that people use, flat or stacked.

Where episodes end must be stated, never guessed: by `episode_lengths`, or by flags.
"""

import io
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spacil.errors import DataError
from spacil.foreign import Arrays

if TYPE_CHECKING:
    from spacil.demos.demonstrations import Demonstrations

NAMES = {
    **dict.fromkeys(("observations", "obs", "states"), "observations"),
    **dict.fromkeys(("actions", "acts"), "actions"),
    **dict.fromkeys(("terminations", "terminals"), "terminations"),
    **dict.fromkeys(("truncations", "timeouts"), "truncations"),
    **{name: name for name in ("executed_actions", "rewards", "episode_lengths")},
    **{name: name for name in ("next_observations", "next_is_terminal")},
    **{name: name for name in ("initial_qpos", "initial_qvel")},
}
"""Array of a file -> what it means."""
STEPWISE = (
    *("executed_actions", "actions", "rewards", "terminations", "truncations"),
    "next_observations",
)
"""Arrays with a row per step: where there are none, an episode has one state more than steps."""


def read_arrays(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays whose names mean something here; the others are listed."""
    if not zipfile.is_zipfile(path):
        raise DataError(f"{path}: not an npz file, which is a zip archive of arrays; no pickle")
    with np.load(path, allow_pickle=False) as file:
        found = {name: file[name] for name in file.files if name in NAMES}
        return found, {"ignored": sorted(set(file.files) - set(found))[:100]}


def read(path: Path) -> tuple[Arrays, dict[str, Any]]:
    found, notes = read_arrays(path)
    return flat_arrays(found, notes["ignored"], path), notes


def write(demos: "Demonstrations", path: Path) -> None:
    from spacil import storage

    arrays = {name: tensor.numpy() for name, tensor in demos.tensors().items()}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    storage.replace_file(path, buffer.getvalue())


def flat_arrays(found: Mapping[str, NDArray[Any]], others: Iterable[str], path: Path) -> Arrays:
    """Return the arrays of a file under the record's names, with `episode_lengths`.

    `others` are the names of its other arrays, for somebody who has to find the right ones.
    """
    arrays: Arrays = {}
    for name, array in found.items():
        field = NAMES[name]
        if field in arrays:
            raise DataError(f"{path}: two arrays mean {field}, one of them '{name}'; keep one")
        arrays[field] = array
    # Alone, `actions` are those that were executed; beside executed_actions they are the raw ones.
    if "actions" in arrays and "executed_actions" not in arrays:
        arrays["executed_actions"] = arrays.pop("actions")
    if "observations" not in arrays:
        held = ", ".join(sorted([*found, *others])) or "no arrays"
        raise DataError(f"{path}: has no observations (or obs, states); it has {held}")
    states, names = arrays["observations"], [name for name in STEPWISE if name in arrays]
    counted = arrays[names[0]] if names else np.atleast_2d(states)[..., 1:, :]
    num_steps, has_lengths = len(counted), "episode_lengths" in arrays
    flags = [arrays[name] for name in ("terminations", "truncations") if name in arrays]
    if 3 in (states.ndim, counted.ndim) and not has_lengths:
        num_episodes, num_steps = counted.shape[:2]
        arrays = {
            name: array if name.startswith("initial") else array.reshape(-1, *array.shape[2:])
            for name, array in arrays.items()
        }
        arrays["episode_lengths"] = np.full(num_episodes, num_steps)
    elif not has_lengths:
        if not flags and (not names or len(states) != num_steps + 1):
            raise DataError(
                f"{path}: does not say where episodes end; add episode_lengths, "
                "or terminations and truncations (terminals and timeouts)"
            )
        # The last episode may end without a flag.
        flagged = np.concatenate([np.flatnonzero(flag) + 1 for flag in flags] + [[num_steps]])
        arrays["episode_lengths"] = np.diff(np.unique(flagged), prepend=0)
    if "next_observations" in arrays and "next_is_terminal" not in arrays:
        _complete_observations(arrays, np.cumsum(arrays["episode_lengths"]), path)
    return arrays


def _complete_observations(arrays: Arrays, ends: NDArray[Any], path: Path) -> None:
    """Take each episode's final observation from `next_observations`, if the steps are in order."""
    states, following = arrays["observations"], arrays.pop("next_observations")
    if len(states) == len(following) + len(ends):
        return  # the final ones are there already
    is_within = np.ones(len(states), bool)
    is_within[ends[ends > 0] - 1] = False
    rows = np.flatnonzero(is_within)
    if following.shape != states.shape or not np.array_equal(
        states[rows + 1], following[rows], equal_nan=True
    ):
        raise DataError(
            f"{path}: next_observations are not the observations that follow: steps out of order, "
            "or damage; remove next_observations if the observations are right"
        )
    arrays["observations"] = np.insert(states, ends, following[ends - 1], axis=0)
