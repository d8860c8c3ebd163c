"""Noise on a policy's parameters."""

from pathlib import Path

import pytest
import torch

import perturbation
from perturbation import disturbed, with_noise
from spacil import load_expert, save_policy

TASK = "Reacher-v4"


def test_noise_is_a_direction_with_its_standard_deviation_and_spares_the_original() -> None:
    policy = load_expert(TASK).policy
    before = [tensor.clone() for tensor in policy.state_dict().values()]
    steps = []
    for level in (0.05, 0.1):
        disturbed = with_noise(policy, level, seed=3)
        pairs = zip(policy.update_parameters(), disturbed.update_parameters(), strict=True)
        *net, log_std = [(b - a).flatten() for a, b in pairs]
        steps.append(torch.cat(net))
        assert float(steps[-1].std()) == pytest.approx(level, rel=0.02)
        assert not log_std.any()
        assert torch.equal(policy.normalizer.mean, disturbed.normalizer.mean)
    assert torch.allclose(2 * steps[0], steps[1], atol=1e-6)
    assert all(map(torch.equal, before, policy.state_dict().values()))


def test_the_policy_itself_comes_first_and_large_noise_ruins_it() -> None:
    found = disturbed(load_expert(TASK).policy, TASK, levels=(0.1,), draws=2, episodes=4)
    assert [(one["noise_std"], one["draw"]) for one in found] == [(0.0, 0), (0.1, 0), (0.1, 1)]
    itself, first, second = found
    assert itself["average_return"] > -8
    assert max(first["average_return"], second["average_return"]) < itself["average_return"] - 5
    assert first["average_return"] != second["average_return"]
    assert min(one["smoothness_j_fixed"] for one in (first, second)) > 2 * itself["smoothness_j"]


def test_a_document_holds_the_draws_of_each_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expert = tmp_path / "expert.policy.safetensors"
    save_policy(load_expert(TASK), expert)
    monkeypatch.setattr(perturbation, "disturbed", lambda policy, task: [task])
    found = perturbation.collect([expert])
    assert found["draws"] == {TASK: {"episodes": 20, "draws": [TASK]}}
    assert (found["num_runs"], found["notes"]) == (1, [f"{TASK}: {expert}"])
