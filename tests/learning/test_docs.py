"""The Python of the three pages, run as a reader would."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BLOCKS = [
    pytest.param(code, id=f"{page}-{i}")
    for page in ("smooth.md", "diagnose.md", "attach.md")
    for i, code in enumerate(
        re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    )
]


def test_every_page_has_a_block() -> None:
    assert len(BLOCKS) == 6


@pytest.mark.parametrize("code", BLOCKS)
def test_a_block_of_the_documentation_runs(code: str) -> None:
    exec(compile(code, "docs", "exec"), names_a_reader_has() if "rsl_rl" in code else {})


def names_a_reader_has() -> dict[str, Any]:
    """An env and settings of one's own: here those of the example."""
    pytest.importorskip("rsl_rl")
    sys.path.insert(0, str(DOCS.parent / "examples"))
    from rsl_rl_smoothness_penalty import Carts, settings

    return {"env": Carts(16), "train_cfg": settings()}
