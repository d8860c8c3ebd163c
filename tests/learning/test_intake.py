"""Demonstrations on their way into a run."""

import dataclasses
from typing import Any

import pytest
import torch
from demo_edits import with_tensors, with_value

from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.config.settings import DemoChoice
from spacil.config.train_config import TrainConfig
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import load_demos
from spacil.demos.metadata import DemoMetadata
from spacil.errors import ConfigError, DataError
from spacil.learning.intake import (
    Intake,
    checked_demonstrations,
    demonstrations_for,
    found_demonstrations,
)


def config_for(task: str = "Reacher-v4", **settings: Any) -> TrainConfig:
    return with_settings(default_config("gail", task), settings)


def taken(demos: Demonstrations, **choice: Any) -> Intake:
    return checked_demonstrations(demos, config_for(), "Reacher-v4", DemoChoice(**choice))


def test_a_source_may_be_a_record_a_name_or_a_path_and_else_is_bundled(tmp_path: Any) -> None:
    config, bundled = config_for(), load_demos("Reacher-v4")
    three = bundled.first(3)
    intake, fitted = demonstrations_for(config, "Reacher-v4")
    assert intake.used.content_hash == bundled.content_hash
    assert intake.given is intake.used and fitted is config
    assert demonstrations_for(config, "Reacher-v4", three)[0].used is three
    assert demonstrations_for(config, "Reacher-v4", "Reacher-v4")[0].used.num_episodes == 50
    with pytest.raises(DataError, match="no such file"):
        demonstrations_for(config, "Reacher-v4", tmp_path / "missing")


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("Pendulum-v1", r"no demonstrations are bundled for Pendulum-v1: pass --demos FILE"),
        ("Pendulum-v11", "unknown task 'Pendulum-v11': did you mean Pendulum-v1"),
        ("CartPole-v1", "actions are Discrete"),
    ],
)
def test_without_any_the_first_problem_is_named_first(task: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        found_demonstrations(config_for(task), task)


def test_executed_actions_alone_are_compared_on_both_sides_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    executed_only = with_tensors(load_demos("Reacher-v4").first(3), actions=None)
    config = config_for(discriminator_actions="raw")
    _, fitted = demonstrations_for(config, "Reacher-v4", executed_only)
    assert fitted == with_settings(config, {"discriminator_actions": "executed"})
    assert "executed actions on both sides instead of raw ones" in caplog.text
    caplog.clear()
    config = config_for(discriminator_actions="executed")
    assert demonstrations_for(config, "Reacher-v4", executed_only)[1] == config
    assert caplog.text == ""


def test_what_is_odd_is_warned_of_and_what_is_wrong_is_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    demos = load_demos("Reacher-v4")
    intake = taken(demos, num_demos=2)
    assert intake.used.num_episodes == 2
    assert "2 episodes only" in caplog.text
    with pytest.raises(DataError, match="51 episodes asked for, 50 there"):
        taken(demos, num_demos=51)
    with pytest.raises(DataError, match="11 state dims, Pendulum-v1 has 3"):
        checked_demonstrations(demos, config_for("Pendulum-v1"), "Pendulum-v1")


def test_several_sources_are_put_together_with_a_warning_for_unknown_ones(
    caplog: pytest.LogCaptureFixture,
) -> None:
    known = load_demos("Reacher-v4").first(3)
    unknown = dataclasses.replace(known, metadata=DemoMetadata(), source="somebody's")
    intake, _ = demonstrations_for(config_for(), "Reacher-v4", [unknown, known, "Reacher-v4"])
    demos = intake.used
    assert demos.num_episodes == 56
    assert demos.metadata.task == "Reacher-v4"
    assert [part["task"] for part in demos.metadata.provenance["parts"]] == [
        None,
        "Reacher-v4",
        "Reacher-v4",
    ]
    assert "somebody's: does not say which env it is from; taken to be from Rea" in caplog.text
    with pytest.raises(DataError, match="2 action dims, Hopper-v4 has 3"):
        demonstrations_for(config_for("Hopper-v4"), "Hopper-v4", ["Hopper-v4", "Reacher-v4"])


def test_subsampling_and_noise_come_after_the_check_and_are_recorded() -> None:
    demos = load_demos("Reacher-v4")
    assert taken(demos, num_demos=3, demo_every=5, demo_noise=0.1).given is demos  # whole
    plain = taken(demos, demo_every=5).used
    noisy, again = (taken(demos, demo_every=5, demo_noise=0.1).used for _ in range(2))
    assert plain.episode_lengths.tolist() == [10] * 50
    assert noisy.content_hash == again.content_hash
    difference = (noisy.states - plain.states).double() / plain.state_std
    varies = plain.state_std > 1e-6
    assert float(difference[:, varies].std()) == pytest.approx(0.1, rel=0.05)
    assert torch.equal(noisy.executed_actions, plain.executed_actions)
    assert torch.equal(noisy.tensors()["initial_qpos"], demos.tensors()["initial_qpos"])
    operations = [change["operation"] for change in noisy.metadata.provenance["changes"]]
    assert operations[-2:] == ["subsample", "add_observation_noise"]


def test_a_delay_changes_what_is_learned_from_and_not_the_unit_of_j() -> None:
    demos = load_demos("Reacher-v4").first(3)
    late = with_settings(config_for(), {"action_delay": "1"})
    found = [
        checked_demonstrations(demos, late, "Reacher-v4", DemoChoice(demos_delay=steps))
        for steps in (0, 1)
    ]
    assert [intake.used.num_states for intake in found] == [13, 13]
    assert all(intake.given is demos for intake in found)
    given, shifted = demos.executed_actions, found[0].used.executed_actions
    assert torch.equal(found[1].used.executed_actions, given)
    assert torch.equal(shifted[:49], given[1:50])


def test_episodes_that_are_not_finite_are_no_part_of_what_was_given() -> None:
    demos = with_value(load_demos("Reacher-v4"), "observations", -1, torch.nan)
    intake = taken(demos, num_demos=3)
    assert intake.given.num_episodes == 49
    assert intake.given.state_std.isfinite().all()


def test_offset_and_first_episode_choose_other_data() -> None:
    demos = load_demos("Reacher-v4")

    def used(**choice: int) -> Demonstrations:
        return taken(demos, demo_every=20, **choice).used

    shifted = used(first_demo=7, num_demos=3, demo_offset=4)
    assert shifted.episode_lengths.tolist() == [3, 3, 3]
    rows = [50 * episode + step for episode in (7, 8, 9) for step in (4, 24, 44)]
    assert torch.equal(shifted.states, demos.states[rows])
    assert torch.equal(shifted.next_states, demos.next_states[rows])
    assert used(first_demo=48).num_episodes == 2


@pytest.mark.parametrize(
    ("choice", "error", "message"),
    [
        ({"demo_every": 20, "demo_offset": 20}, ConfigError, "every 20-th step from step 20 on"),
        ({"demo_offset": 1}, ConfigError, "every 1-th step from step 1 on"),
        ({"first_demo": -1}, ConfigError, "--first-demo is -1, expected 0 or more"),
        ({"first_demo": 50}, DataError, "1 episode asked for, 0 there from episode 50 on"),
        (
            {"first_demo": 48, "num_demos": 3},
            DataError,
            "3 episodes asked for, 2 there from episode 48 on",
        ),
    ],
)
def test_choices_beyond_the_data_are_refused(
    choice: dict[str, int], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        taken(load_demos("Reacher-v4"), **choice)
