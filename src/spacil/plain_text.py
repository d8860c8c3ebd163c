"""Text from elsewhere on its way to a terminal: files, envs and other processes choose it.

A terminal obeys escape sequences, a log reader believes in lines: neither may come from a file.
"""

import contextlib
import difflib
import html
import io
import pkgutil
from collections.abc import Iterable
from typing import ClassVar

MAX_SHOWN = 200
"""Characters of one foreign string that are worth showing."""
MAX_MESSAGE = 8_000


def shown(value: object, limit: int = MAX_SHOWN) -> str:
    """One printable line for a value from a file: escaped, and shortened in the middle."""
    text = str(value)
    if len(text) > limit:
        head = 2 * limit // 3
        text = f"{text[:head]} ... {text[len(text) - (limit - head) :]}"
    return "".join(map(_escaped, text))


def count(number: int, noun: str) -> str:
    """ "1 episode", "3 episodes"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """ ": did you mean a or b?" of the names that are close; empty where none is."""
    close = difflib.get_close_matches(name, dict.fromkeys(known), n=3)
    return f": did you mean {' or '.join(close)}?" if close else ""


class Shown:
    """A result that reads in Python, and in a notebook, as its verb prints it."""

    printed_by: ClassVar[str]
    """Name of the function that prints it"""

    def __str__(self) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as text:
            pkgutil.resolve_name(self.printed_by)(self)
        return text.getvalue().rstrip()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def printable(text: str) -> str:
    """A message of our own with whatever got into it escaped, and shortened if it is endless.

    It may have several lines; all but the first are indented, so that a line in it that a file
    chose is not taken for a message.
    """
    if len(text) > MAX_MESSAGE:
        text = f"{text[:MAX_MESSAGE]} ... ({len(text):,} characters)"
    return printable_lines(text).replace("\n", "\n  ")


def printable_lines(text: str) -> str:
    """Lines of our own, such as a table, with whatever got into them escaped; nothing is cut."""
    return "\n".join("".join(map(_escaped, line)) for line in text.split("\n"))


def _escaped(char: str) -> str:
    # Not printable: control characters, half surrogates, and marks that turn the direction of text.
    return char if char.isprintable() else char.encode("unicode_escape").decode("ascii")


def in_frame(page: str, height: int) -> str:
    """HTML of a page in a frame of its own, for notebooks: its style stays inside."""
    size = f'width="100%" height="{height}" frameborder="0"'
    return f'<iframe srcdoc="{html.escape(page)}" {size}></iframe>'
