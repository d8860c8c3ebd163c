"""The config of an algorithm on a task, before a user's own settings.

The task brings the paper's column; the algorithm its row; a preset changes both.
"""

from collections.abc import Mapping
from typing import Any

from spacil import paper
from spacil.config.algorithms import ALGORITHMS, Preset
from spacil.config.flat import with_settings
from spacil.config.train_config import TrainConfig
from spacil.errors import ConfigError

FAST_MAX_KL = 0.03
"""Trust region of `--preset fast`, three times the paper's: docs/results/fast.md"""

QUICK_ITERATIONS = 60
"""Of `--preset fast` of spacil, which is its rule cut short: docs/results/recipe.md"""

_FAST_IMITATION = {
    "warm_start_epochs": 40,
    "initial_log_std": -1.5,
    "fisher_state_fraction": 0.2,
}
"""What the preset adds for gail and airl, which have no rule."""


_RULE: Mapping[str, Any] = {
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

_GAIL_LIKE: Mapping[str, Any] = {
    **_RULE,
    "penalty": (),
    "penalty_weight": "fixed",
    "anchor_weight": 0.0,
}
"""The GAIL of ratios: the rule's start, critic, discriminator and mean, without its penalties."""


def default_config(algorithm: str, task: str, preset: Preset = "none") -> TrainConfig:
    """Every default, by task, algorithm and preset."""
    row = ALGORITHMS.get(algorithm)
    if row is None:
        raise ConfigError(f"{algorithm!r} is none of the algorithms {', '.join(ALGORITHMS)}")
    config = TrainConfig(algorithm=algorithm, task=task)
    config = with_settings(config, _task_settings(algorithm, task) | dict(row.defaults))
    if preset not in row.presets:
        takers = [name for name, other in ALGORITHMS.items() if preset in other.presets]
        raise ConfigError(
            f"--preset {preset} is for {', '.join(takers)}, not for {algorithm}"
            if takers
            else f"--preset {preset}: there is none of that name"
        )
    if algorithm == "spacil" and preset == "fast":
        return with_settings(config, {**_RULE, "iterations": QUICK_ITERATIONS})
    if preset == "fast":
        imitation = _FAST_IMITATION if row.needs_demonstrations else {}
        return with_settings(config, {"max_kl": FAST_MAX_KL, **imitation})
    if preset in ("paper-mean", "paper-sum"):
        return with_settings(config, _paper_settings(algorithm, task, preset))
    if preset == "gail-like":
        return with_settings(config, _GAIL_LIKE)
    if algorithm == "spacil" and preset == "none":
        return with_settings(config, _RULE)
    return config


def _task_settings(algorithm: str, task: str) -> dict[str, Any]:
    """The paper's column for the task; nothing for a task it does not have."""
    column = paper.settings_for(task)
    if column is None:
        return {}
    is_expert = not ALGORITHMS[algorithm].needs_demonstrations
    return {
        "gamma": column.gamma,
        "gae_lambda": column.gae_lambda,
        "steps_per_iteration": column.expert_steps_per_iteration
        if is_expert
        else column.imitation_steps_per_iteration,
        "iterations": column.expert_iterations if is_expert else column.imitation_iterations,
    }


def _paper_settings(algorithm: str, task: str, preset: Preset) -> dict[str, Any]:
    """The paper's printed scaling and discriminator, and nothing else."""
    settings: dict[str, Any] = {
        "discriminator_activation": "tanh",
        "discriminator_learning_rate": paper.DISCRIMINATOR_LEARNING_RATE,
        "discriminator_actions": "raw",
        "standardize_actions": False,
    }
    if algorithm == "gail":
        return settings
    column = paper.settings_for(task)
    if column is None:
        raise ConfigError(
            f"--preset {preset}: the paper prints no weights for {task}; it has "
            + ", ".join(paper.TASKS)
        )
    return settings | {
        "penalty": (f"pgd={column.lambda_policy!r}",),
        "lambda_cost": column.lambda_cost,
        "policy_penalty_scale": preset,
        "cost_penalty_scale": preset,
        "cost_penalty_estimator": "pgd",
        "penalty_ramp_iterations": 0,
        "penalty_state_fraction": 1.0,
        "ball_step_rule": "raw",
    }
