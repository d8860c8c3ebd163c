"""Off-policy rivals in imitation, on the parts of Stable-Baselines3's SAC: DAC and IQ-Learn.

    python experiments/off_policy.py --algorithm dac --task Hopper-v4 --every 20 --out rows.json

DAC (Kostrikov et al. 2019): a discriminator with WGAN-GP's penalty pays its logit for what the
replay buffer holds, and an absorbing state follows each termination. IQ-Learn (Garg et al. 2021):
the critic is the reward; its loss is the soft Bellman residual on the demonstrations, the value
form on both, and the chi-squared regulariser, without a discriminator. Both see states in the
demonstrations' mean and standard deviation. Every evaluation is a row: env steps, return, J in the
common frame, action change.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
import torch
import tyro
from gymnasium.wrappers import TransformObservation
from stable_baselines3 import SAC
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.type_aliases import ReplayBufferSamples
from stable_baselines3.common.utils import polyak_update
from torch import Tensor, nn

import spacil
from spacil import storage
from spacil.cli.output import identity
from spacil.demos.demonstrations import Demonstrations
from spacil.errors import ConfigError
from spacil.nets.policy import moving_std
from spacil.smoothness.cost import gradient_penalty

TEMPERATURE, CHI_ALPHA = 0.01, 0.5
"""Of IQ-Learn on MuJoCo, its authors' settings"""


@dataclass(frozen=True)
class Arguments:
    algorithm: Literal["dac", "iq"]
    task: str = "Hopper-v4"
    seed: int = 0
    every: int = 20
    """Every n-th step of each trajectory"""
    trajectories: int | None = None
    steps: int = 500_000
    interval: int = 25_000
    """Env steps between evaluations"""
    episodes: int = 20
    out: Path | None = None


class Expert:
    """The pairs of demonstrations in standard deviations of them, with a flag of absorption."""

    def __init__(self, demos: Demonstrations, whole: Demonstrations) -> None:
        std = moving_std(whole.states).float()
        self.mean, self.std = whole.state_mean.float(), torch.where(std > 0, std, 1.0)
        self.states, self.next_states = self.seen(demos.states), self.seen(demos.next_states)
        self.actions = demos.executed_actions.float()

    def seen(self, states: Tensor) -> Tensor:
        scaled = (states.float() - self.mean) / self.std
        return torch.cat([scaled, torch.zeros_like(scaled[..., :1])], -1)

    def env(self, task: str) -> gymnasium.Env[Any, Any]:
        env = gymnasium.make(task)
        size = len(self.mean) + 1
        space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)
        return TransformObservation(env, lambda raw: self.seen(torch.as_tensor(raw)).numpy(), space)

    def rows(self, count: int) -> tuple[Tensor, Tensor, Tensor]:
        rows = torch.randint(len(self.states), (count,))
        return self.states[rows], self.actions[rows], self.next_states[rows]


class Mean(nn.Module):
    """The deterministic actor on raw states, as J is measured."""

    def __init__(self, model: SAC, expert: Expert) -> None:
        super().__init__()
        self.actor, self.expert = model.actor, expert

    def forward(self, states: Tensor) -> Tensor:
        action: Tensor = self.actor(self.expert.seen(states), deterministic=True)
        return action


class PaidByDiscriminator(ReplayBuffer):
    """A replay buffer whose rewards are the logits of a discriminator that each sample trains."""

    def __init__(self, *arguments: Any, expert: Expert, **more: Any) -> None:
        super().__init__(*arguments, **more)
        size = expert.states.shape[1] + expert.actions.shape[1]
        layers = [nn.Linear(size, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh()]
        self.expert, self.network = expert, nn.Sequential(*layers, nn.Linear(256, 1))
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=1e-3)

    def logits(self, states: Tensor, actions: Tensor) -> Tensor:
        """High on the demonstrations."""
        found: Tensor = self.network(torch.cat([states, actions], -1)).squeeze(-1)
        return found

    def add(
        self, obs: Any, next_obs: Any, action: Any, reward: Any, done: Any, infos: list[Any]
    ) -> None:
        absorbing = np.zeros_like(next_obs)
        absorbing[:, -1] = 1.0
        is_over = bool(done[0]) and not infos[0].get("TimeLimit.truncated", False)
        none = np.zeros_like(done)
        super().add(obs, absorbing if is_over else next_obs, action, reward, none, infos)
        if is_over:
            super().add(absorbing, absorbing, np.zeros_like(action), reward, none, infos)

    def sample(self, batch_size: int, env: Any = None) -> ReplayBufferSamples:
        found = super().sample(batch_size, env)
        states, actions, _ = self.expert.rows(batch_size)
        pairs = (states, actions), (found.observations, found.actions)
        losses = [
            nn.functional.softplus(sign * self.logits(*pair)).mean()
            for sign, pair in zip((-1, 1), pairs, strict=True)
        ]
        mix = torch.rand(batch_size, 1)
        between = [mix * ours + (1 - mix) * theirs for ours, theirs in zip(*pairs, strict=True)]
        penalty = gradient_penalty(self.logits, between[0], between[1])
        self.optimizer.zero_grad()
        (losses[0] + losses[1] + 10.0 * penalty).backward()
        self.optimizer.step()
        with torch.no_grad():
            return found._replace(rewards=self.logits(*pairs[1]).unsqueeze(-1))


