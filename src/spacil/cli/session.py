"""One training run from the command line: what `train` starts and `resume` goes on with."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacil.cli.arguments import Output
from spacil.cli.output import (
    METRICS,
    NOTHING_EARNED,
    identity,
    print_record,
    print_records,
    show,
    without_return,
)
from spacil.config.algorithms import BCConfig
from spacil.config.train_config import TrainConfig
from spacil.plain_text import printable

if TYPE_CHECKING:
    from spacil.runs.facts import DemoInputs

_TARGETS = {
    "smoothness_target": ("target_gap", "", "lambda_policy"),
    "fluctuation_target": ("fluctuation_gap", "fluctuation_", "lambda_temporal"),
}
"""Target -> in the metrics: its gap, prefix of its verdict, weight"""
_WARNINGS = ("warn_saturated", "warn_line_search")


def train_and_show(
    config: TrainConfig,
    demos: "DemoInputs | None",
    output: Output,
    run_dir: Path | None,
    resume: bool,
    overwrite: bool = False,
) -> int:
    """Train in a folder, show the result; returns the exit code.

    `demos` is None for an algorithm that learns from the env's reward.
    """
    from spacil.demos.common_frame import CommonFrame
    from spacil.learning.intake import demonstrations_for
    from spacil.learning.learner import make_learner
    from spacil.learning.run import train_in_folder
    from spacil.measuring.evaluate import pays_nothing
    from spacil.runs import metrics_log
    from spacil.runs.facts import RunInputs, highest_return, read_run
    from spacil.runs.progress import Progress
    from spacil.runs.run_log import RunLog

    with RunLog() as log:
        used = frame = None
        if demos is not None:
            task = config.task
            intake, config = demonstrations_for(config, task, demos.sources, demos.choice)
            used, frame = intake.used, CommonFrame.of(intake.given)
        outcome = train_in_folder(
            config,
            lambda: make_learner(config, config.task, used, frame),
            Progress(config.run.iterations, is_shown=not output.quiet),
            run_dir=run_dir,
            resume=resume,
            overwrite=overwrite,
            inputs=RunInputs(config.task, True, demos),
            log=log,
        )
    facts = read_run(outcome.path)
    demonstrator = None if facts.inputs is None else facts.inputs.demonstrator
    metrics = metrics_log.read(outcome.path / "metrics.jsonl")
    picture = outcome.path / "learning_curve.png"
    try:
        from spacil.comparison.pictures import draw_learning_curve

        title = f"{config.algorithm} on {config.task}, seed {config.run.seed}"
        draw_learning_curve(metrics, picture, title, demonstrator or {})
    except Exception as error:  # the run is finished and kept, with or without a picture
        print(printable(f"spacil: no learning curve: {error}"), file=sys.stderr)
    searches = search_outcome(metrics)
    result = identity(task=config.task, algorithm=config.algorithm, seed=config.run.seed) | {
        "run_dir": str(outcome.path),
        "demonstrator": None if demonstrator is None else dict(demonstrator),
        "best": outcome.best,
        "last": outcome.last,
        "highest_return": highest_return(metrics),
        **searches,
    }

    def show_table() -> None:
        rows = {"demonstrator": demonstrator, f"handed out: {picked(config)}": outcome.best}
        if outcome.last != outcome.best:
            rows["last"] = outcome.last
        if result["highest_return"] not in (outcome.best, outcome.last):
            rows["highest return seen"] = result["highest_return"]
        known = {name: row for name, row in rows.items() if row is not None}
        is_blind = used is not None and outcome.last is not None and pays_nothing(outcome.last)
        if is_blind:
            known = {name: without_return(row, used) for name, row in known.items()}
        warnings = [key for key in _WARNINGS if any(row.get(key) for row in known.values())]
        print_records(known, [*METRICS, *warnings], is_across=True)
        if about := {**searches, **searches.get("smoothest", {})}:
            about.pop("smoothest", None)
            print_record(about)
        lines = [NOTHING_EARNED] if is_blind else []
        lines.append(f"run folder: {outcome.path}")
        if picture.is_file():
            lines.append(f"learning curve: {picture}")
        print("\n".join(lines))
        if outcome.exit_code:
            print(f"interrupted; `spacil resume {outcome.path}` goes on", file=sys.stderr)

    show(result, output.json, show_table)
    return outcome.exit_code


def picked(config: TrainConfig) -> str:
    """Say how the policy that a run hands out was picked."""
    if isinstance(config, BCConfig):
        return "lowest held-out loss"
    imitation = config.imitation
    if imitation.select == "last" and imitation.kept_policy_decay > 0:
        return "mean of the policies"
    return {
        "last": "the last policy",
        "return": "highest return",
        "imitation": "lowest imitation score",
        "smoothest": "the smoothest that keeps what it must",
    }[imitation.select]


def search_outcome(metrics: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the last evaluation says about the run's targets; nothing for a run without any.

    Of --smoothest also what the chosen policy was worth by the last reference, which may have
    moved: `smoothest`.
    """
    newest_first = metrics[::-1]
    found: dict[str, Any] = {}
    for target, (gap, prefix, weight) in _TARGETS.items():
        verdict = f"{prefix}target_verdict"
        if last := next((row for row in newest_first if verdict in row), None):
            names = (target, f"{gap}_evaluated", f"is_{prefix}target_met", verdict, weight)
            found |= {name: last.get(name) for name in names}
    if last := next((row for row in newest_first if "smoothest_iteration" in row), None):
        for name in ("constraint", "smoothest_iteration", "lambda_policy"):
            found[name] = last.get(name)
        number = last["smoothest_iteration"]
        chosen = next((row for row in newest_first if row.get("iteration") == number), {})
        slack = last.get("smoothest_slack")
        found["smoothest"] = {
            "constraint_slack": slack,
            "is_constraint_met": slack is not None and slack >= 0,
            "return_share": last.get("smoothest_return_share"),
            "imitation_score": chosen.get("imitation_score"),
        }
    return found
