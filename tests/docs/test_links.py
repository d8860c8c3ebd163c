"""Every link of README and docs leads to a file, and to a heading where it names one."""

from pathlib import Path

import markdown_pages
import pytest
from markdown_pages import PAGES, ROOT, broken_links


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_a_link_that_leads_nowhere_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(markdown_pages, "ROOT", tmp_path)
    (tmp_path / "there.md").write_text("# A heading, with `code`\n")
    page = tmp_path / "page.md"
    page.write_text(
        "# Here\n[a](there.md) [b](there.md#a-heading-with-code) [c](#here) [d](https://x.org/y)\n"
        "[e](gone.md) [f](there.md#gone) [g](#gone) [h](../outside.md) `[i](code.md)`\n"
        "```\n[j](fenced.md)\n```\n"
    )
    found = [broken.split(":")[0] for broken in broken_links(page)]
    assert found == ["gone.md", "there.md#gone", "#gone", "../outside.md"]
