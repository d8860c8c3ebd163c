"""AIRL's network: f(s, a, s') = g(s, a) + gamma h(s') - h(s) (Fu et al. 2018, equation 4)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from spacil.nets.discriminator import ActionReadingNet
from spacil.nets.mlp import MLP, Activation, Init


class ShapedReward(ActionReadingNet):
    """The learned reward g, and the shaping h that may not change the best policy.

    States are normalised, actions are read as executed. After a termination nothing follows, so
    h(s') counts as 0 there.
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

    def shaping(self, states: Tensor) -> Tensor:
        """h, [B]"""
        values: Tensor = self.shaping_net(states).squeeze(-1)
        return values

    def forward(
        self, states: Tensor, actions: Tensor, next_states: Tensor, terminated: Tensor
    ) -> Tensor:
        """f, [B]"""
        following = self.gamma * self.shaping(next_states).masked_fill(terminated, 0)
        return self.reward(states, actions) + following - self.shaping(states)
