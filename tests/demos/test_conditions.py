"""Demonstrations as a policy would see them whose actions are late and whose sensors err."""

import contextlib

import numpy as np
import pytest
import torch

from spacil.config.settings import ConditionsConfig
from spacil.demos.conditions import under_conditions
from spacil.demos.demonstrations import Demonstrations
from spacil.envs.conditions import EnvUnderConditions
from spacil.envs.episodes import collect_around
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import ResetSeeds
from spacil.errors import ConfigError, DataError


def counting(num_steps: int = 6) -> Demonstrations:
    """State t at step t, action t / 10."""
    states = np.arange(num_steps + 1.0)[:, None] + np.array([[0.0, 100.0]])
    return Demonstrations.from_arrays([states], [np.arange(num_steps)[:, None] / 10])


def test_the_command_of_a_step_is_what_the_env_executes_so_much_later() -> None:
    late = under_conditions(counting(), ConditionsConfig(action_delay="2"), 0)
    episode = late.episodes[0]
    assert episode.observations[:, 0].tolist() == list(range(7))
    assert episode.executed_actions[:4, 0].tolist() == pytest.approx([0.2, 0.3, 0.4, 0.5])
    # on their way in step 1, the newest first: what is executed in steps 2 and 1
    assert episode.observations[1, 2:].tolist() == pytest.approx([0.2, 0.1])


def test_the_command_on_its_way_longest_is_the_recorded_action() -> None:
    """What a delayed env executes in state s is what the demonstrator did in s."""
    demos = counting()
    late = under_conditions(demos, ConditionsConfig(action_delay="3"), 0)
    executed_now = late.episodes[0].observations[:-1, -1]
    assert torch.equal(executed_now, demos.executed_actions[:, 0].to(executed_now))


def test_demonstrations_recorded_with_the_delay_keep_their_commands() -> None:
    conditions = ConditionsConfig(action_delay="2")
    kept = under_conditions(counting(), conditions, 0, recorded_delay=2).episodes[0]
    assert torch.equal(kept.executed_actions, counting().executed_actions)
    assert kept.observations[3, 2:].tolist() == pytest.approx([0.2, 0.1])
    assert kept.observations[0, 2:].tolist() == [0.0, 0.0]


def test_late_observations_are_those_of_before() -> None:
    conditions = ConditionsConfig(observation_delay="2", history=0)
    late = under_conditions(counting(), conditions, 0)
    assert late.episodes[0].observations[:, 0].tolist() == [0, 0, 0, 1, 2, 3, 4]
    assert torch.equal(late.executed_actions, counting().executed_actions)


def test_an_unknown_delay_gives_each_episode_once_for_each_delay() -> None:
    many = under_conditions(counting(), ConditionsConfig(action_delay="0-2"), 0)
    assert many.num_episodes == 3
    assert many.num_states == 2 + 2 * 1 + 2 * 2
    commands = [float(episode.executed_actions[1, 0]) for episode in many.episodes]
    assert commands == pytest.approx([0.1, 0.2, 0.3])


def test_noise_is_in_units_of_the_demonstrations() -> None:
    noisy = under_conditions(counting(2_000), ConditionsConfig(sensor_noise=0.1), 0)
    error = noisy.states - counting(2_000).states
    assert float(error[:, 0].std()) == pytest.approx(
        0.1 * float(counting(2_000).state_std[0]), rel=0.1
    )


def test_thinned_demonstrations_are_refused_and_no_condition_changes_nothing() -> None:
    with pytest.raises(DataError, match="whole episodes"):
        under_conditions(counting().subsample(2), ConditionsConfig(action_delay="1"), 0)
    demos = counting()
    assert under_conditions(demos, ConditionsConfig(), 0) is demos


def test_commands_recorded_in_a_late_env_look_as_its_policy_saw_them() -> None:
    conditions, seeds = ConditionsConfig(action_delay="2"), ResetSeeds(0, "env")
    with contextlib.closing(make_vector_env("Reacher-v4", 1, seeds, 1)) as plain:
        env = EnvUnderConditions(plain, conditions, seeds)
        generator = torch.Generator().manual_seed(0)
        noise = torch.randn(20, 1, 2, generator=generator).clamp(-1, 1)
        played, _ = collect_around(env, lambda seen: torch.zeros(1, 2), noise.clone(), env.reset())
        num_sensors = plain.spec.num_states
    states = torch.cat([played.states, played.last_states.unsqueeze(0)])[:, 0]
    recorded = Demonstrations.from_arrays(
        [states[:, :num_sensors].numpy()], [played.actions[:, 0].numpy()]
    )
    kept = under_conditions(recorded, conditions, 0, recorded_delay=2)
    assert torch.equal(kept.states, states[:-1])
    assert torch.equal(kept.executed_actions, played.actions[:, 0])
    # without a delay, what was executed in a state is what was commanded two steps before
    prompt = under_conditions(recorded, ConditionsConfig(), 0, recorded_delay=2)
    assert torch.equal(prompt.states, states[:-1, :num_sensors])
    assert torch.equal(prompt.executed_actions[2:], played.actions[:-2, 0])
    assert not prompt.executed_actions[:2].any()


def test_a_recorded_delay_that_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigError, match="--demos-delay -1: expected steps, 0 or more"):
        under_conditions(counting(), ConditionsConfig(), 0, recorded_delay=-1)
    with pytest.raises(ConfigError, match=r"--demos-delay 1: .* no actions to be late"):
        under_conditions(counting().without_actions(), ConditionsConfig(), 0, recorded_delay=1)
