"""When a filter counts as good as the smooth policy, and that filters start at rest."""

from dataclasses import replace
from typing import Any

import pytest

from spacil.learning.smoothing_comparison import Comparison, Condition, Contender
from spacil.measuring.played import PlayedEpisodes
from spacil.smoothness.action_signal import ActionSignal


def contender(name: str, earned: float, change: float, noisy: float, **more: Any) -> Contender:
    signal = ActionSignal(change, 0.1, 0.1, 0.1, 0.1, 0.1, None, None)
    played = PlayedEpisodes(earned, 0.0, earned, earned, 5, 40.0, signal)
    disturbed = (Condition("noise", 0.1, noisy, 0.0, change),)
    return Contender(name, more.pop("is_filter", False), earned / 100, None, played, disturbed)


def table(*filters: Contender) -> Comparison:
    return Comparison(
        task="Cart",
        seed=0,
        num_episodes=5,
        random_return=0.0,
        frame="states",
        teacher=contender("teacher", 100.0, 1.0, 90.0),
        smooth=contender("smooth policy", 99.0, 0.5, 95.0),
        filters=filters,
    )


@pytest.mark.parametrize(
    ("noisy", "std", "is_worse"),
    [(80.0, 0.0, True), (95.0, 0.0, False), (80.0, 20.0, False), (80.0, 5.0, True)],
)
def test_worse_under_a_disturbance_is_what_two_standard_errors_do_not_explain(
    noisy: float, std: float, is_worse: bool
) -> None:
    """The teacher earns 90 +- 0 under noise, over 5 episodes."""
    ours = contender("smooth policy", 99.0, 0.5, noisy)
    ours = replace(ours, disturbed=(replace(ours.disturbed[0], return_std=std),))
    found = replace(table(), smooth=ours).worse()
    assert found == (["under noise 0.1 it earns 80 where the teacher earns 90"] * is_worse)


@pytest.mark.parametrize(
    ("earned", "change", "noisy", "is_as_good"),
    [
        (99.0, 0.5, 95.0, True),
        (99.0, 0.5, 94.5, True),  # within one percent
        (97.0, 0.5, 95.0, False),  # lost return
        (99.0, 0.6, 95.0, False),  # moves more
        (99.0, 0.5, 90.0, False),  # falls under noise
    ],
)
def test_a_filter_is_as_good_only_in_every_respect(
    earned: float, change: float, noisy: float, is_as_good: bool
) -> None:
    row = contender("moving average", earned, change, noisy, is_filter=True)
    found = table(row).as_good_filters(0.98)
    assert found == ([row] if is_as_good else [])
