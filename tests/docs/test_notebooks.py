"""Notebooks are the tutorials, and their cells run from top to bottom."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "website"))
import notebooks  # noqa: E402

NOTEBOOKS = notebooks.written()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_is_its_tutorial_without_outputs(path: Path) -> None:
    """If this fails: python website/notebooks.py"""
    assert path.read_text() == NOTEBOOKS[path]
    cells = json.loads(path.read_text())["cells"]
    assert not any(cell.get("outputs") for cell in cells)
    links = re.findall(r"\]\((\.\./[^)#]+)", path.read_text())
    assert links and all((path.parent / link).exists() for link in links)


def test_the_cells_of_the_comparison_run(tmp_path: Path) -> None:
    (path,) = (path for path in NOTEBOOKS if path.stem == "compare_and_report")
    for cell in json.loads(path.read_text())["cells"][1:]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            words = [sys.executable, "-c", source]
            if source.startswith("!spacil sweep"):  # three seeds of two algorithms are for readers
                source = source.replace("gail spacil", "bc").replace("0-2", "0")
                source += " --fresh-episodes 2 --set evaluation_steps=50"
            if source.startswith("!"):
                words = [sys.executable, "-m", *source[1:].split()]
            subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, timeout=200)
    assert (tmp_path / "report.html").exists()
