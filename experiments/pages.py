"""Pages of results: a document of rows becomes tables in Markdown and panels in a figure.

python experiments/NAME.py SWEEP     # rows from the runs of a sweep: document, page and figure
python experiments/NAME.py           # page and figure again, from docs/results/NAME.json
python experiments/pages.py docs/results/NAME.json   # the same of a document without a script
"""

import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from figure import draw
from spacil.cli.output import identity

Document = dict[str, Any]
RESULTS = Path(__file__).parents[1] / "docs" / "results"


@dataclass(frozen=True)
class Table:
    """Header and rows of text."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    num_words: int = 2
    """Number of columns, the first ones, that are words"""


@dataclass(frozen=True)
class Series:
    """One method in a panel."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    """Band from low to high around y"""
    is_joined: bool = True
    """A line; otherwise dots"""
    role: Literal["", "subject", "backdrop"] = ""
    variant_of: str = ""
    """Label of the series that it is another form of: drawn in its colour, hollow"""


@dataclass(frozen=True)
class Panel:
    """One set of axes."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    reference: float | None = None
    """Dashed level across"""
    is_log_x: bool = False
    is_log_y: bool = False
    reference_label: str = "demonstrator"
    least_y: float | None = None
    """Lowest y that is drawn"""


@dataclass(frozen=True)
class Page:
    """What a script makes of a document's rows."""

    title: str
    text: str
    """What was run and how to read the tables"""
    tables: Sequence[Table]
    panels: Sequence[Panel] = ()
    panel_columns: int = 5
    notes: Sequence[str] = field(default=())


def markdown(document: Mapping[str, Any], name: str) -> str:
    """The page of a document: what, by which command and commits, tables, what is missing."""
    made = f"Made by `{document['command']}`; every number: [{name}.json]({name}.json)."
    if document["num_runs"]:
        commits = (c[:10] if len(c) == 40 else c for c in document["commits"])
        made += f" Runs: {document['num_runs']}, by commit {', '.join(commits)}."
    parts = [f"# {document['title']}", document["text"], made]
    if is_drawn(document):
        parts.append(f"![{document['title']}]({name}.png)")
    parts += [
        f"## {table['title']}\n\n{markdown_table(table) or 'Not measured.'}"
        for table in document["tables"]
    ]
    for heading in ("notes", "problems"):
        if document[heading]:
            title = {"notes": "Notes", "problems": "Missing"}[heading]
            parts.append(f"## {title}\n\n" + "\n".join(f"- {line}" for line in document[heading]))
    return "\n\n".join(parts) + "\n"


def markdown_table(table: Mapping[str, Any]) -> str:
    header, words = table["header"], table["num_words"]
    rule = ["---"] * words + ["---:"] * (len(header) - words)
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (header, rule, *table["rows"])]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells) if table["rows"] else ""


def is_drawn(document: Mapping[str, Any]) -> bool:
    return any(panel["series"] for panel in document["panels"])


# --- the command of a page


@dataclass(frozen=True)
class Arguments:
    sources: Annotated[tuple[Path, ...], tyro.conf.Positional] = ()
    """Folder of the sweep whose runs are read; by default the page is made again from the rows of
    its document."""
    results: Path = RESULTS
    """Folder of NAME.json, NAME.md, NAME.png and NAME.svg."""


def main(
    name: str,
    page_of: Callable[[Document], Page],
    collect: Callable[[Sequence[Path]], Document],
) -> None:
    """The command of a script: `collect` reads rows from runs, `page_of` makes the page of them."""
    arguments = tyro.cli(Arguments, description=sys.modules["__main__"].__doc__)
    source = arguments.results / f"{name}.json"
    if arguments.sources:
        command = shlex.join(["python", *sys.argv])
        rows = identity(experiment=name) | {"command": command} | collect(arguments.sources)
        document = json.loads(json.dumps(rows | asdict(page_of(rows)), default=str))
        arguments.results.mkdir(parents=True, exist_ok=True)
        source.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    else:
        document = json.loads(source.read_text())
        document |= asdict(page_of(document))
    write(document, arguments.results, name)


def write(document: Mapping[str, Any], results: Path, name: str) -> None:
    """The page and the figure of a document."""
    (results / f"{name}.md").write_text(markdown(document, name))
    if is_drawn(document):
        for suffix in (".png", ".svg"):
            draw(document["panels"], results / f"{name}{suffix}", document["panel_columns"])
    print(f"{len(document['tables'])} tables, missing: {len(document['problems'])} runs")
    print(f"written: {results / name}.md")


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        write(json.loads(path.read_text()), path.parent, path.stem)
