"""Runs that take a second and still do everything a long one does."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spacil.config.defaults import default_config
from spacil.config.flat import settings_of
from spacil.config.train_config import TrainConfig

_TINY: dict[str, Any] = {
    "iterations": 3,
    "num_envs": 10,
    "steps_per_iteration": 200,
    "simulation_threads": 1,
    "torch_threads": 1,
    "policy_hidden": (16, 8),
    "value_hidden": (16,),
    "discriminator_hidden": (16,),
    "evaluation_steps": 100,
    "evaluation_interval": 2,
}

TINY_SMOOTHING: dict[str, Any] = {
    "steps_per_iteration": 400,
    "num_envs": 10,
    "fit_steps": 150,
    "fit_minibatch": 64,
    "fit_learning_rate": 0.005,
    "evaluation_steps": 200,
    "policy_hidden": (32,),
    "simulation_threads": 1,
    "torch_threads": 1,
}
"""Of `smooth`, on a point mass."""

# Penalties with weight from the second iteration on, in the forms that draw random numbers.
DRAWS_FROM_EVERY_STREAM: dict[str, Any] = {
    "penalty_ramp_iterations": 2,
    "penalty_state_fraction": 0.5,
    "penalty": ("pgd=0.03",),
    "cost_penalty_form": "response:estimator=pgd",
    "fisher_state_fraction": 0.5,
}


def tiny(algorithm: str = "gail", **changes: Any) -> dict[str, Any]:
    """The settings of a tiny run by keyword: those the algorithm reads, with changes."""
    read = settings_of(algorithm)
    return {name: value for name, value in _TINY.items() if name in read} | changes


def plain_config(algorithm: str, task: str) -> TrainConfig:
    """Defaults without spacil's rule: the paper's loop from an untrained start."""
    return default_config(algorithm, task, "plain" if algorithm == "spacil" else "none")


def as_flags(settings: dict[str, Any]) -> list[str]:
    """Settings by keyword as words of the command line."""
    words: list[str] = []
    for name, value in settings.items():
        words.append(f"--{name.replace('_', '-')}")
        words += [str(item) for item in value] if isinstance(value, tuple) else [str(value)]
    return words


def as_choices(settings: dict[str, Any]) -> list[str]:
    """Settings as flags of a sweep, which decides about threads itself."""
    words: list[str] = []
    for name, value in settings.items():
        if name not in ("torch_threads", "simulation_threads"):
            text = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            words += ["--set", f"{name}={text}"]
    return words


def wait_until(is_so: Callable[[], bool], seconds: float = 400) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def train_command(algorithm: str, run_dir: Path, **changes: Any) -> list[object]:
    """`spacil train ALGORITHM` of eight tiny iterations on Reacher-v4 in a folder."""
    settings = tiny(algorithm, iterations=8, seed=5)
    settings |= DRAWS_FROM_EVERY_STREAM if algorithm == "spacil" else {}
    settings |= {"warm_start_steps": 20} if algorithm == "spacil" else {}
    flags = as_flags(settings | changes)
    return ["train", algorithm, "--task", "Reacher-v4", "--run-dir", run_dir, *flags]
