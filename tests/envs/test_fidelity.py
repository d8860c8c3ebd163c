"""The doctor's comparison with Gymnasium sees a difference where there is one."""

import dataclasses

from spacil.envs.registry import TASKS
from spacil.envs.threaded_mujoco import difference_from_gymnasium


def test_our_simulator_is_gymnasiums_across_the_ends_of_episodes() -> None:
    assert difference_from_gymnasium(TASKS["Hopper-v4"], 300) is None


def test_another_number_of_substeps_is_seen_in_the_first_step() -> None:
    task = dataclasses.replace(TASKS["Hopper-v4"], frame_skip=3)
    assert difference_from_gymnasium(task, 10) == "Hopper-v4: step 1 differs"
