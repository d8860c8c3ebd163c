"""What an experiment found: tables, a figure as data, and every number behind them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from spacil.comparison.comparison_text import markdown_table
from spacil.comparison.run_record import RunRecord

Document = dict[str, Any]
Role = Literal["", "subject", "backdrop"]
ROLES: tuple[Role, ...] = get_args(Role)
"""What a series is in a figure: one of many, what it is about, what others are measured by"""


@dataclass(frozen=True)
class Table:
    """Header and rows of text."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    num_words: int = 2
    """So many columns, the first ones, are words"""


@dataclass(frozen=True)
class Series:
    """One method in a panel."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    """A band from low to high around y"""
    is_joined: bool = True
    """A line; otherwise dots"""
    role: Role = ""
    variant_of: str = ""
    """The label of the series that it is another form of: drawn in its colour, hollow"""


@dataclass(frozen=True)
class Panel:
    """One set of axes."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    reference: float | None = None
    """A dashed level across"""
    is_log_x: bool = False
    is_log_y: bool = False
    reference_label: str = "demonstrator"
    """What the dashed level is"""
    least_y: float | None = None
    """What lies below is cut off in the drawing"""


@dataclass(frozen=True)
class Outcome:
    """The result of one experiment."""

    title: str
    text: str
    """What was run and how to read the tables, in sentences"""
    tables: Sequence[Table]
    numbers: Mapping[str, Any]
    """What the JSON document holds besides the identity: plain values"""
    panels: Sequence[Panel] = ()
    panel_columns: int = 5
    """Panels side by side in the figure"""
    notes: Sequence[str] = ()
    problems: Sequence[str] = ()
    """Runs that are not in the numbers"""
    records: Sequence[RunRecord] = field(default=(), repr=False)
    kept: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    """Rows of runs that are from the document which was extended"""
    kept_commits: Sequence[str] = ()
    """That made the runs of that document, all of them"""

    @property
    def num_runs(self) -> int:
        return len(self.records) + len(self.kept)

    @property
    def commits(self) -> list[str]:
        """The code that made the runs."""
        own = {record.commit or "an installed package" for record in self.records}
        return sorted(own | set(self.kept_commits))

    def document(self) -> Document:
        """Everything, JSON-able; the page and the figure can be made again from it alone."""
        return {
            "title": self.title,
            "text": self.text,
            "tables": [asdict(table) for table in self.tables],
            "num_runs": self.num_runs,
            "commits": self.commits,
            **self.numbers,
            "panels": [asdict(panel) for panel in self.panels],
            "panel_columns": self.panel_columns,
            "notes": list(self.notes),
            "problems": list(self.problems),
        }


def markdown(outcome: Outcome, command: str, figure: Path | None, source: str) -> str:
    """The page of an experiment: what, by which command and commit, tables, what is missing."""
    made = f"Made by `{command}`; every number: [{source}]({source})."
    if outcome.num_runs:
        made += f" {runs_by(outcome.num_runs, outcome.commits)}"
    parts = [f"# {outcome.title}", outcome.text, made]
    if figure is not None:
        parts.append(f"![{outcome.title}]({figure.name})")
    for table in outcome.tables:
        rows = [list(row) for row in table.rows]
        body = "Not measured."
        if rows:
            body = markdown_table((list(table.header), rows), table.num_words)
        parts.append(f"## {table.title}\n\n{body}")
    if outcome.notes:
        parts.append("## Notes\n\n" + "\n".join(f"- {note}" for note in outcome.notes))
    if outcome.problems:
        parts.append("## Missing\n\n" + "\n".join(f"- {problem}" for problem in outcome.problems))
    return "\n\n".join(parts) + "\n"


def runs_by(num_runs: int, commits: Sequence[str]) -> str:
    """`Runs: 15, by commit 0123456789.`"""
    shown = ", ".join(commit[:10] if len(commit) == 40 else commit for commit in commits)
    return f"Runs: {num_runs}, by commit {shown}."
