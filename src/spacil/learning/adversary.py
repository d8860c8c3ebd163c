"""The seam for adversaries: what rewards the policy, and how it learns to tell agent from expert.

A new adversary says what its network is and what its logit is; `Adversary` does the rest. GAIL's
and AIRL's are here. D = sigmoid(x) is high on the agent: D -> 1 there, D -> 0 on the demonstrations
(eq:cost_opti).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from spacil.config.settings import columns_of
from spacil.config.train_config import TrainConfig
from spacil.engine.device import Recorder, read_together
from spacil.engine.mlp_passes import Adam
from spacil.errors import DivergedError
from spacil.functional.policy_gradient import clipped_log_prob
from spacil.nets.discriminator import CostNet, Discriminator, ShapedReward
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams
from spacil.smoothness.cost import (
    CostFunction,
    DrawnPairs,
    cost_penalty,
    cost_weight,
    draw_pairs,
    on_live_dims,
)
from spacil.types import ExpertBatch

SATURATED_LOGIT, SATURATED_LOSS = 50.0, 0.01
"""Chance has a loss of 1.39. Plain GAIL that learned Walker2d stayed at 0.04 for 100 iterations; on
Ant, which it did not learn, it was below 0.01 from iteration 30 on, with rewards of 0.002"""
PENALTY = "cost_penalty"


RewardForm = Literal["positive", "negative", "logit"]


@dataclass(frozen=True)
class AgentBatch:
    """One side of the comparison, on the device."""

    states: Tensor
    """[B, S] normalised"""
    actions: Tensor
    """[B, A] raw"""
    next_states: Tensor | None
    """[B, S] normalised, the true successors; None for an adversary that does not read them"""
    terminated: Tensor
    """[B] bool"""


Logits = Callable[[], tuple[Tensor, Tensor]]
"""x on the agent [B] and on the demonstrations [M], by the network as it is now"""


@dataclass(frozen=True)
class DiscriminatorReport:
    disc_loss: float
    disc_acc: float
    disc_acc_agent: float
    disc_acc_expert: float
    max_abs_logit: float
    is_saturated: bool
    """All or nearly all pairs told apart for certain: the reward carries little signal"""
    cost_penalty: float | None
    """Weighted penalty summand; None without a cost penalty"""


class Adversary:
    """Tells agent from demonstrator, and so holds the learned cost."""

    reads_next_states = False

    def __init__(
        self,
        config: TrainConfig,
        policy: GaussianPolicy,
        expert: ExpertBatch,
        init: torch.Generator,
    ) -> None:
        """`expert` holds raw states and the actions to compare, on the policy's device."""
        settings = config.discriminator
        self.config, self.policy, self.expert = config, policy, expert
        self.network = self.make_network(config, policy, init).to(policy.log_std.device)
        if not expert.actions.shape[1]:  # not known, and not read
            none = expert.states.new_zeros(len(expert.states), policy.num_actions)
            self.expert = expert = replace(expert, actions=none)
        if "changes" not in settings.discriminator_inputs:
            if settings.discriminator_actions == "executed":
                self.network.read_actions_clipped(policy.action_low, policy.action_high)
            if settings.standardize_actions:
                self.network.read_actions_standardized(expert.actions)
        self.optimizer = Adam(self.network, settings.discriminator_learning_rate)

    @staticmethod
    def make_network(
        config: TrainConfig, policy: GaussianPolicy, init: torch.Generator | None = None
    ) -> CostNet:
        """The network of these settings, also that of a saved run."""
        raise NotImplementedError

    def logits(self, batch: AgentBatch) -> Tensor:
        """x [B], high on the agent, with a graph."""
        raise NotImplementedError

    def both_logits(self, agent: AgentBatch, expert: AgentBatch) -> Logits:
        """x on both sides, for all steps of an update."""
        return lambda: (self.logits(agent), self.logits(expert))

    def draw(self, agent: AgentBatch, expert: AgentBatch, streams: Streams) -> Any:
        """All that is random about the penalty of an update; None: without penalty."""
        return None

    def penalty(self, drawn: Any) -> Tensor:
        """The weighted penalty on the cost, at what was drawn."""
        raise NotImplementedError

    @property
    def cost(self) -> CostFunction | None:
        """The learned cost c(s, a), low where it is good; None for one that reads next states."""
        if not self.network.has_cost:
            return None
        return on_live_dims(self.network.cost, self.policy.normalizer.mask)

    @torch.no_grad()
    def logits_agent_is_high(self, batch: AgentBatch) -> Tensor:
        """x [B] without a graph."""
        return self.logits(batch)

    def train(
        self, batch: AgentBatch, num_steps: int, streams: Streams, recorder: Recorder
    ) -> DiscriminatorReport:
        """Take a few steps of telling the batch from the demonstrations."""
        demonstrated, normalize = self.expert, self.policy.normalize
        expert = AgentBatch(
            normalize(demonstrated.states),
            demonstrated.actions,
            normalize(demonstrated.next_states) if self.reads_next_states else None,
            demonstrated.terminated,
        )
        drawn = self.draw(batch, expert, streams)

        def steps(num_steps: int, agent: AgentBatch, expert: AgentBatch, drawn: Any) -> Any:
            penalty = None if drawn is None else lambda: self.penalty(drawn)
            logits = self.both_logits(agent, expert)
            return descend(self.network, self.optimizer, logits, penalty, num_steps)

        measured = recorder("discriminator", steps, (num_steps, batch), expert, drawn)
        return report(measured, len(batch.states), len(expert.states))


