"""The config of an algorithm on a task, before a user's own settings.

The task brings the paper's column, the algorithm its class; a preset changes both.
"""

from collections.abc import Mapping
from typing import Any

from spacil import paper
from spacil.config.algorithms import ALGORITHMS, Preset
from spacil.config.flat import with_settings
from spacil.config.train_config import OnPolicyConfig, TrainConfig
from spacil.errors import ConfigError

Settings = Mapping[str, Any]

FAST_MAX_KL = 0.03
"""Trust region of `--preset fast`, three times the paper's: docs/results/fast.md"""

QUICK_ITERATIONS = 60
"""Iterations of `--preset fast` of spacil, which is its rule cut short: docs/results/recipe.md"""

_FAST_IMITATION: Settings = {
    "max_kl": FAST_MAX_KL,
    "warm_start_epochs": 40,
    "initial_log_std": -1.5,
    "fisher_state_fraction": 0.2,
}

_RULE: Settings = {
    "iterations": 200,
    "warm_start_steps": 1_500,
    "initial_log_std": -1.5,
    "max_kl": FAST_MAX_KL,
    "fisher_state_fraction": 0.2,
    "value_targets": "standardized",
    "discriminator_steps": 3,
    "cost_penalty_form": "r1",
    "lambda_cost": 0.4,
    "cost_weight": "by-pairs",
    "penalty": ("exact=0.1",),
    "penalty_weight": "auto",
    "anchor_weight": 0.3,
    "staggered_starts": True,
    "kept_policy_decay": 0.95,
    "evaluation_steps": 8_000,
    "select": "last",
}
"""The rule of spacil, for all tasks and any number of demonstrations: docs/results/recipe.md"""

PRESETS: Mapping[tuple[str, Preset], Settings] = {
    ("spacil", "none"): _RULE,
    ("spacil", "fast"): {**_RULE, "iterations": QUICK_ITERATIONS},
    # The GAIL of ratios: the rule's start, critic, discriminator and mean, without its penalties.
    ("spacil", "gail-like"): {
        **_RULE,
        "penalty": (),
        "penalty_weight": "fixed",
        "anchor_weight": 0.0,
    },
    ("gail", "fast"): _FAST_IMITATION,
    ("airl", "fast"): _FAST_IMITATION,
    ("trpo", "fast"): {"max_kl": FAST_MAX_KL},
}
"""What a preset changes; those of the paper depend on the task"""


def default_config(algorithm: str, task: str, preset: Preset = "none") -> TrainConfig:
    """Every default, by task, algorithm and preset."""
    row = ALGORITHMS.get(algorithm)
    if row is None:
        raise ConfigError(f"unknown algorithm {algorithm!r}; choose from {', '.join(ALGORITHMS)}")
    if preset not in row.presets:
        takers = [name for name, other in ALGORITHMS.items() if preset in other.presets]
        raise ConfigError(
            f"--preset {preset} is for {', '.join(takers)}, not for {algorithm}"
            if takers
            else f"--preset {preset}: there is none of that name"
        )
    settings = dict(PRESETS.get((algorithm, preset), {}))
    column = paper.settings_for(task)
    if preset in ("paper-mean", "paper-sum"):
        settings = _as_printed(algorithm, task, preset, column)
    if column is not None:
        is_imitation = row.needs_demonstrations
        of_task = {
            "gamma": column.gamma,
            "gae_lambda": column.gae_lambda,
            "steps_per_iteration": column.imitation_steps_per_iteration
            if is_imitation
            else column.expert_steps_per_iteration,
            "iterations": column.imitation_iterations if is_imitation else column.expert_iterations,
        }
        if issubclass(row.config, OnPolicyConfig):
            settings = of_task | settings
    return with_settings(row.config(task=task), settings)


def _as_printed(
    algorithm: str, task: str, preset: Preset, column: paper.PaperTask | None
) -> dict[str, Any]:
    """The paper's printed scaling and discriminator, and nothing else."""
    settings: dict[str, Any] = {
        "discriminator_activation": "tanh",
        "discriminator_learning_rate": paper.DISCRIMINATOR_LEARNING_RATE,
        "discriminator_actions": "raw",
        "standardize_actions": False,
    }
    if algorithm == "gail":
        return settings
    if column is None:
        raise ConfigError(
            f"--preset {preset}: the paper prints no weights for {task}; it has "
            + ", ".join(paper.TASKS)
        )
    return settings | {
        "penalty": (f"pgd={column.lambda_policy!r}:scale={preset}:rule=raw",),
        "lambda_cost": column.lambda_cost,
        "cost_penalty_form": f"response:scale={preset}:estimator=pgd:rule=raw",
        "penalty_state_fraction": 1.0,
    }
