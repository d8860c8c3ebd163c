"""A policy is played under the conditions that it was made for, or under others that are named."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fixture_types import Spacil
from tiny_runs import as_flags, tiny

import spacil as library
from spacil import storage
from spacil.cli.main import run as spacil_command
from spacil.config.settings import ConditionsConfig
from spacil.envs.conditions import EnvUnderConditions
from spacil.film.record import record
from spacil.measuring.evaluate import evaluate_afresh, evaluation_env
from spacil.policies.file import FORMAT, FORMAT_VERSION
from spacil.policies.open import load_policy, save_policy
from spacil.sweeps.fresh_episodes import add_fresh_episodes

LATE = {"action_delay": "2", "sensor_noise": 0.1}


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("late") / "run"
    flags = as_flags(tiny("spacil", iterations=2, warm_start_steps=20, **LATE))
    words = ["train", "spacil", "--task", "Reacher-v4", "--run-dir", str(folder), *flags]
    assert spacil_command(words) == 0
    return folder


def test_a_run_and_a_file_know_what_they_were_made_for(run_dir: Path, tmp_path: Path) -> None:
    policy = load_policy(run_dir)
    assert policy.conditions == ConditionsConfig(action_delay="2", sensor_noise=0.1)
    assert policy.num_states == 11 + 2 * 2
    save_policy(policy, tmp_path / "late.safetensors")
    assert load_policy(tmp_path / "late.safetensors").conditions == policy.conditions
    assert json.loads((run_dir / "run.json").read_text())["config"]["action_delay"] == "2"


def test_a_policy_without_conditions_has_the_file_it_always_had(tmp_path: Path) -> None:
    save_policy("Reacher-v4", path := tmp_path / "plain.safetensors")
    document = storage.load_sealed(path, FORMAT, FORMAT_VERSION).document
    assert "conditions" not in document
    assert load_policy(path).conditions == ConditionsConfig()


def test_an_agent_takes_steps_as_a_number_and_evaluates_under_its_own_conditions() -> None:
    with_number = library.BC("Reacher-v4", action_delay=2, **tiny("bc", iterations=1))
    try:
        assert with_number.config.conditions.action_delay == "2"
        its_own = with_number.learn().evaluate(episodes=3)
        policy = library.load_policy(with_number)
        found = evaluate_afresh(policy, "Reacher-v4", 3, 0, 1, policy.common_frame)
        assert found == replace(its_own, imitation_score=None)  # no demonstrations to compare with
    finally:
        with_number.close()


def test_under_other_conditions_a_policy_sees_its_history(run_dir: Path, spacil: Spacil) -> None:
    def earned(*words: str) -> float:
        result = spacil("evaluate", run_dir, "--episodes", 3, "--json", "-", *words).result
        return float(result["average_return"])

    its_own = earned()
    assert earned("--action-delay", "2", "--sensor-noise", "0.1") == its_own
    assert len({its_own, earned("--action-delay", "0-1"), earned("--sensor-noise", "0.5")}) == 3


def test_a_policy_without_history_sees_the_plain_observation_under_a_delay() -> None:
    expert = library.load_expert("Hopper-v4")
    late = ConditionsConfig(action_delay="1")
    with evaluation_env("Hopper-v4", 2, 0, 1, expert.conditions, late) as env:
        assert isinstance(env, EnvUnderConditions)
        expert.require_env(env.spec)
    undelayed, delayed = (
        evaluate_afresh(expert, "Hopper-v4", 5, 0, 1, expert.common_frame, conditions)
        for conditions in (None, ConditionsConfig(action_delay="2"))
    )
    assert undelayed.average_return > 3_500
    assert delayed.average_return < 1_500


def test_the_table_names_the_conditions_that_are_played(run_dir: Path, spacil: Spacil) -> None:
    assert spacil("evaluate", run_dir, "--episodes", 1, "--sensor-noise", 0).out.startswith(
        "Reacher-v4: 1 episode, seed 0, action delay 2\n"
    )


def test_the_past_that_a_policy_reads_has_names(run_dir: Path) -> None:
    report = library.diagnose(run_dir, episodes=1)
    found = {finding.check: finding.evidence for finding in report.findings}
    names = set(found["inputs_that_drive"]["share_by_input"])
    assert {f"command {i}, {n} back" for i in (0, 1) for n in (1, 2)} < names
    assert "cosine of joint 0 [0]" in names


@pytest.mark.parametrize("verb", ["smoothness", "diagnose"])
def test_verbs_play_a_run_in_its_own_conditions(run_dir: Path, verb: str, spacil: Spacil) -> None:
    assert spacil(verb, run_dir, "--episodes", 2, "--json", "-").result


def test_fresh_episodes_of_a_run_are_played_under_its_own_conditions(run_dir: Path) -> None:
    fresh = add_fresh_episodes(run_dir, 2).best
    policy = load_policy(run_dir)
    played = evaluate_afresh(policy, "Reacher-v4", 2, 0, 1, policy.common_frame)
    assert fresh["average_return"] == played.average_return


def test_policies_of_several_conditions_share_one_film(run_dir: Path) -> None:
    late, expert = load_policy(run_dir), library.load_expert("Reacher-v4")
    recording = record({"late": late, "expert": expert}, "Reacher-v4", 0, 0.5)
    first, second = (panel.clips[0].trajectory for panel in recording.panels)
    assert first.states.shape[1] == 15
    assert second.states.shape[1] == 11
    np.testing.assert_allclose(first.states[0, 4:6], second.states[0, 4:6], atol=0.05)  # target


def test_margins_of_runs_are_compared_if_asked_for(run_dir: Path, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    comparison = library.compare(run_dir, margins=2)
    (run,) = comparison.frame.to_dict("records")
    for name, most in (("delay_margin", 8.0), ("noise_margin", 1.6)):
        assert 0 <= run[f"{name}_low"] <= run[name] <= run[f"{name}_high"] <= most
    assert "delay margin, steps" in str(comparison) and comparison.problems == ()
    assert "delay margin" not in str(library.compare(run_dir))
    page = tmp_path / "report.html"
    words = ["report", str(run_dir), "-o", str(page), "--margins", "2", "--no-videos"]
    assert spacil_command(words) == 0
    assert "noise margin, std" in page.read_text()
