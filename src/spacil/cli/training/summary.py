"""What a run leaves on the screen and in its folder: a table, a picture, one JSON document."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spacil.cli.output import identity
from spacil.config.train_config import TrainConfig
from spacil.plain_text import printable

Rows = Sequence[dict[str, Any]]


def result_of(
    config: TrainConfig, outcome: Any, demonstrator: Any, metrics: Rows
) -> dict[str, Any]:
    """The document that `--json` asks for; `metrics` are the rows of metrics.jsonl."""
    from spacil.runs.evaluations import highest_return

    return identity(task=config.task, algorithm=config.algorithm, seed=config.run.seed) | {
        "run_dir": str(outcome.path),
        "demonstrator": None if demonstrator is None else dict(demonstrator),
        "best": outcome.best,
        "last": outcome.last,
        "highest_return": highest_return(metrics),
        **_target_outcome(metrics),
    }


def draw(
    config: TrainConfig, path: Path, demonstrator: Mapping[str, Any] | None, metrics: Rows
) -> Path:
    """The learning curve in the run folder; the run is kept with or without a picture."""
    picture = path / "learning_curve.png"
    try:
        from spacil.report.learning_curve import draw_learning_curve

        draw_learning_curve(
            metrics,
            picture,
            f"{config.algorithm} on {config.task}, seed {config.run.seed}",
            demonstrator or {},
        )
    except Exception as error:  # the run is finished and kept, with or without a picture
        print(printable(f"spacil: no learning curve: {error}"), file=sys.stderr)
    return picture


def _target_outcome(metrics: Rows) -> dict[str, Any]:
    """What the last evaluation says about a smoothness target; empty for a run without one."""
    rows = [row for row in metrics if "target_verdict" in row]
    keys = ("smoothness_target", "target_gap_evaluated", "is_target_met", "target_verdict")
    return {key: rows[-1].get(key) for key in (*keys, "lambda_policy")} if rows else {}


def _flags(row: Mapping[str, Any]) -> str:
    """What a reader of the row's numbers must know."""
    known = {"warn_saturated": "saturated", "warn_line_search": "steps refused"}
    return "".join(f" ({words})" for key, words in known.items() if row.get(key))


def print_summary(result: Mapping[str, Any], outcome: Any, picture: Path) -> None:
    """Best and last policy beside the demonstrator, as `result_of` has them."""
    from spacil.cli.table import print_table

    rows = [
        ("demonstrator", result["demonstrator"]),
        ("learned, best", outcome.best),
        ("learned, last", outcome.last),
    ]
    highest = result["highest_return"]
    if highest not in (outcome.best, outcome.last):
        rows.append(("highest return seen", highest))
    print_table(
        ["", "return G", "± std", "J (common)", "J (own)", "J (effective)"],
        [
            [
                f"{name}{_flags(row)}",
                *(
                    row.get(key)
                    for key in (
                        "average_return",
                        "return_std",
                        "smoothness_j",
                        "smoothness_j_own",
                        "smoothness_j_effective",
                    )
                ),
            ]
            for name, row in rows
            if row is not None
        ],
    )
    if any(row is not None and row.get("warn_saturated") for _, row in rows):
        print("saturated: the discriminator separated all pairs, its reward carried little signal.")
    print("J: mean local Lipschitz constant of the mean action; lower is smoother.")
    if "target_verdict" in result:
        print(
            f"smoothness target J {result['smoothness_target']:.3f}: {result['target_verdict']} "
            f"(last J {result['target_gap_evaluated']:+.1%} off, "
            f"weight {result['lambda_policy']:.3g})"
        )
    print(f"run folder: {outcome.path}")
    if picture.is_file():
        print(f"learning curve: {picture}")
    if outcome.exit_code:
        print(f"interrupted; `spacil resume {outcome.path}` goes on", file=sys.stderr)
