"""The demonstrator of a task, where it is known: the one that recorded the bundled episodes."""

import functools
from dataclasses import dataclass
from typing import Any

from spacil.demos.common_frame import CommonFrame, demonstrator_row
from spacil.demos.file import bundled_demos, load_demos

REACHED_SHARE = 0.95
"""Share of the demonstrator's return from which on a run counts as having learned the task"""


@dataclass(frozen=True)
class Demonstrator:
    """Its return and smoothness; keys are stable."""

    average_return: float
    return_std: float
    """Standard deviation of the return over episodes"""
    num_episodes: int
    smoothness_j: float | None
    """J in the common frame of its own episodes"""
    smoothness_j_effective: float | None
    action_fluctuation: float
    """Action change of the executed actions, mean over episodes"""
    frame_hash: str

    def threshold(self, random_return: float) -> float:
        """95 % of its return, counted from what random actions earn; from 0 if that is not known.

        From 0, where returns are negative: 5 % of the amount below it.
        """
        if not self.average_return > random_return:  # or that is not known
            return self.average_return - (1 - REACHED_SHARE) * abs(self.average_return)
        return random_return + REACHED_SHARE * (self.average_return - random_return)


@functools.cache
def demonstrator_of(task: str) -> Demonstrator | None:
    """None for a task without bundled demonstrations, or whose episodes have no returns."""
    if task not in bundled_demos():
        return None
    demos = load_demos(task)
    frame = CommonFrame.of(demos)
    row: dict[str, Any] | None = demonstrator_row(demos, frame, task)
    if row is None:
        return None
    known = {key: value for key, value in row.items() if key != "smoothness_j_own"}
    return Demonstrator(**known, num_episodes=demos.num_episodes, frame_hash=frame.content_hash)
