"""Policies that are jerky for one known reason each, and the finding that names it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import point_mass
import pytest
import torch
from fixture_types import Tiny

import spacil
from spacil.envs.mujoco_model import state_units
from spacil.envs.registry import TASKS
from spacil.errors import ConfigError
from spacil.measuring.diagnose import Finding, diagnose, judged
from spacil.nets.policy import GaussianPolicy

Act = Callable[[np.ndarray], np.ndarray]


def found(policy: object) -> dict[str, Finding]:
    report = diagnose(policy, point_mass.make_point_mass, episodes=4)
    return {finding.check: finding for finding in report.findings}


def gentle(states: np.ndarray) -> np.ndarray:
    return -0.2 * states[:, :1] - 0.4 * states[:, 1:]


def test_a_gentle_controller_has_nothing_to_warn_about() -> None:
    report = diagnose(gentle, point_mass.make_point_mass, episodes=4)
    assert report.warnings == []
    assert report.average_return is not None and report.average_return < 0
    assert {finding.check for finding in report.findings} == {
        "sampled_actions", "saturation", "inputs", "sensor_noise", "delay", "frequency",
        "inputs_that_drive",
    }  # fmt: skip


def test_a_switch_is_saturated_and_fast() -> None:
    def switch(states: np.ndarray) -> np.ndarray:
        return -100 * (states[:, :1] + 3 * states[:, 1:])

    findings = found(switch)
    assert findings["saturation"].severity == "warning"
    assert findings["saturation"].evidence["share_at_bound"] > 0.9
    assert findings["frequency"].severity == "warning"
    assert findings["saturation"].remedy is not None


def test_steep_slopes_amplify_sensor_noise() -> None:
    def steep(states: np.ndarray) -> np.ndarray:
        return -0.3 * np.tanh(10 * states[:, 1:])

    noise = found(steep)["sensor_noise"]
    assert noise.severity == "warning"
    assert noise.evidence["fluctuation_noisy"] > 1.5 * noise.evidence["fluctuation"]


def test_a_wide_gaussian_should_not_be_sampled() -> None:
    policy = GaussianPolicy(2, [-1.0], [1.0], [8], initial_log_std=-1.0)
    with torch.no_grad():
        policy.mean_net.layers[-1].weight.mul_(3)
    policy.normalizer.merge(torch.randn(100, 2, generator=torch.Generator().manual_seed(0)))
    findings = found(policy)
    assert findings["sampled_actions"].severity == "note"  # its mean is what was given
    assert "deterministic=True" in str(findings["sampled_actions"].remedy)


def test_a_normaliser_of_another_env_is_noticed() -> None:
    policy = GaussianPolicy(2, [-1.0], [1.0], [8])
    policy.normalizer.merge(0.05 * torch.randn(100, 2, generator=torch.Generator().manual_seed(0)))
    inputs = found(policy)["inputs"]
    assert inputs.severity == "warning"
    assert inputs.evidence["far_share"] > 0.1


def test_a_policy_that_rolls_dice_gets_one_finding_that_says_so() -> None:
    generator = np.random.default_rng(0)

    def dice(states: np.ndarray) -> np.ndarray:
        return generator.normal(size=(len(states), 1)).astype(np.float32)

    report = diagnose(dice, point_mass.make_point_mass, episodes=2)
    assert [finding.check for finding in report.findings] == ["one_answer"]
    assert "two calls on the same states" in report.findings[0].message
    assert report.average_return is None


def test_the_input_that_drives_the_action_is_named_first() -> None:
    def only_velocity(states: np.ndarray) -> np.ndarray:
        return -0.5 * states[:, 1:]

    drivers = found(only_velocity)["inputs_that_drive"]
    shares = drivers.evidence["share_by_input"]
    assert next(iter(shares)) == "observation 1"
    assert shares["observation 1"] == pytest.approx(1.0, abs=1e-3)


def test_a_bundled_expert_is_read_with_the_names_of_its_joints() -> None:
    report = diagnose("Reacher-v4", episodes=2)
    drivers = next(f for f in report.findings if f.check == "inputs_that_drive")
    assert any("joint" in name for name in drivers.evidence["share_by_input"])
    assert report.task == "Reacher-v4"


@pytest.mark.parametrize("task", ["Hopper-v4", "Walker2d-v4", "HalfCheetah-v4", "Ant-v4"])
def test_every_walker_has_as_many_names_as_numbers(task: str) -> None:
    names = state_units(TASKS[task])
    assert names is not None and len(names) == TASKS[task].num_states


def test_a_number_is_judged_by_the_limit_of_its_check() -> None:
    assert judged("delay", 0.05, {}, shares="1 step 95%").severity == "fine"
    assert judged("delay", 0.2, {}, shares="1 step 80%").severity == "warning"
    evidence = {"share_above_quarter_nyquist": 0.5}
    fast = judged("frequency", 0.5, evidence, where=" (15.6 Hz)")
    assert (fast.severity, fast.evidence) == ("warning", evidence)
    assert fast.message == "50% of the actions' power lies above a quarter of Nyquist (15.6 Hz)"
    unknown = judged("delay", None, evidence)
    assert (unknown.severity, unknown.is_measured, unknown.remedy) == ("note", False, None)
    assert unknown.message.startswith("not known: ")


def test_a_held_action_makes_nothing_of_noise_and_has_no_return_to_lose_to_delay() -> None:
    findings = found(lambda states: np.ones((len(states), 1), np.float32))
    noise, delay = findings["sensor_noise"], findings["delay"]
    assert (noise.severity, noise.is_measured) == ("fine", True)
    assert not delay.is_measured and "no more than random actions" in delay.message
    assert delay.evidence["return_by_delay"].keys() == {"1", "2"}


def test_what_cannot_be_diagnosed_is_refused() -> None:
    with pytest.raises(ConfigError, match="does not say which task"):
        spacil.diagnose(gentle)
    with pytest.raises(ConfigError, match=r"^episodes is 0"):
        spacil.diagnose(gentle, point_mass.make_point_mass, episodes=0)


def test_a_gaussian_whose_mean_does_not_move_is_told_from_no_gaussian() -> None:
    assert "no Gaussian of a known spread" in found(gentle)["sampled_actions"].message
    policy = GaussianPolicy(2, [-1.0], [1.0], [8])
    with torch.no_grad():
        policy.mean_net.layers[-1].weight.zero_()
    still = found(policy)["sampled_actions"]
    assert (still.severity, still.is_measured) == ("note", False)
    assert "do not move" in still.message


def test_a_run_of_an_env_object_says_why_none_can_be_made(tiny: Tiny, tmp_path: Path) -> None:
    agent = spacil.TRPO(point_mass.make_point_mass, **tiny("trpo", iterations=1))
    agent.learn(run_dir=tmp_path / "run")
    agent.close()
    for use in (spacil.diagnose, spacil.smooth):
        with pytest.raises(ConfigError, match="trained in Python on an env object"):
            use(tmp_path / "run")


def test_a_diagnosis_reads_in_python_as_the_verb_prints_it() -> None:
    diagnosis = diagnose(lambda states: -states[:, :1], point_mass.make_point_mass, episodes=2)
    text = str(diagnosis)
    assert "checks found something" in text and "fine  saturation" in text
    assert (
        diagnosis._repr_html_().startswith("<pre>") and "&lt;lambda&gt;" in diagnosis._repr_html_()
    )
