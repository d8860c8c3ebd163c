"""The margin is where a tenth of the return is lost, and fine play agrees."""

import numpy as np
import point_mass
import pytest
import torch
from torch import Tensor

from spacil.config.settings import ConditionsConfig
from spacil.envs.conditions import disturbed, under
from spacil.envs.episodes import play_for_totals
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import ResetSeeds, VectorEnv
from spacil.measuring.margins import margin, measure_margins
from spacil.measuring.played import random_return

SEEDS = ResetSeeds(3, "evaluate")


def tight(states: Tensor) -> Tensor:
    """Good without delay; under a step or two it swings from bound to bound."""
    return (-6 * states[:, :1] - 5 * states[:, 1:2]).clamp(-1, 1)


def cart() -> VectorEnv:
    return make_vector_env(point_mass.make_point_mass, 10, SEEDS)


@pytest.mark.parametrize(("slope", "level"), [(0.1, 1.0), (0.05, 2.0), (0.04, 2.5), (1.0, 0.1)])
def test_of_a_straight_line_the_margin_is_exact(slope: float, level: float) -> None:
    found = margin(lambda late: (1 - slope * late, 0.0), 0.25, 8.0)
    assert found.level == found.low == found.high == pytest.approx(level)


def test_the_interval_has_the_margins_of_two_standard_errors_each_way() -> None:
    found = margin(lambda late: (1 - 0.1 * late, 0.02), 0.25, 8.0)
    assert found.level == pytest.approx(1.0)
    assert found.low == pytest.approx(0.6, abs=0.05) and found.high == pytest.approx(1.4, abs=0.05)


def test_what_loses_no_tenth_has_no_margin_within_what_is_played() -> None:
    found = margin(lambda late: (1 - 0.01 * late, 0.03), 0.25, 8.0)
    assert found.level is None and found.high is None and found.low == pytest.approx(4.0, abs=0.5)


def test_within_a_step_two_commands_are_interpolated() -> None:
    """Executed are .75 of the newest command and .25 of the one before."""
    env = disturbed(cart(), later=0.25)
    speed = env.reset()[:, 1]
    for command, executed in ((1.0, 0.75), (0.0, 0.25), (-1.0, -0.75)):
        step = env.step(torch.full((10, 1), command))
        torch.testing.assert_close(
            step.observations[:, 1] - speed, torch.full((10,), 0.2 * executed)
        )
        speed = step.observations[:, 1]


def test_fine_play_agrees_with_the_margins_of_a_controller() -> None:
    env = cart()
    found = measure_margins(env, tight, torch.tensor([0.3, 0.3]), 10, 0)
    assert found is not None and found.delay_steps.level is not None
    lowest = random_return(env, 0)

    def share(late: float) -> float:
        returns = play_for_totals(disturbed(env, later=late), tight, 0, 10).returns
        clean = play_for_totals(env, tight, 0, 10).returns
        return float((np.mean(returns) - lowest) / (np.mean(clean) - lowest))

    levels = np.arange(0.0, 8.0, 0.1)
    truth = next(level for level in levels if share(level) < 0.9)
    assert found.delay_steps.level == pytest.approx(truth, abs=0.5)
    assert found.noise.level is None or found.noise.level > 0.05
    env.close()


def test_of_a_policy_made_for_a_delay_the_margin_is_what_more_it_bears() -> None:
    conditions = ConditionsConfig(action_delay="1")
    env = under(cart(), conditions, SEEDS)
    more = disturbed(env, later=0.5)
    assert env.spec.num_states == more.spec.num_states == 3
    command, rewards = torch.ones(10, 1), []
    for each in (env, more):  # one cart in turn; nothing has arrived in its first step
        each.reset()
        rewards.append(each.step(command).rewards)
    assert torch.equal(*rewards)
    assert torch.equal(more.step(-command).observations[:, 2:], -command)  # its own, not what came
