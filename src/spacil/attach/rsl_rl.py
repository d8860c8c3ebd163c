"""The penalty in rsl_rl's PPO, the trainer of Isaac Lab and legged robots.

runner = OnPolicyRunner(env, train_cfg, device="cuda")
attached = spacil.attach_to_rsl_rl(runner, weight=0.01)
runner.learn(1_000)
"""

from typing import Any

import torch
from torch import Tensor

from spacil.attach.penalty import DEFAULT_STATES, AttachedPenalty, attach_penalty, row_choice
from spacil.errors import ConfigError


def attach_to_rsl_rl(
    runner: Any,
    *,
    weight: float | None = None,
    target: float | None = None,
    num_states: int = DEFAULT_STATES,
    seed: int = 0,
) -> AttachedPenalty:
    """`attach_penalty` for an rsl_rl runner (`OnPolicyRunner`), or for its algorithm (`PPO`).

    Call it before `learn`. The states are a random choice from the rollout, the groups that the
    actor reads put together, normalised where it normalises; actions are in the env's units.
    """
    algorithm, choose = getattr(runner, "alg", runner), row_choice(num_states, seed)
    name, find = type(algorithm).__name__, getattr(algorithm, "get_policy", None)
    if find is None or any(not hasattr(algorithm, part) for part in ("actor", "storage")):
        raise ConfigError(
            f"{name}: expected an rsl_rl OnPolicyRunner or its PPO, with an actor and a rollout "
            "storage; use spacil.attach_penalty"
        )
    actor = find()  # never the compiled one, which has no second derivative
    # Where it is a normaliser and an MLP, its latent is the state that it reads.
    parts = [actor.mlp] if actor.distribution is None else [actor.mlp, actor.distribution]
    read_by_mlp = {id(parameter) for part in parts for parameter in part.parameters()}
    if actor.is_recurrent or any(id(part) not in read_by_mlp for part in actor.parameters()):
        raise ConfigError(
            f"{type(actor).__name__}: only an MLP actor is supported; this one learns something "
            "before its MLP (a memory, a CNN), so that slopes there are not slopes in the state"
        )
    if getattr(algorithm, "is_multi_gpu", False):
        raise ConfigError(
            f"{name} trains on several GPUs: each would add a penalty of its own after gradients "
            "were averaged, and their policies would drift apart; train on one"
        )

    def states() -> Tensor | None:
        observations = algorithm.storage.observations.flatten(0, 1)
        chosen = torch.as_tensor(choose(len(observations)))
        with torch.no_grad():
            latent: Tensor = actor.get_latent(observations[chosen.to(observations.device)])
        return latent

    def mean_action(states: Tensor) -> Tensor:
        outputs: Tensor = actor.mlp(states)
        if actor.distribution is None:
            return outputs
        mean: Tensor = actor.distribution.deterministic_output(outputs)
        return mean

    return attach_penalty(algorithm.optimizer, mean_action, states, weight=weight, target=target)
