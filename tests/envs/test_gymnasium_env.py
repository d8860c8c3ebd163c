"""The adapter for envs of unknown quality, on real small ones."""

import contextlib

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces

from spacil.envs.gymnasium_env import GymnasiumVectorEnv
from spacil.envs.registry import make_vector_env
from spacil.errors import ConfigError, EnvError


def box(*shape, bound=1.0, dtype=np.float32):
    return spaces.Box(-bound, bound, shape, dtype)


class Drift(gymnasium.Env):
    """Two numbers that the action pushes; it ends when the first leaves [-1, 1]."""

    dt = 0.5

    def __init__(self, observation_space=None, action_space=None):
        self.observation_space = observation_space or box(2, bound=np.inf)
        self.action_space = action_space or box(1)
        self.is_closed = False

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = self.np_random.uniform(-0.1, 0.1, 2)
        return self.state, {}

    def step(self, action):
        assert action.dtype == self.action_space.dtype
        self.state += np.array([action[0], 0.125])  # in place: the adapter must copy
        return self.state, float(action[0]), bool(abs(self.state[0]) > 1), False, {}

    def close(self):
        self.is_closed = True


class Faulty(Drift):
    """A Drift whose second step returns, or does, something else."""

    def __init__(self, fault):
        super().__init__()
        self.fault = fault
        self.num_steps = 0

    def step(self, action):
        self.num_steps += 1
        outcome = super().step(action)
        return self.fault(*outcome) if self.num_steps == 2 else outcome


def raise_error(*_):
    raise RuntimeError("the motor is on fire")


FAULTS = {
    "raises": (raise_error, "RuntimeError: the motor is on fire"),
    "nan state": (lambda s, *rest: (s * np.nan, *rest), "nan in column 0 of an observation"),
    "inf state": (lambda s, *rest: (np.array([0, np.inf]), *rest), "inf in column 1"),
    "short state": (lambda s, *rest: (s[:1], *rest), r"shape \(1,\), expected .* \(2,\)"),
    "scalar state": (lambda s, *rest: (0.0, *rest), r"shape \(\), expected .* \(2,\)"),
    "dict state": (lambda s, *rest: ({"s": s}, *rest), "an observation is object"),
    "text state": (lambda s, *rest: (s.astype("U"), *rest), "an observation is <U"),
    "complex state": (lambda s, *rest: (s + 1j, *rest), "an observation is complex128"),
    "digits": (lambda s, *rest: ([0, 10**400], *rest), "an observation is object"),
    "beyond float32": (lambda s, *rest: (np.array([0, 1e39]), *rest), r"1e\+39 in column 1"),
    "complex reward": (lambda s, r, *rest: (s, 1 + 2j, *rest), "TypeError"),
    "digits reward": (lambda s, r, *rest: (s, 10**400, *rest), "OverflowError"),
    "nan reward": (lambda s, r, *rest: (s, np.nan, *rest), "the reward is nan"),
    "text reward": (lambda s, r, *rest: (s, "good", *rest), "TypeError"),
    "four values": (lambda s, r, te, tr, i: (s, r, te, i), "ValueError"),
    "two flags": (lambda s, r, te, tr, i: (s, r, te, np.array([True, False]), i), "ValueError"),
}


def actions(*values):
    return torch.tensor(values, dtype=torch.float32).reshape(-1, 1)


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_names_env_step_and_seed(kind, seeds):
    fault, message = FAULTS[kind]
    made = []

    def make_env():
        made.append(Faulty(fault) if len(made) == 1 else Drift())
        return made[-1]

    env = GymnasiumVectorEnv(make_env, "Drift", 3, seeds)
    env.reset(first_episode=4)
    env.step(actions(0, 0, 0))
    with pytest.raises(EnvError, match=message) as caught:
        env.step(actions(0, 0, 0))
    assert "Drift: env 1 " in str(caught.value)
    assert "step 2 of episode 4" in str(caught.value)
    assert f"reset(seed={seeds(1, 4)})" in str(caught.value)
    with pytest.raises(EnvError, match="before reset"):
        env.step(actions(0, 0, 0))


