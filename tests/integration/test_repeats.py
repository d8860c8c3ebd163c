"""One seed, one run: fifty times out of fifty, with one thread of simulation and with two."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from figures import record_figure
from kill_campaign import ALGORITHMS
from tiny_runs import train_command

NUM_REPEATS = 50


@pytest.mark.slow
def test_fifty_repeats_of_each_algorithm_are_one_run(
    processes: Any, state_of: Callable[[Path], Any], tmp_path: Path
) -> None:
    equal: dict[str, dict[str, int]] = {}
    for algorithm in ALGORITHMS:
        first = None
        for threads in (1, 2):
            count = 0
            for _ in range(NUM_REPEATS):
                run_dir = tmp_path / "run"
                changes = {"iterations": 4, "simulation_threads": threads}
                finished = processes.run(*train_command(algorithm, run_dir, **changes))
                assert finished.code == 0, finished.err
                state = state_of(run_dir)
                first = first or state
                count += state == first
                shutil.rmtree(run_dir)
            equal.setdefault(algorithm, {})[f"threads_{threads}"] = count
    record_figure("repeats", {"repeats": NUM_REPEATS, "equal": equal})
    for algorithm, counts in equal.items():
        assert set(counts.values()) == {NUM_REPEATS}, (algorithm, counts)
