"""Small demonstrations and a small env that the tests of this folder share."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
import torch
from fixture_types import MakeDemos
from torch import Tensor

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.metadata import DemoMetadata
from spacil.envs.vector_env import EnvSpec, FloatArray, Step


def _spec(task: str = "Toy-v0", num_states: int = 3, num_actions: int = 2) -> EnvSpec:
    return EnvSpec(
        task=task,
        num_states=num_states,
        num_actions=num_actions,
        action_low=np.full(num_actions, -1.0, dtype=np.float32),
        action_high=np.full(num_actions, 1.0, dtype=np.float32),
        horizon=40,
        dt=0.05,
        gymnasium_id=task,
        model_sha256=f"hash of {task}",
    )


class ToyEnv:
    """N envs whose episode k in env i lasts 2 + (i + k) % 4 steps; odd lengths terminate."""

    device = torch.device("cpu")

    def __init__(self, num_envs: int) -> None:
        self.spec = _spec()
        self.num_envs = num_envs
        self._episodes = torch.zeros(num_envs, dtype=torch.int64)
        self._elapsed = torch.zeros(num_envs, dtype=torch.int64)
        self._shown = torch.zeros(num_envs, 3, dtype=torch.float64)

    def reset(self, first_episode: int = 0) -> Tensor:
        self._episodes[:] = first_episode
        self._elapsed[:] = 0
        return self._show()

    def step(self, actions: Tensor, active: Tensor | None = None) -> Step:
        assert actions.dtype == torch.float32
        assert actions.abs().max() <= 1.0
        active = torch.ones(self.num_envs, dtype=torch.bool) if active is None else active
        self._elapsed += active
        final_states = self._states()
        length = 2 + (torch.arange(self.num_envs) + self._episodes) % 4
        ended = active & (self._elapsed == length)
        self._episodes += ended
        self._elapsed[ended] = 0
        rewards = 10.0 * self._episodes + actions.sum(1)
        is_odd = length % 2 == 1
        return Step(self._show(), final_states, rewards, ended & is_odd, ended & ~is_odd)

    def positions_and_velocities(self) -> tuple[FloatArray, FloatArray]:
        return self._states()[:, :1].numpy(), self._states()[:, 1:].numpy()

    def save_state(self) -> dict[str, Tensor]:
        raise NotImplementedError

    def load_state(self, state: Mapping[str, Tensor]) -> Tensor:
        raise NotImplementedError

    def close(self) -> None:
        pass

    def _show(self) -> Tensor:
        """The same tensor every time, as a simulator that spares memory would hand out."""
        return self._shown.copy_(self._states())

    def _states(self) -> Tensor:
        columns = (torch.arange(self.num_envs), self._episodes, self._elapsed)
        return torch.stack(columns, dim=1).double()


@pytest.fixture
def toy_spec() -> EnvSpec:
    return _spec()


@pytest.fixture
def other_spec() -> EnvSpec:
    """Another task with the same sizes, as Walker2d is to HalfCheetah."""
    return _spec("Other-v0")


@pytest.fixture
def wide_spec() -> EnvSpec:
    return _spec("Wide-v0", num_states=11)


@pytest.fixture
def toy_env() -> Callable[[int], ToyEnv]:
    return ToyEnv


@pytest.fixture
def make_demos(toy_spec: EnvSpec) -> MakeDemos:
    """Demonstrations of the toy task from a seed; raw actions reach beyond the bounds."""

    def make(
        lengths: tuple[int, ...] = (7, 12, 5),
        seed: int = 0,
        metadata: DemoMetadata | None = None,
        is_raw_known: bool = True,
    ) -> Demonstrations:
        rng = np.random.default_rng(seed)
        observations = [rng.normal([1.0, -2.0, 0.5], 0.3, (length + 1, 3)) for length in lengths]
        raw = [rng.normal(0.0, 1.5, (length, 2)).astype(np.float32) for length in lengths]
        return Demonstrations.from_arrays(
            observations,
            [np.clip(actions, -1.0, 1.0) for actions in raw],
            actions=raw if is_raw_known else None,
            rewards=[rng.normal(size=length) for length in lengths],
            terminations=[np.arange(length) == length - 1 for length in lengths],
            truncations=[np.zeros(length, dtype=bool) for length in lengths],
            initial_qpos=[rng.normal(size=4) for _ in lengths],
            initial_qvel=[rng.normal(size=3) for _ in lengths],
            metadata=metadata
            or DemoMetadata("Toy-v0", toy_spec.fingerprint, {"policy": "expert", "seed": seed}),
        )

    return make
