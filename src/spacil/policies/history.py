"""The past that a policy sees, kept in a loop: commands on their way, earlier observations."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spacil.policies.onnx import PAST
from spacil.policies.policy import Policy

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Layout:
    """What a policy's input consists of: [o(t), a(t-1) ... a(t-H), o(t-1) ... o(t-P)]."""

    num_sensors: int
    num_actions: int
    num_commands: int
    """H"""
    num_past: int
    """P"""

    @classmethod
    def of(cls, policy: Policy) -> "Layout":
        num_actions, conditions = policy.policy.num_actions, policy.conditions
        of_sensors = policy.policy.num_states - conditions.num_commands * num_actions
        num_past = conditions.num_observations
        return cls(of_sensors // (1 + num_past), num_actions, conditions.num_commands, num_past)

    @property
    def has_history(self) -> bool:
        """Whether there is any past in it."""
        return self.num_commands + self.num_past > 0

    @property
    def widths(self) -> tuple[int, int, int]:
        """Numbers of its parts: the observation, commands, past observations."""
        past = self.num_past * self.num_sensors
        return self.num_sensors, self.num_commands * self.num_actions, past


class InLoop:
    """A policy that remembers: one observation in, one command out, the same as in its env."""

    def __init__(self, policy: Policy) -> None:
        self.policy, self.layout = policy, Layout.of(policy)
        network = policy.policy
        bounds = network.action_low.numpy(), network.action_high.numpy()
        self._rest = np.clip(np.zeros(self.layout.num_actions, np.float32), *bounds)
        self.reset()

    def reset(self) -> None:
        """Begin an episode: nothing is on its way, and the past will be like the first step."""
        self._commands = np.tile(self._rest, self.layout.num_commands)
        self._past: Floats | None = None

    def at_start(self, observation: Floats) -> dict[str, Floats]:
        """The past [1, ...] at the first observation of an episode, by the names of its inputs."""
        past = np.tile(np.asarray(observation, np.float32), self.layout.num_past)
        parts = zip(PAST, (np.tile(self._rest, self.layout.num_commands), past), strict=True)
        return {name: part[None] for name, part in parts if part.size}

    def step(self, observation: Floats) -> Floats:
        """The command to give now; it counts as given."""
        seen = np.asarray(observation, np.float32)
        past = np.tile(seen, self.layout.num_past) if self._past is None else self._past
        action = np.asarray(self.policy.predict(np.concatenate([seen, self._commands, past])))
        self._commands = np.concatenate([action, self._commands])[: self.layout.widths[1]]
        self._past = np.concatenate([seen, past])[: self.layout.widths[2]]
        return action
