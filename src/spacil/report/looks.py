"""How the rows of a figure are told apart: by colour, and by mark and line where colours end."""

from collections.abc import Iterable
from dataclasses import dataclass

COLOURS = (
    "#c8553d", "#1f6f8b", "#7d8491", "#d9a441", "#588157", "#6d597a", "#b56576", "#2a9d8f",
    "#8d5524", "#4361ee", "#9c89b8", "#222222",
)  # fmt: skip
MARKS = "os^"
LINES = ("-", "--", ":")
"""Mark and line of a row whose colour is there for the first, second and third time"""


@dataclass(frozen=True)
class Look:
    """Of one row, in every panel of a figure; in matplotlib's words."""

    colour: str
    mark: str
    line: str


def looks_of(labels: Iterable[str]) -> dict[str, Look]:
    """By label, in the order given; three dozen of them look different."""
    return {label: _look(place) for place, label in enumerate(dict.fromkeys(labels))}


def _look(place: int) -> Look:
    times, colour = divmod(place, len(COLOURS))
    return Look(COLOURS[colour], MARKS[times % len(MARKS)], LINES[times % len(LINES)])
