"""One short run per algorithm that nothing disturbs, and how to start others like it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny_runs import train_command


@pytest.fixture(scope="session")
def run_arguments() -> Callable[..., list[object]]:
    """The command of a short run in a folder."""
    return train_command


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
