"""The demonstrator of a task, where it is known: the one that recorded the bundled episodes."""

import functools
from dataclasses import dataclass

from spacil.demos.common_frame import CommonFrame, recorded_evaluation
from spacil.demos.file import bundled_demos, load_demos
from spacil.measuring.played import share_of_return
from spacil.smoothness.action_signal import action_fluctuation

REACHED_SHARE = 0.95
"""Of the demonstrator's return, from which on a run counts as having learned the task"""


@dataclass(frozen=True)
class Demonstrator:
    """Its return and smoothness; keys are stable."""

    average_return: float
    return_std: float
    """Over episodes"""
    num_episodes: int
    smoothness_j: float | None
    """In the common frame of its own episodes"""
    smoothness_j_effective: float | None
    action_fluctuation: float
    """E |a_{t+1} - a_t| of the executed actions, mean over episodes"""
    frame_hash: str

    def threshold(self, random_return: float | None) -> float:
        """95 % of its return, counted from what random actions earn; from 0 if that is not known.

        From 0, where returns are negative: 5 % of the amount below it.
        """
        if random_return is None or not self.is_above(random_return):
            return self.average_return - (1 - REACHED_SHARE) * abs(self.average_return)
        return random_return + REACHED_SHARE * (self.average_return - random_return)

    def is_above(self, random_return: float | None) -> bool:
        """Whether it is known to earn more than random actions do."""
        return random_return is not None and self.average_return > random_return


def share(g: float | None, random: float | None, known: Demonstrator | None) -> float | None:
    """(G - random) / (demonstrator - random); None where one of the three is not known."""
    if g is None or random is None or known is None:
        return None
    return share_of_return(g, random, known.average_return)


@functools.cache
def demonstrator_of(task: str) -> Demonstrator | None:
    """None for a task without bundled demonstrations, or whose episodes have no returns."""
    if task not in bundled_demos():
        return None
    demos = load_demos(task)
    if demos.returns is None:
        return None
    frame = CommonFrame.of(demos)
    measured = recorded_evaluation(demos, frame)
    episodes = (demos.episode(index) for index in range(demos.num_episodes))
    changes = [action_fluctuation(episode.executed_actions) for episode in episodes]
    return Demonstrator(
        average_return=float(demos.returns.mean()),
        return_std=float(demos.returns.std(correction=0)),
        num_episodes=demos.num_episodes,
        smoothness_j=measured.get("smoothness_j"),
        smoothness_j_effective=measured.get("smoothness_j_effective"),
        action_fluctuation=sum(changes) / len(changes),
        frame_hash=frame.content_hash,
    )
