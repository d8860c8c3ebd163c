"""The imitation score in a run: what it compares with, and up to where it counts as alike."""

from spacil.config.train_config import TrainConfig
from spacil.demos.demonstrations import Demonstrations
from spacil.envs.episodes import EpisodeTotals
from spacil.measuring.imitation_score import DemonstratedStates, imitation_score


def demonstrated_states(
    config: TrainConfig, demonstrations: Demonstrations | None
) -> DemonstratedStates | None:
    """What evaluations are compared with, where something follows from it."""
    wish = config.wish
    is_wished = wish.penalty_weight == "auto" or wish.wants_smoothest
    needs_score = is_wished or config.evaluation.select == "imitation"
    if not needs_score or demonstrations is None:
        return None
    num_ended = float(demonstrations.terminations.float().sum())
    return DemonstratedStates.of(demonstrations.states, num_ended / demonstrations.num_episodes)


def score_of(episodes: EpisodeTotals, demonstrated: DemonstratedStates) -> float:
    """The imitation score of episodes with mean actions; their rewards are not looked at.

    Terminations are compared with demonstrated terminations: a length says how an episode ended
    only where the time limit is known.
    """
    early_fraction = float(episodes.is_terminated.mean())
    return imitation_score(episodes.states, early_fraction, demonstrated)
