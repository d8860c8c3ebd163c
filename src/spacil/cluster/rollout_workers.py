"""Blocks of training envs on other machines: weights out, what was played back.

Each worker is a Ray actor with live envs of some blocks. This process keeps the state in which each
block ended, so a worker that is lost is replaced, and its block is played again from there, with
the same weights and the same noise: the same bits.
"""

import contextlib
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from spacil.cluster.connection import connected, living_nodes, load_ray
from spacil.envs.blocks import EnvState, LocalBlocks, joined, joined_states, split_state
from spacil.envs.registry import make_vector_env
from spacil.envs.rollout import collect_around
from spacil.envs.vector_env import (
    ActionArray,
    BoolArray,
    EnvSpec,
    FloatArray,
    ResetSeeds,
    StepResult,
    VectorEnv,
    refuse_copy,
)
from spacil.errors import ConfigError, RetryableError, SpacilError
from spacil.nets.buffered_mean import BufferedMean
from spacil.nets.policy import GaussianPolicy
from spacil.types import RolloutBatch

_LOOK_SECONDS = 5.0
_MOST_REPLACEMENTS = 3
"""Of one worker within one batch"""

_logger = logging.getLogger(__name__)

Begin = int | EnvState
"""How a block begins: with an episode of this number, or in this state"""
Arrays = dict[str, NDArray[Any]]
Weights = tuple[list[int], Arrays]
"""Hidden widths of the policy, and its tensors by name"""
Played = tuple[Arrays, FloatArray, Arrays]
"""The fields of a RolloutBatch, the states [N, S] it ends in, and the state of the envs there"""


@dataclass(frozen=True)
class BlockRecipe:
    """What a worker needs to make a block of envs."""

    task: str
    root_seed: int
    width: int
    timeout: float
    folder: str = field(default_factory=lambda: str(Path.cwd()))
    """Where the user's own modules may lie"""

    def make(self, block: int) -> VectorEnv:
        seeds = ResetSeeds(self.root_seed, "env", first_env=block * self.width)
        return make_vector_env(self.task, self.width, seeds, 1, self.timeout)


class RemoteBlocks:
    """The envs of a run, as the learner sees them; `local` is their twin, which is never played."""

    def __init__(
        self, local: LocalBlocks, recipe: BlockRecipe, num_workers: int, address: str
    ) -> None:
        self.spec: EnvSpec = local.spec
        self.num_envs = local.num_envs
        self._local, self._recipe = local, recipe
        self._begins: list[Begin] = [0] * local.num_blocks
        """How each block would have to begin, should it be played anew"""
        self._is_live = [False] * local.num_blocks
        """Whether its worker has the block in that state already"""
        self._workers: list[tuple[Any, Any]] = []
        self._cluster = contextlib.ExitStack()
        self._cluster.enter_context(connected(address))
        num_cpus = sum(node.num_cpus for node in living_nodes())
        if num_cpus < num_workers:
            self.close()
            raise ConfigError(
                f"--rollout-workers {num_workers}: the Ray cluster has {num_cpus} CPUs, and each "
                "worker takes one"
            )
        self._workers = [self._new_worker() for _ in range(num_workers)]

    # --- playing

    def play(
        self, policy: GaussianPolicy, noise: Tensor, states: FloatArray
    ) -> tuple[RolloutBatch, FloatArray]:
        """As `LocalBlocks.play`; the workers know the states."""
        ray = load_ray()
        arrays = {name: tensor.numpy() for name, tensor in policy.state_dict().items()}
        weights = ray.put((policy.hidden, arrays))
        parts = [noise[:, rows].contiguous().numpy() for rows in self._local.rows()]
        asked = {b: self._ask(b, weights, part) for b, part in enumerate(parts)}
        played: dict[int, Played] = {}
        replacements = 0
        while asked:
            ready, _ = ray.wait(list(asked.values()), num_returns=1, timeout=_LOOK_SECONDS)
            lost: set[int] = set()
            for block in [b for b, ref in asked.items() if ref in ready]:
                try:
                    played[block] = _copied(ray.get(asked[block]))
                except ray.exceptions.RayActorError:
                    lost.add(self._worker_of(block))
                    continue
                except ray.exceptions.RayTaskError as error:
                    raise _own_error(error) from None
                del asked[block]
                self._begins[block], self._is_live[block] = played[block][2], True
            if not ready:
                lost |= self._on_dead_nodes({self._worker_of(block) for block in asked})
            for worker in lost:
                replacements += 1
                if replacements > _MOST_REPLACEMENTS * len(self._workers):
                    raise RetryableError("rollout workers are lost again and again (`ray status`)")
                self._replace(worker)
                again = [block for block in asked if self._worker_of(block) == worker]
                asked |= {block: self._ask(block, weights, parts[block]) for block in again}
        in_order = [played[block] for block in range(len(parts))]
        return (
            joined([_batch(arrays) for arrays, _, _ in in_order]),
            np.concatenate([end for _, end, _ in in_order]),
        )

    def _ask(self, block: int, weights: Any, noise: NDArray[np.float32]) -> Any:
        begin = None if self._is_live[block] else self._begins[block]
        worker, _ = self._workers[self._worker_of(block)]
        return worker.play.remote(block, begin, weights, noise)

    def _worker_of(self, block: int) -> int:
        return block % len(self._workers)

    def _new_worker(self) -> tuple[Any, Any]:
        """The actor, and the node it will say that it is on."""
        options = {"num_cpus": 1, "max_restarts": 0, "scheduling_strategy": "SPREAD"}
        actor = load_ray().remote(_Worker).options(**options).remote(self._recipe)
        return actor, actor.node_id.remote()

    def _replace(self, worker: int) -> None:
        blocks = [b for b in range(len(self._begins)) if self._worker_of(b) == worker]
        _logger.warning("rollout worker %d is lost: another one takes its envs", worker)
        if not self.spec.restores_exactly and any(not self._is_first(b) for b in blocks):
            _logger.warning("%s cannot be saved: new episodes begin there", self.spec.task)
        load_ray().kill(self._workers[worker][0], no_restart=True)
        self._workers[worker] = self._new_worker()
        for block in blocks:
            self._is_live[block] = False

    def _is_first(self, block: int) -> bool:
        return isinstance(self._begins[block], int)

    def _on_dead_nodes(self, workers: set[int]) -> set[int]:
        """Those on nodes that are gone: their calls may never end."""
        ray = load_ray()
        alive = {node.id for node in living_nodes()}
        dead = set()
        for worker in workers:
            told, _ = ray.wait([self._workers[worker][1]], timeout=0)
            with contextlib.suppress(ray.exceptions.RayError):
                if told and ray.get(told[0]) not in alive:
                    dead.add(worker)
        return dead

    # --- the rest of VectorEnv

    def reset(self, first_episode: int = 0) -> FloatArray:
        self._begin_with([first_episode] * self._local.num_blocks)
        return self._local.reset(first_episode)

    def step(self, actions: ActionArray, active: BoolArray | None = None) -> StepResult:
        raise NotImplementedError("envs on workers play whole batches")

    def save_state(self) -> dict[str, NDArray[Any]]:
        parts = [begin for begin in self._begins if not isinstance(begin, int)]
        if len(parts) == self._local.num_blocks:
            return joined_states(parts)
        return self._local.save_state()

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> FloatArray:
        self._begin_with(list(split_state(state, self._local.num_blocks)))
        return self._local.load_state(state)

    def _begin_with(self, begins: "list[int] | list[dict[str, NDArray[Any]]]") -> None:
        self._begins = list(begins)
        self._is_live = [False] * len(begins)

    def repeats_exactly(self) -> bool:
        return self._local.repeats_exactly()

    def close(self) -> None:
        self._local.close()
        workers, self._workers = self._workers, []
        for worker, _ in workers:
            load_ray().kill(worker, no_restart=True)
        self._cluster.close()

    def __reduce__(self) -> NoReturn:
        refuse_copy(self.spec.task)


