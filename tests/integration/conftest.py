"""One short run per algorithm that nothing disturbs, and how to start others like it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ITERATIONS = 8

# Penalties with weight from the second iteration on, in the forms that draw random numbers.
DRAWS_FROM_EVERY_STREAM = {
    "penalty_ramp_iterations": 2,
    "penalty_state_fraction": 0.5,
    "policy_penalty_estimator": "pgd",
    "cost_penalty_estimator": "pgd",
    "fisher_state_fraction": 0.5,
}


@pytest.fixture(scope="session")
def run_arguments(tiny_flags: Callable[..., list[str]]) -> Callable[..., list[object]]:
    """The command of a short run in a folder."""

    def arguments(algorithm: str, run_dir: Path, **changes: Any) -> list[object]:
        settings = {"iterations": ITERATIONS, "seed": 5}
        settings |= DRAWS_FROM_EVERY_STREAM if algorithm == "spacil" else {}
        flags = tiny_flags(**settings | changes)
        return ["train", algorithm, "--task", "Reacher-v4", "--run-dir", run_dir, *flags]

    return arguments


@pytest.fixture(scope="session")
def uninterrupted(
    processes: Any,
    run_arguments: Callable[..., list[object]],
    state_of: Callable[[Path], Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str], Any]:
    """The state that the run of an algorithm ends in when nothing disturbs it."""
    states: dict[str, Any] = {}

    def state(algorithm: str) -> Any:
        if algorithm not in states:
            run_dir = tmp_path_factory.mktemp("uninterrupted") / algorithm
            finished = processes.run(*run_arguments(algorithm, run_dir))
            assert finished.code == 0, finished.err
            states[algorithm] = state_of(run_dir)
        return states[algorithm]

    return state
