"""The networks of adversaries: they tell agent from demonstrator, and so hold the learned cost."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from spacil.nets.mlp import MLP, Activation, Init

SMALLEST_ACTION_STD = 1e-2
LARGEST_CHANGE = 5.0
"""Largest change of a state dim that is told apart, in its standard deviations"""


class CostNet(nn.Module):
    """A network with a learned cost, which reads actions clipped and standardised, or as they are.

    How they are read is decided here, once, so that both sides of a comparison and every penalty
    are always treated alike.
    """

    action_low: Tensor
    action_high: Tensor
    action_mean: Tensor
    action_std: Tensor

    has_cost = True
    """Whether there is a cost of states and actions alone"""

    def __init__(self, num_actions: int) -> None:
        super().__init__()
        self.register_buffer("action_low", torch.full((num_actions,), -torch.inf))
        self.register_buffer("action_high", torch.full((num_actions,), torch.inf))
        self.register_buffer("action_mean", torch.zeros(num_actions))
        self.register_buffer("action_std", torch.ones(num_actions))

    @torch.no_grad()
    def read_actions_clipped(self, low: Tensor, high: Tensor) -> None:
        """Compare actions as the env executes them."""
        self.action_low.copy_(low)
        self.action_high.copy_(high)

    @torch.no_grad()
    def read_actions_standardized(self, expert_actions: Tensor) -> None:
        """Measure actions in the demonstrations' standard deviations (as they are read)."""
        read = expert_actions.clamp(self.action_low, self.action_high)
        self.action_mean.copy_(read.mean(0))
        self.action_std.copy_(read.std(0, correction=0).clamp_min(SMALLEST_ACTION_STD))

    def as_read(self, actions: Tensor) -> Tensor:
        """[B, A] raw -> as the network sees them"""
        read = actions.clamp(self.action_low, self.action_high)
        return (read - self.action_mean) / self.action_std

    def cost(self, normalized_states: Tensor, actions: Tensor) -> Tensor:
        """c(s, a), [B]; low where the demonstrator is."""
        raise NotImplementedError


class Discriminator(CostNet):
    """x on what it reads of (s, a, s'), states normalised; high where it sees the agent.

    Where it reads changes, (s' - s) / std of raw states stands in the place of the action.
    """

    change_scale: Tensor
    columns: Tensor | None

    def __init__(
        self,
        num_states: int,
        num_actions: int,
        hidden: Sequence[int] = (100, 100),
        activation: Activation = "relu",
        init: Init = "fan-in",
        generator: torch.Generator | None = None,
        reads: Sequence[str] = ("states", "actions"),
        columns: Sequence[int] = (),
    ) -> None:
        """`columns` of states and of changes that are read; none given: all."""
        self.reads_changes = "changes" in reads
        super().__init__(num_states if self.reads_changes else num_actions)
        self.reads = tuple("actions" if name == "changes" else name for name in reads)
        self.has_cost = not {"next_states", "changes"} & {*reads}
        if self.reads_changes:
            self.register_buffer("change_scale", torch.ones(num_states))
            self.action_low.fill_(-LARGEST_CHANGE)
            self.action_high.fill_(LARGEST_CHANGE)
        read = torch.tensor(columns, dtype=torch.int64) if columns else None
        self.register_buffer("columns", read, persistent=False)
        num_read = len(columns) or num_states
        sizes = {"states": num_read, "actions": num_actions, "next_states": num_read}
        if self.reads_changes:
            sizes["actions"] = num_read
        num_inputs = sum(sizes[name] for name in self.reads)
        self.net = MLP([num_inputs, *hidden, 1], activation, init, generator)

    def logits_agent_is_high(
        self, normalized_states: Tensor, actions: Tensor, next_states: Tensor | None = None
    ) -> Tensor:
        """x, [B]"""
        inputs = {"states": normalized_states, "next_states": next_states}
        if "actions" in self.reads:
            inputs["actions"] = self.as_read(actions)
        read = [inputs[name] for name in self.reads]
        if self.columns is not None:
            whole = "" if self.reads_changes else "actions"
            pairs = zip(self.reads, read, strict=True)
            read = [x if name == whole else x.index_select(-1, self.columns) for name, x in pairs]  # type: ignore[union-attr]
        logits: Tensor = self.net(torch.cat(read, dim=-1)).squeeze(-1)  # type: ignore[arg-type]  # an input that is read is given
        return logits

    def cost(self, normalized_states: Tensor, actions: Tensor) -> Tensor:
        """c = log S(x) <= 0, [B]; the reward is -c >= 0"""
        return F.logsigmoid(self.logits_agent_is_high(normalized_states, actions))


class ShapedReward(CostNet):
    """AIRL's f(s, a, s') = g(s, a) + gamma h(s') - h(s) (Fu et al. 2018, equation 4).

    g is the learned reward, and h the shaping that may not change the best policy. States are
    normalised, actions are read as executed. After a termination nothing follows, so h(s') counts
    as 0 there.
    """

    def __init__(
        self,
        num_states: int,
        num_actions: int,
        gamma: float,
        reads_actions: bool,
        hidden: Sequence[int] = (100, 100),
        activation: Activation = "relu",
        init: Init = "fan-in",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(num_actions)
        self.gamma, self.reads_actions = gamma, reads_actions
        num_inputs = num_states + (num_actions if reads_actions else 0)
        self.reward_net = MLP([num_inputs, *hidden, 1], activation, init, generator)
        self.shaping_net = MLP([num_states, *hidden, 1], activation, init, generator)

    def reward(self, states: Tensor, actions: Tensor) -> Tensor:
        """g, [B]: the reward to take along, without shaping"""
        inputs = states
        if self.reads_actions:
            inputs = torch.cat([states, self.as_read(actions)], dim=-1)
        rewards: Tensor = self.reward_net(inputs).squeeze(-1)
        return rewards

    def cost(self, normalized_states: Tensor, actions: Tensor) -> Tensor:
        """-g"""
        return -self.reward(normalized_states, actions)

    def forward(
        self, states: Tensor, actions: Tensor, next_states: Tensor, terminated: Tensor
    ) -> Tensor:
        """f, [B]"""
        following = self.shaping_net(next_states).squeeze(-1).masked_fill(terminated, 0)
        shaped = self.reward(states, actions) + self.gamma * following
        f: Tensor = shaped - self.shaping_net(states).squeeze(-1)
        return f
