"""One demonstrated episode, and how anyone's arrays become one.

Integers and half precision are cast, gaps that have one sensible filling are filled, and every such
change is handed back for the provenance. Refused: objects (they would need pickle), text, complex
numbers, values that do not survive the cast, and arrays that do not fit together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from spacil.demos.formats.npz import STEPWISE
from spacil.errors import DataError

EpisodeArrays = Sequence[ArrayLike]
"""One array per episode."""

SINGLE, DOUBLE, FLAGS = (np.float32, np.float64), (np.float64, np.float32), (np.bool_,)
FIELDS: dict[str, tuple[tuple[type[np.generic], ...], int]] = {
    "observations": (SINGLE, 2),
    "actions": (SINGLE, 2),
    "executed_actions": (SINGLE, 2),
    "rewards": (DOUBLE, 1),
    "terminations": (FLAGS, 1),
    "truncations": (FLAGS, 1),
    "next_observations": (SINGLE, 2),
    "next_is_terminal": (FLAGS, 1),
    "initial_qpos": ((np.float64,), 1),
    "initial_qvel": ((np.float64,), 1),
}
"""Array of one episode -> the dtypes it keeps (any other is cast to the first), its axes."""


@dataclass(frozen=True, eq=False)
class Episode:
    """T steps of a demonstrator. States and actions are raw: neither normalised nor clipped."""

    observations: Tensor
    """[T+1, S] float32 or float64; the last one is where the episode ended."""
    executed_actions: Tensor
    """[T, A] float32 or float64, what the env was given; [T, 0] where that is not known."""
    is_terminated: bool
    """True if the task ended it."""
    is_truncated: bool
    """True if it was cut, for example by a time limit."""
    actions: Tensor | None = None
    """[T, A] the demonstrator's unclipped mean actions; None where not known."""
    rewards: Tensor | None = None
    """[T] float64 or float32, for reports; imitation never learns from them."""
    next_observations: Tensor | None = None
    """[T, S] true successors of thinned steps, whose next row is that of a later step; or None."""
    next_is_terminal: Tensor | None = None
    """[T] bool, beside `next_observations`: whether the task ended there."""
    initial_qpos: Tensor | None = None
    """[nq] float64: with `initial_qvel`, the physics state the episode can be replayed from."""
    initial_qvel: Tensor | None = None
    """[nv] float64"""

    def __post_init__(self) -> None:
        num_observations, num_states = self.observations.shape
        steps = num_observations - 1
        actions = (steps, self.executed_actions.shape[-1])
        for name, tensor, shape in (
            ("executed_actions", self.executed_actions, actions),
            ("actions", self.actions, actions),
            ("rewards", self.rewards, (steps,)),
            ("next_observations", self.next_observations, (steps, num_states)),
            ("next_is_terminal", self.next_is_terminal, (steps,)),
        ):
            if tensor is not None and tensor.shape != shape:
                raise DataError(
                    f"{name} has shape {tuple(tensor.shape)}, expected {shape}: there are "
                    f"{num_observations} observations, one more than steps"
                )
        if (self.initial_qpos is None) != (self.initial_qvel is None):
            raise DataError("only one of initial_qpos and initial_qvel is there, expected both")
        if (self.next_observations is None) != (self.next_is_terminal is None):
            raise DataError("only one of next_observations and next_is_terminal is there")

    def __len__(self) -> int:
        return len(self.observations) - 1

    @property
    def step_flags(self) -> dict[str, Tensor]:
        """`terminations` and `truncations` [T] bool: an end can stand on the last step only."""
        is_last = torch.arange(len(self)) == len(self) - 1
        return {
            "terminations": is_last & self.is_terminated,
            "truncations": is_last & self.is_truncated,
        }

    def with_successors(self) -> "Episode":
        """Return the episode with what followed each step beside it, as a thinned one holds."""
        if self.next_observations is not None:
            return self
        following, ends = self.observations[1:], self.step_flags["terminations"]
        return self.with_tensors(next_observations=following, next_is_terminal=ends)

    def with_tensors(self, **tensors: Tensor | None) -> "Episode":
        """Return the episode with some tensors replaced, or left out."""
        return replace(self, **tensors)  # type: ignore[arg-type]  # flags are no tensors

    def thinned(self, every: int, offset: int) -> "Episode":
        """Keep steps offset, offset + every, ..., the final observation and the true successors.

        An episode that ends before `offset` keeps its last step. A kept step carries the rewards of
        the steps up to the next kept one, the first also of those before it.
        """
        whole = self.with_successors()
        start = max(min(offset, len(self) - 1), 0)
        kept = slice(start, None, every)
        changed: dict[str, Tensor] = {
            name: getattr(whole, name)[kept]
            for name in ("executed_actions", "actions", "next_observations", "next_is_terminal")
            if getattr(whole, name) is not None
        }
        if self.rewards is not None:
            block = ((torch.arange(len(self)) - start) // every).clamp(min=0)
            sums = self.rewards.new_zeros(len(changed["executed_actions"]))
            changed["rewards"] = sums.index_add(0, block, self.rewards)
        changed["observations"] = torch.cat([self.observations[:-1][kept], self.observations[-1:]])
        return whole.with_tensors(**changed)

    def is_finite(self) -> bool:
        """Whether imitation could read it all: in float32, a double may be too large."""
        read = (self.observations, self.executed_actions, self.actions, self.next_observations)
        return all(bool(x.float().isfinite().all()) for x in read if x is not None)


OPTIONAL = tuple(part.name for part in fields(Episode) if part.default is None)


def episodes_from_arrays(
    arrays: Mapping[str, EpisodeArrays], source: str
) -> tuple[tuple[Episode, ...], list[dict[str, Any]]]:
    """Make episodes of arrays by field name, one per episode; return them and what was changed.

    Without flags every episode counts as truncated; sources without a final observation (as many
    observations as actions) get the last one repeated, which no state-action pair contains.
    """
    if "executed_actions" not in arrays:
        stepwise = next((arrays[name] for name in STEPWISE if name in arrays), None)
        lengths = [len(np.asarray(part)) for part in stepwise or arrays["observations"]]
        num_final = int(stepwise is None)
        none = [np.empty((length - num_final, 0), np.float32) for length in lengths]
        arrays = {"observations": arrays["observations"], "executed_actions": none, **arrays}
    num_episodes = len(arrays["executed_actions"])
    columns: dict[str, list[NDArray[Any]]] = {}
    casts: dict[str, str] = {}
    for name, parts in arrays.items():
        if len(parts) != num_episodes:
            raise DataError(
                f"{source}: {name} has {len(parts)} episodes, executed_actions {num_episodes}"
            )
        columns[name] = [
            _cast(name, values, f"{source}: {name} of episode {index}", casts)
            for index, values in enumerate(parts)
        ]
    changes: list[dict[str, Any]] = []
    lengths = [len(part) for part in columns["executed_actions"]]
    if [len(part) for part in columns["observations"]] == lengths:
        columns["observations"] = [np.append(x, x[-1:], axis=0) for x in columns["observations"]]
        changes.append({"operation": "repeat_last_observation_as_final"})
    ends = {name: columns.pop(name, None) for name in ("terminations", "truncations")}
    if not any(ends.values()):
        ends["truncations"] = [np.arange(length) == length - 1 for length in lengths]
        changes.append({"operation": "mark_episode_ends_as_truncated"})
    if casts:
        changes.append({"operation": "cast", **casts})
    episodes = []
    for index, length in enumerate(lengths):
        flags = []
        for name, values in ends.items():
            flag = np.zeros(length, np.bool_) if values is None else values[index]
            if flag.shape != (length,) or flag[:-1].any():
                where = f"ends at step {int(flag.argmax())} by its {name}"
                raise DataError(f"{source}: episode {index} {where}, but has {length} steps")
            flags.append(bool(flag.any()))
        tensors = {name: torch.from_numpy(column[index]) for name, column in columns.items()}
        try:
            episodes.append(Episode(is_terminated=flags[0], is_truncated=flags[1], **tensors))
        except DataError as error:
            raise DataError(f"{source}: episode {index}: {error}") from None
    return tuple(episodes), changes


def _cast(name: str, values: ArrayLike, where: str, casts: dict[str, str]) -> NDArray[Any]:
    """Copy one array in a dtype of its field: it must not change with the caller's."""
    dtypes, num_axes = FIELDS[name]
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise DataError(f"{where} is not a rectangular array: {error}") from None
    if array.dtype.kind not in ("fiub" if dtypes == FLAGS else "fiu"):
        remedy = "make them with np.asarray(values, dtype=np.float32)"
        raise DataError(f"{where} is {array.dtype}, expected real numbers: {remedy}")
    is_left_out = name == "executed_actions" and array.shape[1:] == (0,)
    if array.ndim != num_axes or (0 in array.shape[1:] and not is_left_out):
        expected = "[steps, columns]" if num_axes == 2 else "[steps]"
        hint = "; actions must be continuous vectors (a Box space)" if "actions" in name else ""
        raise DataError(f"{where} has shape {array.shape}, expected {expected}{hint}")
    dtype = array.dtype.type if array.dtype.type in dtypes else dtypes[0]
    with np.errstate(over="ignore", invalid="ignore"):  # invalid: some NaN say so when cast
        cast = array.astype(dtype)
        # Networks read float32, also where the record holds more.
        lost = np.isfinite(array) & ~np.isfinite(cast.astype(dtypes[0], copy=False))
    if dtypes == FLAGS:
        if not np.array_equal(cast, array):
            raise DataError(f"{where} holds values other than 0 and 1")
    elif lost.any():
        place = tuple(np.argwhere(lost)[0].tolist())
        wide = np.dtype(dtypes[0])
        raise DataError(f"{where} is {array[place]} at {place}: too large for {wide}")
    elif array.dtype.type != dtype:
        casts[name] = f"{array.dtype.name} -> {cast.dtype.name}"
    return np.ascontiguousarray(cast, dtype=cast.dtype.newbyteorder("="))
