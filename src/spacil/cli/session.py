"""One training run from the command line: what `train` starts and `resume` goes on with."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacil.cli.arguments import Output
from spacil.cli.output import identity, print_table, show
from spacil.config.train_config import TrainConfig
from spacil.errors import ConfigError
from spacil.plain_text import printable

if TYPE_CHECKING:
    from spacil.learning.run import Outcome
    from spacil.runs.facts import DemoInputs

Rows = Sequence[Mapping[str, Any]]

_COLUMNS = {
    "average_return": "return G",
    "return_std": "± std",
    "smoothness_j": "J (common)",
    "smoothness_j_own": "J (own)",
    "smoothness_j_effective": "J (effective)",
    "action_fluctuation": "E|da|",
}
_TARGETS = (
    ("smoothness target J", "smoothness_target", "", "target_gap", "J", "lambda_policy"),
    (
        *("fluctuation target", "fluctuation_target", "fluctuation_", "fluctuation_gap"),
        *("change", "lambda_temporal"),
    ),
)
"""Title, and in the metrics: target, prefix of its verdict, gap, what is measured, weight"""


def train_and_show(
    config: TrainConfig,
    demos: "DemoInputs | None",
    output: Output,
    run_dir: Path | None,
    *,
    resume: bool,
    overwrite: bool = False,
) -> int:
    """Train in a folder, show the result; returns the exit code.

    `demos` is None for an algorithm that learns from the env's reward.
    """
    from spacil.demos.common_frame import CommonFrame
    from spacil.learning.intake import checked_demonstrations, found_demonstrations
    from spacil.learning.learner import Learner, make_learner
    from spacil.learning.run import train_in_folder
    from spacil.runs import metrics_log
    from spacil.runs.facts import RunInputs, highest_return, inputs_of
    from spacil.runs.progress import Progress
    from spacil.runs.run_log import RunLog

    with RunLog() as log:
        found = None
        if demos is not None:
            found, config = found_demonstrations(config, config.task, demos.sources)

        def start() -> Learner:
            if found is None or demos is None:
                return make_learner(config, config.task, None)
            intake = checked_demonstrations(found, config, config.task, demos.choice)
            used = intake.used
            if demos.content_hash not in (None, used.content_hash):
                raise ConfigError(
                    f"{found.source} changed since the run started (hash {used.content_hash[:8]}, "
                    f"was {demos.content_hash[:8]}): restore it, or start a new run"
                )
            return make_learner(config, config.task, used, CommonFrame.of(intake.given))

        outcome = train_in_folder(
            config,
            start,
            Progress(config.run.iterations, is_shown=not output.quiet),
            run_dir=run_dir,
            resume=resume,
            overwrite=overwrite,
            inputs=RunInputs(config.task, True, demos),
            log=log,
        )
    inputs = inputs_of(outcome.path)
    demonstrator = None if inputs is None else inputs.demonstrator
    metrics = metrics_log.read(outcome.path / "metrics.jsonl")
    picture = outcome.path / "learning_curve.png"
    try:
        from spacil.comparison.pictures import draw_learning_curve

        title = f"{config.algorithm} on {config.task}, seed {config.run.seed}"
        draw_learning_curve(metrics, picture, title, demonstrator or {})
    except Exception as error:  # the run is finished and kept, with or without a picture
        print(printable(f"spacil: no learning curve: {error}"), file=sys.stderr)
    result = identity(task=config.task, algorithm=config.algorithm, seed=config.run.seed) | {
        "run_dir": str(outcome.path),
        "demonstrator": None if demonstrator is None else dict(demonstrator),
        "best": outcome.best,
        "last": outcome.last,
        "highest_return": highest_return(metrics),
        **search_outcome(metrics),
    }
    show(result, output.json, lambda: _print(result, outcome, picture))
    return outcome.exit_code


def search_outcome(metrics: Rows) -> dict[str, Any]:
    """What the last evaluation says about the run's targets; empty for a run without any.

    Of --smoothest also what the chosen policy was worth by the last reference, which may have
    moved: `smoothest`.
    """
    found: dict[str, Any] = {}
    for _, target, prefix, gap, _, weight in _TARGETS:
        verdict = f"{prefix}target_verdict"
        if rows := [row for row in metrics if verdict in row]:
            names = (target, f"{gap}_evaluated", f"is_{prefix}target_met", verdict, weight)
            found |= {name: rows[-1].get(name) for name in names}
    if rows := [row for row in metrics if "smoothest_iteration" in row]:
        last = rows[-1]
        for name in ("constraint", "smoothest_iteration", "lambda_policy"):
            found[name] = last.get(name)
        chosen = [row for row in metrics if row.get("iteration") == last["smoothest_iteration"]]
        slack = last.get("smoothest_slack")
        found["smoothest"] = chosen and {
            "constraint_slack": slack,
            "is_constraint_met": slack is not None and slack >= 0,
            "return_share": last.get("smoothest_return_share"),
            "imitation_score": chosen[-1].get("imitation_score"),
        }
    return found


def search_lines(result: Mapping[str, Any]) -> list[str]:
    """What became of each target, a line each."""
    lines = []
    for title, target, prefix, gap, measure, weight in _TARGETS:
        if verdict := result.get(f"{prefix}target_verdict"):
            lines.append(
                f"{title} {result[target]:.3f}: {verdict} (last {measure} "
                f"{result[f'{gap}_evaluated']:+.1%} off, weight {result[weight]:.3g})"
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


def _print(result: Mapping[str, Any], outcome: "Outcome", picture: Path) -> None:
    """Best and last policy beside the demonstrator."""
    rows = {
        "demonstrator": result["demonstrator"],
        "learned, best": outcome.best,
        "learned, last": outcome.last,
    }
    if result["highest_return"] not in (outcome.best, outcome.last):
        rows["highest return seen"] = result["highest_return"]
    notes = {"warn_saturated": " (saturated)", "warn_line_search": " (steps refused)"}
    cells = [
        [
            name + "".join(note for key, note in notes.items() if row.get(key)),
            *map(row.get, _COLUMNS),
        ]
        for name, row in rows.items()
        if row is not None
    ]
    print_table(["", *_COLUMNS.values()], cells)
    if any(row is not None and row.get("warn_saturated") for row in rows.values()):
        print(
            "saturated: the discriminator told agent and demonstrator apart for certain, and its "
            "reward\ncarried little signal. The default of `spacil train spacil` starts from a "
            "clone and penalises the\ncost against that."
        )
    print(
        "J: mean local Lipschitz constant of the mean action; E|da|: its change from one step to "
        "the next;\nlower is smoother."
    )
    for line in search_lines(result):
        print(line)
    print(f"run folder: {outcome.path}")
    if picture.is_file():
        print(f"learning curve: {picture}")
    if outcome.exit_code:
        print(f"interrupted; `spacil resume {outcome.path}` goes on", file=sys.stderr)
