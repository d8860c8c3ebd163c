"""AIRL's adversary: the shaped reward f, the logit log pi - f, and what it learns from."""

from typing import Any

import pytest
import torch
from stream_positions import positions
from torch import Tensor

from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.config.train_config import TrainConfig
from spacil.engine.device import Recorder
from spacil.functional.policy_gradient import clipped_log_prob
from spacil.learning.adversary import AgentBatch, AirlAdversary, imitation_reward
from spacil.learning.critic import true_next_states
from spacil.nets.discriminator import ShapedReward
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams
from spacil.types import ExpertBatch, RolloutBatch


def config_of(**settings: Any) -> TrainConfig:
    small = {"discriminator_hidden": (16,), "standardize_actions": False, "gamma": 0.9}
    return with_settings(default_config("airl", "Reacher-v4"), {**small, **settings})


def make_policy(num_states: int = 2, num_actions: int = 1) -> GaussianPolicy:
    generator = torch.Generator().manual_seed(3)
    bounds = [1.0] * num_actions
    return GaussianPolicy(num_states, [-1.0] * num_actions, bounds, (8,), "fan-in", -0.5, generator)


def expert_batch(actions: Tensor, num_states: int = 2) -> ExpertBatch:
    states = torch.randn(len(actions), num_states, generator=torch.Generator().manual_seed(5))
    return ExpertBatch(states, actions, states + 0.1, torch.zeros(len(actions), dtype=torch.bool))


def make_adversary(policy: GaussianPolicy, expert: ExpertBatch, **settings: Any) -> AirlAdversary:
    return AirlAdversary(config_of(**settings), policy, expert, torch.Generator().manual_seed(1))


def linear_f(gamma: float = 0.9, reads_actions: bool = True) -> ShapedReward:
    """g = 2 s + 3 a (or 2 s), h = 5 s + 1: one linear layer each."""
    network = ShapedReward(1, 1, gamma, reads_actions, hidden=())
    (layer,), (shaping,) = network.reward_net.layers, network.shaping_net.layers
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[2.0, 3.0]] if reads_actions else [[2.0]]))
        layer.bias.zero_()
        shaping.weight.fill_(5.0)
        shaping.bias.fill_(1.0)
    return network.requires_grad_(False)


def column(*values: float) -> Tensor:
    return torch.tensor(values).unsqueeze(-1)


@pytest.mark.parametrize(
    ("reads_actions", "next_state", "ends", "f"),
    [
        # g = 2 * 1 + 3 * 0.5, h(s') = 5 * 2 + 1, h(s) = 5 * 1 + 1
        (True, 2.0, False, 3.5 + 0.9 * 11 - 6),
        (True, 2.0, True, 3.5 - 6),  # after a termination nothing follows
        (True, -70.0, True, 3.5 - 6),
        (False, 2.0, False, 2 + 0.9 * 11 - 6),
    ],
)
def test_f_by_hand(reads_actions: bool, next_state: float, ends: bool, f: float) -> None:
    network, terminated = linear_f(reads_actions=reads_actions), torch.tensor([ends])
    found = network(column(1.0), column(0.5), column(next_state), terminated)
    assert float(found) == pytest.approx(f)


@pytest.mark.parametrize("ends", [False, True])
def test_the_shaping_telescopes_along_an_episode(ends: bool) -> None:
    gamma, network = 0.9, ShapedReward(3, 2, 0.9, True, (16,))
    generator = torch.Generator().manual_seed(0)
    states, actions = torch.randn(7, 3, generator=generator), torch.randn(6, 2, generator=generator)
    terminated = torch.zeros(6, dtype=torch.bool)
    terminated[-1] = ends
    discounts = gamma ** torch.arange(6.0)
    with torch.no_grad():
        f = network(states[:-1], actions, states[1:], terminated)
        g = network.reward(states[:-1], actions)
        first, last = network.shaping_net(states[:1]), network.shaping_net(states[-1:])
    left_over = (0 if ends else gamma**6 * last) - first
    torch.testing.assert_close((discounts * f).sum(), (discounts * g).sum() + left_over.squeeze())


