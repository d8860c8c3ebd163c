"""Every document of a folder on one page that opens offline: tables, figures, commands, commits.

python experiments/report.py docs/results -o build/report.html     # or: make report
"""

import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import jinja2
import tyro

from figure import draw
from pages import RESULTS, Document, is_drawn
from spacil.version import __version__

ORDER = (
    "returns", "curves", "recipe", "perturbation", "lambda-grid", "cost-smoothness", "mixing",
    "demonstrators", "front", "claims",
)  # fmt: skip


@dataclass(frozen=True)
class Arguments:
    folder: Annotated[Path, tyro.conf.Positional] = RESULTS
    """Folder of the documents."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("report.html")
    """The page to write."""


def main(folder: Path, out: Path) -> list[str]:
    """Write the page; names the documents that are damaged."""
    results: list[Document] = []
    others: list[str] = []
    damaged: list[str] = []
    for path in sorted(folder.glob("*.json")):
        try:
            document = json.loads(path.read_text())
            if "experiment" in document:
                results.append(document)
            else:
                others.append(path.name)
        except ValueError as error:
            damaged.append(f"{path}: {error}")
    results.sort(key=lambda one: (*ORDER, one["experiment"]).index(one["experiment"]))
    template = Path(__file__).with_suffix(".html").read_text()
    html = (
        jinja2.Environment(autoescape=True)
        .from_string(template)
        .render(
            title="Results of the experiments",
            version=__version__,
            results=results,
            figures={one["experiment"]: svg_of(one) for one in results},
            others=others,
            damaged=damaged,
        )
    )
    out.write_text(html)
    return damaged


def svg_of(document: Mapping[str, Any]) -> str:
    """The figure of a document, to stand inside the page."""
    if not is_drawn(document):
        return ""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figure.svg"
        draw(document["panels"], path, document["panel_columns"])
        text = path.read_text()
    return text[text.index("<svg") :]


if __name__ == "__main__":
    arguments = tyro.cli(Arguments, description=__doc__)
    problems = main(arguments.folder, arguments.out)
    print(*(f"damaged: {line}" for line in problems), f"report: {arguments.out}", sep="\n")
    sys.exit(3 if problems else 0)
