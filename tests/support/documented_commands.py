"""The `spacil` commands in README and docs, as words, and a folder in which they make sense."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import policies_of_others as foreign
import tiny_runs

import spacil as library

ROOT = Path(__file__).parents[2]
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


def furnish(folder: Path) -> None:
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


def shortened(words: list[str], algorithm: str, run_dir: str | None) -> list[str]:
    """A command that trains, cut to one tiny iteration in a folder of its own."""
    changes: dict[str, object] = {"iterations": 1}
    if "fast" in words:
        changes["warm_start_epochs"] = 1
    flags = tiny_runs.as_flags(tiny_runs.tiny(algorithm, **changes))
    place = [] if run_dir is None or "--run-dir" in words else ["--run-dir", run_dir]
    return [*words, *flags, "--quiet", *place]
