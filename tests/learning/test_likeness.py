"""The score of a run's evaluations beside demonstrations, by hand-worked numbers."""

import numpy as np
import torch

from spacil.envs.episodes import EpisodeTotals
from spacil.learning.likeness import score_of
from spacil.measuring.imitation_score import DemonstratedStates


def test_only_episodes_that_terminate_count_as_ended_early() -> None:
    states = torch.linspace(-1, 1, 100).unsqueeze(1)
    demonstrated = DemonstratedStates.of(states, early_fraction=0.0)

    def score(*is_terminated: bool) -> float:
        lengths, nothing = np.full(4, 25), np.zeros(4)
        totals = EpisodeTotals(nothing, lengths, states, nothing, np.array(is_terminated))
        return score_of(totals, demonstrated)

    assert score(False, False, False, False) == 0.0
    assert score(True, False, False, False) == 0.25
