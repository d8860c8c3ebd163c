"""docs/extending.md, put in its place in a copy of the package and run, block by block."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PLACE = re.compile(r"# (?P<path>[\w./]+\.py)(?P<how>.*)\n")
COMMANDS = """
import sys
from spacil.cli.main import run
for line in sys.argv[1].splitlines():
    code = run(line.split())
    assert code == 0, (line, code)
"""
MOST_FILES = {
    "A policy penalty": 2,
    "A schedule of weights, or a term of the reward": 0,
    "An adversary": 2,
    "A task": 1,
    "A demonstration format": 2,
}
"""How many files of the package each addition may touch."""


def sections() -> dict[str, list[tuple[str, str]]]:
    """Language and text of the blocks of each section."""
    _, *parts = SECTION.split((ROOT / "docs" / "extending.md").read_text())
    titles, texts = parts[::2], parts[1::2]
    return {title: BLOCK.findall(text) for title, text in zip(titles, texts, strict=True)}


class Copy:
    """A copy of the package, and a folder to work in beside it."""

    def __init__(self, folder: Path) -> None:
        self.root, self.work = folder, folder / "work"
        self.work.mkdir()
        shutil.copytree(ROOT / "src", folder / "src")
        self.touched: set[str] = set()

    def apply(self, language: str, text: str) -> None:
        """Put a block where its first line says, or run it."""
        if language == "sh":
            lines = [line.removeprefix("spacil ") for line in text.splitlines()]
            self.run("-c", COMMANDS, "\n".join(lines))
            return
        place = PLACE.match(text)
        assert place is not None, f"a block that does not say where it goes: {text[:60]!r}"
        path, how, text = place["path"], place["how"], text[place.end() :]
        if not path.startswith("src/spacil/"):
            (self.work / path).write_text(text)
            self.run(path)
            return
        self.touched.add(path)
        target = self.root / path
        if how == " (new)":
            assert not target.exists()
            target.write_text(text)
        elif how == ": one more class":
            target.write_text(f"{target.read_text()}\n\n{text}")
        elif how == ": one more import":
            target.write_text(
                target.read_text().replace("\nfrom spacil", f"\n{text}from spacil", 1)
            )
        else:
            table = how.removeprefix(": one more row of ")
            begun = rf"^{table}\b.*= [{{(]\n"  # first in it
            (head,) = re.findall(begun, target.read_text(), re.MULTILINE)
            target.write_text(target.read_text().replace(head, head + text))

    def run(self, *arguments: str) -> None:
        """Python in the folder, on the copy; a warning is an error."""
        paths = os.pathsep.join([str(self.root / "src"), str(self.work)])
        done = subprocess.run(
            [sys.executable, "-W", "error", *arguments],
            cwd=self.work,
            env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"


def is_run(block: tuple[str, str]) -> bool:
    """Additions first: a command may come before the last of them."""
    return not block[1].startswith("# src/")


def test_every_kind_of_addition_has_a_section() -> None:
    assert list(sections()) == list(MOST_FILES)


@pytest.mark.parametrize("title", list(MOST_FILES))
def test_a_section_works_as_it_is_written(title: str, tmp_path: Path) -> None:
    copy, blocks = Copy(tmp_path), sections()[title]
    for block in sorted(blocks, key=is_run):
        copy.apply(*block)
    assert min(1, MOST_FILES[title]) <= len(copy.touched) <= MOST_FILES[title]
    assert not copy.touched or "sh" in dict(blocks)
