"""The wheel alone, beside nothing but what it asks for, does what the README promises."""

import json
import shutil
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
TRAIN_EVALUATE_LOAD = """
import json, sys
import spacil
from spacil.cli.main import run
tiny = "--num-envs 4 --steps-per-iteration 80 --evaluation-steps 50 --torch-threads 1 --quiet"
codes = [
    run(f"train spacil --task Reacher-v4 --iterations 1 --run-dir run {tiny}".split()),
    run("evaluate run --episodes 1".split()),
]
from spacil.demos.file import bundled_demos
tasks = sorted(bundled_demos())
episodes = [spacil.load_demos(task).num_episodes for task in tasks]
actions = [spacil.load_expert(task).policy.num_actions for task in tasks]
found = {"codes": codes, "tasks": tasks, "episodes": episodes, "actions": actions}
print(json.dumps(found | {"file": spacil.__file__}))
"""


def needed(package: str, extra: str = "") -> set[str]:
    """A package and all that it asks for, by name as installed here."""
    found: set[str] = set()
    waiting = [(package, extra)]
    while waiting:
        name, wanted = waiting.pop()
        if name in found:
            continue
        found.add(name)
        for text in distribution(name).requires or []:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": wanted}):
                waiting += [(requirement.name, extra) for extra in requirement.extras or {""}]
    return found


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment with the wheel; its dependencies are links to ours."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("*.egg-info"))
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-deps", "--no-index"]
    subprocess.run(
        [*pip, "wheel", *offline, "--no-build-isolation", "-w", folder / "dist", folder], check=True
    )
    venv.create(folder / "env", symlinks=True)
    python = folder / "env" / "bin" / "python"
    (wheel,) = (folder / "dist").glob("spacil-*.whl")
    subprocess.run([*pip, "--python", python, "install", *offline, wheel], check=True)
    (packages,) = (folder / "env" / "lib").glob("python*/site-packages")
    for name in needed("spacil") - {"spacil"}:
        for file in distribution(name).files or []:
            top = Path(str(distribution(name).locate_file(file.parts[0])))
            if file.parts[0] != ".." and not (packages / top.name).exists():
                (packages / top.name).symlink_to(top)
    return python


def run(python: Path, folder: Path, *arguments: str) -> str:
    command = [str(python), *arguments]
    finished = subprocess.run(
        command, cwd=folder, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


def test_it_trains_evaluates_and_loads_everything_bundled(python: Path, tmp_path: Path) -> None:
    found = json.loads(run(python, tmp_path, "-c", TRAIN_EVALUATE_LOAD).splitlines()[-1])
    assert found["codes"] == [0, 0]
    assert str(python.parents[1]) in found["file"]
    assert len(found["tasks"]) == 5
    assert min(found["episodes"]) > 0 and min(found["actions"]) > 0
    assert (tmp_path / "run" / "learning_curve.png").stat().st_size > 0


def test_the_doctor_finds_the_machine_fit_without_packages_of_developers(
    python: Path, tmp_path: Path
) -> None:
    result = json.loads(run(python, tmp_path, "-m", "spacil", "doctor", "--json"))
    assert result["is_fit"], result
    assert all(check["is_passed"] for check in result["checks"])


def test_no_package_of_developers_can_be_seen_there(python: Path, tmp_path: Path) -> None:
    names = "pytest hypothesis minari stable_baselines3 onnx h5py datasets ruff mypy"
    script = f"from importlib.util import find_spec; print([*filter(find_spec, {names.split()})])"
    assert run(python, tmp_path, "-c", script) == "[]\n"