def test_an_error_in_reset_names_env_and_seed(seeds):
    class NoReset(Drift):
        def reset(self, *, seed=None, options=None):
            raise OSError("no device")

    env = GymnasiumVectorEnv(NoReset, "NoReset", 2, seeds)
    with pytest.raises(EnvError, match=r"env 0 in reset.*OSError: no device") as caught:
        env.reset()
    assert isinstance(caught.value.__cause__, OSError)
    assert str(seeds(0, 0)) in str(caught.value)


UNSUPPORTED = {
    "Discrete actions": ({"action_space": spaces.Discrete(2)}, "Discrete.* a choice does not"),
    "Dict observations": (
        {"observation_space": spaces.Dict({"a": box(2)})},
        r"observations are Dict.*, expected a gymnasium\.spaces\.Box.*--task flatten/Drift",
    ),
    "Tuple observations": ({"observation_space": spaces.Tuple([box(2)])}, "observations are Tuple"),
    "image observations": ({"observation_space": box(4, 4)}, r"\(4, 4\).*FlattenObservation"),
    "scalar observations": ({"observation_space": box()}, r"observations are Box.*\(\)"),
    "integer actions": (
        {"action_space": spaces.Box(0, 3, (1,), np.int64)},
        "expected a Box of floats",
    ),
}


@pytest.mark.parametrize("kind", UNSUPPORTED)
def test_a_space_we_cannot_serve_is_refused_by_name(kind, seeds):
    arguments, message = UNSUPPORTED[kind]
    made = []

    def make_env():
        made.append(Drift(**arguments))
        return made[-1]

    with pytest.raises(ConfigError, match=message):
        GymnasiumVectorEnv(make_env, "Drift", 2, seeds)
    assert all(env.is_closed for env in made)


def test_episodes_end_restart_and_keep_their_final_state(seeds):
    env = GymnasiumVectorEnv(Drift, "Drift", 2, seeds)
    start = env.reset()
    single = Drift()
    single.reset(seed=seeds(1, 0))
    result = env.step(actions(0.5, 2.0))
    expected, reward, *_ = single.step(actions(2.0)[0].numpy())
    assert np.array_equal(result.final_observations[1], expected)
    assert result.rewards[1] == reward == 2.0
    assert result.terminated.tolist() == [False, True]
    assert not result.truncated.any()
    assert np.array_equal(result.observations[1], single.reset(seed=seeds(1, 1))[0])
    assert np.array_equal(result.observations[0], result.final_observations[0])
    assert np.array_equal(result.observations[0], start[0] + torch.tensor([0.5, 0.125]))


def test_the_time_limit_of_a_registered_env_truncates(seeds):
    env = GymnasiumVectorEnv(lambda: gymnasium.make("Pendulum-v1"), "Pendulum-v1", 1, seeds)
    assert (env.spec.horizon, env.spec.dt, env.spec.restores_exactly) == (200, 0.05, False)
    assert env.spec.fingerprint["gymnasium_id"] == "Pendulum-v1"
    env.reset()
    results = [env.step(actions(0)) for _ in range(200)]
    assert [int(result.truncated[0]) for result in results] == [0] * 199 + [1]


def test_the_time_limit_of_a_wrapper_is_the_horizon_and_no_part_of_the_identity(seeds):
    def limited():
        inner = gymnasium.wrappers.TimeLimit(Drift(), 30)
        return gymnasium.wrappers.TimeLimit(gymnasium.wrappers.OrderEnforcing(inner), 20)

    env = GymnasiumVectorEnv(limited, "Drift", 1, seeds)
    assert env.spec.horizon == 20
    assert env.spec.fingerprint == GymnasiumVectorEnv(Drift, "Drift", 1, seeds).spec.fingerprint


