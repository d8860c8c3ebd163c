"""Tables of the paper's pages as text."""

from collections.abc import Sequence

from spacil.comparison.tables import interval, number

__all__ = ["aligned_table", "interval", "markdown_table", "number"]

Table = tuple[list[str], list[list[str]]]
"""Header and rows"""


def aligned_table(table: Table) -> str:
    header, rows = table
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if i < 2 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    return "\n".join([line(header), "  ".join("-" * width for width in widths), *map(line, rows)])


def markdown_table(table: Table, num_words: int = 2) -> str:
    """The first `num_words` columns to the left, numbers to the right."""
    header, rows = table
    rule = [*["---"] * num_words, *["---:"] * (len(header) - num_words)]
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (header, rule, *rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)
