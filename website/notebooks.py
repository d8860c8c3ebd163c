"""Tutorials as notebooks: `python website/notebooks.py` writes examples/*.ipynb from them.

Python blocks become cells, commands become cells that a shell runs, the rest stays text.
"""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```\n?", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)(?:\.\./)?([^)]+)\)")
SETUP = """import sys

if "google.colab" in sys.modules:
    %pip install -q 'spacil[report]' stable-baselines3"""


def notebook(text: str) -> dict[str, Any]:
    """Make a notebook of a page."""
    cells = [_cell("code", SETUP)]
    pieces = BLOCK.split(LINK.sub(r"](../docs/\1)", text))
    for words, language, block in zip(
        pieces[::3], [*pieces[1::3], ""], [*pieces[2::3], ""], strict=True
    ):
        if words.strip():
            cells.append(_cell("markdown", words.strip()))
        if language == "python":
            cells.append(_cell("code", block.strip()))
        elif "my_" in block:  # asks for a file of the reader's
            cells.append(_cell("markdown", f"```\n{block}```"))
        elif block:
            lines = block.strip().splitlines()
            cells.append(_cell("code", "\n".join(f"!{line}" for line in lines)))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    return {
        "cells": cells,
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def written() -> dict[Path, str]:
    """Every notebook's path and content."""
    pages = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
    return {
        ROOT / "examples" / f"{page.stem}.ipynb": json.dumps(notebook(page.read_text()), indent=1)
        + "\n"
        for page in pages
    }


def _cell(kind: str, source: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": source.splitlines(True)}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


if __name__ == "__main__":
    for path, content in written().items():
        path.write_text(content)
        print(path.relative_to(ROOT))
