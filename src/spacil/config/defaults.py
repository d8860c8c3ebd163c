"""The config of an algorithm on a task, before a user's own settings.

The task brings the paper's column, the algorithm its class; a preset changes both.
"""

from typing import Any

from spacil import paper
from spacil.config.algorithms import ALGORITHMS, OnPolicyConfig, Preset
from spacil.config.flat import with_settings
from spacil.config.train_config import TrainConfig
from spacil.errors import ConfigError


def default_config(algorithm: str, task: str, preset: Preset = "none") -> TrainConfig:
    """Every default, by task, algorithm and preset."""
    kind = ALGORITHMS.get(algorithm)
    if kind is None:
        raise ConfigError(f"unknown algorithm {algorithm!r}; choose from {', '.join(ALGORITHMS)}")
    if preset not in kind.presets:
        presets = ", ".join(kind.presets)
        raise ConfigError(f"--preset {preset}: {algorithm} has no such preset; it has {presets}")
    settings, column = dict(kind.presets[preset]), paper.settings_for(task)
    if preset in ("paper-mean", "paper-sum"):
        # The paper's printed scaling and discriminator, and nothing else.
        settings = {
            "discriminator_activation": "tanh",
            "discriminator_learning_rate": paper.DISCRIMINATOR_LEARNING_RATE,
            "discriminator_actions": "raw",
            "standardize_actions": False,
        }
        if algorithm == "spacil":
            if column is None:
                raise ConfigError(
                    f"--preset {preset}: the paper prints no weights for {task}; it has "
                    + ", ".join(paper.TASKS)
                )
            settings |= {
                "penalty": (f"pgd={column.lambda_policy!r}:scale={preset}:rule=raw",),
                "lambda_cost": column.lambda_cost,
                "cost_penalty_form": f"response:scale={preset}:estimator=pgd:rule=raw",
                "penalty_state_fraction": 1.0,
            }
    if column is not None and issubclass(kind, OnPolicyConfig):
        sizes: dict[str, Any] = {
            "steps_per_iteration": column.expert_steps_per_iteration,
            "iterations": column.expert_iterations,
        }
        if kind.needs_demonstrations:
            sizes["steps_per_iteration"] = column.imitation_steps_per_iteration
            sizes["iterations"] = column.imitation_iterations
        returns = {"gamma": column.gamma, "gae_lambda": column.gae_lambda}
        settings = {**returns, **sizes, **settings}
    return with_settings(kind(task=task), settings)
