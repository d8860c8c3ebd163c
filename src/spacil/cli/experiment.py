"""`spacil experiment theory`: measure a claim of the paper, print it, draw it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spacil.cli.arguments import parse
from spacil.errors import ConfigError

DESCRIPTIONS = {
    "theory": "Slopes of value functions and policies beside the bounds of the theorems.",
}


@dataclass(frozen=True)
class TheoryArguments:
    figure: Path | None = None
    """Draw slopes against bounds into this PNG file."""
    json: bool = False
    """Print JSON instead of the table."""


def run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: spacil experiment NAME [options]\n")
        print("\n".join(f"  {name:<8} {text}" for name, text in DESCRIPTIONS.items()))
        return 0
    name, *rest = arguments
    if name != "theory":
        raise ConfigError(f"experiment {name!r}: expected one of {', '.join(DESCRIPTIONS)}")
    return _theory(parse(TheoryArguments, rest, "spacil experiment theory", DESCRIPTIONS["theory"]))


def _theory(parsed: TheoryArguments) -> int:
    from spacil.experiments.theory import measure

    panels = {name: [asdict(slope) for slope in slopes] for name, slopes in measure().items()}
    if parsed.figure is not None:
        from spacil.report.theory_figure import draw_theory

        draw_theory(panels, parsed.figure)
    if parsed.json:
        print(json.dumps(panels))
    else:
        _print(panels, parsed.figure)
    return 0


def _print(panels: Mapping[str, Sequence[Mapping[str, Any]]], figure: Path | None) -> None:
    from spacil.cli.table import print_table

    titles = {
        "value": "V*, over gamma L_p",
        "steep_value": "V* at gamma L_p = 1.35, over grid states",
        "greedy": "greedy action, over convexity m",
        "gibbs": "Gibbs mean, over temperature tau",
    }
    print_table(
        ["slope of", "parameter", "measured", "bound"],
        [
            [titles[name], f"{row['parameter']:g}", row["slope"], row["bound"]]
            for name, rows in panels.items()
            for row in rows
        ],
    )
    if figure is not None:
        print(f"figure: {figure}")
