"""The examples, run as a reader would run them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
LINE = re.compile(r"weight (\S+) .*J (\d+\.\d+)")


def run_example(name: str, *arguments: str) -> list[tuple[float, float, str]]:
    """(weight, J, line) of each line that an example prints; a warning is an error."""
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=240,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [(LINE.fullmatch(line), line) for line in done.stdout.splitlines()]
    return [(float(match[1]), float(match[2]), line) for match, line in found if match]


@pytest.mark.parametrize(
    "name", ["bc_with_penalty.py", "ppo_smoothness_penalty.py", "rsl_rl_smoothness_penalty.py"]
)
def test_the_penalty_lowers_j(name: str) -> None:
    (plain, plain_j, _), (weight, smooth_j, _) = run_example(name, "--quick")
    assert plain == 0 < weight
    assert 0 < smooth_j < 0.9 * plain_j


def test_every_example_is_tested() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        "bc_with_penalty.py",
        "ppo_smoothness_penalty.py",
        "rsl_rl_smoothness_penalty.py",
    }
