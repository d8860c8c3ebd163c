"""Smoothness penalties in rsl_rl's PPO, the trainer of Isaac Lab, mjlab and legged robots.

runner = OnPolicyRunner(env, train_cfg, device="cuda")
attached = spacil.attach_to_rsl_rl(runner, weight=0.01)
runner.learn(1_000)
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from spacil.attach.penalty import (
    DEFAULT_STATES,
    FIRST_WEIGHT,
    AttachedPenalty,
    attach_penalty,
    row_choice,
)
from spacil.errors import ConfigError
from spacil.learning.weight_search import LAWS, WeightSearch
from spacil.smoothness.policy_penalty import rows_with_successor
from spacil.smoothness.policy_terms import PenaltyRows

ITERATIONS_PER_MOVE = 10
"""Iterations over which tracking is averaged before the weight moves; the policy takes as long to
answer."""
SEARCH_RANGE = 1_000.0
"""How far the search for a weight goes, up and down, as a factor on the first one."""


def attach_to_rsl_rl(
    runner: Any,
    *,
    penalty: str | None = None,
    weight: float | None = None,
    target: float | None = None,
    keep_tracking: str | Callable[[], Tensor] | None = None,
    keep: float = 0.97,
    reference: float | None = None,
    moves_every: int = ITERATIONS_PER_MOVE,
    num_states: int = DEFAULT_STATES,
    seed: int = 0,
) -> AttachedPenalty:
    """`attach_penalty` for an rsl_rl runner (`OnPolicyRunner`), or for its algorithm (`PPO`).

    Call it before `learn`. The states are a random choice from the rollout, the groups that the
    actor reads put together, normalised where it normalises; actions are in the env's units. For
    `cats`, `caps` and `l2c2` they are those whose successor is in the rollout too.
    `keep_tracking`: what must not suffer, as the name of a reward term that the env logs
    (`track_linear_velocity`), or a function that returns what it is now. The weight then rises
    while the mean over `moves_every` iterations is at least `keep` of the `reference`, and falls
    where it is not; by default the reference is the best mean so far.
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

    def states() -> PenaltyRows:
        storage = algorithm.storage
        observations = storage.observations.flatten(0, 1)
        device, ahead = observations.device, storage.num_envs
        rows = torch.arange(len(observations), device=device)
        if attached.term.kind.is_temporal:
            rows = rows_with_successor(storage.dones.squeeze(-1).bool())
        rows = rows[torch.as_tensor(choose(len(rows)), device=device)]
        with torch.no_grad():
            found = PenaltyRows(actor.get_latent(observations[rows]))
            if attached.term.kind.is_temporal:
                later = actor.get_latent(observations[rows + ahead])
                found = replace(found, successors=later)
        return found

    def mean_action(states: Tensor) -> Tensor:
        outputs: Tensor = actor.mlp(states)
        if actor.distribution is None:
            return outputs
        mean: Tensor = actor.distribution.deterministic_output(outputs)
        return mean

    first = FIRST_WEIGHT if keep_tracking and not penalty and weight is None else weight
    attached = attach_penalty(
        *(algorithm.optimizer, mean_action, states),
        weight=first,
        target=target,
        penalty=penalty,
        seed=seed,
    )
    if keep_tracking is not None:
        if target is not None or not 0 < keep < 1 or attached.weight == 0:
            raise ConfigError(
                f"keep_tracking with target {target}, keep {keep} and weight {attached.weight}: "
                "expected no target, keep between 0 and 1, and a weight above 0 to start from"
            )
        _Tracking(algorithm, attached, keep_tracking, keep, reference, moves_every)
    return attached


class _Tracking:
    """Hears every step of the env, and moves the weight by what tracking became."""

    def __init__(
        self,
        algorithm: Any,
        attached: AttachedPenalty,
        source: str | Callable[[], Tensor],
        keep: float,
        reference: float | None,
        moves_every: int,
    ) -> None:
        first = attached.weight
        self.attached, self.source, self.keep, self.reference = attached, source, keep, reference
        self.search = WeightSearch(first, first / SEARCH_RANGE, SEARCH_RANGE * first)
        self.best, self.num_steps = 0.0, 0
        self.seen: list[Tensor] = []
        self.interval = moves_every * algorithm.storage.num_transitions_per_env
        self.process = algorithm.process_env_step
        algorithm.process_env_step = self.process_env_step

    def process_env_step(
        self, observations: Any, rewards: Tensor, dones: Tensor, extras: Any
    ) -> None:
        self.process(observations, rewards, dones, extras)
        if isinstance(self.source, str):
            self.seen += _logged(extras, self.source)
        else:
            self.seen.append(self.source().detach().mean())
        self.num_steps += 1
        if self.num_steps % self.interval == 0:
            self.move()

    def move(self) -> None:
        """Read the numbers, and take a step of the law for what must be kept."""
        if not self.seen:
            raise ConfigError(
                f"keep_tracking {self.source!r}: the env logged no such term in "
                f"{self.interval} steps; pass a function that returns it"
            )
        value, self.seen = float(torch.stack(self.seen).mean()), []
        self.best = max(self.best, value)
        reference = self.best if self.reference is None else self.reference
        if reference <= 0:
            raise ConfigError(f"keep_tracking {self.source!r} earns {value:.3g}, expected above 0")
        slack = (value / reference - self.keep) / (1 - self.keep)
        self.search = self.search.after(slack, LAWS["slack"])
        self.attached.weight = self.search.weight


def _logged(extras: Mapping[str, Any], name: str) -> list[Tensor]:
    """The term in what the env logs now, which it does when episodes end."""
    logged = extras.get("log") or extras.get("episode") or {}
    found = [value for key, value in logged.items() if key.rpartition("/")[2] == name]
    return [torch.as_tensor(value, dtype=torch.float32).mean() for value in found]
