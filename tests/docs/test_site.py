"""The site: built without warnings, from nothing outside, every link alive, readable on a phone."""

import re
import sys
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from browser import CHROMIUM, Browser

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "website"))
pytest.importorskip("zensical")
import build  # noqa: E402
import formulas  # noqa: E402
import reference  # noqa: E402

SHOWN = "[...document.querySelectorAll('*')].map(e => e.shadowRoot?.textContent || '').join(' ')"
"""What stands in parts of the page that draw themselves, such as the search"""
LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}


class Page(HTMLParser):
    """What a page loads, where its links lead, and where links may lead in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids |= {given.get("id") or "", given.get("name") or ""}
        if (source := given.get(LOADS.get(tag, ""))) and given.get("rel") not in ("next", "prev"):
            self.loaded.append(source)
        if tag == "a" and (target := given.get("href")):
            self.links.append(target)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build.build(tmp_path_factory.mktemp("website")).parent


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    found = (path for path in site.rglob("*.html") if path.name != "404.html")
    return {path: Page(path) for path in found}


def test_every_page_of_the_documentation_is_on_the_site_and_in_its_navigation(
    site: Path, pages: dict[Path, Page]
) -> None:
    documented = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    assert {path for path in documented if not (site / path.with_suffix(".html")).exists()} == set()
    index = site / "index.html"
    listed = {(site / urlsplit(link).path).resolve() for link in pages[index].links}
    assert {path for path in pages if path not in listed | {index}} == set()


def test_nothing_is_loaded_from_outside(pages: dict[Path, Page]) -> None:
    outside = {
        s for page in pages.values() for s in page.loaded if urlsplit(s).scheme or s[:2] == "//"
    }
    assert outside == set()
    assert any(page.loaded for page in pages.values())


def test_every_link_of_the_site_leads_somewhere(pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for target in {*page.links, *page.loaded}:
            parts = urlsplit(target)
            if parts.scheme:
                continue
            place = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages[place].ids if place in pages else set()
            if not place.exists() or (parts.fragment and unquote(parts.fragment) not in known):
                broken.append(f"{path.name}: {target}")
    assert broken == []


def test_formulas_are_drawn_and_code_is_left_alone(site: Path) -> None:
    theory = (site / "theory.html").read_text()
    assert theory.count('<svg class="formula"') > 100
    assert not re.search(r">[^<]*\$\\", theory)
    kept = formulas.with_formulas("`$HOME` and\n```\n$x$\n```\nand $x$")
    assert kept.startswith("`$HOME` and\n```\n$x$\n```\nand <svg")


def test_a_page_that_no_section_names_finds_its_place(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    for name in ("named.md", "new.md", "results/record.md"):
        (tmp_path / name).write_text(f"# About `{name}`\n")
    nav = build.whole_nav([{"How-to": [{"Named": "named.md"}]}, {"Results": []}], tmp_path)
    assert nav == [
        {"How-to": [{"Named": "named.md"}, {"About new.md": "new.md"}]},
        {"Results": [{"About results/record.md": "results/record.md"}]},
    ]


def test_links_out_of_the_documentation_lead_to_pages_of_the_site() -> None:
    page = Path("tutorials/x.md")
    text = "[a](../../examples/b.py) [c](../../CHANGELOG.md#d) [e](../f.md) [g](https://h.org)"
    assert build.with_links_of_the_site(text, page) == (
        "[a](../examples/b.py.md) [c](../reference/changelog.md#d) [e](../f.md) [g](https://h.org)"
    )
    with pytest.raises(ValueError, match=r"docs/tutorials/x\.md: .* leads out of docs/"):
        build.with_links_of_the_site("[a](../../src/spacil/types.py)", page)


def test_the_reference_has_every_public_name_setting_and_code() -> None:
    import spacil
    from spacil.config.flat import settings_of

    pages = reference.reference_pages()
    names = [name for name in spacil.__all__ if not name.startswith("__")]
    assert [name for name in names if f"## {name}\n" not in pages["api.md"]] == []
    assert [s for s in settings_of("spacil") if f"| `{s}` |" not in pages["settings.md"]] == []
    assert "| 65 | `DataError` |" in pages["exit_codes.md"]
    assert "usage: spacil smooth" in pages["commands.md"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium to look at the pages with")
    with Browser(tmp_path_factory.mktemp("profile"), 1280, 900) as opened:
        yield opened


@pytest.mark.parametrize(("width", "every"), [(390, 1), (1280, 5)], ids=["phone", "desk"])
def test_pages_fit_the_screen_and_open_quietly(
    browser: Browser, pages: dict[Path, Page], width: int, every: int
) -> None:
    """All of them on a phone, where room is short, and one in five on a desk."""
    browser.resize(width, 844)
    too_wide = []
    for path in sorted(pages)[::every]:
        browser.open(path)
        if browser.ask("document.documentElement.scrollWidth") > width:
            too_wide.append(path.name)
    assert too_wide == []
    assert browser.complaints == []
    assert {url for url in browser.requests if not url.startswith(("file:", "data:"))} == set()


def test_the_search_works_in_a_page_that_was_opened_as_a_file(browser: Browser, site: Path) -> None:
    browser.resize(1280, 900)
    browser.open(site / "tutorials" / "smooth_sb3.html")
    browser.call(
        "Input.dispatchKeyEvent",
        type="keyDown",
        key="k",
        code="KeyK",
        modifiers=2,  # Ctrl
        windowsVirtualKeyCode=75,
    )
    found, deadline = "", time.monotonic() + 20
    while "results" not in found and time.monotonic() < deadline:
        if not found:
            time.sleep(0.5)
            browser.call("Input.insertText", text="Lipschitz")
        time.sleep(0.2)
        found = browser.ask(SHOWN)
    assert "results" in found and "Theory" in found
