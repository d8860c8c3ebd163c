"""What Python can hand over: numbers of every type, odd modules, odd surroundings of a call."""

import multiprocessing
import os
import threading
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import point_mass
import pytest
import torch
from numpy.typing import NDArray
from tiny_runs import TINY_SMOOTHING, tiny
from torch import nn

import spacil
from spacil.errors import ConfigError, DataError, EnvError, RetryableError
from spacil.policies.open import open_policy

ENV = point_mass.make_point_mass
SMOOTHING = TINY_SMOOTHING | {"iterations": 1}


def gentle(states: NDArray[Any]) -> NDArray[Any]:
    return -0.2 * states[:, :1] - 0.4 * states[:, 1:]


def demos() -> spacil.Demonstrations:
    return spacil.load_demos("Reacher-v4")


NO_WHOLE_NUMBERS = [1.5, True, "2", -1, float("nan"), None, 10**400]
NO_NUMBERS = [True, "0.1", -1, float("nan"), float("inf"), 10**400]
DOORS: dict[str, Callable[[Any], Any]] = {
    "seed": lambda x: spacil.GAIL("Reacher-v4", **tiny(), seed=x),
    "iterations": lambda x: spacil.GAIL("Reacher-v4", **tiny(iterations=x)),
    "episodes": lambda x: spacil.diagnose(gentle, ENV, episodes=x),
    "max_states": lambda x: spacil.measure_smoothness(gentle, env=ENV, max_states=x),
    "every": lambda x: demos().subsample(x),
    "start": lambda x: demos().first(1, start=x),
}
REAL_DOORS: dict[str, Callable[[Any], Any]] = {
    "max_kl": lambda x: spacil.GAIL("Reacher-v4", **tiny(max_kl=x)),
    "noise": lambda x: demos().with_observation_noise(x, 0),
    "attack_radius": lambda x: spacil.measure_smoothness(
        gentle, env=ENV, robustness=True, attack_radius=x
    ),
    "target": lambda x: spacil.attach_penalty(
        torch.optim.SGD([torch.zeros(1)]), lambda states: states, torch.zeros(1, 1), target=x
    ),
}


@pytest.mark.parametrize(
    ("name", "door", "value"),
    [(name, door, value) for name, door in DOORS.items() for value in NO_WHOLE_NUMBERS]
    + [(name, door, value) for name, door in REAL_DOORS.items() for value in NO_NUMBERS],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_number_is_refused(name: str, door: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(ConfigError, match=f"{name.replace('_', '.')} is "):
        door(value)


def test_an_agent_refuses_them_too_and_stays_usable() -> None:
    agent = spacil.TRPO("Reacher-v4", **tiny("trpo"))
    for value in NO_WHOLE_NUMBERS:
        if value is not None:  # which is: up to the config's
            with pytest.raises(ConfigError, match=r"^iterations is"):
                agent.learn(value)
        with pytest.raises(ConfigError, match=r"^episodes is"):
            agent.evaluate(value)
    assert agent.learn(1).evaluate(1).num_episodes == 1


def test_numbers_of_numpy_are_numbers_and_can_be_kept(here: object) -> None:
    settings = tiny("trpo", iterations=np.int64(1), max_kl=np.float32(0.5), seed=np.uint8(3))
    agent = spacil.TRPO("Reacher-v4", **settings).learn(np.int16(1))
    assert agent.evaluate(np.int32(1)).num_episodes == 1
    agent.save("kept")
    kept = spacil.TRPO.load("kept").config
    assert (kept.run.seed, kept.policy_step.max_kl) == (3, 0.5)


def test_one_episode_has_no_spread_and_no_interval() -> None:
    found = spacil.TRPO("Reacher-v4", **tiny("trpo")).evaluate(1)
    assert (found.return_std, found.return_low, found.return_high) == (None, None, None)


def test_random_and_zero_actions_have_no_j() -> None:
    found = spacil.measure_smoothness(gentle, env=ENV, episodes=2).references
    assert found is not None
    assert {name: each.smoothness_j for name, each in found.items()} == {
        "zero_action": None,
        "random": None,
    }


@pytest.mark.parametrize(
    "observations",
    [np.zeros(11) + 1j, ["a"] * 11, None, [[1, 2], [3]], [10**400] * 11, np.zeros(11, "M8[s]")],
)
def test_predict_takes_real_numbers(observations: Any) -> None:
    with pytest.raises(DataError, match="observations are"):
        spacil.load_expert("Reacher-v4").predict(observations)


def test_nets_that_no_memory_holds_are_refused_in_words() -> None:
    with pytest.raises(RetryableError, match="out of memory"):
        spacil.TRPO("Reacher-v4", **tiny("trpo", policy_hidden=(10**7, 10**7)))


# --- modules


def plain_module() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))


class Calls(nn.Module):
    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        answer: torch.Tensor = self.net(states)
        return answer


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize(
    ("make", "tolerance"),
    [
        (lambda net: torch.jit.script(Calls(net)), 1e-6),
        (lambda net: torch.jit.trace(Calls(net), torch.zeros(1, 2)), 1e-6),
        (lambda net: torch.jit.freeze(torch.jit.script(Calls(net)).eval()), 1e-6),
        (lambda net: net.half(), 1e-2),
        (lambda net: net.bfloat16(), 3e-2),
    ],
    ids=["scripted", "traced", "frozen", "half", "bfloat16"],
)
def test_modules_of_robots_are_measured_like_plain_ones(
    make: Callable[[nn.Module], nn.Module], tolerance: float
) -> None:
    expected = spacil.measure_smoothness(plain_module(), env=ENV, episodes=2)
    module = make(plain_module())
    former = [parameter.requires_grad for parameter in module.parameters()]
    found = spacil.measure_smoothness(module, env=ENV, episodes=2)
    assert found.derivative == "exact"
    assert found.smoothness_j_own == pytest.approx(expected.smoothness_j_own, rel=tolerance)
    assert len(spacil.diagnose(module, ENV, episodes=2).findings) == 7
    assert spacil.smooth(module, ENV, episodes=2, **SMOOTHING).verdict
    assert [parameter.requires_grad for parameter in module.parameters()] == former


