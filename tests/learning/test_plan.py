"""What an iteration does, resolved before it begins: pure functions of config and count."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.config.penalty_terms import POLICY_PENALTIES, PenaltyKind, WeightedTerm
from spacil.config.train_config import TrainConfig
from spacil.learning.plan import (
    CRITIC_EPOCH_FACTOR,
    DISCRIMINATOR_STEP_FACTOR,
    IterationPlan,
    plan_iteration,
)
from spacil.smoothness.weights import FoundWeights
from spacil.types import RolloutBatch


def config_of(**settings: Any) -> TrainConfig:
    return with_settings(default_config("spacil", "Reacher-v4", "plain"), settings)


def weights(plan: IterationPlan) -> dict[str, float]:
    return {term.name: term.weight for term in plan.terms}


def batch(num_steps: int = 4, num_envs: int = 2) -> RolloutBatch:
    steps = torch.zeros(num_steps, num_envs)
    states, flags = steps.unsqueeze(-1), steps.bool()
    return RolloutBatch(states, states, steps.double(), flags, flags, states[0, :0], states[0])


def test_an_untrained_start_moves_everything_at_once() -> None:
    config = config_of()
    plan = plan_iteration(config, 0)
    assert plan == IterationPlan(
        begins_with_clone=False,
        moves_policy=True,
        moves_normalizer=True,
        terms=(WeightedTerm("exact", 0.03),),
        value=config.value,
        discriminator_steps=config.discriminator.discriminator_steps,
        lambda_policy=0.03,
    )
    assert plan_iteration(config, 77) == plan


def test_the_logged_weight_is_that_of_the_first_penalty_and_of_no_other() -> None:
    without_weight = plan_iteration(config_of(penalty=("exact=0", "cats=0.5")), 0)
    assert weights(without_weight) == {"cats": 0.5}
    assert without_weight.lambda_policy == 0
    wished = plan_iteration(config_of(penalty=()), 0, FoundWeights(temporal=0.3))
    assert wished.found_weights == {"lambda_policy": 0, "lambda_temporal": 0.3}


def test_a_warm_start_clones_once_and_lets_the_policy_wait() -> None:
    config = config_of(warm_start_epochs=3, warm_start_iterations=2)
    plans = [plan_iteration(config, num_done) for num_done in range(4)]
    assert [plan.begins_with_clone for plan in plans] == [True, False, False, False]
    assert [plan.moves_policy for plan in plans] == [False, False, True, True]
    assert [plan.moves_normalizer for plan in plans] == [False] * 4


def test_a_warm_start_without_waiting_moves_the_policy_at_once() -> None:
    plan = plan_iteration(config_of(warm_start_epochs=3, warm_start_iterations=0), 0)
    assert plan.begins_with_clone
    assert plan.moves_policy
    assert not plan.moves_normalizer


def test_critic_and_discriminator_train_harder_while_the_policy_waits() -> None:
    changes = {"warm_start_epochs": 1, "warm_start_iterations": 1}
    config = config_of(value_epochs=3, discriminator_steps=2, **changes)
    waiting, moving = plan_iteration(config, 0), plan_iteration(config, 1)
    assert (waiting.value.value_epochs, waiting.discriminator_steps) == (15, 20)
    assert (CRITIC_EPOCH_FACTOR, DISCRIMINATOR_STEP_FACTOR) == (5, 10)
    assert (moving.value, moving.discriminator_steps) == (config.value, 2)
    assert replace(waiting.value, value_epochs=3) == config.value


@pytest.mark.parametrize(("num_done", "share"), [(0, 0.0), (1, 0.25), (3, 0.75), (4, 1), (9, 1)])
def test_the_weights_grow_along_the_ramp(num_done: int, share: float) -> None:
    config = config_of(penalty=("exact=0.4", "cats=2"), penalty_ramp_iterations=4)
    plan = plan_iteration(config, num_done)
    expected = {"exact": 0.4 * share, "cats": 2 * share} if share else {}
    assert weights(plan) == pytest.approx(expected)
    assert plan.lambda_policy == pytest.approx(0.4 * share)


def test_a_term_without_weight_is_no_term() -> None:
    plan = plan_iteration(config_of(penalty=("exact=0", "cats=2")), 0)
    assert weights(plan) == {"cats": 2}
    assert plan_iteration(config_of(penalty=()), 0).terms == ()
    assert plan_iteration(config_of(penalty=()), 0).lambda_policy == 0


def test_a_found_weight_takes_the_first_place_and_scales_the_others() -> None:
    config = config_of(penalty=("exact=0.1", "cats=2", "lcp=0.01"))
    plan = plan_iteration(config, 0, FoundWeights(0.3))
    assert plan.lambda_policy == 0.3  # not 0.1 * (0.3 / 0.1), which is another float
    assert weights(plan) == pytest.approx({"exact": 0.3, "cats": 6, "lcp": 0.03})


def test_a_found_weight_goes_along_the_ramp_too() -> None:
    config = config_of(penalty=("exact=0.1", "cats=2"), penalty_ramp_iterations=2)
    assert weights(plan_iteration(config, 1, FoundWeights(0.4))) == pytest.approx(
        {"exact": 0.2, "cats": 4}
    )
    assert plan_iteration(config, 0, FoundWeights(0.4)).terms == ()


def test_a_found_weight_of_zero_turns_every_term_off() -> None:
    config = config_of(penalty=("exact=0.1", "cats=2"))
    assert plan_iteration(config, 5, FoundWeights(0.0)).terms == ()


def test_a_found_temporal_weight_belongs_to_the_temporal_term_alone() -> None:
    unnamed = plan_iteration(config_of(penalty=("exact=0.1",)), 0, FoundWeights(None, 0.3))
    assert weights(unnamed) == {"exact": 0.1, "cats": 0.3}
    assert unnamed.found_weights == {"lambda_policy": 0.1, "lambda_temporal": 0.3}
    named = config_of(penalty=("exact=0.1", "caps=2", "lcp=0.01"))
    both = plan_iteration(named, 0, FoundWeights(0.2, 0.3))
    assert weights(both) == pytest.approx({"exact": 0.2, "lcp": 0.02, "caps": 0.3})
    assert plan_iteration(named, 0).found_weights == {"lambda_policy": 0.1}


def test_rounds_of_equal_shapes_and_terms_are_of_one_kind() -> None:
    plan = plan_iteration(config_of(), 0)
    assert plan.round_kind(batch()) == plan_iteration(config_of(), 7).round_kind(batch())
    assert plan.round_kind(batch()) != plan.round_kind(batch(num_steps=5))
    assert plan.round_kind(batch()) != plan.round_kind(batch(num_envs=3))


def test_a_weight_may_change_within_a_kind_of_round() -> None:
    config = config_of(penalty_ramp_iterations=4)
    kinds = [plan_iteration(config, num_done).round_kind(batch()) for num_done in range(4)]
    assert kinds[0] != kinds[1]  # without weight there is no term to compute
    assert kinds[1] == kinds[2] == kinds[3]


def test_a_round_without_policy_step_is_of_its_own_kind() -> None:
    config = config_of(warm_start_epochs=1, warm_start_iterations=1)
    waiting, moving = (plan_iteration(config, num_done).round_kind(batch()) for num_done in (0, 1))
    assert waiting != moving


def test_no_two_rounds_with_pairs_of_states_are_of_one_kind() -> None:
    plan = plan_iteration(config_of(penalty=("exact", "cats")), 0)
    assert plan.round_kind(batch()) != plan.round_kind(batch())


def test_pairs_of_states_do_not_matter_while_the_policy_waits() -> None:
    config = config_of(penalty=("cats",), warm_start_epochs=1)
    plan = plan_iteration(config, 0)
    assert plan.round_kind(batch()) == plan.round_kind(batch())


def test_no_two_rounds_with_a_function_of_one_s_own_are_of_one_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(POLICY_PENALTIES, "mine", PenaltyKind(1.0, "", lambda mean, states: 0))
    plan = plan_iteration(config_of(penalty=("mine",)), 0)
    assert plan.round_kind(batch()) != plan.round_kind(batch())
