"""Cloning an expert whose answer is known: what is learned, held out, penalised, refused."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from penalty_cases import POLICY_PENALTIES
from stream_positions import positions

from spacil.config.defaults import default_config
from spacil.config.flat import with_user_settings
from spacil.config.train_config import TrainConfig
from spacil.demos.demonstrations import Demonstrations
from spacil.envs.vector_env import EnvSpec
from spacil.learning.cloning import Cloner, clone, demonstrated_rows, held_out_episodes
from spacil.smoothness.metric import local_lipschitz

SPEC = EnvSpec("Line-v0", 4, 2, np.full(2, -1, np.float32), np.full(2, 1, np.float32), None, None)
GAINS = torch.tensor([[1.0, -0.5, 0.0, 0.3], [0.2, 0.8, -0.4, 0.0]])
"""The linear expert's raw action is GAINS @ state"""


def linear_demos(
    num_episodes: int = 5, length: int = 200, noise: float = 0.0, has_raw: bool = True
) -> Demonstrations:
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(num_episodes, length, 4, generator=generator) * torch.tensor([1, 2, 3, 4])
    actions = states @ GAINS.T
    actions += noise * torch.randn(actions.shape, generator=generator)
    return Demonstrations.from_arrays(
        list(states.numpy()),
        list(actions.clamp(-1, 1).numpy()),
        actions=list(actions.numpy()) if has_raw else None,
    )


def settings(**changes: Any) -> TrainConfig:
    small = {"policy_hidden": (32, 32), "clone_minibatch": 50, "iterations": 5}
    return with_user_settings(default_config("bc", "Line-v0"), small | changes)


def epochs_of(cloner: Cloner) -> list[dict[str, Any]]:
    rows = []
    while not cloner.is_done:
        rows.append(cloner.iterate())
    return rows


def heldout_error(cloner: Cloner, policy: Any) -> float:
    with torch.no_grad():
        residuals = policy.mean_of_normalized(cloner.heldout.rows.states) - cloner.heldout.lowest
    return float(residuals.square().sum(-1).mean())


def test_a_linear_expert_is_cloned_with_its_gains() -> None:
    demos = linear_demos()
    policy = clone(demos, SPEC, settings(iterations=25, clone_learning_rate=0.004))
    assert demos.actions is not None
    error = (policy.mean(demos.states) - demos.actions).square().mean()
    assert float(error / demos.actions.var()) < 0.005
    states = policy.normalize(demos.states)
    j = float(local_lipschitz(policy.mean_of_normalized, states).mean())
    per_normalized_unit = GAINS.double() * demos.state_std
    assert j == pytest.approx(float(torch.linalg.svdvals(per_normalized_unit)[0]), rel=0.1)


def test_the_policy_handed_out_has_the_lowest_heldout_loss_of_all_epochs() -> None:
    cloner = Cloner(settings(iterations=12, clone_learning_rate=0.05), SPEC, linear_demos())
    rows = epochs_of(cloner)
    losses = [row["heldout_loss"] for row in rows]
    assert min(losses) < 0.1 * losses[0]
    assert losses[-1] > min(losses), "the last epoch is the best: it tells nothing apart"
    assert heldout_error(cloner, cloner.policy) == pytest.approx(min(losses), rel=1e-6)
    assert heldout_error(cloner, cloner.student) == pytest.approx(losses[-1], rel=1e-6)
    assert rows[-1]["chosen_iteration"] == 1 + losses.index(min(losses))


def test_cloning_ends_once_the_heldout_loss_has_stopped_falling() -> None:
    demos = linear_demos(num_episodes=3, length=20, noise=1.0)
    config = settings(iterations=500, clone_learning_rate=0.01, clone_patience=4)
    rows = epochs_of(Cloner(config, SPEC, demos))
    assert len(rows) < 500
    assert len(rows) - rows[-1]["chosen_iteration"] == 4


def test_with_nothing_held_out_all_pairs_teach_and_the_newest_policy_is_handed_out() -> None:
    demos = linear_demos()
    cloner = Cloner(settings(holdout_fraction=0.0, clone_patience=1), SPEC, demos)
    rows = epochs_of(cloner)
    assert (len(rows), len(cloner.taught.lowest)) == (5, demos.num_steps)
    assert rows[-1]["heldout_loss"] is None and rows[-1]["chosen_iteration"] == 5
    for name, value in cloner.student.state_dict().items():
        assert torch.equal(value, cloner.policy.state_dict()[name])


def test_the_spread_is_that_of_the_heldout_residuals() -> None:
    config = settings(iterations=12, clone_learning_rate=0.004)
    cloner = Cloner(config, SPEC, linear_demos(num_episodes=10, noise=0.5))
    epochs_of(cloner)
    residuals = cloner.heldout.lowest - cloner.student.mean_of_normalized(
        cloner.heldout.rows.states
    )
    std = cloner.student.log_std.exp()
    assert torch.allclose(std, residuals.square().mean(0).sqrt())
    assert std.tolist() == pytest.approx([0.5, 0.5], abs=0.1)


