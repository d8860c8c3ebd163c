"""`spacil experiment NAME`: measure a claim of the paper, print it, draw it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacil import paper
from spacil.cli.arguments import parse
from spacil.cli.output import JsonTarget, identity, show
from spacil.errors import ConfigError
from spacil.experiments.named.table import NAMED

if TYPE_CHECKING:
    from spacil.comparison.experts import ExpertEvaluation

DESCRIPTIONS = {
    "experts": "Return and smoothness of the bundled experts on fresh episodes, and the paper's.",
    "theory": "Slopes of value functions and policies against the bounds of the theorems.",
}


@dataclass(frozen=True)
class ExpertsArguments:
    tasks: tuple[str, ...] = tuple(paper.TASKS)
    """Tasks whose experts are evaluated."""
    seed: int = 0
    """Seed of the start states; no training run uses the same ones."""
    json: JsonTarget = None


@dataclass(frozen=True)
class TheoryArguments:
    figure: Path | None = None
    """Draw slopes against bounds into this file (.png, .pdf, .svg)."""
    json: JsonTarget = None


def run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: spacil experiment NAME [options]\n")
        print("\n".join(f"  {name:<15} {text}" for name, text in DESCRIPTIONS.items()))
        print(
            "\nA table or figure of the paper, from its runs to its page (docs/experiments.md):\n"
        )
        print("\n".join(f"  {name:<15} {text}" for name, (_, text) in NAMED.items()))
        return 0
    name, *rest = arguments
    if name in NAMED:
        from spacil.cli.experiments import named

        return named.run(name, rest)
    if name not in DESCRIPTIONS:
        known = ", ".join([*DESCRIPTIONS, *NAMED])
        raise ConfigError(f"experiment {name!r}: expected one of {known}")
    prog = f"spacil experiment {name}"
    if name == "experts":
        return _experts(parse(ExpertsArguments, rest, prog, DESCRIPTIONS[name]))
    return _theory(parse(TheoryArguments, rest, prog, DESCRIPTIONS[name]))


def _experts(parsed: ExpertsArguments) -> int:
    from spacil.comparison.experts import evaluate_expert
    from spacil.config.general import RunConfig

    unknown = set(parsed.tasks) - paper.TASKS.keys()
    if unknown:
        raise ConfigError(
            f"--tasks {sorted(unknown)}: there are experts for {', '.join(paper.TASKS)}"
        )
    rows = [
        evaluate_expert(task, parsed.seed, RunConfig().simulation_threads) for task in parsed.tasks
    ]
    document = identity(seed=parsed.seed) | {"experts": [asdict(row) for row in rows]}
    show(document, parsed.json, lambda: _print_experts(rows))
    return 0


def _print_experts(rows: "Sequence[ExpertEvaluation]") -> None:
    from spacil.cli.output import print_table

    print_table(
        ["expert", "episodes", "return G", "± std", "paper", "J common", "J own", "J raw"],
        [
            [
                row.task,
                row.evaluation.num_episodes,
                row.evaluation.average_return,
                row.evaluation.return_std,
                row.paper_return,
                row.evaluation.smoothness_j_common,
                row.evaluation.smoothness_j_own,
                row.evaluation.smoothness_j_raw,
            ]
            for row in rows
        ],
    )


def _theory(parsed: TheoryArguments) -> int:
    from spacil.comparison.theory import measure

    if parsed.figure is not None:
        from spacil.comparison.figures import require_picture_name

        require_picture_name(parsed.figure)
    panels = {name: [asdict(slope) for slope in slopes] for name, slopes in measure().items()}
    if parsed.figure is not None:
        from spacil.comparison.theory_figure import draw_theory

        draw_theory(panels, parsed.figure)
    document = identity() | {"panels": panels}
    show(document, parsed.json, lambda: _print_theory(panels, parsed.figure))
    return 0


def _print_theory(panels: Mapping[str, Sequence[Mapping[str, Any]]], figure: Path | None) -> None:
    from spacil.cli.output import print_table

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
