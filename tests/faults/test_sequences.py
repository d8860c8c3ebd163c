"""Generated sequences of what happens to a run; see tests/support/sequences.py."""

import pytest
from sequences import run_sequences


def test_a_few_sequences_of_events_lose_nothing_and_hide_nothing() -> None:
    figures = run_sequences(4, seed=1, num_steps=4)
    assert figures["sequences"] >= 4 and figures["commands"] >= 4


@pytest.mark.slow
def test_200_sequences_of_events_lose_nothing_and_hide_nothing() -> None:
    figures = run_sequences(200, seed=2)
    assert figures["sequences"] >= 200
    assert min(figures["refusals"], figures["kills"], figures["calm_ends"]) > 0
