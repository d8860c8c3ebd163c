"""What `predict` returns: the action, which refuses to be taken for a pair."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

import spacil as library
from spacil.errors import ConfigError, DataError
from spacil.nets.action import Action
from spacil.policies.policy import Policy

OBSERVATION = np.linspace(-1, 1, 11)


@pytest.fixture(scope="module")
def expert() -> Policy:
    return library.load_expert("Reacher-v4")


def test_the_habit_of_stable_baselines3_is_refused_with_the_remedy(expert: Any) -> None:
    with pytest.raises(ConfigError, match=r"predict returns the action alone.*state=None"):
        _action, _ = expert.predict(OBSERVATION)
    batch = np.stack([OBSERVATION, OBSERVATION])
    with pytest.raises(ConfigError, match="predict returns the action alone"):
        _actions, _ = expert.predict(batch)


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


USES: dict[str, Callable[[Any], Any]] = {
    "a loop": lambda action: [float(number) for number in action],
    "list": lambda action: [float(number) for number in list(action)],
    "tolist": lambda action: action.tolist(),
    "unpacked slice": lambda action: (lambda pair: [pair[0], pair[1]])(tuple(action[:2])),
    "starred": lambda action: [*action],
    "arithmetic": lambda action: (action * 1.0).tolist(),
    "torch": lambda action: torch.from_numpy(action).tolist(),
    "copied": lambda action: copy.deepcopy(action).tolist(),
    "pickled": lambda action: pickle.loads(pickle.dumps(action)).tolist(),  # noqa: S301  our own
    "stacked": lambda action: np.stack([action, action])[1].tolist(),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_every_other_use_of_an_array_is_numpys(expert: Any, use: Callable[[Any], Any]) -> None:
    action = expert.predict(OBSERVATION)
    assert isinstance(action, np.ndarray) and action.dtype == np.float32
    assert list(use(action)) == pytest.approx([float(action[0]), float(action[1])])


def test_what_is_made_of_an_action_is_a_plain_array(expert: Any) -> None:
    action = expert.predict(OBSERVATION)
    assert type(action) is Action
    for made in (action * 2, action[:1], np.clip(action, 0, 1), np.stack([action])):
        assert type(made) is np.ndarray
    left, right = action * 2
    assert (left, right) == (2 * action[0], 2 * action[1])
    left, right = action[:2]
    assert (left, right) == (action[0], action[1])


def test_a_step_of_an_env_takes_it(expert: Any) -> None:
    env = gymnasium.make("Reacher-v5")
    env.reset(seed=0)
    _, reward, *_ = env.step(expert.predict(OBSERVATION))
    env.close()
    assert np.isfinite(reward)
