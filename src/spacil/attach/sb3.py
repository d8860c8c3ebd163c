"""The penalty in a Stable-Baselines3 model: PPO and A2C, or SAC, TD3 and DDPG.

attached = spacil.attach_to_sb3(PPO("MlpPolicy", env), weight=0.01)
"""

from typing import Any

import torch
from torch import Tensor

from spacil.attach.penalty import DEFAULT_STATES, AttachedPenalty, attach_penalty, row_choice
from spacil.errors import ConfigError


def attach_to_sb3(
    model: Any,
    *,
    weight: float | None = None,
    target: float | None = None,
    num_states: int = DEFAULT_STATES,
    seed: int = 0,
) -> AttachedPenalty:
    """`attach_penalty` for a Stable-Baselines3 model: PPO and A2C, or SAC, TD3 and DDPG.

    Call it before `learn`. The states are a random choice from the model's own buffer, normalised
    where it normalises; the actions are in the units of the network, -1 to 1 if it squashes.
    """
    chosen, name = row_choice(num_states, seed), type(model).__name__
    shape = getattr(getattr(model, "observation_space", None), "shape", None)
    if not shape or len(shape) != 1:
        raise ConfigError(f"{name}: only observations of shape (n,) are supported")
    is_on_policy = getattr(model, "rollout_buffer", None) is not None
    if not is_on_policy and None in (getattr(model, n, None) for n in ("replay_buffer", "actor")):
        raise ConfigError(
            f"{name}: expected a Stable-Baselines3 model with a rollout buffer (PPO, A2C) or a "
            "replay buffer and an actor (SAC, TD3, DDPG); use spacil.attach_penalty"
        )
    network = model.policy if is_on_policy else model.actor
    options = {"deterministic": True} if hasattr(network, "action_dist") else {}

    def mean_action(states: Tensor) -> Tensor:
        if is_on_policy:
            mean: Tensor = network.get_distribution(states).mode()
        else:
            mean = network(states, **options)
        return mean

    def states() -> Tensor | None:
        buffer = model.rollout_buffer if is_on_policy else model.replay_buffer
        size = (buffer.buffer_size if buffer.full else buffer.pos) * buffer.n_envs
        if size == 0:
            return None
        rows = buffer.observations.reshape(-1, *shape)[chosen(size)]
        # Rows of a rollout are normalised already: VecNormalize stands between env and buffer.
        normalizer = None if is_on_policy else model.get_vec_normalize_env()
        if normalizer is not None:
            rows = normalizer.normalize_obs(rows)
        return torch.as_tensor(rows, dtype=torch.float32, device=model.device)

    return attach_penalty(network.optimizer, mean_action, states, weight=weight, target=target)
