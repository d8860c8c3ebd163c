"""Demonstrations on their way into a run."""

import dataclasses
from typing import Any

import pytest
import torch

from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.config.train_config import TrainConfig
from spacil.demos.file import load_demos
from spacil.demos.metadata import DemoMetadata
from spacil.errors import ConfigError, DataError
from spacil.training.intake import (
    checked_demonstrations,
    demonstrations_for,
    found_demonstrations,
)


def config_for(task: str = "Reacher-v4", **settings: Any) -> TrainConfig:
    return with_settings(default_config("gail", task), settings)


def test_without_a_source_the_bundled_ones_are_taken() -> None:
    config = config_for()
    demos, fitted = demonstrations_for(config, "Reacher-v4")
    assert demos.content_hash == load_demos("Reacher-v4").content_hash
    assert fitted is config


def test_a_source_may_be_a_record_a_name_or_a_path(tmp_path: Any) -> None:
    three = load_demos("Reacher-v4").first(3)
    demos, _ = demonstrations_for(config_for(), "Reacher-v4", three)
    assert demos is three
    demos, _ = demonstrations_for(config_for(), "Reacher-v4", "Reacher-v4")
    assert demos.num_episodes == 50
    with pytest.raises(DataError, match="no such file"):
        demonstrations_for(config_for(), "Reacher-v4", tmp_path / "missing")


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("Pendulum-v1", r"no demonstrations are bundled for Pendulum-v1: pass --demos FILE"),
        ("Pendulum-v11", "unknown task 'Pendulum-v11': did you mean Pendulum-v1"),
        ("CartPole-v1", "actions are Discrete"),
    ],
)
def test_without_any_the_first_problem_is_told_first(task: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        found_demonstrations(config_for(task), task)


def test_executed_actions_alone_are_compared_on_both_sides_and_that_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    executed_only = dataclasses.replace(load_demos("Reacher-v4").first(3), actions=None)
    config = config_for(discriminator_actions="raw")
    _, fitted = demonstrations_for(config, "Reacher-v4", executed_only)
    assert fitted == with_settings(config, {"discriminator_actions": "executed"})
    assert "executed actions on both sides instead of raw ones" in caplog.text
    caplog.clear()
    config = config_for(discriminator_actions="executed")
    assert demonstrations_for(config, "Reacher-v4", executed_only)[1] == config
    assert caplog.text == ""


def test_what_is_odd_is_told_and_what_is_wrong_is_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    demos = load_demos("Reacher-v4")
    chosen = checked_demonstrations(demos, config_for(), "Reacher-v4", num_episodes=2)
    assert chosen.num_episodes == 2
    assert "2 episodes only" in caplog.text
    with pytest.raises(DataError, match="51 episodes asked for, 50 there"):
        checked_demonstrations(demos, config_for(), "Reacher-v4", num_episodes=51)
    with pytest.raises(DataError, match="demos have 11 state dims, Pendulum-v1 has 3"):
        checked_demonstrations(demos, config_for("Pendulum-v1"), "Pendulum-v1")


def test_the_probe_is_closed_whatever_happens() -> None:
    import gymnasium

    closed: list[bool] = []

    class Probe(gymnasium.Wrapper[Any, Any, Any, Any]):
        def close(self) -> None:
            closed.append(True)
            super().close()

    def make() -> Any:
        return Probe(gymnasium.make("Pendulum-v1"))

    with pytest.raises(DataError):
        checked_demonstrations(load_demos("Reacher-v4"), config_for("Pendulum-v1"), make)
    assert len(closed) == 16


def test_several_sources_are_put_together_and_unknown_ones_are_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    known = load_demos("Reacher-v4").first(3)
    unknown = dataclasses.replace(known, metadata=DemoMetadata(), source="somebody's")
    demos, _ = demonstrations_for(config_for(), "Reacher-v4", [unknown, known, "Reacher-v4"])
    assert demos.num_episodes == 56
    assert demos.metadata.task == "Reacher-v4"
    assert [part["task"] for part in demos.metadata.provenance["parts"]] == [
        None,
        "Reacher-v4",
        "Reacher-v4",
    ]
    assert "somebody's: does not say which env it is from; taken to be from Rea" in caplog.text
    with pytest.raises(DataError, match="demos have 2 action dims, Hopper-v4 has 3"):
        demonstrations_for(config_for("Hopper-v4"), "Hopper-v4", ["Hopper-v4", "Reacher-v4"])


def test_subsampling_and_noise_come_after_the_check_and_are_recorded() -> None:
    demos = load_demos("Reacher-v4")
    plain = checked_demonstrations(demos, config_for(), "Reacher-v4", every=5)
    noisy, again = (
        checked_demonstrations(demos, config_for(), "Reacher-v4", every=5, noise=0.1)
        for _ in range(2)
    )
    assert plain.episode_lengths.tolist() == [10] * 50
    assert noisy.content_hash == again.content_hash
    difference = (noisy.states - plain.states).double() / plain.state_std
    varies = plain.state_std > 1e-6
    assert float(difference[:, varies].std()) == pytest.approx(0.1, rel=0.05)
    assert torch.equal(noisy.executed_actions, plain.executed_actions)
    assert torch.equal(noisy.initial_qpos, demos.initial_qpos)  # type: ignore[arg-type]
    operations = [change["operation"] for change in noisy.metadata.provenance["changes"]]
    assert operations[-2:] == ["subsample", "add_observation_noise"]
