"""Whole episodes, counted and measured by hand; the policy is read and never changed."""

import pytest
import torch
from countdown import countdown

from spacil.demos.common_frame import CommonFrame
from spacil.demos.demonstrations import Demonstrations
from spacil.envs.vector_env import VectorEnv
from spacil.errors import DataError
from spacil.measuring.evaluate import (
    evaluate,
    evaluate_afresh,
    expected_length,
    num_evaluation_envs,
)
from spacil.nets.policy import GaussianPolicy
from spacil.policies.policy import own_policy


@pytest.fixture
def policy() -> GaussianPolicy:
    policy = GaussianPolicy(1, [-1.0], [1.0], (4,), generator=torch.Generator().manual_seed(0))
    policy.normalizer.merge(torch.arange(6.0).unsqueeze(-1))
    return policy


def test_as_many_envs_as_whole_episodes_make_the_steps_asked_for() -> None:
    assert num_evaluation_envs(20_000, 1_000) == 20
    assert num_evaluation_envs(20_000, 50) == 400
    assert num_evaluation_envs(101, 50) == 3
    assert num_evaluation_envs(1, 50) == 1
    assert num_evaluation_envs(2_500, expected_length(None)) == 3


def test_without_a_known_time_limit_an_episode_is_as_long_as_the_longest_demonstrated_one() -> None:
    lengths = (20, 30)
    states = [torch.zeros(length, 1).numpy() for length in lengths]
    demos = Demonstrations.from_arrays(states, states)
    assert expected_length(None, demos) == 30
    assert expected_length(50, demos) == 50
    assert expected_length(None, demos.subsample(10)) == expected_length(None) == 1_000


def test_return_and_length_are_means_over_episodes(policy: GaussianPolicy) -> None:
    env = countdown(4, longest=9)
    lengths = env.reset()[:, 0].numpy()
    result = evaluate(policy, env, 0, 4)
    assert result.average_return == result.mean_length == lengths.mean()
    assert result.return_std == pytest.approx(lengths.std(ddof=1))
    assert result.return_low <= result.average_return <= result.return_high
    assert result.num_episodes == 4
    assert result.action_fluctuation is not None and result.action_fluctuation > 0
    assert result.smoothness_j is result.smoothness_j_common is None
    assert evaluate(policy, env, 0, 1).return_std is None


def test_j_is_the_mean_slope_over_visited_states_in_every_frame() -> None:
    # One tanh unit far from saturation: mean action 0.5 * tanh(0.01 * s / std).
    policy = GaussianPolicy(1, [-1.0], [1.0], (1,))
    policy.normalizer.merge(torch.tensor([[-2.0], [2.0]]))  # mean 0, std 2
    with torch.no_grad():
        for layer, weight in zip(policy.mean_net.layers, (0.01, 0.5), strict=True):
            layer.weight.fill_(weight)
            layer.bias.zero_()
    frame = CommonFrame(torch.tensor([4.0], dtype=torch.float64), "a test")
    result = evaluate(policy, countdown(3, longest=9), 0, 3, frame)
    slope = 0.5 * 0.01
    assert result.smoothness_j_own == pytest.approx(slope, rel=1e-2)
    assert result.smoothness_j_raw == pytest.approx(slope / 2, rel=1e-2)
    assert result.smoothness_j_common == pytest.approx(slope / 2 * 4, rel=1e-2)
    assert result.smoothness_j == result.smoothness_j_common


def test_the_policy_is_read_and_never_changed(policy: GaussianPolicy) -> None:
    before = {name: value.clone() for name, value in policy.state_dict().items()}
    generator_state = torch.get_rng_state()
    frame = CommonFrame(torch.ones(1, dtype=torch.float64), "a test")
    evaluate(policy, countdown(4, longest=9), 0, 6, frame)
    assert all(torch.equal(before[name], value) for name, value in policy.state_dict().items())
    assert torch.equal(torch.get_rng_state(), generator_state)
    assert all(parameter.grad is None for parameter in policy.parameters())


def test_demonstrations_of_other_sizes_define_no_frame(policy: GaussianPolicy) -> None:
    frame = CommonFrame(torch.ones(3, dtype=torch.float64), "demos.npz")
    with pytest.raises(DataError, match=r"demos\.npz: 3 state dims, the policy has 1"):
        evaluate(policy, countdown(1, longest=3), 0, 1, frame)


def test_fresh_envs_are_all_closed(policy: GaussianPolicy, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    def make(*arguments: object) -> VectorEnv:
        env = countdown(2, longest=5)
        monkeypatch.setattr(env, "close", lambda: closed.append("closed"))
        return env

    monkeypatch.setattr("spacil.measuring.evaluate.make_vector_env", make)
    assert evaluate_afresh(policy, "Countdown-v0", 2, 0, 1, None).num_episodes == 2
    assert closed == ["closed"]
    other = own_policy(GaussianPolicy(3, [-1.0], [1.0], (4,)), "other")
    with pytest.raises(DataError, match="other: 3 state dims"):
        evaluate_afresh(other, "Countdown-v0", 2, 0, 1, None)
    assert closed == ["closed"] * 2