def test_so_many_steps_are_taken_however_few_pairs_and_the_best_policy_is_handed_out() -> None:
    cloner = Cloner(settings(clone_learning_rate=0.3), SPEC, linear_demos(2, length=20))
    policy = cloner.run(330)
    assert int(cloner.regression.optimizer.num_steps) == 330
    assert cloner.counters.iteration == 4  # the held-out loss after 100, 200, 300 and all steps
    assert heldout_error(cloner, policy) == pytest.approx(cloner.counters.chosen_loss, rel=1e-4)
    alone = Cloner(settings(), SPEC, linear_demos(1))
    policy = alone.run(5)
    for kept, last in zip(policy.parameters(), alone.student.parameters(), strict=True):
        assert torch.equal(kept, last)


@pytest.mark.parametrize("num_episodes", [2, 3, 6, 50])
def test_whole_episodes_are_held_out_at_least_one_and_never_all(num_episodes: int) -> None:
    for fraction in (0.01, 0.2, 0.99):
        is_heldout = held_out_episodes(num_episodes, fraction, torch.Generator().manual_seed(0))
        assert 1 <= int(is_heldout.sum()) <= num_episodes - 1
    cloner = Cloner(settings(), SPEC, linear_demos(num_episodes))
    assert len(cloner.heldout.lowest) % 200 == 0


def test_of_one_episode_nothing_is_held_out(caplog: pytest.LogCaptureFixture) -> None:
    cloner = Cloner(settings(), SPEC, linear_demos(num_episodes=1))
    assert not len(cloner.heldout)
    assert "nothing is held out" in caplog.text


def test_temporal_penalties_read_the_true_next_states_of_thinned_steps() -> None:
    demos = linear_demos(2, length=13)
    policy = Cloner(settings(), SPEC, demos).policy
    whole, thin = (
        demonstrated_rows(policy, each).rows.successors for each in (demos, demos.subsample(5))
    )
    assert whole is not None and thin is not None
    assert torch.equal(thin, whole[torch.tensor([0, 5, 10, 13, 18, 23])])


@pytest.mark.parametrize("name", POLICY_PENALTIES)
def test_every_policy_penalty_has_weight_in_cloning(name: str) -> None:
    config = settings(penalty={name: 0.1}, iterations=1)
    (row,) = epochs_of(Cloner(config, SPEC, linear_demos()))
    assert row["loss_policy_penalty"] > 0
    assert row["heldout_loss"] > row["heldout_imitation"]


def test_the_lcp_penalty_reads_the_students_own_actions() -> None:
    """Over those it averages to Frobenius' norm; demonstrated ones lie twice as far off here."""
    values = {}
    for name in ("frobenius", "lcp"):
        config = settings(penalty={name: 1e-6}, penalty_state_fraction=1.0, iterations=1)
        (row,) = epochs_of(Cloner(config, SPEC, linear_demos()))
        values[name] = row["loss_policy_penalty"]
    assert values["lcp"] == pytest.approx(values["frobenius"], rel=0.3)


def test_early_stopping_weighs_the_penalty_fully_while_training_still_ramps_it_up() -> None:
    config = settings(lambda_policy=0.5, penalty_ramp_iterations=4)
    rows = epochs_of(Cloner(config, SPEC, linear_demos()))
    assert [row["lambda_policy"] for row in rows] == [0, 0.125, 0.25, 0.375, 0.5]
    assert rows[0]["loss_policy_penalty"] == 0
    assert rows[0]["heldout_loss"] > rows[0]["heldout_imitation"]


def test_a_penalty_without_weight_draws_nothing() -> None:
    cloner = Cloner(settings(), SPEC, linear_demos())
    before = positions(cloner.streams)
    epochs_of(cloner)
    moved = {
        name for name, state in positions(cloner.streams).items() if not state.equal(before[name])
    }
    assert moved == {"minibatch"}


# --- bad input


def test_a_clone_that_sees_its_last_command_does_not_merely_repeat_it() -> None:
    """The command to give is that of the state, and nearly the last one too."""
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(400, 1, generator=generator).cumsum(0) / 20
    commands = states[:-1].clone()
    seen = torch.cat([states, states.roll(1, 0)], dim=1)
    demos = Demonstrations.from_arrays([seen.numpy()], [commands.numpy()])
    spec = EnvSpec("late", 2, 1, *(np.full(1, b, np.float32) for b in (-5, 5)), None, None)
    config = settings(iterations=20)
    slopes = []
    for num_sensors in (None, 1):
        policy = clone(demos, replace(spec, num_sensors=num_sensors), config)
        inputs = policy.normalize(demos.states.float()).requires_grad_()
        (slope,) = torch.autograd.grad(policy.mean_of_normalized(inputs).sum(), inputs)
        slopes.append(slope.abs().mean(0))
    assert slopes[1][1] < 0.5 * slopes[0][1] and slopes[1][0] > slopes[0][0]
