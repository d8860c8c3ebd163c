"""The algorithms, one row each: what it reads, its defaults, what learns, its help.

An algorithm is offered the settings it reads and refuses the others with a message. To add one,
add a row; an adversary of its own is one file in `spacil/learning` (docs/extending.md).
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Preset = Literal["none", "fast", "gail-like", "plain", "paper-mean", "paper-sum"]

_ON_POLICY = ("policy_step", "trust_region", "ppo", "returns", "value", "nets")
_POLICY_LEARNER = "spacil.learning.on_policy:OnPolicy"


@dataclass(frozen=True)
class Algorithm:
    """One row of the table."""

    summary: str
    reads: tuple[str, ...]
    """Groups of settings, most used first"""
    learner: str
    """`module:class` of what learns"""
    verb: str = "train"
    """The command that runs it: `spacil <verb>`"""
    adversary: str | None = None
    """`module:function` that makes what rewards the policy; None: the env's own reward"""
    needs_demonstrations: bool = True
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Settings that differ from the groups' own defaults"""
    ignores: frozenset[str] = frozenset()
    """Settings inside those groups that it does not read"""
    presets: tuple[Preset, ...] = ("none",)
    instead: Mapping[str, str] = field(default_factory=dict)
    """Setting it does not read -> what to do instead"""
    cost_penalty_forms: tuple[str, ...] = ()
    """Forms of the cost penalty that it takes; empty: it has no cost penalty"""


ALGORITHMS: Mapping[str, Algorithm] = {
    "spacil": Algorithm(
        "Learn a smooth policy from demonstrations: GAIL with penalties on policy and cost.",
        reads=(
            "run", "policy_penalty", "cost_penalty", "penalty_states", "wish", "warm_start",
            "fidelity", "sampling", "discriminator", *_ON_POLICY, "bc", "ball", "evaluation",
        ),
        learner=_POLICY_LEARNER,
        adversary="spacil.learning.gail:GailAdversary",
        presets=("none", "fast", "gail-like", "plain", "paper-mean", "paper-sum"),
        cost_penalty_forms=("response", "both", "state", "gp", "r1"),
    ),
    "gail": Algorithm(
        "Learn from demonstrations against a discriminator, without a penalty on the policy.",
        reads=(
            "run", "warm_start", "fidelity", "sampling", "discriminator", "cost_penalty",
            "penalty_states",
            *_ON_POLICY, "bc", "evaluation",
        ),
        learner=_POLICY_LEARNER,
        adversary="spacil.learning.gail:GailAdversary",
        defaults={"penalty": (), "lambda_cost": 0.0, "cost_penalty_form": "r1"},
        ignores=frozenset({"cost_penalty_scale", "cost_penalty_estimator"}),
        presets=("none", "fast", "paper-mean", "paper-sum"),
        instead=dict.fromkeys(
            (
                "penalty", "lambda_policy", "smoothness_target", "fluctuation_target",
                "smoothest", "keep_return",
            ),
            "GAIL with a policy penalty is spacil: `train spacil`",
        ),
        cost_penalty_forms=("gp", "r1"),
    ),
    "airl": Algorithm(
        "Learn a reward and a policy from demonstrations (adversarial inverse RL).",
        reads=(
            "run", "airl", "policy_penalty", "penalty_states", "wish", "warm_start", "fidelity",
            "sampling", "discriminator", *_ON_POLICY, "bc", "ball", "evaluation",
        ),
        learner=_POLICY_LEARNER,
        adversary="spacil.learning.airl:AirlAdversary",
        # AIRL's own reward, logit, may be negative: where episodes can end early, it teaches a
        # policy to end them. Steps and rate: docs/results/airl_ppo.md.
        defaults={
            "penalty": (),
            "lambda_cost": 0.0,
            "discriminator_steps": 5,
            "discriminator_learning_rate": 0.001,
        },
        ignores=frozenset({"discriminator_actions", "discriminator_inputs"}),
        presets=("none", "fast"),
        instead={
            "discriminator_actions": "airl always reads actions as executed",
            "discriminator_inputs": "airl reads (s, a, s'), or with --airl-reward state (s, s')",
        },
    ),
    "trpo": Algorithm(
        "Learn from the env's reward: how demonstrators are made (eq:TRPO).",
        reads=(
            "run", "sampling", *_ON_POLICY, "policy_penalty", "penalty_states", "ball",
            "evaluation",
        ),
        learner=_POLICY_LEARNER,
        needs_demonstrations=False,
        defaults={"penalty": (), "lambda_cost": 0.0},
        ignores=frozenset({"select"}),
        presets=("none", "fast"),
        instead={"select": "what learns from a reward is selected by return"},
    ),
    "bc": Algorithm(
        "Clone the demonstrations by regression, without env steps; --lambda-policy smooths.",
        reads=(
            "run", "bc", "policy_penalty", "penalty_states", "nets", "returns", "ball",
            "evaluation",
        ),
        learner="spacil.learning.cloning_learner:CloningLearner",
        defaults={
            "penalty": (),
            "lambda_cost": 0.0,
            "iterations": 100,
            "checkpoint_interval": 10,  # an epoch takes less time than its checkpoint is worth
        },
        ignores=frozenset({"gae_lambda", "initial_log_std", "select"}),
        instead={
            **dict.fromkeys(
                ("smoothness_target", "fluctuation_target", "smoothest", "keep_return"),
                "bc takes a weight, --lambda-policy",
            ),
            "select": "bc hands out the policy of the lowest held-out loss",
        },
    ),
    "smooth": Algorithm(
        "Distil a given policy into a smooth one: the student acts, the teacher labels.",
        reads=(
            "run", "policy_penalty", "distil", "wish", "sampling", "nets", "evaluation",
        ),
        learner="spacil.learning.dagger:SmoothingLearner",
        verb="smooth",
        needs_demonstrations=False,
        # Weights and sizes: docs/results/smooth.md.
        defaults={
            "penalty": ("exact=0.05", "cats=0.3"),
            "penalty_weight": "auto",
            "lambda_cost": 0.0,
            "iterations": 12,
            "steps_per_iteration": 4_000,
            "num_envs": 20,
            "evaluation_interval": 1,
            "evaluation_steps": 15_000,
            "policy_hidden": (128, 128),
        },
        ignores=frozenset(
            {
                "initial_log_std", "policy_penalty_scale", "penalty_ramp_iterations",
                "penalty_start", "penalty_sigma", "penalty_discount", "caps_noise_std",
                "caps_temporal_weight", "caps_spatial_weight", "smoothness_target_reference",
                "smoothness_target_states", "smoothest", "fluctuation_target_reference",
            }
        ),
    ),
}  # fmt: skip

READ_WITH: Mapping[str, tuple[str, str]] = {
    "trust_region": ("policy_step", "trpo"),
    "ppo": ("policy_step", "ppo"),
}
"""Group -> the setting and value without which nothing reads it."""


def from_table(path: str) -> Any:
    """What `module:name` of a row names, imported when it is needed."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)
