"""Which learner an algorithm has."""

from typing import Any

from spacil.cloning.learner import BCLearner
from spacil.config.groups import TrainConfig
from spacil.demos.common_frame import CommonFrame
from spacil.demos.demonstrations import Demonstrations
from spacil.errors import ConfigError
from spacil.training.learner import Learner

AnyLearner = Learner | BCLearner
"""What a run can hold: both are trained, evaluated, saved and restored the same way."""


def make_learner(
    config: TrainConfig,
    env_source: Any,
    demonstrations: Demonstrations | None,
    common_frame: CommonFrame | None = None,
) -> AnyLearner:
    """The learner of the config's algorithm, before its first iteration."""
    if config.algorithm != "bc":
        return Learner(config, env_source, demonstrations, common_frame)
    if demonstrations is None:
        raise ConfigError("bc learns from demonstrations: pass --demos")
    if config.target.smoothness_target > 0:
        raise ConfigError(
            "--smoothness-target is for gail and spacil; bc takes a weight, --lambda-policy"
        )
    return BCLearner(config, env_source, demonstrations, common_frame)
