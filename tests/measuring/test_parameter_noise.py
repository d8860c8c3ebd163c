"""Noise on a policy's parameters."""

import pytest
import torch

from spacil.demos.common_frame import CommonFrame
from spacil.demos.file import load_demos
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import ResetSeeds
from spacil.measuring.parameter_noise import measure_parameter_noise, with_parameter_noise
from spacil.policies.file import load_expert

TASK = "Reacher-v4"


def test_noise_has_its_standard_deviation_and_leaves_the_original_alone() -> None:
    policy = load_expert(TASK).policy
    before = [tensor.clone() for tensor in policy.state_dict().values()]
    disturbed = with_parameter_noise(policy, 0.05, seed=3)
    pairs = zip(policy.update_parameters(), disturbed.update_parameters(), strict=True)
    *net, log_std = [(b - a).flatten() for a, b in pairs]
    assert float(torch.cat(net).std()) == pytest.approx(0.05, rel=0.02)
    assert not log_std.any()
    assert torch.equal(policy.normalizer.mean, disturbed.normalizer.mean)
    assert all(map(torch.equal, before, policy.state_dict().values()))


def test_a_seed_is_a_direction_at_every_level() -> None:
    policy = load_expert(TASK).policy
    steps = []
    for level in (0.01, 0.02):
        disturbed = with_parameter_noise(policy, level, seed=3)
        weight, moved = policy.mean_net.weights_and_biases[0][0], disturbed.mean_net
        steps.append(moved.weights_and_biases[0][0] - weight)
    assert torch.allclose(2 * steps[0], steps[1], atol=1e-6)


def test_the_policy_itself_comes_first_and_large_noise_ruins_it() -> None:
    demos = load_demos(TASK)
    env = make_vector_env(TASK, 4, ResetSeeds(0, "evaluate"), 1)
    try:
        found = measure_parameter_noise(
            load_expert(TASK).policy,
            env,
            demos.states[:50].float(),
            CommonFrame.of(demos),
            levels=(0.1,),
            num_draws=2,
            num_episodes=4,
            seed=0,
        )
    finally:
        env.close()
    assert [(one.noise_std, one.draw) for one in found] == [(0.0, 0), (0.1, 0), (0.1, 1)]
    itself, first, second = found
    assert itself.average_return > -8
    assert max(first.average_return, second.average_return) < itself.average_return - 5
    assert first.average_return != second.average_return
    assert itself.smoothness_j is not None
    assert min(first.smoothness_j_fixed, second.smoothness_j_fixed) > 2 * itself.smoothness_j_fixed
