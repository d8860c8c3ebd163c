"""The penalty in rsl_rl, the real one, on the carts of the example."""

import copy
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import spacil
from spacil.errors import ConfigError
from spacil.smoothness.metric import local_lipschitz

pytest.importorskip("rsl_rl")
sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from rsl_rl.runners import OnPolicyRunner
from rsl_rl_smoothness_penalty import Carts, settings


def runner(**actor: Any) -> Any:
    torch.manual_seed(0)
    train_cfg = settings()
    train_cfg["actor"] |= actor
    return OnPolicyRunner(Carts(16), train_cfg, device="cpu")


def trained(iterations: int = 5, **wish: Any) -> tuple[Any, Any]:
    """The runner, and the penalty where one was wished for."""
    made = runner()
    attached = spacil.attach_to_rsl_rl(made, num_states=32, **wish) if wish else None
    made.learn(iterations)
    return made, attached


def slope(made: Any) -> float:
    """J of the actor on states of its last rollout, per normalised unit."""
    actor = made.alg.get_policy()
    with torch.no_grad():
        states = actor.get_latent(made.alg.storage.observations.flatten(0, 1))
    return float(local_lipschitz(actor.mlp, states).mean())


def test_an_rsl_rl_policy_comes_out_smoother() -> None:
    (plain, _), (penalised, attached) = trained(), trained(weight=0.3)
    assert attached.value is not None
    assert slope(penalised) < 0.7 * slope(plain)


def test_the_j_that_is_followed_is_that_of_the_actor_on_its_rollout() -> None:
    made, attached = trained(weight=0.3)
    assert attached.j == pytest.approx(slope(made), rel=0.3)


def test_an_rsl_rl_policy_follows_a_target() -> None:
    (_, easy), (_, hard) = trained(target=100.0), trained(target=0.01)
    assert easy.weight < 0.01 < hard.weight
    assert easy.verdict.is_met and not hard.verdict.is_met


@pytest.mark.parametrize(
    ("penalty", "weight"),
    [
        ("frobenius", 0.3),
        ("lcp", 0.3),
        ("caps", 30),
        ("cats", 30),
        ("l2c2", 1),
        ("l2c2:twin=noisy", 1),
    ],
)
def test_every_penalty_makes_an_rsl_rl_policy_smoother(penalty: str, weight: float) -> None:
    (plain, _), (penalised, attached) = trained(), trained(penalty=penalty, weight=weight)
    assert attached.value is not None
    assert slope(penalised) < 0.9 * slope(plain)


def test_a_penalty_by_its_name_has_the_weight_of_its_paper_and_draws_nothing_of_the_runs() -> None:
    (plain, _), (named, attached) = trained(1), trained(1, penalty="lcp")
    assert attached.weight == 0.002
    stored = [made.alg.storage.observations["policy"] for made in (plain, named)]
    assert torch.equal(*stored)


def tracked(made: Any, values: list[float], **wish: Any) -> list[float]:
    """Weights after each ten iterations in which tracking was so good."""
    answers = iter(value for value in values for _ in range(10 * 40))
    attached = spacil.attach_to_rsl_rl(
        made, weight=0.1, keep_tracking=lambda: torch.tensor(next(answers)), **wish
    )
    weights = []
    for _ in values:
        made.learn(10)
        weights.append(attached.weight)
    return weights


def test_a_weight_rises_while_tracking_is_kept_and_falls_where_it_is_not() -> None:
    first, second, third = tracked(runner(), [1.0, 1.0, 0.9])
    assert 0.1 < first < second > third
    _, low = tracked(runner(), [0.9, 0.9], reference=1.0)
    assert low < 0.1


def test_tracking_is_read_from_the_log_by_the_name_of_its_term(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = runner()
    attached = spacil.attach_to_rsl_rl(made, weight=0.1, keep_tracking="track")
    step = Carts.step

    def logged(self: Carts, actions: torch.Tensor) -> Any:
        *outcome, extras = step(self, actions)
        return *outcome, extras | {"log": {"Episode_Reward/track": torch.tensor(2.0), "other": 0.0}}

    monkeypatch.setattr(Carts, "step", logged)
    made.learn(10)
    assert attached.weight > 0.1
    monkeypatch.setattr(Carts, "step", step)
    with pytest.raises(ConfigError, match="logged no such term"):
        made.learn(10)
    with pytest.raises(ConfigError, match="expected no target"):
        spacil.attach_to_rsl_rl(runner(), target=1.0, keep_tracking="track")


def test_without_weight_an_rsl_rl_run_is_the_same_bit_for_bit() -> None:
    (plain, _), (attached, _) = trained(2), trained(2, weight=0.0)
    ours, theirs = (made.alg.get_policy().state_dict() for made in (attached, plain))
    assert all(torch.equal(value, theirs[name]) for name, value in ours.items())


def test_the_algorithm_alone_will_do() -> None:
    made = runner()
    attached = spacil.attach_to_rsl_rl(made.alg, weight=0.3)
    made.learn(1)
    assert attached.value is not None


def test_the_mean_action_is_the_one_that_the_runner_hands_out() -> None:
    """A distribution with more outputs than actions: the mean is a part of what the MLP gives."""
    wide = {"class_name": "HeteroscedasticGaussianDistribution"}
    made = runner(distribution_cfg=wide)
    attached = spacil.attach_to_rsl_rl(made, weight=0.1)
    made.learn(1)
    actor = made.alg.get_policy()
    observations = made.alg.storage.observations.flatten(0, 1)[:8]
    with torch.no_grad():
        found = attached._mean_action(actor.get_latent(observations))
        assert torch.equal(found, actor(observations))
    assert found.shape == (8, 1)


def test_what_cannot_be_penalised_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected an rsl_rl OnPolicyRunner"):
        spacil.attach_to_rsl_rl(torch.nn.Linear(2, 1), weight=1.0)
    with pytest.raises(ConfigError, match="num_states is 0"):
        spacil.attach_to_rsl_rl(runner(), weight=1.0, num_states=0)
    with pytest.raises(ConfigError, match="RNNModel: only an MLP actor"):
        spacil.attach_to_rsl_rl(runner(class_name="RNNModel", rnn_hidden_dim=8), weight=1.0)
    shared = copy.copy(runner().alg)
    shared.is_multi_gpu = True
    with pytest.raises(ConfigError, match="several GPUs"):
        spacil.attach_to_rsl_rl(shared, weight=1.0)