def _batch(arrays: Arrays) -> RolloutBatch:
    return RolloutBatch(**{name: torch.from_numpy(array) for name, array in arrays.items()})


def _copied(played: Played) -> Played:
    """Ray hands out its own memory, read-only."""
    arrays, end, state = played
    return _own(arrays), end.copy(), _own(state)


def _own(arrays: EnvState) -> Arrays:
    return {name: array.copy() for name, array in arrays.items()}


def _own_error(error: Any) -> Exception:
    """The error of an env or a policy as it would have come in this process."""
    cause = error.cause
    return cause if isinstance(cause, SpacilError) else RetryableError(f"a rollout worker: {error}")


# --- on the worker


class _Worker:
    """Live envs of some blocks, and the policy that plays them."""

    def __init__(self, recipe: BlockRecipe) -> None:
        if Path(recipe.folder).is_dir():
            os.chdir(recipe.folder)
        self._recipe = recipe
        self._blocks: dict[int, tuple[VectorEnv, FloatArray]] = {}
        self._policy: GaussianPolicy | None = None

    def node_id(self) -> str:
        return str(load_ray().get_runtime_context().get_node_id())

    def play(
        self,
        block: int,
        begin: Begin | None,
        weights: Weights,
        noise: NDArray[np.float32],
    ) -> Played:
        if begin is not None:
            env = self._blocks[block][0] if block in self._blocks else self._recipe.make(block)
            states = env.reset(begin) if isinstance(begin, int) else env.load_state(_own(begin))
            self._blocks[block] = env, states
        env, states = self._blocks[block]
        mean = BufferedMean(self._with(weights, env.spec), self._recipe.width)
        batch, states = collect_around(env, mean, torch.from_numpy(noise.copy()), states)
        self._blocks[block] = env, states
        arrays = {name: tensor.numpy() for name, tensor in vars(batch).items()}
        return arrays, states, env.save_state()

    def _with(self, weights: Weights, spec: EnvSpec) -> GaussianPolicy:
        hidden, arrays = weights
        if self._policy is None:
            self._policy = GaussianPolicy(
                spec.num_states, spec.action_low, spec.action_high, hidden
            )
        tensors = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
        self._policy.load_state_dict(tensors)
        self._policy.normalizer.refresh()
        return self._policy