def test_the_logit_is_the_policy_s_likelihood_less_f() -> None:
    policy = make_policy()
    expert = expert_batch(torch.zeros(4, 1))
    adversary = make_adversary(policy, expert)
    states, next_states = torch.randn(2, 5, 2, generator=torch.Generator().manual_seed(2))
    actions = torch.tensor([[-3.0], [-0.4], [0.0], [0.9], [1.0]])
    terminated = torch.tensor([False, False, True, False, False])
    batch = AgentBatch(states, actions, next_states, terminated)
    with torch.no_grad():
        f = adversary.network(states, actions, next_states, terminated)
        mean = policy.mean_of_normalized(states)
    bounds = (policy.action_low, policy.action_high)
    log_pi = clipped_log_prob(actions.clamp(*bounds), mean, policy.log_std.detach(), *bounds)
    logits = adversary.logits_agent_is_high(batch)
    torch.testing.assert_close(logits, log_pi - f)
    torch.testing.assert_close(imitation_reward("logit", logits), f - log_pi)
    assert not logits.requires_grad


@pytest.mark.parametrize("form", ["state-action", "state"])
def test_the_cost_is_the_reward_without_shaping_and_deaf_to_masked_dims(form: str) -> None:
    policy = make_policy()
    policy.normalizer.merge(torch.tensor([[0.0, 7.0], [2.0, 7.0]]))  # the second never moves
    adversary = make_adversary(policy, expert_batch(torch.zeros(4, 1)), airl_reward=form)
    states, actions = torch.tensor([[0.5, 0.0], [0.5, 3.0]]), torch.tensor([[0.2], [0.2]])
    cost = adversary.cost(states, actions)
    torch.testing.assert_close(cost[0], -adversary.network.reward(states, actions)[0])
    assert torch.equal(cost[0], cost[1])


def toy_batch(policy: GaussianPolicy, size: int, seed: int) -> AgentBatch:
    """One-step episodes: the agent acts around 0, wherever it is."""
    generator = torch.Generator().manual_seed(seed)
    states = torch.randn(size, 2, generator=generator)
    with torch.no_grad():
        mean = policy.mean_of_normalized(states)
    noise = torch.randn(size, 1, generator=generator)
    actions = mean + policy.log_std.detach().exp() * noise
    return AgentBatch(states, actions, states.roll(1, 0), torch.ones(size, dtype=torch.bool))


def test_the_update_leaves_the_policy_alone_and_draws_nothing() -> None:
    policy, streams = make_policy(), Streams.from_seed(0)
    adversary = make_adversary(policy, expert_batch(torch.full((20, 1), 0.5)))
    before = [parameter.clone() for parameter in policy.parameters()]
    adversary.train(toy_batch(policy, 30, 0), 3, streams, Recorder())
    assert all(map(torch.equal, before, policy.parameters()))
    fresh = positions(Streams.from_seed(0))
    assert all(torch.equal(state, fresh[name]) for name, state in positions(streams).items())


def test_the_successor_of_a_truncated_step_is_the_state_it_was_cut_at() -> None:
    states = torch.arange(6.0).view(3, 2, 1)  # two envs, three steps
    truncated = torch.tensor([[False, False], [True, False], [False, False]])
    terminated = torch.tensor([[False, True], [False, False], [False, False]])
    rollout = RolloutBatch(
        states=states,
        actions=states,
        env_rewards=states.squeeze(-1).double(),
        terminated=terminated,
        truncated=truncated,
        final_states=torch.tensor([[50.0]]),
        last_states=torch.tensor([[6.0], [7.0]]),
    )
    assert true_next_states(rollout).flatten().tolist() == [2, 3, 50, 5, 6, 7]
    assert rollout.states.flatten().tolist() == [0, 1, 2, 3, 4, 5]
