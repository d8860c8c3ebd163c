"""README and docs show commands that work: each is parsed as written, and run, cut short."""

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import policies_of_others as foreign
import pytest
import tiny_runs
import tyro
from fixture_types import Spacil

import spacil as library
from spacil.cli import main

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
TESTED_ELSEWHERE = {"docs/extending.md"}
"""Its blocks register algorithms first; tests/test_extending.py runs them."""


@dataclass(frozen=True)
class Command:
    """One line of a page."""

    page: str
    line: str

    @property
    def words(self) -> list[str]:
        """What a reader would type, with something in the place of each placeholder."""
        line = re.sub(r"\[(.*?)\]", r"\1", self.line)
        line = re.sub(r"\$\w+/\$\w+", "0/2", line)  # as a scheduler's variables say it
        line = re.sub(r"\$\w+", "2", line)
        line = re.sub(r"\S+\|\S+", "runs/mine", line).replace("--seed S", "--seed 0")
        line = re.sub(r"runs/\S+/seed0-\.\.\.", "runs/mine", line)
        words = shlex.split(line.removesuffix("&"), comments=True)[1:]
        return ["runs/mine" if word == "RUN" else word for word in words]

    def __str__(self) -> str:
        return f"{self.page}: {' '.join(self.words)}"


def documented_commands() -> list[Command]:
    """Every line of a fenced block that starts with `spacil`, each once."""
    found = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        name = str(page.relative_to(ROOT))
        if name not in TESTED_ELSEWHERE:
            blocks = "\n".join(FENCE.findall(page.read_text()))
            lines = re.sub(r"\s*\\\n\s*", " ", blocks).splitlines()  # a backslash joins two
            found += [Command(name, line) for line in lines if line.startswith("spacil ")]
    return list({str(command): command for command in found}.values())


def furnish(folder: Path) -> Path:
    """Files under the names that the pages use, small: Hopper's, and an env of one's own."""
    demos = library.load_demos("Hopper-v4").first(3)
    for name in ("theirs.npz", "theirs.hdf5"):
        library.save_demos(demos, folder / name)
    np.savez(  # as somebody writes it who knows nothing of spacil
        folder / "mine.npz",
        states=demos.states.numpy(),
        actions=demos.expert_batch("executed").actions.numpy(),
        episode_lengths=demos.episode_lengths.numpy(),
    )
    foreign.write_onnx(foreign.make_module(11, 3), folder / "policy.onnx")
    page = (ROOT / "docs" / "own_env.md").read_text()
    (folder / "my_cart.py").write_text(re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)[0])
    (folder / "my_module.py").write_text(
        "import gymnasium\nimport numpy as np\n"
        "gymnasium.register('Env-v0', 'gymnasium.envs.mujoco.hopper_v5:HopperEnv', "
        "max_episode_steps=1000)\n"
        "def sb3_model(states):\n    return np.zeros((len(states), 3))\n"
    )
    agent = library.SPaCIL("Hopper-v4", **tiny_runs.tiny("spacil", iterations=1))
    agent.learn(run_dir=folder / "runs" / "mine")
    agent.close()
    (folder / "docs" / "figures").mkdir(parents=True)
    return folder


def shortened(words: list[str], algorithm: str, run_dir: str | None) -> list[str]:
    """A command that trains, cut to one tiny iteration in a folder of its own."""
    changes: dict[str, object] = {"iterations": 1}
    if "fast" in words:
        changes["warm_start_epochs"] = 1
    flags = tiny_runs.as_flags(tiny_runs.tiny(algorithm, **changes))
    place = [] if run_dir is None or "--run-dir" in words else ["--run-dir", run_dir]
    return [*words, *flags, "--quiet", *place]


COMMANDS = documented_commands()
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


class ParsedError(Exception):
    """The command line was understood; nothing was done."""


@pytest.fixture(scope="module")
def _furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return furnish(tmp_path_factory.mktemp("furnished"))


