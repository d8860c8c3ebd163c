"""The Python of the three pages, run as a reader would."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BLOCKS = [
    pytest.param(code, id=f"{page}-{i}")
    for page in ("smooth", "diagnose", "attach")
    for i, code in enumerate(
        re.findall(r"```python\n(.*?)```", (DOCS / f"{page}.md").read_text(), re.DOTALL)
    )
]


def test_every_page_has_a_block() -> None:
    assert len(BLOCKS) == 4


@pytest.mark.parametrize("code", BLOCKS)
def test_a_block_of_the_documentation_runs(code: str) -> None:
    exec(compile(code, "docs", "exec"), {})