class IQLearn(SAC):
    """SAC whose critic learns from demonstrations and no reward."""

    expert: Expert

    def train(self, gradient_steps: int, batch_size: int = 64) -> None:
        assert self.replay_buffer is not None
        for _ in range(gradient_steps):
            agent = self.replay_buffer.sample(batch_size, env=self._vec_normalize_env)
            expert = self.expert.rows(batch_size)
            states = torch.cat([expert[0], agent.observations])
            actions = torch.cat([expert[1], agent.actions])
            following = torch.cat([expert[2], agent.next_observations])
            goes_on = torch.cat([torch.ones_like(agent.dones), 1 - agent.dones])
            with torch.no_grad():
                later = self.gamma * goes_on * self.soft_value(following, self.critic_target)
            residual = self.soft_value(states, self.critic) - later  # the value form
            losses = []
            for q in self.critic(states, actions):
                reward = q - later
                chi = reward.square().mean() / (4 * CHI_ALPHA)
                losses.append(chi - reward[:batch_size].mean() + residual.mean())
            self.critic.optimizer.zero_grad()
            (sum(losses) / len(losses)).backward()
            self.critic.optimizer.step()
            self.actor.optimizer.zero_grad()
            (-self.soft_value(states, self.critic)).mean().backward()
            self.actor.optimizer.step()
            polyak_update(self.critic.parameters(), self.critic_target.parameters(), self.tau)
        self._n_updates += gradient_steps

    def soft_value(self, states: Tensor, critic: nn.Module) -> Tensor:
        """min_i Q_i(s, a) - temperature * log pi(a | s) at an action of the actor, [B, 1]."""
        actions, log_prob = self.actor.action_log_prob(states)
        lowest = torch.cat(critic(states, actions), dim=1).amin(1, keepdim=True)
        value: Tensor = lowest - TEMPERATURE * log_prob.reshape(-1, 1)
        return value


def model_of(wanted: Arguments, expert: Expert) -> SAC:
    env = expert.env(wanted.task)
    bounds = env.action_space
    assert isinstance(bounds, gymnasium.spaces.Box)
    if not (np.all(bounds.low == -1) and np.all(bounds.high == 1)):
        raise ConfigError(f"{wanted.task}: actions within {bounds}, expected bounds of -1 and 1")
    settings: dict[str, Any] = {"learning_starts": 1_000, "buffer_size": wanted.steps}
    settings |= {"batch_size": 256, "seed": wanted.seed, "device": "cpu"}
    if wanted.algorithm == "dac":
        settings |= {"replay_buffer_class": PaidByDiscriminator}
        return SAC("MlpPolicy", env, replay_buffer_kwargs={"expert": expert}, **settings)
    model = IQLearn("MlpPolicy", env, ent_coef=TEMPERATURE, **settings)
    model.expert = expert
    return model


def main(wanted: Arguments) -> list[dict[str, Any]]:
    whole = spacil.load_demos(wanted.task)
    demos = whole.first(wanted.trajectories, wanted.seed if wanted.trajectories else 0)
    expert = Expert(demos.subsample(wanted.every, wanted.seed % wanted.every), whole)
    model, rows = model_of(wanted, expert), []
    for steps in range(wanted.interval, wanted.steps + 1, wanted.interval):
        model.learn(wanted.interval, reset_num_timesteps=False)
        found = spacil.measure_smoothness(
            Mean(model, expert).eval(), env=wanted.task, episodes=wanted.episodes
        )
        assert found.played is not None
        change = found.played.action_signal.action_fluctuation
        row = {"env_steps": steps, "G": found.played.average_return, "J": found.smoothness_j}
        rows.append(row | {"action_change": change})
        print(rows[-1], flush=True)
        if wanted.out is not None:
            about = {"pairs": len(expert.states)} | {k: str(v) for k, v in vars(wanted).items()}
            storage.write_json(wanted.out, identity() | about | {"evaluations": rows})
    return rows


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