@pytest.fixture
def workplace(_furnished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the furnished folder, to be worked in; the code in it is forgotten afterwards."""
    folder = shutil.copytree(_furnished, tmp_path / "work")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield folder
    for module, env in (("my_cart", "Cart-v0"), ("my_module", "Env-v0")):
        sys.modules.pop(module, None)
        gymnasium.registry.pop(env, None)


def test_there_are_commands_of_every_verb() -> None:
    assert {command.words[0] for command in COMMANDS} >= main.VERBS.keys() - {"experiment"}


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_a_documented_command_is_parsed_as_written(
    command: Command, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    understand = tyro.cli

    def stop_after(*arguments: Any, **options: Any) -> None:
        understand(*arguments, **options)
        raise ParsedError

    monkeypatch.setattr(tyro, "cli", stop_after)
    with pytest.raises(ParsedError):
        main.run(command.words)


QUICK = [
    "train gail --task Hopper-v4 --demos mine.npz",
    "train spacil --task my_module:Env-v0 --demos mine.npz",
    "train spacil --config runs/mine/run.json",
    "train trpo --task Hopper-v4",
]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(
            command,
            id=str(command),
            marks=() if " ".join(command.words).startswith(tuple(QUICK)) else pytest.mark.slow,
        )
        for command in COMMANDS
        if command.words[0] == "train" and "my_cart" not in command.line
    ],
)
def test_a_documented_training_runs_for_one_iteration(
    command: Command, workplace: Path, spacil: Spacil
) -> None:
    done = spacil(*shortened(command.words, command.words[1], "documented"))
    assert done.code == 0, done.err
    assert "handed out" in done.out


def test_the_page_on_own_envs_works_from_top_to_bottom(workplace: Path, spacil: Spacil) -> None:
    page = [command for command in COMMANDS if command.page == "docs/own_env.md"]
    assert [command.words[0] for command in page] == [
        *("train", "demos", "train", "evaluate", "resume", "smoothness")
    ]
    for command in page:
        words = command.words
        match words[0]:
            case "train":
                words = shortened(words, words[1], None)
            case "evaluate" | "smoothness":
                words = [*words, "--episodes", "2"]
            case "resume":
                words = [*words[:-1], "2", "--quiet"]
        done = spacil(*words)
        assert done.code == 0, f"{command}\n{done.err}"
    run_python_of_the_page(workplace)


def run_python_of_the_page(workplace: Path) -> None:
    """Its blocks after the env itself, cut to one iteration."""
    _, by_name, as_object, _ = PYTHON.findall((ROOT / "docs" / "own_env.md").read_text())
    small = ", num_envs=4, steps_per_iteration=80, evaluation_steps=80)\n"
    names: dict[str, Any] = {}
    for block in (by_name, as_object):
        shorter = re.sub(r'(safetensors".*)\)\n', rf"\1{small}", block)
        shorter = shorter.replace("iterations=30", "iterations=1").replace(
            "episodes=20", "episodes=1"
        )
        exec(compile(shorter, "docs/own_env.md", "exec"), names)
    assert names["action"].shape == (1,)
    run = json.loads((workplace / "runs/cart-python/run.json").read_text())
    assert run["inputs"]["env_is_named"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        c
        for c in COMMANDS
        if c.words[0] in ("demos", "smoothness", "doctor") and "cart" not in c.line
    ],
    ids=str,
)
def test_the_other_documented_commands_run(
    command: Command, workplace: Path, spacil: Spacil
) -> None:
    if "minari:mujoco" in command.line:
        pytest.skip("reads a dataset that has to be downloaded")
    more = ["--episodes", "1"] if command.words[0] == "smoothness" else []
    done = spacil(*command.words, *more)
    assert done.code == 0, done.err


def test_the_image_is_built_from_files_that_exist() -> None:
    """It cannot be built everywhere; what it copies and installs can be checked anywhere."""
    text = (ROOT / "Dockerfile").read_text()
    copied = re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE)
    assert copied
    for names in copied:
        assert all((ROOT / name).exists() for name in names.split())
    extras = re.search(r"'\.\[([\w,]+)\]'", text)
    assert extras is not None
    described = (ROOT / "pyproject.toml").read_text()
    assert all(f"\n{extra} = [" in described for extra in extras[1].split(","))
    assert os.access(ROOT / "constraints.txt", os.R_OK)


def test_the_tests_that_the_page_on_reliability_names_exist() -> None:
    text = (ROOT / "docs" / "reliability.md").read_text()
    named = set(re.findall(r"`([\w/]*test_\w+\.py)`", text))
    folders = (ROOT / "tests", ROOT / "tests" / "faults")  # as the page says
    missing = [name for name in named if not any((folder / name).exists() for folder in folders)]
    assert len(named) > 30 and not missing
