"""Arrays that hold all episodes one after the other, or stacked, as npz and D4RL files do.

The names that people use are understood (`observations`, `obs`, `states`; `actions`, `acts`; ...).
Where episodes end must be stated, never guessed: by `episode_lengths`, or by flags.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacil.errors import DataError
from spacil.plain_text import shown

Arrays = dict[str, NDArray[Any]]
EpisodeRows = Sequence[NDArray[Any]]

ALIASES = {
    "observations": "observations",
    "obs": "observations",
    "states": "observations",
    "next_observations": "next_observations",
    "next_is_terminal": "next_is_terminal",
    "actions": "actions",
    "acts": "actions",
    "executed_actions": "executed_actions",
    "rewards": "rewards",
    "terminations": "terminations",
    "terminals": "terminations",
    "truncations": "truncations",
    "timeouts": "truncations",
    "episode_lengths": "episode_lengths",
    "initial_qpos": "initial_qpos",
    "initial_qvel": "initial_qvel",
}

_PER_STEP = (
    "actions",
    "executed_actions",
    "rewards",
    "terminations",
    "truncations",
    "next_observations",
    "next_is_terminal",
    "step_qpos",
    "step_qvel",
)


def by_field_name(
    found: Mapping[str, NDArray[Any]],
    aliases: Mapping[str, str],
    path: str,
    others: Sequence[str] = (),
) -> Arrays:
    """The arrays under the record's names; a file must not say one thing twice.

    `others`: the names of the file's other arrays, for somebody who has to find the right ones.
    """
    arrays: Arrays = {}
    for name, array in found.items():
        field = aliases[name]
        if field in arrays:
            raise DataError(f"{path}: two arrays mean {field}, one of them '{name}'; keep one")
        arrays[field] = array
    # Alone, `actions` are those that were executed; beside executed_actions they are the raw ones.
    if "actions" in arrays and "executed_actions" not in arrays:
        arrays["executed_actions"] = arrays.pop("actions")
    for field, names in (("observations", "obs, states"), ("executed_actions", "actions, acts")):
        if field not in arrays:
            held = shown(", ".join(sorted([*found, *others])) or "no arrays")
            raise DataError(f"{path}: has no {field} (or {names}); it has {held}")
    return arrays


def per_episode(arrays: Arrays, path: str) -> dict[str, EpisodeRows]:
    """Cut every array into episodes, by what the file says about where they end."""
    for name, array in arrays.items():
        if array.ndim == 0:
            raise DataError(f"{path}: {name} is a single number, expected one row per step")
    is_stacked = arrays["executed_actions"].ndim == 3 and "episode_lengths" not in arrays
    episodes: dict[str, EpisodeRows] = (
        {name: list(array) for name, array in arrays.items()} if is_stacked else _cut(arrays, path)
    )
    return _with_starts(_with_final_observations(episodes, path))


def _cut(arrays: Arrays, path: str) -> dict[str, EpisodeRows]:
    lengths = _episode_lengths(arrays, path)
    num_steps = len(arrays["executed_actions"])
    num_rows = dict.fromkeys(_PER_STEP, num_steps)
    has_final = len(arrays["observations"]) == num_steps + len(lengths)
    num_rows["observations"] = num_steps + len(lengths) if has_final else num_steps
    cut: dict[str, EpisodeRows] = {}
    for name, array in arrays.items():
        if name == "episode_lengths":
            continue
        if name not in num_rows:
            cut[name] = list(array)
            continue
        if len(array) != num_rows[name]:
            raise DataError(
                f"{path}: {name} has shape {array.shape}, executed actions "
                f"{arrays['executed_actions'].shape} in {len(lengths)} episodes: expected "
                f"{num_rows[name]} rows"
                + (f" or {num_steps + len(lengths)}" if name == "observations" else "")
            )
        rows = lengths + 1 if name == "observations" and has_final else lengths
        cut[name] = np.split(array, np.cumsum(rows)[:-1])
    return cut


def _episode_lengths(arrays: Mapping[str, NDArray[Any]], path: str) -> NDArray[np.int64]:
    num_steps = len(arrays["executed_actions"])
    if "episode_lengths" in arrays:
        return _stated_lengths(arrays["episode_lengths"], num_steps, path)
    flags = [arrays[name] for name in ("terminations", "truncations") if name in arrays]
    if flags:
        if any(flag.shape != (num_steps,) for flag in flags):
            shapes = [flag.shape for flag in flags]
            raise DataError(f"{path}: the flags have shapes {shapes}, expected ({num_steps},)")
        last_steps = np.flatnonzero(np.any(np.stack(flags) != 0, axis=0))
        ends = np.union1d(last_steps + 1, [num_steps])  # the last episode may end without a flag
        return np.diff(ends, prepend=0)
    if len(arrays["observations"]) == num_steps + 1:
        return np.array([num_steps])
    raise DataError(
        f"{path}: does not say where episodes end; add episode_lengths, "
        "or terminations and truncations (terminals and timeouts)"
    )


def _stated_lengths(lengths: NDArray[Any], num_steps: int, path: str) -> NDArray[np.int64]:
    if lengths.ndim != 1 or lengths.dtype.kind not in "iu":
        raise DataError(
            f"{path}: episode_lengths is {lengths.dtype} of shape {lengths.shape}, "
            "expected one integer per episode"
        )
    # In Python integers: numpy's would wrap round on hostile ones.
    total = sum(lengths.tolist())
    if total != num_steps or any(length < 0 for length in lengths.tolist()):
        raise DataError(
            f"{path}: episode_lengths add up to {total}, but there are {num_steps} actions"
        )
    return lengths.astype(np.int64)


def _with_final_observations(episodes: dict[str, EpisodeRows], path: str) -> dict[str, EpisodeRows]:
    """`next_observations` give each episode its final one, and show whether steps are in order.

    Beside `next_is_terminal` they are those of a thinned record, which are no rows of it.
    """
    if "final_observations" in episodes:
        return _with_stated_finals(episodes, path)
    if "next_observations" not in episodes or "next_is_terminal" in episodes:
        return episodes
    successors = episodes.pop("next_observations")
    whole = []
    for index, (states, following) in enumerate(
        zip(episodes["observations"], successors, strict=True)
    ):
        num_steps = len(episodes["executed_actions"][index])
        if following.shape != (num_steps, *states.shape[1:]):
            raise DataError(
                f"{path}: next_observations of episode {index} have shape {following.shape}, "
                f"observations {states.shape}"
            )
        if not np.array_equal(states[1:num_steps], following[: num_steps - 1], equal_nan=True):
            raise DataError(
                f"{path}: next_observations of episode {index} are not the observations that "
                "follow: the steps are out of order, or one of the two is damaged; if the "
                "observations are right, remove next_observations"
            )
        has_final = len(states) == num_steps + 1
        whole.append(states if has_final else np.concatenate([states, following[-1:]]))
    return {**episodes, "observations": whole}


def _with_stated_finals(episodes: dict[str, EpisodeRows], path: str) -> dict[str, EpisodeRows]:
    finals, states = episodes.pop("final_observations"), episodes["observations"]
    shapes = [rows.shape[1:] for rows in states]
    if [final.shape for final in finals] != shapes:
        raise DataError(f"{path}: final_observations do not fit the observations of its episodes")
    whole = [
        np.concatenate([rows, final[np.newaxis]])
        for rows, final in zip(states, finals, strict=True)
    ]
    return {**episodes, "observations": whole}


def _with_starts(episodes: dict[str, EpisodeRows]) -> dict[str, EpisodeRows]:
    """Of the physics state at every step, the one that an episode began in."""
    for quantity in ("qpos", "qvel"):
        steps = episodes.pop(f"step_{quantity}", None)
        name = f"initial_{quantity}"
        if steps is not None and name not in episodes and all(len(rows) for rows in steps):
            episodes[name] = [rows[0] for rows in steps]
    return episodes
