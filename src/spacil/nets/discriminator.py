"""The adversary: tells agent from demonstrator, and so holds the learned cost."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from spacil.nets.mlp import MLP, Activation, Init
from spacil.nets.normalizer import STD_FLOOR


class ActionReadingNet(nn.Module):
    """A network that reads actions, clipped as executed and standardised, or as they are.

    How they are read is decided here, once, so that both sides of a comparison and every penalty
    are always treated alike.
    """

    action_low: Tensor
    action_high: Tensor
    action_mean: Tensor
    action_std: Tensor

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
        self.action_std.copy_(read.std(0, correction=0).clamp_min(STD_FLOOR))

    def as_read(self, actions: Tensor) -> Tensor:
        """[B, A] raw -> as the network sees them"""
        read = actions.clamp(self.action_low, self.action_high)
        return (read - self.action_mean) / self.action_std


class Discriminator(ActionReadingNet):
    """x(s, a) on normalised states and raw actions; high where it sees the agent."""

    def __init__(
        self,
        num_states: int,
        num_actions: int,
        hidden: Sequence[int] = (100, 100),
        activation: Activation = "relu",
        init: Init = "fan-in",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(num_actions)
        self.net = MLP([num_states + num_actions, *hidden, 1], activation, init, generator)

    def logits_agent_is_high(self, normalized_states: Tensor, actions: Tensor) -> Tensor:
        """x, [B]"""
        inputs = torch.cat([normalized_states, self.as_read(actions)], dim=-1)
        logits: Tensor = self.net(inputs).squeeze(-1)
        return logits

    def cost(self, normalized_states: Tensor, actions: Tensor) -> Tensor:
        """c = log S(x) <= 0, [B]; the reward is -c >= 0"""
        return F.logsigmoid(self.logits_agent_is_high(normalized_states, actions))
