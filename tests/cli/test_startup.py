"""What a command does not need is not loaded: seconds of waiting, by names and not by times."""

import json
import subprocess
import sys

import pytest

HEAVY = {
    "sympy",  # torch loads it on the way to some functions that have cheaper twins
    "torch._dynamo",
    "torch.utils.tensorboard",
    "tensorboard",
    "matplotlib",
    "PIL",
    "gymnasium",
    "onnx",
    "onnxruntime",
    "h5py",
    "pandas",
    "pyarrow",
    "datasets",
    "minari",
    "stable_baselines3",
    "imageio",
}
NUMBERS = {"torch", "numpy", "mujoco"}


def loaded_by(program: str) -> set[str]:
    """The modules of a fresh process after a program."""
    script = f"{program}\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def command(line: str) -> str:
    return f"""
from spacil.cli.main import run
try:
    code = run({line.split()!r})
except SystemExit as ending:  # of a verb's help
    code = ending.code
assert not code
"""


@pytest.mark.parametrize(
    "program",
    [
        "import spacil; dir(spacil); spacil.SpacilError",
        "import spacil.config.defaults, spacil.config.flat",
        *map(command, ["--help", "--version"]),
    ],
)
def test_a_quick_answer_loads_nothing_heavy(program: str) -> None:
    assert not loaded_by(program) & (HEAVY | NUMBERS | {"tyro", "rich"})


@pytest.mark.parametrize("line", ["train --help", "train spacil --help", "tasks --help"])
def test_help_loads_no_numbers(line: str) -> None:
    assert not loaded_by(command(line)) & (HEAVY | NUMBERS)


def test_a_bundled_expert_is_evaluated_by_its_name_without_heavy_libraries() -> None:
    loaded = loaded_by(command("evaluate Reacher-v4 --episodes 1"))
    assert "mujoco" in loaded
    assert not loaded & HEAVY


@pytest.mark.parametrize("algorithm", ["SPaCIL", "TRPO"])
def test_the_first_iteration_is_shown_before_heavy_libraries_are_loaded(algorithm: str) -> None:
    program = f"""
import spacil
sizes = dict(num_envs=2, steps_per_iteration=100, evaluation_steps=50, torch_threads=1)
spacil.{algorithm}("Reacher-v4", simulation_threads=1, **sizes).learn(1)
"""
    assert not loaded_by(program) & HEAVY
