"""Late actions, late and noisy observations, around any env."""

import pytest
import torch
from step_counter import Counter

from spacil.config.settings import ConditionsConfig
from spacil.envs.conditions import EnvUnderConditions
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import ResetSeeds, Step
from spacil.errors import ConfigError

SEEDS = ResetSeeds(3, "eval")


def played(env: EnvUnderConditions, num_steps: int) -> list[Step]:
    """Command .1, .2, ... in both envs."""
    env.reset()
    return [env.step(torch.full((2, 1), 0.1 * (t + 1))) for t in range(num_steps)]


def test_a_command_is_executed_as_many_steps_late_as_was_asked() -> None:
    env = EnvUnderConditions(Counter(), ConditionsConfig(action_delay="2"), SEEDS)
    steps = played(env, 4)
    assert [round(float(step.rewards[1]), 1) for step in steps] == [0.0, 0.0, 0.1, 0.2]


def test_the_policy_sees_what_is_still_on_its_way_the_newest_first() -> None:
    env = EnvUnderConditions(Counter(), ConditionsConfig(action_delay="2"), SEEDS)
    seen = played(env, 3)[-1].observations[1]
    torch.testing.assert_close(seen, torch.tensor([3.0, 0.1, 0.3, 0.2]))
    assert env.spec.num_states == 4


def test_an_episode_begins_with_nothing_on_its_way_and_the_final_state_has_the_past() -> None:
    env = EnvUnderConditions(Counter(), ConditionsConfig(action_delay="1"), SEEDS)
    last = played(env, 5)[-1]  # env 0 ends here
    torch.testing.assert_close(last.final_observations[0], torch.tensor([5.0, 0.4, 0.5]))
    torch.testing.assert_close(last.observations[0], torch.zeros(3))
    torch.testing.assert_close(last.observations[1], last.final_observations[1])


def test_late_observations_are_those_of_before_and_nobody_waits_at_the_start() -> None:
    conditions = ConditionsConfig(observation_delay="2", history=0)
    env = EnvUnderConditions(Counter(), conditions, SEEDS)
    assert [float(step.observations[1, 0]) for step in played(env, 4)] == [0.0, 0.0, 1.0, 2.0]
    assert float(env.true_observations[1, 0]) == 4.0


@pytest.mark.parametrize("jitter", [False, True])
def test_delays_are_drawn_within_their_range_per_episode_or_per_step(jitter: bool) -> None:
    conditions = ConditionsConfig(action_delay="0-2", delay_jitter=jitter)
    env = EnvUnderConditions(Counter(), conditions, SEEDS)
    drawn = set()
    for episode in range(20):
        env.reset(episode)
        within = set()
        for _ in range(5):
            within.add(int(env.action_delays[1]))
            env.step(torch.zeros(2, 1))
        drawn |= within
        assert jitter or len(within) == 1
    assert drawn == {0, 1, 2}


def test_under_jitter_no_command_that_has_been_executed_gives_way_to_an_older_one() -> None:
    conditions = ConditionsConfig(action_delay="0-3", delay_jitter=True)
    counter = Counter()
    counter.limits = torch.tensor([60, 60])
    env = EnvUnderConditions(counter, conditions, SEEDS)
    env.reset()
    executed = [float(env.step(torch.full((2, 1), t / 100.0)).rewards[0]) for t in range(1, 50)]
    assert executed == sorted(executed)


def test_where_a_delay_is_not_known_the_policy_sees_past_observations_too() -> None:
    env = EnvUnderConditions(Counter(), ConditionsConfig(action_delay="0-2"), SEEDS)
    assert env.spec.num_states == 2 + 2 * 1 + 2 * 2
    seen = played(env, 3)[-1].observations[1]
    assert seen[[0, 4, 6]].tolist() == [3.0, 2.0, 1.0]


def test_noise_is_in_units_of_the_demonstrations_and_leaves_the_env_alone() -> None:
    noise_std = torch.tensor([2.0, 0.0])
    env = EnvUnderConditions(Counter(), ConditionsConfig(sensor_noise=0.5), SEEDS, noise_std)
    errors = torch.stack([env.reset(i) - env.true_observations for i in range(400)])
    assert float(errors[..., 0].std()) == pytest.approx(1.0, rel=0.1)
    assert errors[..., 1].abs().max() == 0
    assert float(played(env, 3)[-1].rewards[0]) == pytest.approx(0.3)


def test_an_episode_has_the_same_noise_and_delays_whenever_it_is_played() -> None:
    conditions = ConditionsConfig(action_delay="0-2", delay_jitter=True, sensor_noise=0.1)
    env = EnvUnderConditions(Counter(), conditions, SEEDS, torch.ones(2))
    first, again = played(env, 6), played(env, 6)
    for one, other in zip(first, again, strict=True):
        assert torch.equal(one.observations, other.observations)


def test_a_saved_state_goes_on_bit_for_bit() -> None:
    conditions = ConditionsConfig(
        action_delay="0-2", observation_delay="1", delay_jitter=True, sensor_noise=0.1
    )
    env, other = (
        EnvUnderConditions(
            make_vector_env("Hopper-v4", 3, SEEDS), conditions, SEEDS, torch.ones(11)
        )
        for _ in range(2)
    )
    actions = torch.randn(30, 3, 3, generator=torch.Generator().manual_seed(1)).clamp(-1, 1)
    env.reset()
    for action in actions[:12]:
        env.step(action)
    saved = env.save_state()
    other.reset()
    assert torch.equal(other.load_state(saved), env.load_state(saved))
    for action in actions[12:]:
        one, two = env.step(action), other.step(action)
        assert torch.equal(one.observations.clone(), two.observations)
        assert torch.equal(one.rewards, two.rewards)
    for each in (env, other):
        each.close()


def test_without_any_condition_the_env_is_the_one_within() -> None:
    plain = make_vector_env("Hopper-v4", 3, SEEDS)
    wrapped = EnvUnderConditions(make_vector_env("Hopper-v4", 3, SEEDS), ConditionsConfig(), SEEDS)
    assert wrapped.spec.fingerprint == plain.spec.fingerprint
    assert torch.equal(plain.reset().float(), wrapped.reset())
    action = torch.full((3, 3), 0.3)
    for _ in range(20):
        ours, theirs = wrapped.step(action), plain.step(action)
        assert torch.equal(ours.observations, theirs.observations.float())
        assert torch.equal(ours.rewards, theirs.rewards)
    for each in (plain, wrapped):
        each.close()


@pytest.mark.parametrize("words", ["2-1", "-1", "1.5", "a", ""])
def test_what_is_no_delay_is_refused(words: str) -> None:
    with pytest.raises(ConfigError, match="--action-delay"):
        ConditionsConfig(action_delay=words)
