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
    from spacil.runs.facts import highest_return

    return identity(task=config.task, algorithm=config.algorithm, seed=config.run.seed) | {
        "run_dir": str(outcome.path),
        "demonstrator": None if demonstrator is None else dict(demonstrator),
        "best": outcome.best,
        "last": outcome.last,
        "highest_return": highest_return(metrics),
        **wish_outcome(metrics),
    }


def draw(
    config: TrainConfig, path: Path, demonstrator: Mapping[str, Any] | None, metrics: Rows
) -> Path:
    """The learning curve in the run folder; the run is kept with or without a picture."""
    picture = path / "learning_curve.png"
    try:
        from spacil.comparison.pictures import draw_learning_curve

        draw_learning_curve(
            metrics,
            picture,
            f"{config.algorithm} on {config.task}, seed {config.run.seed}",
            demonstrator or {},
        )
    except Exception as error:  # the run is finished and kept, with or without a picture
        print(printable(f"spacil: no learning curve: {error}"), file=sys.stderr)
    return picture


_WISH_KEYS: Mapping[str, tuple[str, ...]] = {
    "target_verdict": (
        "smoothness_target",
        "target_gap_evaluated",
        "is_target_met",
        "target_verdict",
        "lambda_policy",
    ),
    "fluctuation_target_verdict": (
        "fluctuation_target",
        "fluctuation_gap_evaluated",
        "is_fluctuation_target_met",
        "fluctuation_target_verdict",
        "lambda_temporal",
    ),
    "smoothest_iteration": (
        "constraint",
        "smoothest_iteration",
        "lambda_policy",
    ),
}
"""Key that a wish's evaluations have -> what the result says of it"""


def wish_outcome(metrics: Rows) -> dict[str, Any]:
    """What the last evaluation says about the run's wishes; empty for a run without any.

    Of --smoothest also what the chosen policy was worth: `smoothest`.
    """
    found: dict[str, Any] = {}
    for mark, keys in _WISH_KEYS.items():
        rows = [row for row in metrics if mark in row]
        found |= {key: rows[-1].get(key) for key in keys} if rows else {}
    if "smoothest_iteration" in found:
        found["smoothest"] = _smoothest(metrics, found["smoothest_iteration"])
    return found


def _smoothest(metrics: Rows, iteration: int) -> dict[str, Any]:
    """What the chosen policy is worth by the last evaluation's reference, which may have moved."""
    chosen = [row for row in metrics if row.get("iteration") == iteration]
    if not chosen:
        return {}
    keys = ("constraint_slack", "is_constraint_met", "return_share", "imitation_score")
    worth = {key: chosen[-1].get(key) for key in keys}
    last = [row for row in metrics if "smoothest_slack" in row]  # not in runs of before
    if last:
        slack = last[-1]["smoothest_slack"]
        worth["constraint_slack"] = slack
        worth["is_constraint_met"] = slack is not None and slack >= 0
        worth["return_share"] = last[-1].get("smoothest_return_share")
    return worth


def wish_lines(result: Mapping[str, Any]) -> list[str]:
    """What became of each wish, a line each."""
    lines = []
    if "target_verdict" in result:
        lines.append(
            f"smoothness target J {result['smoothness_target']:.3f}: {result['target_verdict']} "
            f"(last J {result['target_gap_evaluated']:+.1%} off, "
            f"weight {result['lambda_policy']:.3g})"
        )
    if "fluctuation_target_verdict" in result:
        lines.append(
            f"fluctuation target {result['fluctuation_target']:.3f}: "
            f"{result['fluctuation_target_verdict']} "
            f"(last change {result['fluctuation_gap_evaluated']:+.1%} off, "
            f"weight {result['lambda_temporal']:.3g})"
        )
    if chosen := result.get("smoothest"):
        share, score = chosen["return_share"], chosen["imitation_score"]
        has = f"score {score:.3f}" if share is None else f"share {share:.1%}, score {score:.3f}"
        kept = "kept" if chosen["is_constraint_met"] else "NOT kept by any evaluated policy"
        lines.append(
            f"smoothest: {result['constraint']}: {kept}; chosen is iteration "
            f"{result['smoothest_iteration']} ({has}), last weight {result['lambda_policy']:.3g}"
        )
    return lines


def _flags(row: Mapping[str, Any]) -> str:
    """What a reader of the row's numbers must know."""
    known = {"warn_saturated": "saturated", "warn_line_search": "steps refused"}
    return "".join(f" ({words})" for key, words in known.items() if row.get(key))


def print_summary(result: Mapping[str, Any], outcome: Any, picture: Path) -> None:
    """Best and last policy beside the demonstrator, as `result_of` has them."""
    from spacil.cli.output import print_table

    rows = [
        ("demonstrator", result["demonstrator"]),
        ("learned, best", outcome.best),
        ("learned, last", outcome.last),
    ]
    highest = result["highest_return"]
    if highest not in (outcome.best, outcome.last):
        rows.append(("highest return seen", highest))
    print_table(
        ["", "return G", "± std", "J (common)", "J (own)", "J (effective)", "E|da|"],
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
                        "action_fluctuation",
                    )
                ),
            ]
            for name, row in rows
            if row is not None
        ],
    )
    if any(row is not None and row.get("warn_saturated") for _, row in rows):
        print(
            "saturated: the discriminator told agent and demonstrator apart for certain, and its "
            "reward\ncarried little signal. The default of `spacil train spacil` starts from a "
            "clone and penalises the\ncost against that."
        )
    print(
        "J: mean local Lipschitz constant of the mean action; E|da|: its change from one step to "
        "the next;\nlower is smoother."
    )
    for line in wish_lines(result):
        print(line)
    print(f"run folder: {outcome.path}")
    if picture.is_file():
        print(f"learning curve: {picture}")
    if outcome.exit_code:
        print(f"interrupted; `spacil resume {outcome.path}` goes on", file=sys.stderr)
