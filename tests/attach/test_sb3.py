"""The penalty in Stable-Baselines3, the real one."""

from typing import Any

import numpy as np
import point_mass
import pytest
import torch

import spacil
from spacil.errors import ConfigError


def trained(
    algorithm: str, wish: dict[str, float] | None, steps: int = 200, **settings: Any
) -> Any:
    """With `wish`: with the penalty."""
    library = pytest.importorskip("stable_baselines3")
    model = getattr(library, algorithm)(
        "MlpPolicy",
        point_mass.make_point_mass(),
        seed=0,
        device="cpu",
        policy_kwargs={"net_arch": [16, 16]},
        **settings,
    )
    if wish is not None:
        model.penalty = spacil.attach_to_sb3(model, **wish, num_states=32)
    model.learn(steps)
    return model


def slope(model: Any) -> float:
    probe = np.random.default_rng(0).uniform(-1, 1, (100, 2)).astype(np.float32)
    report = spacil.measure_smoothness(model, states=probe)
    return report.smoothness_j_own


PPO = {"n_steps": 100, "batch_size": 50, "n_epochs": 5, "learning_rate": 0.003}
OFF_POLICY = {"learning_starts": 50, "batch_size": 32, "buffer_size": 300, "learning_rate": 0.003}


@pytest.mark.parametrize(
    ("algorithm", "settings"), [("PPO", PPO), ("SAC", OFF_POLICY), ("TD3", OFF_POLICY)]
)
def test_a_stable_baselines_policy_comes_out_smoother_and_follows_a_target(
    algorithm: str, settings: dict[str, Any]
) -> None:
    plain = trained(algorithm, None, **settings)
    penalised = trained(algorithm, {"weight": 5.0}, **settings)
    assert penalised.penalty.value is not None
    assert slope(penalised) < 0.8 * slope(plain)
    longer = settings | ({"n_epochs": 20} if algorithm == "PPO" else {})
    easy = trained(algorithm, {"target": 100.0}, **longer)
    hard = trained(algorithm, {"target": 1e-4}, **longer)
    assert easy.penalty.verdict.is_met and not hard.penalty.verdict.is_met
    assert easy.penalty.weight < 0.01 < hard.penalty.weight


def test_without_weight_a_stable_baselines_run_is_the_same_bit_for_bit() -> None:
    plain, attached = trained("PPO", None, **PPO), trained("PPO", {"weight": 0.0}, **PPO)
    ours, theirs = plain.policy.state_dict(), attached.policy.state_dict()
    assert all(torch.equal(value, theirs[name]) for name, value in ours.items())


def test_a_model_without_a_buffer_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"only observations of shape \(n,\)"):
        spacil.attach_to_sb3(torch.nn.Linear(2, 1), weight=1.0)
    model = trained("PPO", None, **PPO)
    model.rollout_buffer = None
    with pytest.raises(ConfigError, match="a rollout buffer"):
        spacil.attach_to_sb3(model, weight=1.0)
    with pytest.raises(ConfigError, match="num_states is 0"):
        spacil.attach_to_sb3(model, weight=1.0, num_states=0)
