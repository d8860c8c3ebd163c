"""When a run is warned about, and when it ends: after how many bad iterations in a row."""

from dataclasses import replace

import pytest
import torch

from spacil.errors import DivergedError
from spacil.learning.adversary import DiscriminatorReport
from spacil.learning.learner import OpenEpisodes, UpdateCounters, cost_metrics, policy_metrics
from spacil.learning.policy_step import TrustRegionReport
from spacil.types import RolloutBatch

REFUSED = TrustRegionReport(
    line_search_reason="no improvement", is_accepted=False, summands={"surrogate": -0.5}
)
ACCEPTED = replace(REFUSED, is_accepted=True, line_search_reason="accepted")
SATURATED = DiscriminatorReport(0.1, 1.0, 1.0, 1.0, 3.0, True, None)


def batch(rewards: list[list[float]], is_cut: list[list[bool]]) -> RolloutBatch:
    """[T, N] each; an episode that ends is truncated."""
    shape = (len(rewards), len(rewards[0]))
    cut = torch.tensor(is_cut)
    return RolloutBatch(
        torch.zeros(*shape, 1),
        torch.zeros(*shape, 1),
        torch.tensor(rewards, dtype=torch.float64),
        torch.zeros(shape, dtype=torch.bool),
        cut,
        torch.zeros(int(cut.sum()), 1),
        torch.zeros(shape[1], 1),
    )


def test_an_episode_that_began_with_a_part_of_its_time_gone_has_no_part_in_the_means() -> None:
    # A time limit of 4 steps; env 0 begins at 0, env 1 at 2: its first episode has two rewards.
    episodes = OpenEpisodes(2, torch.device("cpu"))
    episodes.lengths[:] = torch.tensor([0, 2])
    first = episodes.count(batch([[1.0, 1.0]] * 2, [[False, False], [False, True]]), 0)
    assert first == {"episodes_finished": 1, "train_return": None, "train_length": None}
    second = episodes.count(batch([[1.0, 5.0]] * 2, [[False, False], [True, False]]), 2)
    assert second == {"episodes_finished": 1, "train_return": 4.0, "train_length": 4.0}
    third = episodes.count(batch([[1.0, 5.0]] * 2, [[False, False], [False, True]]), 4)
    assert third == {"episodes_finished": 1, "train_return": 20.0, "train_length": 4.0}


def test_a_hundred_refused_steps_in_a_row_are_borne_and_one_more_is_not() -> None:
    counters = UpdateCounters()
    warned = [policy_metrics(counters, REFUSED)["warn_line_search"] for _ in range(100)]
    assert warned == [False] * 20 + [True] * 80
    with pytest.raises(DivergedError, match=r"failed 101 times in a row .*no improvement"):
        policy_metrics(counters, REFUSED)


def test_an_accepted_step_starts_the_count_anew() -> None:
    counters = UpdateCounters(failed_steps_in_row=100)
    metrics = policy_metrics(counters, ACCEPTED)
    assert counters.failed_steps_in_row == 0
    assert metrics["warn_line_search"] is False
    assert metrics["loss_surrogate"] == -0.5 and "summands" not in metrics


def test_saturation_is_warned_about_after_twenty_iterations_in_a_row() -> None:
    counters = UpdateCounters()
    warned = [cost_metrics(counters, SATURATED)["warn_saturated"] for _ in range(22)]
    assert warned == [False] * 20 + [True] * 2
    assert not cost_metrics(counters, replace(SATURATED, is_saturated=False))["warn_saturated"]
    assert counters.saturated_in_row == 0
    assert cost_metrics(counters, None) == {}
