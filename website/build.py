"""Build the documentation's site from docs/, offline: `make site`.

    python website/build.py --output build/website

A copy of docs/ gets what the site adds: the reference, the examples as pages, formulas as drawings.
docs/ itself is never written to. Warnings of the builder are errors.
"""

import argparse
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formulas import with_formulas
from reference import reference_pages

ROOT = Path(__file__).parents[1]
OUTSIDE = {"CHANGELOG.md": "reference/changelog.md", "CONTRIBUTING.md": "reference/contributing.md"}
"""Pages of the repository that are part of the site"""
_CATCH_ALL = {"How-to": "*.md", "Results": "results/*.md", "Examples": "examples/**/*.md"}
"""Section -> the pages that go there when no section names them"""
_LINK = re.compile(r"(?<=\]\()(?!\w+:)([^)#\s]+)(?=[)#])")

Nav = list[dict[str, Any]]


def build(output: Path) -> Path:
    """The site's first page, in `output`/site."""
    pages = output / "pages"
    shutil.rmtree(output, ignore_errors=True)
    shutil.copytree(ROOT / "docs", pages)
    for name in ("style.css", "iframe-worker.js"):
        shutil.copy(ROOT / "website" / name, pages)
    _add_pages(pages)
    for page in pages.rglob("*.md"):
        text = with_links_of_the_site(page.read_text(), page.relative_to(pages))
        page.write_text(with_formulas(text))
    config = tomllib.loads((ROOT / "website" / "site.toml").read_text())["project"]
    config["nav"] = whole_nav(config["nav"], pages)
    (output / "zensical.toml").write_text(f"project = {as_toml(config)}\n")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    subprocess.run(command, cwd=output, check=True)
    return output / "site" / "index.html"


def _add_pages(pages: Path) -> None:
    """What is not in docs/: the reference, examples, changelog."""
    for folder in ("reference", "examples"):
        (pages / folder).mkdir()
    for name, text in reference_pages().items():
        (pages / "reference" / name).write_text(text)
    for name, place in OUTSIDE.items():
        shutil.copy(ROOT / name, pages / place)
    live = sorted((ROOT / "build" / "page").glob("*.html"))  # by `make page`
    (pages / "live").mkdir()
    with (pages / "page.md").open("a") as page_of_pages:
        for one in live:
            shutil.copy(one, pages / "live")
            page_of_pages.write(f"\n[Open {one.stem}](live/{one.name})\n")
    examples = (ROOT / "examples").rglob("*.*")
    for example in sorted(e for e in examples if e.is_file() and e.suffix != ".ipynb"):
        page = pages / page_of_example(str(example.relative_to(ROOT)))
        page.parent.mkdir(exist_ok=True)
        page.write_text(example_page(example))


def example_page(example: Path) -> str:
    """An example as a page: its name, its first words, and all of it."""
    code = example.read_text()
    summary = code.removeprefix('"""').split("\n")[0] if code.startswith('"""') else ""
    language = {".py": "python"}.get(example.suffix, example.suffix[1:])
    return f"# {example.name}\n\n{summary}\n\n```{language}\n{code}```\n"


def page_of_example(path: str) -> str:
    return f"{path}.md"


def with_links_of_the_site(text: str, page: Path) -> str:
    """Links out of docs/ lead to the page that the site has of their target."""
    depth = len(page.parts) - 1

    def placed(match: re.Match[str]) -> str:
        target = match[1]
        outside = target.removeprefix("../" * (depth + 1))
        if outside == target:
            return target
        if outside in OUTSIDE:
            return "../" * depth + OUTSIDE[outside]
        if outside.startswith("examples/"):
            return "../" * depth + page_of_example(outside)
        raise ValueError(
            f"docs/{page}: {target} leads out of docs/, and the site has no page of it"
        )

    return _LINK.sub(placed, text)


def whole_nav(nav: Nav, pages: Path) -> Nav:
    """The configured order, and what it does not name at the end of the section it belongs to."""
    named = set(named_pages(nav))
    whole = []
    for entry in nav:
        ((title, content),) = entry.items()
        if title in _CATCH_ALL:
            found = sorted(page.relative_to(pages) for page in pages.glob(_CATCH_ALL[title]))
            rest = [str(page) for page in found if str(page) not in named]
            content = [*content, *({title_of(pages / page): page} for page in rest)]
        whole.append({title: content})
    return whole


def named_pages(nav: Nav) -> Iterator[str]:
    for entry in nav:
        for content in entry.values():
            if isinstance(content, str):
                yield content
            else:
                yield from named_pages(content)


def title_of(page: Path) -> str:
    """Its first heading, without marks of code."""
    heading = re.search(r"^# (.+)$", page.read_text(), re.MULTILINE)
    assert heading is not None, f"{page}: expected a heading"
    return heading[1].replace("`", "")


def as_toml(value: Any) -> str:
    """Inline TOML; strings, booleans and numbers are written as in JSON."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {as_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "website")
    options = parser.parse_args()
    if importlib.util.find_spec("zensical") is None:
        sys.exit("the site is built by zensical: pip install -c constraints.txt -e '.[docs]'")
    try:
        print(build(options.output.absolute()))
    except subprocess.CalledProcessError:
        sys.exit("the site has warnings, named above: none is built with them")


if __name__ == "__main__":
    main()
