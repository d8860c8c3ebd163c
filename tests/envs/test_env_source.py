"""Ids, envs and functions as sources of envs."""

import threading

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from spacil.envs.gymnasium_env import as_env_factory
from spacil.errors import ConfigError


class Counter(gymnasium.Env):
    """Adds up what it is told, or noise that no seed controls."""

    observation_space = spaces.Box(-np.inf, np.inf, (1,))
    action_space = spaces.Box(-1, 1, (1,))

    def __init__(self, noise=lambda: 0.0):
        self.noise = noise

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.total = self.np_random.random(1)
        return self.total, {}

    def step(self, action):
        self.total = self.total + action + self.noise()
        return self.total, 0.0, False, False, {}


class WithoutRecipe(gymnasium.Wrapper):
    """A wrapper that Gymnasium cannot rebuild."""

    def __init__(self, env, lock=None):
        super().__init__(env)
        self.lock = lock


def test_an_id_makes_independent_envs():
    factory, name = as_env_factory("Pendulum-v1")
    assert name == "Pendulum-v1"
    one, two = factory(), factory()
    assert one is not two
    assert np.array_equal(one.reset(seed=3)[0], two.reset(seed=3)[0])


@pytest.mark.parametrize(
    ("typo", "suggestion"),
    [
        ("Pendulum-v7", "Pendulum-v1"),
        ("Hoper-v4", "Hopper-v4"),
        # Not the versions of others that no longer run, e.g. Hopper-v3.
        ("Hopper-v44", r"(\w+-v[45](-no-contact)?( or )?)+\?"),
    ],
)
def test_a_typo_is_refused_with_close_names(typo, suggestion):
    with pytest.raises(ConfigError, match=f"unknown task '{typo}': did you mean .*{suggestion}"):
        as_env_factory(typo)


def test_a_name_like_no_other_points_to_the_list():
    with pytest.raises(ConfigError, match="spacil tasks"):
        as_env_factory("qqqqqqqq")


def test_an_env_with_a_recipe_is_rebuilt_with_its_settings():
    env = gymnasium.make("Pendulum-v1", g=5.0, max_episode_steps=17)
    factory, name = as_env_factory(env)
    rebuilt = factory()
    assert name == "Pendulum-v1"
    assert rebuilt.unwrapped is not env.unwrapped
    assert rebuilt.unwrapped.g == 5.0
    assert rebuilt.spec.max_episode_steps == 17


def test_an_env_without_a_recipe_is_copied_as_it_was():
    env = Counter()
    env.label = "before"
    factory, name = as_env_factory(env)
    env.label = "after"
    assert name == "Counter"
    one, two = factory(), factory()
    assert one is not two
    assert (one.label, two.label) == ("before", "before")


def test_a_wrapped_env_without_a_recipe_is_copied():
    factory, _ = as_env_factory(WithoutRecipe(gymnasium.make("Pendulum-v1")))
    assert isinstance(factory(), WithoutRecipe)


def test_an_env_that_can_be_neither_rebuilt_nor_copied_asks_for_a_function():
    env = WithoutRecipe(gymnasium.make("Pendulum-v1"), lock=threading.Lock())
    with pytest.raises(ConfigError, match="give a function without arguments"):
        as_env_factory(env)


def test_a_class_or_function_is_its_own_factory():
    assert as_env_factory(Counter) == (Counter, "Counter")
    _, name = as_env_factory(lambda: Counter())
    assert name == "lambda"


@pytest.mark.parametrize("source", [3, None, ["Pendulum-v1"]])
def test_anything_else_is_refused(source):
    with pytest.raises(ConfigError, match="cannot make an env from"):
        as_env_factory(source)