@torch.no_grad()
def imitation_reward(form: RewardForm, logits_agent_is_high: Tensor) -> Tensor:
    """What the policy is paid, from x with D = sigmoid(x) high on the agent.

    positive  -log D >= 0, the paper's: pays for every step, so it favours staying alive
    negative  log(1 - D) <= 0: charges for every step, so it favours ending early
    logit     log(1 - D) - log D = -x, of either sign: AIRL's
    """
    x = logits_agent_is_high
    if form == "logit":
        return -x
    return -F.logsigmoid(x) if form == "positive" else F.logsigmoid(-x)


# --- its steps


def descend(
    network: nn.Module,
    optimizer: Adam,
    logits: Callable[[], tuple[Tensor, Tensor]],
    penalty: Callable[[], Tensor] | None,
    num_steps: int,
) -> dict[str, Tensor]:
    """Full-batch Adam steps on the loss and, where there is one, the weighted cost penalty.

    `logits` are those on the agent [B] and on the demonstrations [M]. Returned is what `report`
    needs, one number each; it describes the network that rewarded this batch, before its first
    step.
    """
    measured: dict[str, Tensor] = {}
    for _ in range(max(num_steps, 1)):
        agent_logits, expert_logits = logits()
        # -E_agent[log D] - E_expert[log(1 - D)], from logits: no saturation to infinity
        summands = {
            "agent": F.softplus(-agent_logits).mean(),
            "expert": F.softplus(expert_logits).mean(),
        }
        if penalty is not None:
            summands[PENALTY] = penalty()
        if not measured:  # of the network that rewarded the batch
            on_agent, on_expert = agent_logits.detach(), expert_logits.detach()
            measured = {name: value.detach() for name, value in summands.items()} | {
                "acc_agent": (on_agent > 0).float().mean(),
                "acc_expert": (on_expert < 0).float().mean(),
                "max_abs_logit": torch.maximum(on_agent.abs().max(), on_expert.abs().max()),
            }
        if num_steps == 0:
            break
        optimizer.zero_grad()
        torch.stack(list(summands.values())).sum().backward()
        optimizer.step()
    parameters = torch.cat([p.detach().flatten() for p in network.parameters()])
    return {**measured, "is_finite": parameters.isfinite().all()}


def report(measured: dict[str, Tensor], num_agent: int, num_expert: int) -> DiscriminatorReport:
    """What `descend` measured; a discriminator that is no longer finite is refused."""
    numbers = dict(zip(measured, read_together(*measured.values()), strict=True))
    summands = {name: numbers[name] for name in numbers if name in ("agent", "expert", PENALTY)}
    if not (numbers["is_finite"] and sum(summands.values()) < float("inf")):
        raise DivergedError(
            f"discriminator step: its loss ({summands}) or its network after it is not finite; a "
            "smaller --discriminator-learning-rate may help"
        )
    accuracies, sizes = (numbers["acc_agent"], numbers["acc_expert"]), (num_agent, num_expert)
    num_right = [accuracy * size for accuracy, size in zip(accuracies, sizes, strict=True)]
    # In whole pairs: a device that multiplies by 1 / size makes a mean of ones a bit less than 1.
    is_perfect = [round(right) for right in num_right] == list(sizes)
    largest, loss = numbers["max_abs_logit"], numbers["agent"] + numbers["expert"]
    return DiscriminatorReport(
        disc_loss=loss,
        disc_acc=sum(num_right) / sum(sizes),
        disc_acc_agent=accuracies[0],
        disc_acc_expert=accuracies[1],
        max_abs_logit=largest,
        is_saturated=is_perfect or largest > SATURATED_LOGIT or loss < SATURATED_LOSS,
        cost_penalty=numbers.get(PENALTY),
    )