def test_paused_envs_are_not_stepped(seeds):
    env = GymnasiumVectorEnv(Drift, "Drift", 3, seeds)
    states = env.reset()
    result = env.step(actions(0.25, 0.25, 0.25), torch.tensor([True, False, True]))
    assert np.array_equal(result.observations[1], states[1])
    assert np.array_equal(result.observations[[0, 2]], states[[0, 2]] + torch.tensor([0.25, 0.125]))
    assert result.rewards.tolist() == [0.25, 0, 0.25]


def test_a_restored_run_starts_the_next_episodes(seeds):
    first = GymnasiumVectorEnv(Drift, "Drift", 2, seeds)
    first.reset()
    first.step(actions(0, 2))  # env 1 is in episode 1 now
    second = GymnasiumVectorEnv(Drift, "Drift", 2, seeds)
    states = second.load_state(first.save_state())
    assert np.array_equal(states[0], Drift().reset(seed=seeds(0, 1))[0])
    assert np.array_equal(states[1], Drift().reset(seed=seeds(1, 2))[0])


def test_bounds_in_float32_never_lie_outside(seeds):
    wide = spaces.Box(np.array([-0.1, -np.inf]), np.array([0.1, 0.7]), dtype=np.float64)
    env = GymnasiumVectorEnv(lambda: Drift(action_space=wide), "Drift", 1, seeds)
    spec = env.spec
    assert (spec.action_low.dtype, spec.action_high.dtype) == (np.float32, np.float32)
    assert (spec.action_low.astype("f8") >= wide.low).all()
    assert (spec.action_high.astype("f8") <= wide.high).all()
    assert np.allclose(spec.action_high, wide.high)
    assert spec.fingerprint["action_low"][1] is None
    env.reset()
    assert env.step(torch.from_numpy(spec.action_high[None])).rewards[0] == float(
        spec.action_high[0]
    )


def test_closing_closes_every_env_once(seeds):
    made = []

    def make_env():
        made.append(Drift())
        return made[-1]

    with GymnasiumVectorEnv(make_env, "Drift", 3, seeds) as env:
        env.reset()
    env.close()
    assert [one.is_closed for one in made] == [True] * 3
    with pytest.raises(EnvError, match="closed"):
        env.reset()


def test_a_factory_that_returns_one_env_twice_is_refused(seeds):
    env = Drift()
    with pytest.raises(ConfigError, match=r"returned a Drift, .* a new one each time"):
        GymnasiumVectorEnv(lambda: env, "Drift", 2, seeds)


def missing_package():
    raise ModuleNotFoundError("No module named 'imageio'")


def broken_factory():
    raise ZeroDivisionError("oops")


@pytest.mark.parametrize(
    ("factory", "error", "message"),
    [
        (missing_package, ConfigError, "ModuleNotFoundError: No module named 'imageio'"),
        (broken_factory, EnvError, "is made: ZeroDivisionError: oops"),
        (lambda: "not an env", ConfigError, "returned a str, expected a gymnasium.Env, a new one"),
    ],
)
def test_a_factory_that_fails_is_told_apart(factory, error, message, seeds):
    with pytest.raises(error, match=message):
        GymnasiumVectorEnv(factory, "task", 1, seeds)


class Parts(Drift):
    """The same with its observation in two parts."""

    def __init__(self):
        part = box(1, bound=np.inf, dtype=np.float64)
        super().__init__(spaces.Dict({"a": part, "b": part}))

    def reset(self, *, seed=None, options=None):
        state, info = super().reset(seed=seed)
        return {"a": state[:1], "b": state[1:]}, info

    def step(self, action):
        state, *others = super().step(action)
        return {"a": state[:1], "b": state[1:]}, *others


def test_a_name_that_begins_with_flatten_makes_one_vector_of_the_parts(seeds):
    gymnasium.register("Parts-v0", Parts)
    try:
        with contextlib.closing(make_vector_env("flatten/Parts-v0", 2, seeds)) as env:
            plain = GymnasiumVectorEnv(Drift, "Drift", 2, seeds)
            assert env.spec.num_states == 2 and env.spec.task == "flatten/Parts-v0"
            assert torch.equal(env.reset(), plain.reset())
    finally:
        del gymnasium.registry["Parts-v0"]
