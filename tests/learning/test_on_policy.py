"""A learner can be taken apart and put together again, and keeps to its own random streams."""

from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from tiny_runs import plain_config, tiny

from spacil.config.flat import with_settings
from spacil.config.penalty_terms import POLICY_PENALTIES, PenaltyKind
from spacil.demos.file import load_demos
from spacil.envs.episodes import EpisodeTotals
from spacil.learning.on_policy import OnPolicy
from spacil.measuring.evaluate import evaluation_of

NewLearner = Callable[..., OnPolicy]


@pytest.fixture
def make_learner() -> Iterator[NewLearner]:
    made: list[OnPolicy] = []

    def make(algorithm: str = "spacil", task: str = "Reacher-v4", **changes: Any) -> OnPolicy:
        config = with_settings(plain_config(algorithm, task), tiny(algorithm, **changes))
        demos = None if algorithm == "trpo" else load_demos(task).first(3)
        made.append(OnPolicy(config, task, demos))
        return made[-1]

    yield make
    for learner in made:
        learner.close()


def differing(first: OnPolicy, second: OnPolicy) -> list[str]:
    ours, theirs = first.state.tensors(), second.state.tensors()
    assert ours.keys() == theirs.keys()
    return [name for name, tensor in ours.items() if not torch.equal(tensor, theirs[name])]


@pytest.mark.parametrize("algorithm", ["trpo", "gail", "spacil"])
def test_a_restored_learner_goes_on_bit_for_bit(make_learner: NewLearner, algorithm: str) -> None:
    going_on, restored = make_learner(algorithm), make_learner(algorithm)
    for _ in range(2):
        going_on.iterate()
    restored.iterate()  # with a history of its own, which must leave no trace
    assert differing(going_on, restored)
    restored.state.restore(going_on.state.tensors(), going_on.state.document())
    assert differing(going_on, restored) == []
    for _ in range(2):
        assert going_on.iterate()["kl"] == restored.iterate()["kl"]
        assert differing(going_on, restored) == []
    assert going_on.state.document() == restored.state.document()


def test_building_and_training_leave_the_global_generator_alone(make_learner: NewLearner) -> None:
    before = torch.get_rng_state()
    make_learner().iterate()
    assert torch.equal(torch.get_rng_state(), before)


def test_the_common_frame_is_that_of_the_demonstrations_or_the_bundled_ones(
    make_learner: NewLearner,
) -> None:
    three, all_bundled = load_demos("Reacher-v4").first(3), load_demos("Reacher-v4")
    assert torch.equal(make_learner("gail").common_frame.std, three.state_std)
    trpo_frame = make_learner("trpo").common_frame
    assert torch.equal(trpo_frame.std, all_bundled.state_std)
    assert trpo_frame.source == "bundled demonstrations of Reacher-v4"
    assert make_learner("trpo", "Pendulum-v1").common_frame is None


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_a_gpu_simulation_acts_with_the_policy_that_is_trained(make_learner: NewLearner) -> None:
    before = torch.get_rng_state()
    learner = make_learner(device="cuda")
    assert torch.equal(torch.get_rng_state(), before)
    for _ in range(3):
        assert learner.policy.log_std.is_cuda and not learner.rollout_policy.log_std.is_cuda
        for name, value in learner.policy.state_dict().items():
            assert torch.equal(value.cpu(), learner.rollout_policy.state_dict()[name])
        learner.iterate()


def test_moves_are_counted_from_the_end_of_the_warm_start(make_learner: NewLearner) -> None:
    learner = make_learner(warm_start_steps=20, warm_start_iterations=2)
    counted = []
    for iteration in range(5):
        learner.counters.iteration = iteration
        counted.append(learner.num_moves)
    assert counted == [0, 0, 0, 1, 2]


def test_only_episodes_that_terminate_count_as_ended_early(make_learner: NewLearner) -> None:
    learner = make_learner("gail")
    assert learner.demonstrations is not None
    states, nothing = learner.demonstrations.states, np.zeros(4)

    def score(*is_terminated: bool) -> float:
        lengths = np.full(4, 25)
        totals = EpisodeTotals(nothing, lengths, states, nothing, np.array(is_terminated))
        found = evaluation_of(learner.evaluated_policy, totals, None, learner.demonstrated)
        assert found.imitation_score is not None
        return found.imitation_score

    assert score(False, False, False, False) == 0.0
    assert score(True, False, False, False) == 0.25


def kinds_of(learner: OnPolicy, num_rounds: int = 1) -> list[Hashable]:
    kinds: list[Hashable] = []
    learner.recorder.begin_round = kinds.append  # type: ignore[method-assign]
    for _ in range(num_rounds):
        learner.iterate()
    return kinds


def test_rounds_of_equal_shapes_and_terms_are_of_one_kind(make_learner: NewLearner) -> None:
    learner = make_learner()
    learner.penalty_weights["exact"] = 0.1
    (kind,) = kinds_of(learner)
    learner.penalty_weights["exact"] = 0.2
    assert kinds_of(learner) == [kind]
    learner.penalty_weights["frobenius"] = 0.1
    assert kinds_of(learner) != [kind]
    del learner.penalty_weights["frobenius"]
    learner.reward_terms.append(lambda played: played.env_rewards)
    assert kinds_of(learner) != [kind]
    longer = make_learner(steps_per_iteration=600)
    longer.penalty_weights["exact"] = 0.1
    assert kinds_of(longer) != [kind]


@pytest.mark.parametrize("name", ["cats", "mine"])
def test_no_two_rounds_with_pairs_of_states_or_a_users_function_are_of_one_kind(
    make_learner: NewLearner, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def mine(mean_action: Any, states: torch.Tensor, **given: Any) -> torch.Tensor:
        return mean_action(states).square().mean()

    monkeypatch.setitem(POLICY_PENALTIES, "mine", PenaltyKind(1.0, "", mine))
    moving = make_learner()
    waiting = make_learner(warm_start_epochs=1, warm_start_iterations=2)
    for learner in (moving, waiting):
        learner.penalty_weights[name] = 1.0
    first, second = kinds_of(moving, 2)
    assert first != second
    # While the policy waits no penalty is computed.
    first, second = kinds_of(waiting, 2)
    assert first == second