class GailAdversary(Adversary):
    """The discriminator of GAIL and SPaCIL; they differ in the weight of the cost penalty."""

    network: Discriminator

    def __init__(
        self,
        config: TrainConfig,
        policy: GaussianPolicy,
        expert: ExpertBatch,
        init: torch.Generator,
    ) -> None:
        super().__init__(config, policy, expert, init)
        self.cost_weight = cost_weight(config.cost_penalty, len(expert.states))
        self.reads_next_states = "next_states" in self.network.reads or self.network.reads_changes
        if self.network.reads_changes:
            self.read_changes_in((expert.next_states - expert.states).std(0, correction=0))

    @torch.no_grad()
    def read_changes_in(self, std: Tensor) -> None:
        """Measure changes of state in these units of raw states [S]; dims that rest in none."""
        self.network.change_scale.copy_(torch.where(std > 0, 1 / std, 0.0))

    @staticmethod
    def make_network(
        config: TrainConfig, policy: GaussianPolicy, init: torch.Generator | None = None
    ) -> Discriminator:
        settings = config.discriminator
        return Discriminator(
            policy.num_states,
            policy.num_actions,
            settings.discriminator_hidden,
            settings.discriminator_activation,
            config.nets.init,
            init,
            settings.discriminator_inputs,
            columns_of(settings.discriminator_columns),
        )

    def logits(self, batch: AgentBatch) -> Tensor:
        return self.network.logits_agent_is_high(*self._inputs(batch))

    def both_logits(self, agent: AgentBatch, expert: AgentBatch) -> Logits:
        """Both sides in one pass."""
        sizes, sides = (
            [len(agent.states), len(expert.states)],
            (self._inputs(agent), self._inputs(expert)),
        )
        pairs = [torch.cat(parts) for parts in zip(*sides, strict=True)]

        def logits() -> tuple[Tensor, Tensor]:
            on_agent, on_expert = self.network.logits_agent_is_high(*pairs).split(sizes)
            return on_agent, on_expert

        return logits

    def draw(self, agent: AgentBatch, expert: AgentBatch, streams: Streams) -> DrawnPairs | None:
        if self.cost_weight == 0:
            return None
        ours, theirs = ((side.states, self._compared(side)) for side in (agent, expert))
        return draw_pairs(self.network, self.policy, ours, theirs, self.config, streams)

    def penalty(self, drawn: DrawnPairs) -> Tensor:
        return self.cost_weight * cost_penalty(self.network, self.policy, drawn, self.config)

    def _inputs(self, batch: AgentBatch) -> list[Tensor]:
        """States, actions and, where they are read, next states.

        After a termination nothing follows: the state counts as its own successor.
        """
        inputs = [batch.states, self._compared(batch)]
        if "next_states" in self.network.reads:
            inputs.append(self._successors(batch))
        return inputs

    def _successors(self, batch: AgentBatch) -> Tensor:
        assert batch.next_states is not None
        return torch.where(batch.terminated.unsqueeze(-1), batch.states, batch.next_states)

    def _compared(self, batch: AgentBatch) -> Tensor:
        """The actions, or what stands in their place: how the state changed."""
        if not self.network.reads_changes:
            return batch.actions
        # Normalised states are in units that may still move with the batches.
        in_raw_units = (self.policy.normalizer.mask / self.policy.normalizer.scale).nan_to_num()
        change = self._successors(batch) - batch.states
        low, high = self.network.action_low, self.network.action_high
        return (change * in_raw_units * self.network.change_scale).clamp(low, high)


class AirlAdversary(Adversary):
    """f with its shaping term, against the policy's own likelihood."""

    reads_next_states = True

    @staticmethod
    def make_network(
        config: TrainConfig, policy: GaussianPolicy, init: torch.Generator | None = None
    ) -> CostNet:
        settings = config.discriminator
        return ShapedReward(
            policy.num_states,
            policy.num_actions,
            config.value.gamma,
            config.airl.airl_reward == "state-action",
            settings.discriminator_hidden,
            settings.discriminator_activation,
            config.nets.init,
            init,
        )

    def logits(self, batch: AgentBatch) -> Tensor:
        return executed_log_prob(self.policy, batch) - self._f(batch)

    def both_logits(self, agent: AgentBatch, expert: AgentBatch) -> Logits:
        """The policy's likelihoods are computed once."""
        on_agent, on_expert = (executed_log_prob(self.policy, side) for side in (agent, expert))
        return lambda: (on_agent - self._f(agent), on_expert - self._f(expert))

    def _f(self, batch: AgentBatch) -> Tensor:
        f: Tensor = self.network(batch.states, batch.actions, batch.next_states, batch.terminated)
        return f


@torch.no_grad()
def executed_log_prob(policy: GaussianPolicy, batch: AgentBatch) -> Tensor:
    """log pi of what was executed, [B], by the policy as it is now."""
    mean = policy.mean_of_normalized(batch.states)
    low, high = policy.action_low, policy.action_high
    return clipped_log_prob(batch.actions.clamp(low, high), mean, policy.log_std, low, high)