@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature:UserWarning")
@pytest.mark.parametrize(
    "make", [lambda: nn.LazyLinear(1), lambda: nn.Linear(2, 1, device="meta")], ids=["lazy", "meta"]
)
def test_modules_without_numbers_are_refused(make: Callable[[], nn.Module]) -> None:
    with pytest.raises(DataError, match="the weights 'weight' are not there yet"):
        open_policy(make())


# --- policies that are none


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda states: np.full((len(states), 1), np.nan), "not finite"),
        (lambda states: None, "returned a NoneType"),
        (lambda states: np.zeros(3), "of shape"),
        (lambda states: 1 / 0, "raised ZeroDivisionError"),
    ],
    ids=["nan", "none", "shape", "raises"],
)
@pytest.mark.parametrize("verb", ["diagnose", "measure_smoothness", "smooth"])
def test_what_gives_no_actions_is_refused(verb: str, answer: Any, told: str) -> None:
    with pytest.raises(DataError, match=told):
        getattr(spacil, verb)(answer, env=ENV)


class Drifting:
    """Answers like `gentle` for some calls, and then as it likes."""

    def __init__(self) -> None:
        self.num_calls = 0

    def __call__(self, states: NDArray[Any]) -> NDArray[Any]:
        self.num_calls += 1
        return gentle(states) + (self.num_calls > 20) * np.sin(0.01 * self.num_calls)


def test_a_policy_that_changes_late_is_noticed() -> None:
    (finding,) = spacil.diagnose(Drifting(), ENV, episodes=2).findings
    assert (finding.check, finding.severity) == ("one_answer", "warning")
    with pytest.raises(DataError, match=r"two calls on the same states|depends on the other rows"):
        spacil.measure_smoothness(Drifting(), env=ENV, episodes=2)
    with pytest.raises(DataError, match="no longer answers as it did in the first round"):
        spacil.smooth(Drifting(), ENV, episodes=2, **SMOOTHING)


# --- envs and surroundings


@pytest.mark.parametrize("bounds", [(1, -1), (np.nan, 1), (0, np.nan)])
def test_bounds_that_are_none_are_refused(bounds: tuple[float, float]) -> None:
    with pytest.raises(ConfigError, match="expected low <= high"):
        spacil.TRPO(bounded(*bounds), **tiny("trpo"))


def test_bounds_that_no_float_can_span_are_open() -> None:
    assert len(spacil.diagnose(gentle, bounded(-3e38, 3e38), episodes=2).findings) == 7


def test_rewards_whose_sum_no_float_holds_are_refused() -> None:
    class Rich(point_mass.PointMass):
        def step(self, action: NDArray[np.float32]) -> Any:
            state, _, *rest = super().step(action)
            return state, 1e308, *rest

    with pytest.raises(EnvError, match=r"the reward is 1e\+308, expected a finite number"):
        spacil.smooth(gentle, lambda: gymnasium.wrappers.TimeLimit(Rich(), 20), **SMOOTHING)


def test_envs_of_one_factory_have_equal_spaces() -> None:
    makers = iter([bounded(-1, 1), *[bounded(-2, 2)] * 100])
    with pytest.raises(ConfigError, match=r"one env has the spaces .* and another"):
        spacil.TRPO(lambda: next(makers)(), **tiny("trpo"))


def bounded(low: float, high: float) -> Callable[[], gymnasium.Env[Any, Any]]:
    def make() -> gymnasium.Env[Any, Any]:
        env = point_mass.PointMass()
        space: Any = env.action_space
        space.low, space.high = np.float32([low]), np.float32([high])
        return gymnasium.wrappers.TimeLimit(env, 20)

    return make


def weights_after_one_iteration() -> torch.Tensor:
    agent = spacil.GAIL("Reacher-v4", **tiny())
    return nn.utils.parameters_to_vector(agent.learn(1).policy.parameters()).detach().float()


def test_what_surrounds_a_call_changes_nothing() -> None:
    expected = weights_after_one_iteration()
    with torch.no_grad():
        assert weights_after_one_iteration().equal(expected)
    with torch.inference_mode():
        assert weights_after_one_iteration().equal(expected)
    torch.set_default_dtype(torch.float64)
    try:
        assert weights_after_one_iteration().equal(expected)
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_second_thread_in_learn_is_refused_and_a_callback_is_not() -> None:
    agent, said = spacil.TRPO("Reacher-v4", **tiny("trpo")), list[str]()

    def learn_too() -> None:
        try:
            agent.learn(1)
        except ConfigError as error:
            said.append(str(error))

    def callback(agent: Any, metrics: Any) -> None:
        if metrics["iteration"] == 1:
            thread = threading.Thread(target=learn_too)
            thread.start()
            thread.join()
            agent.learn(1)

    agent.learn(1, callback=callback)
    assert said == ["another thread is in learn() of this agent: make one for each"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_new_agent_learns_in_a_process_forked_after_training() -> None:
    settings = tiny("trpo", torch_threads=2, simulation_threads=2, steps_per_iteration=4000)
    spacil.TRPO("Reacher-v4", **settings).learn(1)
    said, answers = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        spacil.TRPO("Reacher-v4", **settings).learn(1).evaluate(1)
        answers.send("done")
        os._exit(0)
    try:
        assert said.poll(60) and said.recv() == "done"
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
