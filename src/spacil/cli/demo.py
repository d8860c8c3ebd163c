"""`spacil demo`: learn a smooth Hopper from 300 steps, and see it beside its demonstrator."""

import webbrowser
from dataclasses import dataclass
from pathlib import Path

from spacil.cli import main
from spacil.config.checks import whole_number

TASK = "Hopper-v4"


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Learn a smooth Hopper from 300 demonstrated steps, then open a page where it acts live.

    The demonstrator acts beside it: turn up the noise. About a minute on two cores.
    """

    out: Path = Path("spacil-demo")
    """Folder to write: run/ and page.html. If it holds a run already, that one is shown."""
    iterations: int = 60
    """Length of the training."""
    seed: int = 0
    """Seed of the training."""
    browser: bool = True
    """Open the page in a browser."""

    def __post_init__(self) -> None:
        whole_number("iterations", self.iterations)
        whole_number("seed", self.seed, least=0)


def run(parsed: Arguments) -> int:
    folder, page = parsed.out / "run", (parsed.out / "page.html").absolute()
    settings = f"--preset fast --demo-every 20 --iterations {parsed.iterations}"
    words = ["--task", TASK, *settings.split(), "--seed", str(parsed.seed)]
    code = main.run(["train", "spacil", *words, "--run-dir", str(folder), "--resume"])
    if code == 0:
        shown = [str(folder), TASK, "--names", "spacil, from 300 steps", "demonstrator"]
        title = "--title=Hopper: which one shakes?"
        code = main.run(["page", *shown, title, "-o", str(page), "--overwrite"])
    if code == 0 and parsed.browser and not webbrowser.open(page.as_uri()):
        print(f"no browser here; open {page} in one")
    return code
