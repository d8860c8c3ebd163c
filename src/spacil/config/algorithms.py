"""The algorithms, one row each: its settings, what learns, its help.

To add one, add a config class and a row; an adversary of its own is one file in `spacil/learning`
(docs/extending.md).
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from spacil.config.train_config import (
    AIRLConfig,
    BCConfig,
    GAILConfig,
    SmoothConfig,
    SPaCILConfig,
    TrainConfig,
    TRPOConfig,
)

Preset = Literal["none", "fast", "gail-like", "plain", "paper-mean", "paper-sum"]

_POLICY_LEARNER = "spacil.learning.on_policy:OnPolicy"


@dataclass(frozen=True)
class Algorithm:
    """One row of the table."""

    summary: str
    config: type[TrainConfig]
    """The settings it reads, with their defaults"""
    learner: str
    """`module:class` of what learns"""
    verb: str = "train"
    """The command that runs it: `spacil <verb>`"""
    adversary: str | None = None
    """`module:function` that makes what rewards the policy; None: the env's own reward"""
    needs_demonstrations: bool = True
    presets: tuple[Preset, ...] = ("none",)


ALGORITHMS: Mapping[str, Algorithm] = {
    "spacil": Algorithm(
        "Learn a smooth policy from demonstrations: GAIL with penalties on policy and cost.",
        SPaCILConfig,
        _POLICY_LEARNER,
        adversary="spacil.learning.gail:GailAdversary",
        presets=("none", "fast", "gail-like", "plain", "paper-mean", "paper-sum"),
    ),
    "gail": Algorithm(
        "Learn from demonstrations against a discriminator; with a policy penalty it is spacil.",
        GAILConfig,
        _POLICY_LEARNER,
        adversary="spacil.learning.gail:GailAdversary",
        presets=("none", "fast", "paper-mean", "paper-sum"),
    ),
    "airl": Algorithm(
        "Learn a reward and a policy from demonstrations (adversarial inverse RL).",
        AIRLConfig,
        _POLICY_LEARNER,
        adversary="spacil.learning.airl:AirlAdversary",
        presets=("none", "fast"),
    ),
    "trpo": Algorithm(
        "Learn from the env's reward: how demonstrators are made (eq:TRPO).",
        TRPOConfig,
        _POLICY_LEARNER,
        needs_demonstrations=False,
        presets=("none", "fast"),
    ),
    "bc": Algorithm(
        "Clone the demonstrations by regression, without env steps; --lambda-policy smooths.",
        BCConfig,
        "spacil.learning.cloning:CloningLearner",
    ),
    "smooth": Algorithm(
        "Distil a given policy into a smooth one: the student acts, the teacher labels.",
        SmoothConfig,
        "spacil.learning.dagger:SmoothingLearner",
        verb="smooth",
        needs_demonstrations=False,
    ),
}


def from_table(path: str) -> Any:
    """What `module:name` of a row names, imported when it is needed."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)
