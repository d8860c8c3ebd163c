"""The examples, run as a reader would run them."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_runs import tiny

import spacil

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


@pytest.fixture(scope="module")
def robot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exported policy."""
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    folder = tmp_path_factory.mktemp("deploy") / "robot"
    spacil.export_policy("Reacher-v4", folder, episodes=0, num_checked=100)
    return folder


def golden(folder: Path) -> dict[str, Any]:
    return {k: np.array(v) for k, v in json.loads((folder / "golden.json").read_text()).items()}


def answers(command: list[str], observations: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """Actions of a program that reads observations line by line."""
    lines = "".join(" ".join(map(repr, row)) + "\n" for row in observations.tolist())
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return np.array([line.split() for line in done.stdout.splitlines()], np.float32)


def test_the_example_in_c_answers_as_python_does(robot: Path, tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler here")
    source, program = str(EXAMPLES / "deploy" / "control.c"), str(tmp_path / "control")
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1"]
    subprocess.run(["cc", *strict, "-I", str(robot), source, "-o", program], check=True)
    expected = golden(robot)
    actions = answers([program], expected["observations"])
    assert np.abs(actions - expected["actions"]).max() <= expected["tolerance"]


def onnxruntime_flags() -> list[str]:
    """Where the C++ headers and library are: $ONNXRUNTIME_ROOT, else where the system has them."""
    root = os.environ.get("ONNXRUNTIME_ROOT")
    if root is None:
        return ["-I/usr/include/onnxruntime", "-lonnxruntime"]
    return [f"-I{root}/include", f"-L{root}/lib", f"-Wl,-rpath,{root}/lib", "-lonnxruntime"]


def test_the_example_in_cpp_answers_as_python_does(robot: Path, tmp_path: Path) -> None:
    if shutil.which("c++") is None:
        pytest.skip("no C++ compiler here")
    empty = tmp_path / "empty.cpp"
    empty.write_text("#include <onnxruntime_cxx_api.h>\nint main() {}\n")
    build = ["c++", "-std=c++17", "-O1", "-o", str(tmp_path / "control")]
    found = subprocess.run([*build, str(empty), *onnxruntime_flags()], capture_output=True)
    if found.returncode != 0:
        pytest.skip("no C++ headers of ONNX Runtime here: set ONNXRUNTIME_ROOT")
    source = str(EXAMPLES / "deploy" / "control.cpp")
    strict = ["-Wall", "-Wextra", "-Werror"]
    subprocess.run([*build, *strict, source, *onnxruntime_flags()], check=True)
    expected = golden(robot)
    command = [str(tmp_path / "control"), str(robot / "policy.onnx")]
    actions = answers(command, expected["observations"])
    assert np.abs(actions - expected["actions"]).max() <= expected["tolerance"]


def run_loop(robot: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-W", "error", str(EXAMPLES / "deploy" / "loop_1khz.py")]
    return subprocess.run(
        [*command, str(robot), "--seconds", "0.2"], capture_output=True, text=True, timeout=60
    )


def test_the_loop_of_1_khz_reports_missed_deadlines(robot: Path) -> None:
    done = run_loop(robot)
    assert done.returncode == 0, done.stderr
    counted = re.search(r"missed deadlines: (\d+) of 200", done.stdout)
    assert counted is not None and 0 <= int(counted[1]) <= 200
    assert re.search(r"computing: median \d+ us", done.stdout)


def test_the_loop_hands_its_past_back_to_a_policy_that_sees_it(tmp_path: Path) -> None:
    agent = spacil.BC("Reacher-v4", action_delay="0-2", **tiny("bc", iterations=1)).learn()
    spacil.export_policy(agent, tmp_path / "robot", episodes=0)
    done = run_loop(tmp_path / "robot")
    assert done.returncode == 0, done.stderr
    assert "missed deadlines" in done.stdout


def test_the_loop_does_not_start_with_another_policy(robot: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(robot, tmp_path / "robot")
    pairs = json.loads((folder / "golden.json").read_text())
    pairs["actions"][0][0] += 0.01
    (folder / "golden.json").write_text(json.dumps(pairs))
    done = run_loop(folder)
    assert done.returncode == 1 and "self-test failed: off by 0.01" in done.stderr


def test_every_example_is_tested() -> None:
    of_penalty = {f"{name}_smoothness_penalty.py" for name in ("ppo", "rsl_rl")}
    deployed = {f"deploy/{name}" for name in ("control.c", "control.cpp", "loop_1khz.py")}
    programs = (path for path in EXAMPLES.rglob("*.*") if path.suffix != ".ipynb")
    found = {str(path.relative_to(EXAMPLES)) for path in programs}
    assert found == {"bc_with_penalty.py"} | of_penalty | deployed
