"""Late actions, late and noisy observations: one wrapper around any `VectorEnv`.

At step t the env executes the action commanded `action_delay` steps before, and the policy sees the
state of `observation_delay` steps before, with sensor noise on top. Until a first command arrives
the env executes the rest action: 0, or the bound nearest to it.

To act well all the same a policy needs what is still on its way, so the wrapper's observations are
[o(t), a(t-1) ... a(t-H), o(t-1) ... o(t-P)]. With the commands of the last H steps, the state in
which the next one will be executed is known again; where the delay is not, past observations tell
it.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from spacil.config.settings import ConditionsConfig
from spacil.envs.vector_env import ResetSeeds, Step, VectorEnv
from spacil.errors import ConfigError
from spacil.seeding import derived_seed

_OWN = "conditions."


class EnvUnderConditions:
    """A `VectorEnv` whose actions arrive late, and whose observations are late or noisy."""

    def __init__(
        self,
        env: VectorEnv,
        conditions: ConditionsConfig,
        seeds: ResetSeeds,
        noise_std: Tensor | None = None,
        inputs: ConditionsConfig | None = None,
        extra_delay: float = 0.0,
    ) -> None:
        """`noise_std` [S] is what `sensor_noise` counts in: the spread of the demonstrations.

        `inputs`: conditions that the policy was made for, whose history it sees. `extra_delay`:
        steps by which commands are later still; within a step two of them are interpolated.
        """
        self.env, self.conditions, self.seeds = env, conditions, seeds
        self.inputs, self.unit = inputs or conditions, noise_std
        self.extra_delay = extra_delay
        self.num_envs, self.device = env.num_envs, env.device
        num_states, num_actions = env.spec.num_states, env.spec.num_actions
        # Settings are words: they are read once, not in every step.
        self.num_commands, self.num_past = self.inputs.num_commands, self.inputs.num_observations
        self.spec = replace(
            env.spec,
            num_states=(1 + self.num_past) * num_states + self.num_commands * num_actions,
            num_sensors=num_states,
        )
        self.rows = torch.arange(self.num_envs, device=self.device)
        if conditions.sensor_noise and noise_std is None:
            raise ConfigError(
                f"--sensor-noise {conditions.sensor_noise} counts in standard deviations of the "
                f"demonstrations, and {env.spec.task} has none: pass --demos"
            )
        self.noise_std = torch.zeros(num_states) if noise_std is None else noise_std.float()
        self.noise_std = (conditions.sensor_noise * self.noise_std).to(self.device)
        self.rest = torch.zeros(num_actions, device=self.device).clamp(
            *env.spec.bounds_on(self.device)
        )
        self.ranges = torch.tensor(
            [conditions.range_of("action"), conditions.range_of("observation")], device=self.device
        )
        self.generator = torch.Generator(self.device)
        longest = conditions.range_of("action")[1] + math.ceil(extra_delay)
        num_kept = max(self.num_commands, longest) + 1
        num_seen = self.num_past + conditions.range_of("observation")[1] + 1
        self._live = {
            "commands": self.rest.expand(num_kept, self.num_envs, -1).clone(),
            "seen": torch.zeros(num_seen, self.num_envs, num_states, device=self.device),
            "delays": torch.zeros(2, self.num_envs, dtype=torch.int64, device=self.device),
            "true": torch.zeros(self.num_envs, num_states, device=self.device),
        }
        """Newest first [H + 1, N, A] and [P + 1, N, S]; of actions and observations [2, N]"""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    @property
    def true_observations(self) -> Tensor:
        """The state of every env now [N, S], as nobody sees it."""
        return self._live["true"]

    @property
    def action_delays(self) -> Tensor:
        """Steps [N] by which the next command of every env will be late."""
        return self._live["delays"][0]

    def reset(self, first_episode: int = 0) -> Tensor:
        """Start episode `first_episode`, which has the same delays and the same noise each time."""
        seeds = self.seeds
        self.generator.manual_seed(
            derived_seed(seeds.root_seed, f"{seeds.stream} conditions", first_episode)
        )
        everywhere = torch.ones(self.num_envs, dtype=torch.bool, device=self.device)
        self._begin(everywhere, self.env.reset(first_episode).float())
        return self._observations()

    def step(self, actions: Tensor, active: Tensor | None = None) -> Step:
        """Execute what arrives now, and take in the new commands."""
        live, rows = self._live, self.rows
        live["commands"] = torch.cat([actions.unsqueeze(0), live["commands"][:-1]])
        if self.conditions.delay_jitter:  # nothing that has arrived is forgotten
            live["delays"] = torch.minimum(self._drawn_delays(), live["delays"] + 1)
        whole = live["delays"][0] + math.floor(self.extra_delay)
        executed = live["commands"][whole, rows]
        if fraction := self.extra_delay % 1:
            executed = torch.lerp(executed, live["commands"][whole + 1, rows], fraction)
        step = self.env.step(executed, active)
        self._see(step.final_observations.float())
        final = self._observations()
        is_over = step.terminated | step.truncated
        observations = final
        if is_over.any():
            self._begin(is_over, step.observations.float())
            observations = self._observations()
        return replace(step, observations=observations, final_observations=final)

    def save_state(self) -> dict[str, Tensor]:
        """The state of the env, what is on its way, and the noise to come."""
        own = {f"{_OWN}{name}": tensor.clone() for name, tensor in self._live.items()}
        return self.env.save_state() | own | {f"{_OWN}generator": self.generator.get_state()}

    def load_state(self, state: Mapping[str, Tensor]) -> Tensor:
        """Continue from a saved state; returns the current observations."""
        inner = {name: t for name, t in state.items() if not name.startswith(_OWN)}
        observations = self.env.load_state(inner)
        self._live = {name: state[f"{_OWN}{name}"].to(self.device).clone() for name in self._live}
        self.generator.set_state(state[f"{_OWN}generator"].cpu())
        if not self.spec.restores_exactly:  # a new episode has begun
            everywhere = torch.ones(self.num_envs, dtype=torch.bool, device=self.device)
            self._begin(everywhere, observations.float())
        return self._observations()

    def close(self) -> None:
        """Close the env within."""
        self.env.close()

    def _drawn_delays(self) -> Tensor:
        low, high = self.ranges.unbind(1)
        shape = (2, self.num_envs)
        drawn = torch.rand(shape, generator=self.generator, device=self.device)
        return low.unsqueeze(1) + (drawn * (high - low + 1).unsqueeze(1)).long()

    def _begin(self, is_new: Tensor, observations: Tensor) -> None:
        """Begin an episode in some envs: nothing is on its way, the past is like the present."""
        live = self._live
        live["true"] = torch.where(is_new.unsqueeze(1), observations, live["true"])
        live["delays"] = torch.where(is_new, self._drawn_delays(), live["delays"])
        live["commands"] = torch.where(is_new[:, None], self.rest, live["commands"])
        live["seen"] = torch.where(is_new[:, None], self._measured(observations), live["seen"])

    def _see(self, observations: Tensor) -> None:
        self._live["true"] = observations.clone()
        self._live["seen"] = torch.cat(
            [self._measured(observations).unsqueeze(0), self._live["seen"][:-1]]
        )

    def _measured(self, observations: Tensor) -> Tensor:
        if not self.conditions.sensor_noise:
            return observations
        noise = torch.randn(observations.shape, generator=self.generator, device=self.device)
        return observations + self.noise_std * noise

    def _observations(self) -> Tensor:
        """[o(t), a(t-1) ... a(t-H), o(t-1) ... o(t-P)] of every env."""
        seen = [
            self._live["seen"][self._live["delays"][1] + back, self.rows]
            for back in range(1 + self.num_past)
        ]
        return torch.cat([seen[0], *self._live["commands"][: self.num_commands], *seen[1:]], dim=1)


def under(
    env: VectorEnv,
    conditions: ConditionsConfig,
    seeds: ResetSeeds,
    noise_std: Tensor | None = None,
    inputs: ConditionsConfig | None = None,
) -> VectorEnv:
    """The env under conditions, or as it is where there are none.

    `noise_std` [S, ...] may go on with those of a history, which are left out.
    """
    if not conditions.is_on and not (inputs and inputs.is_on):
        return env
    noise_std = None if noise_std is None else noise_std[: env.spec.num_states]
    return EnvUnderConditions(env, conditions, seeds, noise_std, inputs)


def disturbed(
    env: VectorEnv, later: float = 0.0, noise: float | None = None, unit: Tensor | None = None
) -> VectorEnv:
    """The same env, whose commands come `later` still, or with another sensor noise.

    `unit` [S, ...] is that of the noise where the env has none of its own.
    """
    if not isinstance(env, EnvUnderConditions):
        env = EnvUnderConditions(env, ConditionsConfig(), ResetSeeds(0, "disturbed"))
    own = env.conditions if noise is None else replace(env.conditions, sensor_noise=noise)
    unit = unit[: env.env.spec.num_states] if env.unit is None and unit is not None else env.unit
    return EnvUnderConditions(env.env, own, env.seeds, unit, env.inputs, later)
