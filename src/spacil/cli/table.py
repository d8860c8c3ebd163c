"""Small tables for the terminal."""

from collections.abc import Sequence

from spacil.plain_text import shown


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Aligned columns, the first one to the left; a dash for None."""
    cells = [list(header), *([_text(value) for value in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    for i, row in enumerate(cells):
        first, *rest = (
            cell.ljust(width) if j == 0 else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join([first, *rest]).rstrip())
        if i == 0:
            print("  ".join("-" * width for width in widths))


def _text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.1f}" if abs(value) >= 1000 else f"{value:.3f}"
    return shown(value)
