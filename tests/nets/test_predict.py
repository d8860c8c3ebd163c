"""What `predict` returns: the action, or on request the pair of Stable-Baselines3."""

from typing import Any

import gymnasium
import numpy as np
import pytest

import spacil as library
from spacil.errors import DataError
from spacil.policies.policy import Policy

OBSERVATION = np.linspace(-1, 1, 11)


@pytest.fixture(scope="module")
def expert() -> Policy:
    return library.load_expert("Reacher-v4")


def test_on_request_it_is_the_pair(expert: Any) -> None:
    action, state = expert.predict(OBSERVATION, state=None)
    assert state is None
    assert np.array_equal(action, expert.predict(OBSERVATION))
    with pytest.raises(DataError, match="has no memory"):
        expert.predict(OBSERVATION, state=np.zeros(3))


def test_a_policy_goes_through_the_evaluation_of_stable_baselines3(expert: Any) -> None:
    evaluation = pytest.importorskip("stable_baselines3.common.evaluation", reason="an extra")
    env = gymnasium.make("Reacher-v5")  # ten state dims, of which v4 has one more
    env = gymnasium.wrappers.TransformObservation(
        env, lambda state: np.append(state, 0.0), gymnasium.spaces.Box(-np.inf, np.inf, (11,))
    )
    mean, _ = evaluation.evaluate_policy(expert.policy, env, n_eval_episodes=2, warn=False)
    env.close()
    assert -60 < mean < 0
