"""Envs of one task in parts that do not wait for each other.

While one part waits for its actions, the other simulates: no core idles during inference, and
nobody waits at every step for the env that takes longest.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from spacil.envs.vector_env import (
    ActionArray,
    BoolArray,
    EnvSpec,
    FloatArray,
    StepResult,
    VectorEnv,
    check_actions,
    check_active,
)
from spacil.errors import ConfigError

R = TypeVar("R")

NUM_PARTS = 2
"""Whatever the number of threads: a policy's actions for other rows may differ in their last bits."""
MIN_ENVS_PER_PART = 8
"""Fewer make the policy's matrix products inefficient."""


def part_sizes(num_envs: int) -> list[int]:
    """Envs of each part, a single part for few envs."""
    if num_envs < NUM_PARTS * MIN_ENVS_PER_PART:
        return [num_envs]
    return [num_envs // NUM_PARTS + (part < num_envs % NUM_PARTS) for part in range(NUM_PARTS)]


def threads_per_part(num_threads: int) -> int:
    """Rounded up: a part that acts leaves its threads to the other."""
    return math.ceil(num_threads / NUM_PARTS)


def for_each_part(env: VectorEnv, work: Callable[[VectorEnv, slice], R]) -> list[R]:
    """`work(part, its rows)` of every part of an env; one that is no `PartedEnv` is one part."""
    if isinstance(env, PartedEnv):
        return env.for_each_part(work)
    return [work(env, slice(0, env.num_envs))]


class PartedEnv:
    """A `VectorEnv` whose rows are those of its parts, one after the other."""

    spec: EnvSpec
    num_envs: int

    def __init__(self, parts: Sequence[VectorEnv], *, side_by_side: bool) -> None:
        """`side_by_side`: a thread for each part; else one after the other, with the same bits."""
        ends = list(itertools.accumulate(part.num_envs for part in parts))
        self.spec = parts[0].spec
        self.num_envs = ends[-1]
        self.parts = tuple(parts)
        self.rows = tuple(itertools.starmap(slice, itertools.pairwise([0, *ends])))
        """Of each part among all envs"""
        self._threads: ThreadPoolExecutor | None = None
        if side_by_side:
            self._threads = ThreadPoolExecutor(len(parts) - 1, thread_name_prefix="env-part")

    def for_each_part(self, work: Callable[[VectorEnv, slice], R]) -> list[R]:
        """`work(part, its rows)` of every part; returns when all are done, also after an error."""
        first, *others = zip(self.parts, self.rows, strict=True)
        if self._threads is None:
            return [work(*first), *(work(*other) for other in others)]
        futures = [self._threads.submit(work, *other) for other in others]
        try:
            result = work(*first)
        finally:
            wait(futures)
        return [result, *(future.result() for future in futures)]

    def reset(self, first_episode: int = 0) -> FloatArray:
        """Start episode `first_episode` in every env; returns states [N, S]."""
        return np.concatenate(self.for_each_part(lambda part, rows: part.reset(first_episode)))

    def step(self, actions: ActionArray, active: BoolArray | None = None) -> StepResult:
        """One step of all envs, or of those in `active`; see `VectorEnv.step`."""
        check_actions(actions, self.spec, self.num_envs)
        if active is not None:
            check_active(active, self.spec, self.num_envs)
        results = self.for_each_part(
            lambda part, rows: part.step(actions[rows], None if active is None else active[rows])
        )
        return StepResult(
            *(
                np.concatenate([getattr(result, name) for result in results])
                for name in StepResult.__dataclass_fields__
            )
        )

    def save_state(self) -> dict[str, NDArray[Any]]:
        """The arrays that one env of this size would give."""
        first, *others = (part.save_state() for part in self.parts)
        return {
            name: np.concatenate([array, *(other[name] for other in others)])
            for name, array in first.items()
        }

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> FloatArray:
        """Continue from a saved state; returns the current states [N, S]."""
        for name, array in state.items():
            if array.shape[:1] != (self.num_envs,):
                raise ConfigError(
                    f"{self.spec.task}: the saved state has {array.dtype} {array.shape} for "
                    f"{name}, this env needs {self.num_envs} rows: another --num-envs?"
                )
        return np.concatenate(
            [
                part.load_state({name: array[rows] for name, array in state.items()})
                for part, rows in zip(self.parts, self.rows, strict=True)
            ]
        )

    def repeats_exactly(self) -> bool:
        return all(part.repeats_exactly() for part in self.parts)

    def close(self) -> None:
        """Close every part and stop the threads; closing twice is harmless."""
        for part in self.parts:
            part.close()
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown()
