"""A start from a clone: what it leaves behind, how long it waits, and that it repeats."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
import torch
from tiny_runs import plain_config, tiny

from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.demos.file import load_demos
from spacil.learning.cloning import WARM_START_FRACTION, clone, cloning_config, start_from_clone
from spacil.learning.on_policy import OnPolicy
from spacil.learning.run import train

TASK = "Reacher-v4"
EPOCHS, WAIT = 3, 2

NewLearner = Callable[..., OnPolicy]


@pytest.fixture
def new_learner() -> Iterator[NewLearner]:
    made: list[OnPolicy] = []

    def make(algorithm: Any = "spacil", **settings: Any) -> OnPolicy:
        warm = {"warm_start_epochs": EPOCHS, "warm_start_iterations": WAIT, "iterations": 4}
        config = with_settings(plain_config(algorithm, TASK), tiny(algorithm) | warm | settings)
        made.append(OnPolicy(config, TASK, load_demos(TASK).first(3)))
        return made[-1]

    yield make
    for learner in made:
        learner.close()


def parameters(learner: OnPolicy, name: str) -> dict[str, torch.Tensor]:
    return {key: value for key, value in learner.state.tensors().items() if key.startswith(name)}


def put_clone(learner: OnPolicy) -> None:
    assert learner.demonstrations is not None
    start_from_clone(learner.policy, learner.config, learner.env.spec, learner.demonstrations)


def is_same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    assert first.keys() == second.keys() and first
    return all(torch.equal(first[name], second[name]) for name in first)


def test_the_policy_starts_as_a_clone_with_the_spread_of_the_run(new_learner: NewLearner) -> None:
    learner = new_learner(initial_log_std=-1.5)
    untrained = parameters(learner, "policy.mean_net.")
    learner.iterate()
    assert learner.demonstrations is not None
    cloned = clone(learner.demonstrations, learner.env.spec, cloning_config(learner.config))
    for name, parameter in cloned.mean_net.named_parameters():
        assert torch.equal(learner.policy.mean_net.get_parameter(name), parameter)
        assert not torch.equal(untrained[f"policy.mean_net.{name}"], parameter)
    assert learner.policy.log_std.tolist() == [-1.5, -1.5]


def test_the_normaliser_is_the_demonstrations_and_stays(new_learner: NewLearner) -> None:
    learner = new_learner()
    for _ in range(WAIT + 1):
        learner.iterate()
    demos, normalizer = learner.demonstrations, learner.policy.normalizer
    assert demos is not None
    assert normalizer.count == demos.num_steps
    torch.testing.assert_close(normalizer.mean, demos.states.double().mean(0))


def test_the_policy_waits_while_critic_and_discriminator_learn_and_then_moves(
    new_learner: NewLearner,
) -> None:
    learner = new_learner()
    put_clone(learner)
    clone = parameters(learner, "policy.")
    learner.counters.iteration = 1
    critics = [parameters(learner, name) for name in ("value.", "discriminator.")]
    waiting = learner.iterate()
    assert is_same(parameters(learner, "policy."), clone)
    assert not any(
        is_same(parameters(learner, name), before)
        for name, before in zip(("value.", "discriminator."), critics, strict=True)
    )
    assert (waiting["kl"], waiting["step_fraction"]) == (0, 0)
    assert "warm start" in waiting["line_search_reason"] and not waiting["warn_line_search"]
    moving = learner.iterate()
    assert moving["kl"] > 0 and not is_same(parameters(learner, "policy."), clone)


def test_critic_and_discriminator_train_harder_only_while_the_policy_waits(
    new_learner: NewLearner,
) -> None:
    learner = new_learner(discriminator_steps=2, value_epochs=3)
    for waits in (True, True, False):
        assert learner.is_waiting is waits
        learner.iterate()
    assert learner.adversary is not None
    assert int(learner.adversary.optimizer.num_steps) == 20 + 20 + 2
    sampling, value = learner.config.sampling, learner.config.value
    per_epoch = -(-sampling.steps_per_iteration // value.value_minibatch)
    assert int(learner.value_optimizer.num_steps) == (15 + 15 + 3) * per_epoch


def test_cloning_draws_from_no_stream_of_the_run(new_learner: NewLearner) -> None:
    learner = new_learner()
    before = parameters(learner, "stream.")
    put_clone(learner)
    assert is_same(parameters(learner, "stream."), before)


@pytest.mark.parametrize("done", [1, WAIT, WAIT + 1])
def test_a_run_goes_on_bit_for_bit_and_does_not_clone_again(
    new_learner: NewLearner, done: int
) -> None:
    whole, stopped, resumed = new_learner(), new_learner(), new_learner()
    first: list[dict[str, Any]] = []
    train(whole, first.append)
    assert [row.get("seconds_warm_start", 0) > 0 for row in first] == [True, False, False, False]
    train(stopped, lambda metrics: metrics["iteration"] < done)
    resumed.state.restore(stopped.state.tensors(), stopped.state.document())
    rows: list[dict[str, Any]] = []
    train(resumed, rows.append)
    assert is_same(parameters(resumed, ""), parameters(whole, ""))
    assert [row["iteration"] for row in rows] == list(range(done + 1, 5))
    assert not any("seconds_warm_start" in row for row in rows)


def test_cloning_has_a_fraction_of_the_runs_penalties_and_no_target() -> None:
    spacil = with_settings(
        default_config("spacil", TASK, "plain"),
        {"warm_start_epochs": 7, "penalty": ("exact=0.3", "cats=3.0"), "smoothness_target": 1.0},
    )
    # A search that starts from a larger weight clones with more of it, in proportion.
    for first_weight, factor in ((None, 1), (0.3, 1), (1.2, 4)):
        cloning = cloning_config(spacil, first_weight=first_weight)
        assert [(term.name, term.weight) for term in cloning.policy_penalty.terms] == [
            ("exact", pytest.approx(0.3 * factor * WARM_START_FRACTION)),
            ("cats", pytest.approx(3.0 * factor * WARM_START_FRACTION)),
        ]
    assert cloning.wish.smoothness_target == 0 and cloning.run.iterations == 7
    assert cloning.nets == spacil.nets and cloning.run.seed != spacil.run.seed
    gail = with_settings(default_config("gail", TASK), {"warm_start_epochs": 7})
    assert cloning_config(gail).policy_penalty.terms == ()


def test_a_target_moves_no_weight_while_the_policy_waits(new_learner: NewLearner) -> None:
    learner = new_learner(smoothness_target=0.5, evaluation_interval=100)
    weights = [learner.iterate()["lambda_policy"] for _ in range(WAIT + 2)]
    assert weights[0] == weights[1] == weights[2] != weights[3]


def test_a_wait_without_a_clone_is_no_wait(new_learner: NewLearner) -> None:
    learner = new_learner("gail", warm_start_epochs=0)
    with closing(learner):
        assert learner.iterate()["kl"] > 0
    assert learner.policy.normalizer.count == learner.counters.env_steps
