"""Every link of README and docs leads to a file, and to a heading where it names one."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\[[^]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def links_of(page: str) -> list[str]:
    """The targets of a page's links and pictures; code is no link."""
    return _LINK.findall(_CODE.sub("", _FENCE.sub("", page)))


def anchors_of(page: str) -> set[str]:
    """What may stand behind `#`: its headings, as both GitHub and the site's builder spell them."""
    found: set[str] = set()
    for heading in _HEADING.findall(_FENCE.sub("", page)):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        kept = re.sub(r"[^\w\s-]", "", words).strip().lower()
        found |= {re.sub(r"\s", "-", kept), re.sub(r"[-\s]+", "-", kept)}
    return found


def broken_links(page: Path) -> list[str]:
    """Links of a page that lead nowhere; addresses on the net are not tried."""
    broken = []
    for target in links_of(page.read_text()):
        path, _, anchor = target.partition("#")
        if re.match(r"\w+:", target):
            continue
        place = (page.parent / path).resolve() if path else page
        if not place.exists() or not place.is_relative_to(ROOT):
            broken.append(f"{target}: no such file")
        elif anchor and anchor not in anchors_of(place.read_text()):
            broken.append(f"{target}: no such heading")
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert broken_links(page) == []
