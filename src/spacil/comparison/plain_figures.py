"""matplotlib as every picture of spacil uses it: in memory, and in its own style.

The surroundings choose neither: not a notebook's backend in MPLBACKEND, which may not even be
installed here, not a matplotlibrc that wants LaTeX, not a style that a user's program has set.
Nothing global is changed, so their own pictures stay as they want them.
"""

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spacil import storage
from spacil.errors import ConfigError

SUFFIXES = (".png", ".pdf", ".svg")
"""Kinds of files that a figure of the user's own name may be"""

_asked_for = os.environ.pop("MPLBACKEND", None)
try:
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
finally:
    if _asked_for is not None:
        os.environ["MPLBACKEND"] = _asked_for


@contextlib.contextmanager
def plain_style() -> Iterator[None]:
    """matplotlib's own defaults for the block, or for a function that this decorates."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        yield


def subplots(rows: int = 1, columns: int = 1, *, figsize: tuple[float, float], **how: Any) -> Any:
    """A figure that no window system knows of, and its axes as `plt.subplots` gives them."""
    figure = Figure(figsize=figsize)
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, **how)


def lighten(axis: Any) -> None:
    """No box around the data, and a faint grid behind it."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(alpha=0.2)


def finish_figure(figure: Any, path: Path, *, dpi: int = 120, below: float = 0.0) -> Path:
    """Write it whole or not at all, as PNG or SVG by the name of the file.

    `below`: the share of the height that is kept free under the axes.
    """
    for axis in figure.axes:
        lighten(axis)
    figure.tight_layout(rect=(0, below, 1, 1))
    save_figure(figure, path, dpi)
    return path


def require_picture_name(path: Path) -> None:
    """Refuse a kind of file that no figure is written as: worth asking before computing."""
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"{path}: expected a file name that ends in {', '.join(SUFFIXES)}")


def save_figure(figure: Any, path: Path, dpi: int) -> None:
    """The same figure gives the same file: an SVG has neither a date nor random names inside."""
    picture = io.BytesIO()
    kind = path.suffix.removeprefix(".") or "png"
    undated = {"Date": None} if kind == "svg" else None
    with matplotlib.rc_context({"svg.hashsalt": "spacil"}):
        figure.savefig(picture, dpi=dpi, format=kind, metadata=undated)
    storage.replace_file(path, picture.getvalue())
