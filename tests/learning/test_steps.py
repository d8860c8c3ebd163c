"""A clone counted in Adam steps: the same loss as by epochs, and the best policy of the way."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.demos.file import load_demos
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import ResetSeeds
from spacil.learning import clone_steps as steps
from spacil.learning.clone_steps import clone_in_steps
from spacil.learning.cloner import Cloner

TASK = "Reacher-v4"


@pytest.fixture(scope="module")
def spec() -> Any:
    env = make_vector_env(TASK, 1, ResetSeeds(0, "probe"), 1)
    env.close()
    return env.spec


@pytest.fixture
def cloner(spec: Any) -> Callable[..., Cloner]:
    def make(num_episodes: int = 3, **settings: Any) -> Cloner:
        changes = {"policy_hidden": (16, 8), "torch_threads": 1} | settings
        config = with_settings(default_config("bc", TASK), changes)
        return Cloner(config, spec, load_demos(TASK).first(num_episodes))

    return make


def test_a_step_without_penalty_is_that_of_autograd(cloner: Callable[..., Cloner]) -> None:
    ours, theirs = cloner(clone_minibatch=1_000), cloner(clone_minibatch=1_000)
    clone_in_steps(ours, 1)
    optimizer = torch.optim.Adam(theirs.student.mean_net.parameters(), 1e-3)
    optimizer.zero_grad()
    mean = theirs.student.mean_of_normalized(theirs.taught.rows.states)
    (mean - theirs.taught.actions).square().sum(-1).mean().backward()
    optimizer.step()
    for one, other in zip(
        ours.student.mean_net.parameters(), theirs.student.mean_net.parameters(), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


def test_the_penalty_of_a_few_minibatches_has_the_gradient_of_all(
    cloner: Callable[..., Cloner], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"penalty": ("exact=0.5",), "penalty_state_fraction": 1.0, "clone_minibatch": 1_000}
    terms = cloner(**settings).config.policy_penalty.terms
    gradients = {}
    for interval in (1, 8):
        monkeypatch.setattr(steps, "PENALTY_INTERVAL", interval)
        with_term, without = cloner(**settings), cloner(**settings)
        rows = torch.arange(len(with_term.taught.actions))
        steps._step(with_term, rows, terms)
        steps._step(without, rows, ())
        gradients[interval] = with_term.optimizer.gradient - without.optimizer.gradient
    assert gradients[1].norm() > 0
    torch.testing.assert_close(gradients[8], 8 * gradients[1], rtol=1e-3, atol=1e-5)


def test_so_many_steps_are_taken_however_few_pairs_there_are(
    cloner: Callable[..., Cloner],
) -> None:
    few = cloner(2)
    clone_in_steps(few, 130)
    assert len(few.taught.actions) < few.config.bc.clone_minibatch
    assert int(few.optimizer.num_steps) == 130
    assert few.counters.iteration == 2  # looks: after 100 steps, and at the end


def test_the_policy_of_the_lowest_held_out_loss_is_handed_out(
    cloner: Callable[..., Cloner], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "CHECK_INTERVAL", 1)
    overfitting = cloner(2, clone_learning_rate=0.3)
    policy = clone_in_steps(overfitting, 30)
    heldout = overfitting.heldout
    with torch.no_grad():
        errors = policy.mean_of_normalized(heldout.rows.states) - heldout.actions
    found = float(errors.square().sum(-1).mean())
    assert found == pytest.approx(overfitting.counters.chosen_loss, rel=1e-4)
    assert overfitting.counters.chosen_iteration < 30


def test_with_one_episode_the_last_student_is_handed_out(cloner: Callable[..., Cloner]) -> None:
    alone = cloner(1)
    policy = clone_in_steps(alone, 5)
    for kept, last in zip(policy.parameters(), alone.student.parameters(), strict=True):
        assert torch.equal(kept, last)


def test_a_penalty_makes_the_clone_smoother(cloner: Callable[..., Cloner]) -> None:
    slopes = []
    for penalty in ((), ("exact=1.0",)):
        made = cloner(penalty=penalty)
        policy = clone_in_steps(made, 200)
        states = made.taught.rows.states[:50].clone().requires_grad_()
        (slope,) = torch.autograd.grad(policy.mean_of_normalized(states)[:, 0].sum(), states)
        slopes.append(float(slope.norm(dim=-1).mean()))
    assert slopes[1] < 0.8 * slopes[0]
