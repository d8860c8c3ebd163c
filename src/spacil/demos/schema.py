"""Which tensors demonstrations consist of, and when they fit together.

One table, read by the record, the native file and the importers. This module looks at structure
only (names, dtypes, shapes, episode ends); `check` looks at whether the numbers make sense.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from spacil.errors import DataError

RowKind = Literal["observation", "step", "episode"]


@dataclass(frozen=True)
class TensorField:
    """One tensor of the record: its dtypes, its number of axes, and what one row stands for."""

    name: str
    dtypes: tuple[torch.dtype, ...]
    """Those a record may hold; numbers of any other are cast to the first."""
    num_axes: int
    row: RowKind
    is_optional: bool = False


_SINGLE_OR_DOUBLE = (torch.float32, torch.float64)
"""What comes in double precision stays so, and goes out again as it came; nets read float32."""
_DOUBLE_OR_SINGLE = (torch.float64, torch.float32)

FIELDS = (
    TensorField("observations", _SINGLE_OR_DOUBLE, 2, "observation"),
    TensorField("actions", _SINGLE_OR_DOUBLE, 2, "step", is_optional=True),
    TensorField("executed_actions", _SINGLE_OR_DOUBLE, 2, "step"),
    TensorField("rewards", _DOUBLE_OR_SINGLE, 1, "step", is_optional=True),
    TensorField("terminations", (torch.bool,), 1, "step"),
    TensorField("truncations", (torch.bool,), 1, "step"),
    TensorField("episode_lengths", (torch.int64,), 1, "episode"),
    TensorField("next_observations", _SINGLE_OR_DOUBLE, 2, "step", is_optional=True),
    TensorField("next_is_terminal", (torch.bool,), 1, "step", is_optional=True),
    TensorField("initial_qpos", (torch.float64,), 2, "episode", is_optional=True),
    TensorField("initial_qvel", (torch.float64,), 2, "episode", is_optional=True),
)

SUCCESSOR_FIELDS = ("next_observations", "next_is_terminal")
"""Held by thinned records only: elsewhere the next observation is the next row."""


def check_structure(tensors: Mapping[str, Tensor], source: str) -> None:
    """Refuse missing or unknown tensors, wrong dtypes, and sizes that contradict each other."""
    known = {field.name for field in FIELDS}
    unknown = sorted(set(tensors) - known)
    if unknown:
        raise DataError(f"{source}: unknown tensors {unknown}; demonstrations have {sorted(known)}")
    for field in FIELDS:
        _check_field(field, tensors, source)
    _check_lengths(tensors, source)
    _check_rows(tensors, source)
    _check_companions(tensors, source)
    _check_successors(tensors, source)
    _check_episode_ends(tensors, source)


def _check_field(field: TensorField, tensors: Mapping[str, Tensor], source: str) -> None:
    if field.name not in tensors:
        if field.is_optional:
            return
        raise DataError(f"{source}: the tensor '{field.name}' is missing")
    tensor = tensors[field.name]
    if tensor.dtype not in field.dtypes:
        expected = " or ".join(_name(dtype) for dtype in field.dtypes)
        raise DataError(
            f"{source}: {field.name} is {_name(tensor.dtype)}, expected {expected}; "
            "Demonstrations.from_arrays casts and records the cast"
        )
    if tensor.ndim != field.num_axes:
        axes = "[rows, columns]" if field.num_axes == 2 else "[rows]"
        raise DataError(
            f"{source}: {field.name} has shape {tuple(tensor.shape)}, expected {axes}, "
            "all episodes one after the other"
        )
    if tensor.ndim == 2 and tensor.shape[1] == 0:
        raise DataError(f"{source}: {field.name} has shape {tuple(tensor.shape)}: no columns")


def _check_lengths(tensors: Mapping[str, Tensor], source: str) -> None:
    lengths = tensors["episode_lengths"]
    num_steps = tensors["executed_actions"].shape[0]
    # Each length is bounded before they are added: a hostile file could make the sum wrap round.
    for episode, length in enumerate(lengths.tolist()):
        if not 0 <= length <= num_steps:
            raise DataError(
                f"{source}: episode {episode} claims {length} steps, "
                f"but the file has {num_steps} actions in all"
            )


def _check_rows(tensors: Mapping[str, Tensor], source: str) -> None:
    lengths = tensors["episode_lengths"]
    num_episodes, num_steps = len(lengths), int(lengths.sum())
    expected = {
        "observation": (num_steps + num_episodes, "steps + one final observation per episode"),
        "step": (num_steps, "the sum of episode_lengths"),
        "episode": (num_episodes, "one per episode"),
    }
    for field in FIELDS:
        if field.name not in tensors:
            continue
        num_rows, reason = expected[field.row]
        if tensors[field.name].shape[0] != num_rows:
            raise DataError(
                f"{source}: {field.name} has shape {tuple(tensors[field.name].shape)}, "
                f"expected {num_rows} rows ({reason}; {num_episodes} episodes, {num_steps} steps)"
            )


def _check_companions(tensors: Mapping[str, Tensor], source: str) -> None:
    raw, executed = tensors.get("actions"), tensors["executed_actions"]
    if raw is not None and raw.shape != executed.shape:
        raise DataError(
            f"{source}: actions have shape {tuple(raw.shape)}, "
            f"executed_actions {tuple(executed.shape)}; they describe the same steps"
        )
    for subject, names in (
        ("a start state", ("initial_qpos", "initial_qvel")),
        ("a successor", SUCCESSOR_FIELDS),
    ):
        if (names[0] in tensors) != (names[1] in tensors):
            raise DataError(f"{source}: {subject} needs {' and '.join(names)}; only one is there")


def _check_successors(tensors: Mapping[str, Tensor], source: str) -> None:
    """Successors are observations, and end an episode only where its flags say that it ended."""
    following = tensors.get("next_observations")
    if following is None:
        return
    if following.shape[1] != tensors["observations"].shape[1]:
        raise DataError(
            f"{source}: next_observations have shape {tuple(following.shape)}, "
            f"observations {tuple(tensors['observations'].shape)}; they have the same columns"
        )
    early = torch.nonzero(tensors["next_is_terminal"] & ~tensors["terminations"]).flatten()
    if early.numel():
        raise DataError(
            f"{source}: next_is_terminal is true at step {int(early[0])}, terminations is not: "
            "the task ends an episode only where terminations say so"
        )


def _check_episode_ends(tensors: Mapping[str, Tensor], source: str) -> None:
    """A flag before an episode's last step means that the episode lengths are wrong."""
    lengths = tensors["episode_lengths"]
    ends = tensors["terminations"] | tensors["truncations"]
    is_last = torch.zeros_like(ends)
    is_last[lengths.cumsum(0)[lengths > 0] - 1] = True
    early = torch.nonzero(ends & ~is_last).flatten()
    if early.numel():
        step = int(early[0])
        episode = int(torch.searchsorted(lengths.cumsum(0), step, right=True))
        first_step = int(lengths[:episode].sum())
        raise DataError(
            f"{source}: episode {episode} ends at step {step - first_step} by its flags, "
            f"but has {int(lengths[episode])} steps by episode_lengths"
        )


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
