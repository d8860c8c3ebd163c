"""The repository's own live pages: `make page` trains what they show, and goes on where it stopped.

build/page/walker2d.html: a clone, GAIL and spacil. build/page/hopper_delay.html: the demonstrator
under two steps of delay, and the student that was made for them.
"""

import subprocess
import sys
from pathlib import Path

FOLDER = Path("build/page")
TRAINED = {
    "clone": "train bc --task Walker2d-v4",
    "gail": "train spacil --task Walker2d-v4 --preset gail-like --iterations 100",
    "spacil": "train spacil --task Walker2d-v4 --iterations 100",
    "late": "smooth Hopper-v4 --action-delay 2 --no-video --no-export",
}
PAGES = {
    "walker2d.html": [
        *("clone", "gail", "spacil", "--names", "cloning", "GAIL", "spacil"),
        *("--title", "Walker2d: which one shakes?"),
    ],
    "hopper_delay.html": [
        *("Hopper-v4", "late", "--names", "demonstrator", "made for it by spacil smooth"),
        *("--title", "Hopper, whose actions arrive two steps late"),
    ],
}


def main() -> None:
    for name, words in TRAINED.items():
        spacil(*words.split(), "--run-dir", str(FOLDER / name), "--resume")
    for name, panels in PAGES.items():
        shown = [str(FOLDER / word) if word in TRAINED else word for word in panels]
        spacil("page", *shown, "-o", str(FOLDER / name), "--overwrite")


def spacil(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "spacil", *words], check=True)


if __name__ == "__main__":
    main()
