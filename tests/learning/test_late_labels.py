"""The teacher is asked where a command is executed, not where it is given."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import point_mass
import pytest
import torch
from step_counter import Counter
from tiny_runs import TINY_SMOOTHING
from torch import Tensor
from torch.nn.utils import parameters_to_vector

from spacil.config.settings import ConditionsConfig
from spacil.envs.episodes import collect_around
from spacil.envs.vector_env import ResetSeeds
from spacil.errors import ConfigError
from spacil.learning.late_labels import Witness, late_rows, teachers_rows
from spacil.learning.smooth import SmoothingResult, smooth
from spacil.policies.open import load_policy, open_policy

SEEDS = ResetSeeds(3, "env")


def counting(conditions: ConditionsConfig) -> Witness:
    """Episodes of 5 and 7 steps; a state is (steps so far, action executed last)."""
    return Witness(Counter(), conditions, SEEDS)


def by_steps(states: Tensor) -> Tensor:
    """A teacher whose action is a tenth of the steps so far."""
    return states[:, :1] / 10


def test_a_label_is_the_teachers_action_in_the_state_in_which_the_command_is_executed() -> None:
    env = counting(ConditionsConfig(action_delay="2"))
    observations = env.reset()
    played, _ = collect_around(
        env, lambda seen: seen[:, :1] * 0, torch.zeros(6, 2, 1), observations
    )
    truth, delays = env.testimony()
    inputs, targets, ahead = late_rows(
        played.states, truth, delays, played.terminated | played.truncated
    )
    # Env 0 ends after step 4, so its commands of steps 3 and 4 are executed by nobody; the batch
    # ends with states known up to step 6.
    seen_at = inputs[:, 0].tolist()
    assert targets[:, 0].tolist() == [t + 2 for t in seen_at]
    assert sorted(seen_at) == [0, 0, 1, 1, 2, 2, 3, 4]
    followed = inputs[torch.arange(len(inputs)) + ahead][ahead > 0, 0]
    assert (followed - inputs[ahead > 0, 0]).tolist() == [1.0] * 6


def test_the_witness_goes_on_where_it_left_off() -> None:
    env = counting(ConditionsConfig(action_delay="1"))
    env.reset()
    for _ in range(2):
        env.step(torch.zeros(2, 1))
    assert env.testimony()[0][:, 0, 0].tolist() == [0, 1, 2]
    env.step(torch.zeros(2, 1))
    assert env.testimony()[0][:, 0, 0].tolist() == [2, 3]


def test_steps_after_the_end_of_an_episode_that_waits_are_no_rows() -> None:
    truth = torch.arange(5.0).view(5, 1, 1)
    is_over = torch.tensor([[False], [True], [True], [True]])
    is_played = torch.tensor([[True], [True], [False], [False]])
    inputs, targets, _ = late_rows(truth[:-1], truth, torch.zeros(5, 1).long(), is_over, is_played)
    assert inputs.flatten().tolist() == targets.flatten().tolist() == [0, 1]


def test_the_teachers_own_play_is_shown_as_it_would_look_under_the_delay() -> None:
    """Seen at t: its state, and pending what the teacher does in t + 1 and t."""
    env = counting(ConditionsConfig(action_delay="2"))
    inputs, targets, _ = teachers_rows(env, by_steps, 12, torch.Generator())
    for seen, target in zip(inputs, targets, strict=True):
        t = float(seen[0])
        assert float(target[0]) == t + 2
        torch.testing.assert_close(seen[2:], torch.tensor([(t + 1) / 10, t / 10]))
    assert len(inputs) == 8


def test_with_late_observations_as_many_more_commands_are_on_their_way() -> None:
    env = counting(ConditionsConfig(action_delay="1", observation_delay="1"))
    inputs, targets, _ = teachers_rows(env, by_steps, 12, torch.Generator())
    seen, target = inputs[0], targets[0]
    assert float(target[0]) == float(seen[0]) + 2
    torch.testing.assert_close(seen[2:], (seen[0] + torch.tensor([1.0, 0.0])) / 10)


def test_where_delays_are_drawn_the_teachers_play_has_every_one_of_them() -> None:
    env = counting(ConditionsConfig(action_delay="0-1"))
    found = set()
    for seed in range(8):
        inputs, targets, _ = teachers_rows(env, by_steps, 8, torch.Generator().manual_seed(seed))
        found |= set((targets[:, 0] - inputs[:, 0]).tolist())
    assert found == {0.0, 1.0}


def test_students_in_the_delayed_env_and_the_teacher_are_shown_alike() -> None:
    """A student that does what the teacher would do, where it will be done, sees what it sees."""
    conditions = ConditionsConfig(action_delay="2")
    env = counting(conditions)
    ahead = lambda seen: (seen[:, :1] + 2) / 10  # noqa: E731  # by_steps, where it will be executed
    played, _ = collect_around(env, ahead, torch.zeros(6, 2, 1), env.reset())
    inputs, _, _ = teachers_rows(counting(conditions), by_steps, 12, torch.Generator())
    theirs = {tuple(round(float(x), 4) for x in row[[0, 2, 3]]) for row in inputs}
    ours = {tuple(round(float(x), 4) for x in row[[0, 2, 3]]) for row in played.flat_states}
    assert {row for row in theirs if row[0] >= 2} <= ours


# --- whole runs


def late_cart(**settings: Any) -> SmoothingResult:
    env, teacher = point_mass.make_point_mass, point_mass.jerky_teacher
    return smooth(teacher, env, episodes=5, **TINY_SMOOTHING | {"action_delay": 2} | settings)


def test_a_student_made_for_a_delay_keeps_what_its_teacher_loses_under_it() -> None:
    """A tight loop swings under two steps of delay; its student knows what is on its way."""

    def tight(states: np.ndarray) -> np.ndarray:
        return -6 * states[:, :1] - 5 * states[:, 1:]

    result = smooth(
        tight,
        point_mass.make_point_mass,
        episodes=5,
        action_delay=2,
        iterations=6,
        **TINY_SMOOTHING,
    )
    table = result.comparison
    assert table.late_teacher is not None and table.teacher.return_share == 1.0
    late, ours = table.late_teacher.played, table.smooth.played
    assert ours.average_return > late.average_return
    assert ours.action_signal.action_fluctuation < 0.7 * late.action_signal.action_fluctuation
    assert result.policy.num_states == 2 + 2 * 1
    assert open_policy(result).conditions == ConditionsConfig(action_delay="2")


def test_a_late_run_goes_on_bit_for_bit_and_with_its_own_teacher_only(tmp_path: Path) -> None:
    short = {"run_dir": tmp_path / "run", "sensor_noise": 0.1}
    late_cart(**short, iterations=1)
    resumed = late_cart(**short, iterations=2)
    whole = late_cart(**short | {"run_dir": None}, iterations=2)
    assert torch.equal(*(parameters_to_vector(r.policy.parameters()) for r in (resumed, whole)))
    saved = load_policy(tmp_path / "run" / "policy.safetensors")
    assert saved.conditions == ConditionsConfig(action_delay="2", sensor_noise=0.1)
    with pytest.raises(ConfigError, match="another teacher"):
        smooth(
            lambda states: -point_mass.jerky_teacher(states),
            point_mass.make_point_mass,
            **TINY_SMOOTHING | {"action_delay": 2, "iterations": 3} | short,
        )


def test_a_teacher_made_for_a_delay_is_smoothed_under_it_and_under_no_other() -> None:
    teacher = replace(open_policy(late_cart(iterations=2)), name="late")
    env = point_mass.make_point_mass
    again = smooth(teacher, env, episodes=2, **TINY_SMOOTHING | {"iterations": 1})
    assert again.conditions == teacher.conditions and again.comparison.late_teacher is None
    with pytest.raises(ConfigError, match="was made for conditions of its own"):
        smooth(teacher, env, episodes=2, action_delay=1, **TINY_SMOOTHING | {"iterations": 1})


@pytest.mark.slow
def test_hopper_under_two_steps_of_delay_keeps_the_return_that_its_teacher_loses() -> None:
    """Four minutes: docs/results/delay.md has 3,692 +- 2 of 3,693, and the teacher's 450."""
    result = smooth("Hopper-v4", action_delay=2, iterations=8, episodes=5)
    table = result.comparison
    assert table.late_teacher is not None and table.smooth.return_share is not None
    assert table.late_teacher.played.average_return < 1_500
    assert table.smooth.return_share > 0.95
    changes = [row.played.action_signal.action_fluctuation for row in (table.smooth, table.teacher)]
    assert changes[0] <= changes[1]


def test_done_asks_for_no_more_action_change_than_noise_gives_the_teacher() -> None:
    result = late_cart(sensor_noise=0.3, iterations=5)
    table = result.comparison
    assert table.late_teacher is not None
    ours, late, undisturbed = (
        row.played.action_signal.action_fluctuation
        for row in (table.smooth, table.late_teacher, table.teacher)
    )
    assert undisturbed < ours < late  # no worse than what noise does to the teacher
    assert result.is_done
