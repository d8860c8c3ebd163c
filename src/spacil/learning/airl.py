"""AIRL's adversary (Fu et al. 2018): D knows the policy, so that its network becomes a reward.

In the paper's convention D = exp f / (exp f + pi) is high on demonstrations; ours is high on the
agent, so the logit is x = log pi(a | s) - f(s, a, s') and the reward -x = f - log pi.

f and log pi speak of the same action, the executed one. log pi is therefore the likelihood of the
*clipped* Gaussian: its density inside the bounds, and on a bound the probability of everything
beyond it. So demonstrations that hold executed actions only (most people's) and our own, which
also hold raw ones, give the same numbers. The density of the raw Gaussian would not do: an
executed action on the bound says nothing about how far beyond it the raw one was.
"""

import torch
from torch import Tensor

from spacil.config.train_config import TrainConfig
from spacil.functional.gaussian import clipped_log_prob
from spacil.learning.adversary import Adversary, AgentBatch, Logits
from spacil.nets.discriminator import CostNet, ShapedReward
from spacil.nets.policy import GaussianPolicy


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
            config.returns.gamma,
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
