"""How the rows of a figure are told apart: by colour, and by mark and line where colours end.

A row with a part in the comparison looks like it: what the figure is about stands out, what it is
only measured by stays back, and a variant has the colour of what it varies.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

COLOURS = (
    "#c8553d", "#1f6f8b", "#7d8491", "#d9a441", "#588157", "#6d597a", "#b56576", "#2a9d8f",
    "#8d5524", "#4361ee", "#9c89b8", "#222222",
)  # fmt: skip
MARKS = "os^"
LINES = ("-", "--", ":")
"""Mark and line of a row whose colour is there for the first, second and third time"""

Role = Literal["", "subject", "backdrop"]


@dataclass(frozen=True)
class Look:
    """Of one row, in every panel of a figure; in matplotlib's words."""

    colour: str
    mark: str
    line: str
    size: float = 1.0
    """Of the mark, relative to the usual"""
    is_hollow: bool = False


@dataclass(frozen=True)
class Part:
    """What a row is in the comparison."""

    role: Role = ""
    """subject: what the figure is about; backdrop: what the others are measured by"""
    variant_of: str = ""
    """The label of the row that it is another form of"""


_PALETTES: Mapping[Role, tuple[str, ...]] = {
    "": COLOURS,
    "subject": ("#e6007a",),
    "backdrop": ("#222222", "#b0b5bd"),
}
_MARKS: Mapping[Role, str] = {"": MARKS, "subject": "*DP", "backdrop": MARKS}
_SIZES: Mapping[Role, float] = {"": 1.0, "subject": 2.0, "backdrop": 1.0}


def looks_of(labels: Iterable[str], parts: Mapping[str, Part] | None = None) -> dict[str, Look]:
    """By label, in the order given; three dozen without a part look different."""
    part_of = {label: (parts or {}).get(label, Part()) for label in labels}
    originals = {label for label, part in part_of.items() if part.variant_of not in part_of}
    own: dict[str, Look] = {}
    taken = Counter[Role]()
    for label, part in part_of.items():
        if part.variant_of not in originals:
            own[label] = _look(part.role, taken[part.role])
            taken[part.role] += 1
    return {
        label: own[label] if label in own else replace(own[part.variant_of], is_hollow=True)
        for label, part in part_of.items()
    }


def looks_in(series: Iterable[Mapping[str, Any]]) -> dict[str, Look]:
    """The same of all series of a figure, as a document has them; old ones have no parts."""
    parts = {one["label"]: Part(one.get("role", ""), one.get("variant_of", "")) for one in series}
    return looks_of(parts, parts)


def _look(role: Role, place: int) -> Look:
    palette, marks = _PALETTES[role], _MARKS[role]
    times, colour = divmod(place, len(palette))
    mark, line = marks[times % len(marks)], LINES[times % len(LINES)]
    return Look(palette[colour], mark, line, _SIZES[role])
