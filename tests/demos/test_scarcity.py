"""Warnings where imitation has little to go by."""

from collections.abc import Callable

import numpy as np
import pytest
from demo_edits import with_tensors

from spacil.config.defaults import default_config
from spacil.config.settings import DemoChoice
from spacil.demos.check import DemoReport, check_demonstrations
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import load_demos
from spacil.demos.findings import Finding
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import EnvSpec, ResetSeeds
from spacil.learning.intake import checked_demonstrations

MakeDemos = Callable[..., Demonstrations]


def _found(report: DemoReport, check: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.check == check]


@pytest.mark.parametrize(("last_length", "is_warned"), [(30, True), (31, False)])
def test_a_hundred_pairs_or_fewer_warn(
    make_demos: MakeDemos, last_length: int, is_warned: bool
) -> None:
    report = check_demonstrations(make_demos((35, 35, last_length)), None)
    messages = [finding.message for finding in _found(report, "few_pairs")]
    assert bool(messages) == is_warned
    assert all("100 state-action pairs only" in message for message in messages)
    assert report.is_usable


def test_thinning_to_a_hundred_pairs_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    demos, config = load_demos("Reacher-v4"), default_config("gail", "Reacher-v4")
    checked_demonstrations(demos, config, "Reacher-v4", DemoChoice(num_demos=4))
    assert "pairs only" not in caplog.text
    checked_demonstrations(demos, config, "Reacher-v4", DemoChoice(num_demos=4, demo_every=10))
    assert caplog.text.count("20 state-action pairs only") == 1
    caplog.clear()
    checked_demonstrations(demos, config, "Reacher-v4", DemoChoice(num_demos=2, demo_every=10))
    assert caplog.text.count("pairs only") == 1


def test_one_demonstrator_of_six_who_fails_is_named() -> None:
    demos = load_demos("HalfCheetah-v4")
    assert demos.rewards is not None
    demos.rewards[2000:3000] *= 0.1
    (finding,) = _found(check_demonstrations(demos, None), "low_return")
    assert finding.episode == 2
    assert "a failed demonstration? Imitation copies it too" in finding.message


def _spec(task: str) -> EnvSpec:
    env = make_vector_env(task, 1, ResetSeeds(0, "probe"))
    env.close()
    return env.spec


def test_clipped_actions_warn_where_many_lie_on_a_bound() -> None:
    demos, spec = load_demos("HalfCheetah-v4"), _spec("HalfCheetah-v4")
    assert _found(check_demonstrations(demos, spec), "clipped_actions") == []
    for actions in (None, demos.executed_actions):
        clipped = with_tensors(demos, actions=actions)
        (finding,) = _found(check_demonstrations(clipped, spec), "clipped_actions")
        assert finding.severity == "warning"
        assert "39% of the action entries lie on HalfCheetah-v4's bounds" in finding.message


def test_clipped_actions_that_rarely_reach_a_bound_do_not_warn(toy_spec: EnvSpec) -> None:
    actions = np.full((40, 2), 0.5)
    actions[:4] = 1.0  # a tenth
    demos = Demonstrations.from_arrays([np.zeros((41, 3))] * 3, [actions] * 3)
    assert _found(check_demonstrations(demos, toy_spec), "clipped_actions") == []
    actions[4, 0] = -1.0
    demos = Demonstrations.from_arrays([np.zeros((41, 3))] * 3, [actions] * 3)
    assert len(_found(check_demonstrations(demos, toy_spec), "clipped_actions")) == 1


def test_steps_far_apart_are_not_called_jerky(make_demos: MakeDemos) -> None:
    demos = make_demos((300, 300, 300))  # actions drawn anew at every step
    assert len(_found(check_demonstrations(demos, None), "jerky_actions")) == 1
    report = check_demonstrations(demos.subsample(3), None)
    assert _found(report, "jerky_actions") == []
    assert report.mean_action_change is None
