"""Learning from states alone: own play, labels, and a discriminator on changes of state."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import gymnasium
import pytest
import torch
from tiny_runs import tiny
from torch import Tensor

from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.config.settings import DemoChoice
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import load_demos
from spacil.errors import ConfigError
from spacil.learning import own_play
from spacil.learning.adversary import AgentBatch, GailAdversary
from spacil.learning.intake import demonstrations_for
from spacil.learning.inverse_model import (
    ForwardModel,
    InverseModel,
    OwnSteps,
    towards_each_other,
)
from spacil.learning.learner import Learner, make_learner
from spacil.learning.on_policy import OnPolicy
from spacil.learning.weight_search import LABELS_J, ScoreSearch, SlowSearch
from spacil.nets.discriminator import Discriminator

NUM_OWN = 2 * 20 * 30
ANY_ENV = DemoChoice(allow_env_mismatch=True)


@pytest.fixture(autouse=True)
def short_own_play(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "NUM_ROUNDS": 2,
        "STEPS_PER_ENV": 30,
        "FIT_STEPS": 20,
        "CLONE_STEPS": 20,
        "REFRESH_STEPS": 5,
        "MOST_KEPT": 1_500,
    }.items():
        monkeypatch.setattr(own_play, name, value)


def states_alone(task: str = "Hopper-v4") -> Demonstrations:
    return load_demos(task).first(4).subsample(20).without_actions()


KINDS = {
    "pairs": ANY_ENV,
    "positions": replace(ANY_ENV, demo_columns="0-4"),
    "single states": replace(ANY_ENV, single_states=True),
}


@pytest.fixture
def new_learner() -> Iterator[Callable[..., Any]]:
    made: list[Learner] = []

    def make(
        algorithm: str = "spacil", env: Any = "Hopper-v4", kind: str = "pairs", **settings: Any
    ) -> Learner:
        config = default_config(algorithm, "Hopper-v4")
        quick = {"warm_start_steps": 20} if algorithm == "spacil" else {}
        config = with_settings(config, tiny(algorithm) | quick | settings)
        intake, config = demonstrations_for(config, env, states_alone(), KINDS[kind])
        made.append(make_learner(config, env, intake.used))
        return made[-1]

    yield make
    for learner in made:
        learner.close()


def same(first: Learner, second: Learner) -> bool:
    ours, theirs = first.state.tensors(), second.state.tensors()
    return ours.keys() == theirs.keys() and all(torch.equal(ours[n], theirs[n]) for n in ours)


def test_own_play_counts_and_says_how_good_its_labels_are(new_learner: Any) -> None:
    learner = new_learner()
    metrics = learner.iterate()
    assert metrics["env_steps"] == NUM_OWN + 200
    assert 0 < metrics["label_error_held_out"] < 2
    assert 0 <= metrics["label_trust"] <= 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_resumed_run_goes_on_bit_for_bit(new_learner: Any, kind: str) -> None:
    whole, first, second = (new_learner(kind=kind) for _ in range(3))
    for learner in (whole, whole, whole, first, first):
        learner.iterate()
    second.state.restore(first.state.tensors(), first.state.document())
    assert second.labels.is_found
    second.iterate()
    assert same(second, whole)
    assert second.counters.env_steps == whole.counters.env_steps


def test_of_positions_own_play_finds_the_speeds_too(new_learner: Any) -> None:
    learner: OnPolicy = new_learner(kind="positions")
    labels, anchor = learner.labels, learner.anchor
    assert labels is not None
    assert anchor is not None
    assert learner.common_frame is not None
    assert not learner.common_frame.is_live[5:].any()
    learner.prepare()
    assert learner.common_frame.is_live.all()
    found, given = labels.demonstrations, states_alone()
    assert torch.equal(found.states[:, :5], given.states[:, :5])
    assert torch.equal(found.next_states[:, :5], given.next_states[:, :5])
    assert found.states[:, 5:].std(0).min() > 0
    assert torch.equal(anchor.states, found.states)
    for _ in range(2):
        learner.iterate()
    assert not torch.equal(anchor.states, found.states)
    assert torch.equal(anchor.states, labels.demonstrations.states)


@pytest.mark.parametrize("algorithm", ["spacil", "bc"])
def test_single_states_start_from_what_leads_to_each_other(
    new_learner: Any, algorithm: str
) -> None:
    learner = new_learner(algorithm, kind="single states")
    assert learner.iterate()["env_steps"] == NUM_OWN + (200 if algorithm == "spacil" else 0)


def test_labels_that_are_not_refreshed_take_no_room(new_learner: Any) -> None:
    learner = new_learner(kind="single states")
    learner.iterate()
    before = learner.labels.found["actions"].clone()
    learner.iterate()
    assert torch.equal(before, learner.labels.found["actions"])
    assert learner.labels.is_found
    assert len(learner.labels.own) == 1


@pytest.mark.parametrize("kind", ["positions", "single states"])
def test_gail_compares_what_was_demonstrated(new_learner: Any, kind: str) -> None:
    learner = new_learner("gail", kind=kind)
    assert learner.iterate()["env_steps"] == 200
    assert learner.labels is None


def test_batches_of_the_run_refresh_labels_and_anchor(new_learner: Any) -> None:
    learner: OnPolicy = new_learner()
    learner.prepare()
    assert learner.labels is not None
    assert learner.anchor is not None
    before = learner.labels.found["actions"].clone()
    learner.iterate()
    assert torch.equal(before, learner.labels.found["actions"])
    learner.iterate()
    assert not torch.equal(before, learner.labels.found["actions"])
    assert torch.equal(learner.anchor.actions, learner.labels.found["actions"])
    assert len(learner.labels.own) <= 1_500


def hopper(scale: float) -> Callable[[], gymnasium.Env[Any, Any]]:
    def make() -> gymnasium.Env[Any, Any]:
        env = gymnasium.make("Hopper-v5")
        return gymnasium.wrappers.TransformReward(env, lambda reward: scale * float(reward))

    return make


@pytest.mark.parametrize("kind", KINDS)
def test_no_reward_is_read(new_learner: Any, kind: str) -> None:
    paid, unpaid = (new_learner(env=hopper(scale), kind=kind) for scale in (1.0, 0.0))
    for learner in (paid, unpaid):
        for _ in range(3):
            metrics = learner.iterate()
    assert metrics["episodes_finished"] > 0
    ours, theirs = paid.state.tensors(), unpaid.state.tensors()
    differing = {name for name in ours if not torch.equal(ours[name], theirs[name])}
    assert differing <= {"episode.returns"}


def test_gail_needs_no_labels(new_learner: Any) -> None:
    learner = new_learner("gail")
    assert learner.labels is None
    metrics = learner.iterate()
    assert metrics["env_steps"] == 200
    assert "label_trust" not in metrics
    assert learner.adversary.network.reads_changes


@pytest.mark.parametrize("inputs", [("states",), ("states", "next_states")])
def test_a_discriminator_may_read_states_alone(new_learner: Any, inputs: tuple[str, ...]) -> None:
    learner = new_learner("gail", discriminator_inputs=inputs)
    assert learner.config.discriminator.discriminator_inputs == inputs
    assert learner.iterate()["env_steps"] == 200


def test_a_penalty_on_the_cost_of_actions_is_refused_with_its_remedy(new_learner: Any) -> None:
    with pytest.raises(ConfigError, match="give --cost-penalty-form r1"):
        new_learner("spacil", cost_penalty_form="response")


def test_a_clone_is_that_of_the_labels(new_learner: Any) -> None:
    learner = new_learner("bc")
    metrics = learner.iterate()
    assert metrics["env_steps"] == NUM_OWN
    assert len(learner.taught) + len(learner.heldout) == states_alone().num_steps
    assert learner.demonstrations.content_hash == states_alone().content_hash


# --- the parts


def test_changes_stand_in_the_place_of_actions_in_raw_units(new_learner: Any) -> None:
    adversary: GailAdversary = new_learner("gail").adversary
    policy, network = adversary.policy, adversary.network
    policy.normalizer.merge(3 * torch.randn(50, 11, generator=torch.Generator().manual_seed(0)))
    adversary.read_changes_in(torch.full((11,), 0.5))
    states = torch.zeros(3, 11)
    following = states.clone()
    following[:, 0] = torch.tensor([1.0, 4.0, 1.0])
    batch = AgentBatch(
        policy.normalize(states),
        torch.empty(3, 3),
        policy.normalize(following),
        torch.tensor([False, False, True]),
    )
    compared = adversary._compared(batch)
    # 1 / 0.5, then 4 / 0.5 clipped, then the end of an episode
    assert compared[:, 0].tolist() == pytest.approx([2.0, 5.0, 0.0], abs=1e-5)
    assert not compared[:, 1:].any()
    assert network.as_read(compared).shape == (3, 11)


def test_a_discriminator_of_changes_has_no_cost_of_actions() -> None:
    assert not Discriminator(4, 2, reads=("states", "changes")).has_cost


def test_a_discriminator_of_some_columns_reads_no_others() -> None:
    generator = torch.Generator().manual_seed(0)
    network = Discriminator(4, 2, reads=("states", "changes"), columns=(0, 2), generator=generator)
    states, changes = (torch.randn(5, 4, generator=generator) for _ in range(2))
    for read in (states, changes):
        logits = network.logits_agent_is_high(states, changes)
        read[:, [1, 3]] += 1
        assert torch.equal(network.logits_agent_is_high(states, changes), logits)
        read[:, 2] += 1
        assert not torch.equal(network.logits_agent_is_high(states, changes), logits)


def test_the_columns_of_a_discriminator_are_where_its_weights_are() -> None:
    network = Discriminator(4, 2, reads=("states", "changes"), columns=(0, 2)).to("meta")
    assert network.columns is not None
    assert network.columns.is_meta


def own_steps(hidden: bool) -> OwnSteps:
    """A unit mass per dim: the change of state is the action, or in dim 1 nothing."""
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(3_000, 2, generator=generator)
    actions = 0.5 * torch.randn(3_000, 2, generator=generator)
    moved: Tensor = actions * torch.tensor([1.0, 0.0 if hidden else 1.0])
    envs = torch.arange(3_000) % 6
    zeros = torch.zeros_like(actions)
    return OwnSteps(states, states + moved, actions, zeros, envs, torch.zeros_like(envs))


EVERY = torch.ones(2, dtype=torch.bool)


@pytest.mark.parametrize("hidden", [False, True])
def test_trust_is_the_share_of_the_noise_that_states_tell(hidden: bool) -> None:
    generator = torch.Generator().manual_seed(1)
    model = InverseModel(EVERY, torch.full((2,), -2.0), torch.full((2,), 2.0), generator)
    own = own_steps(hidden)
    model.standardize(own)
    model.fit(own, torch.ones(len(own)), 300, 1e-3, generator)
    error, trust = model.quality(own, own.states[:200], own.next_states[:200], generator)
    assert trust[0] > 0.95
    if hidden:
        assert trust[1] < 0.1
        assert 0.3 < float(error) < 0.45  # 0.5 in one of two dims
    else:
        assert trust[1] > 0.95
        assert float(error) < 0.1


def test_a_dim_that_rests_is_not_read_and_leaves_a_model_finite() -> None:
    own, bound = own_steps(hidden=True), torch.ones(2)
    model = InverseModel(EVERY, -bound, bound, torch.Generator().manual_seed(0))
    own.states[:, 1] = own.next_states[:, 1] = 3.0
    model.standardize(own)
    assert all(tensor.isfinite().all() for tensor in model.state_dict().values())
    inputs = model.inputs(own.states + 1, own.next_states)
    assert not inputs[:, [1, 3]].any()
    assert inputs[:, [0, 2]].any()


def pushed(states: Tensor, actions: Tensor) -> Tensor:
    """A mass on a rail: position and speed, one action."""
    position, speed = states.T
    return torch.stack([position + 0.1 * speed, speed + 0.1 * actions[:, 0]], 1)


def own_pushes() -> OwnSteps:
    generator = torch.Generator().manual_seed(0)
    states, actions = (2 * torch.rand(3_000, n, generator=generator) - 1 for n in (2, 1))
    envs = torch.arange(3_000) % 6
    after = pushed(states, actions)
    return OwnSteps(states, after, actions, 0 * actions, envs, torch.zeros_like(envs))


def test_positions_tell_the_speed_between_them() -> None:
    generator, bound = torch.Generator().manual_seed(1), torch.ones(1)
    model = InverseModel(torch.tensor([True, False]), -bound, bound, generator)
    own = own_pushes()
    model.standardize(own)
    model.fit(own, torch.ones(len(own)), 300, 1e-3, generator)
    blank = torch.tensor([1.0, 0.0])
    states, after = model.completed(own.states * blank, own.next_states * blank)
    assert torch.equal(states[:, 0], own.states[:, 0])
    assert (states[:, 1] - own.states[:, 1]).square().mean().sqrt() < 0.1
    assert (after[:, 1] - own.next_states[:, 1]).square().mean().sqrt() < 0.15  # 0.06 by chance
    assert not states[:, 1].isclose(after[:, 1]).all()


def test_single_states_are_led_to_those_that_follow() -> None:
    generator, bound = torch.Generator().manual_seed(1), torch.ones(1)
    inverse, forward = InverseModel(EVERY, -bound, bound, generator), ForwardModel(2, 1, generator)
    own = own_pushes()
    for model in (inverse, forward):
        model.standardize(own)
        model.fit(own, torch.ones(len(own)), 500, 1e-3, generator)
    starts = torch.tensor([[-1.0, 0.9], [0.9, -0.9], [-0.9, -0.1]])
    actions = torch.tensor([[-0.8], [0.5], [0.9]])
    states = torch.cat([starts, pushed(starts, actions)])
    found, successors, certainty = towards_each_other(
        inverse, forward, states, torch.zeros(len(states), 1)
    )
    assert torch.equal(successors[:3], states[3:])
    assert (found[:3] - actions).abs().max() < 0.2
    assert 0 <= float(certainty) <= 1


def by_labels() -> SlowSearch:
    return SlowSearch.of(
        ScoreSearch.starting(threshold=1.0, target_j=1.0, config_weight=0.1, first=0.5), LABELS_J
    )


def weights_after(*scores: float, j: float) -> list[float]:
    search, weights = by_labels(), []
    for score in scores:
        search = search.after_evaluation(score, j)
        weights.append(search.weight)
    return weights


def test_of_labels_j_is_taken_to_be_too_low() -> None:
    assert by_labels().target_j == 1.5
    assert by_labels().weight == 0.5


def test_a_bad_score_lowers_the_weight_of_labels_at_once_whatever_j_is() -> None:
    assert weights_after(2.5, 4.0, j=9.0) == pytest.approx([0.25, 0.125])
    assert weights_after(*[4.0] * 30, j=9.0)[-1] == pytest.approx(0.02)


def test_a_score_in_progress_lets_the_weight_of_labels_be() -> None:
    assert weights_after(1.9, 1.7, 1.5, 1.3, 1.1, j=9.0) == [0.5] * 5


def test_a_score_that_stays_counts_as_all_that_there_is() -> None:
    weights = weights_after(*[1.4] * 6, j=9.0)
    assert weights[:4] == [0.5] * 4
    assert 0.5 < weights[4] < weights[5]


def test_a_score_that_got_worse_lowers_the_weight_of_labels() -> None:
    assert weights_after(0.5, 0.7, j=9.0)[1] == pytest.approx(0.9 * 0.625)
