"""`spacil train ALGORITHM --task NAME`: learn a policy and keep the run."""

import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args

from spacil.cli.arguments import parse, value_of
from spacil.cli.output import JsonTarget, identity, show
from spacil.cli.training.settings_help import help_text, usage
from spacil.config.algorithms import ALGORITHMS, Preset
from spacil.config.defaults import default_config
from spacil.config.flat import (
    SHORT_FORM,
    group_of_setting,
    refuse_unread,
    require_read,
    with_user_settings,
)
from spacil.config.train_config import ConfigGroups, TrainConfig
from spacil.errors import ConfigError, StorageError


@dataclass(frozen=True, kw_only=True)
class TrainArguments(ConfigGroups):
    task: str
    """Task name (see `spacil tasks`), or any Gymnasium id with Box spaces."""
    preset: Preset = "none"
    """none, fast (a start from a clone, and a larger trust region), or paper-mean or paper-sum (the
    paper's printed weights and discriminator). Flags win."""
    lambda_policy: float | None = None
    """Short for --penalty exact=W: the weight of the policy penalty (lambda_1)."""
    demos: tuple[str, ...] = ()
    """Files or folders of demonstrations in any format, minari:ID, or a task name for the bundled
    ones (the default). Several are put together."""
    num_demos: int | None = None
    """Use so many trajectories; all by default."""
    first_demo: int = 0
    """The trajectory to begin with, counted from 0."""
    demo_every: int = 1
    """Use every n-th step of each trajectory; the GAIL paper uses every 20th."""
    demo_offset: int = 0
    """The step of each trajectory to begin with, below --demo-every."""
    demo_noise: float = 0.0
    """Add Gaussian noise to the demonstrated states, in units of their standard deviation."""
    drop_nonfinite: bool = False
    """Leave out demonstrated episodes that hold NaN or infinity instead of refusing the file."""
    allow_env_mismatch: bool = False
    """Use demonstrations recorded in another env or version of the same sizes."""
    run_dir: Path | None = None
    """Folder of the run; by default runs/<algorithm>/<task>/seed<S>-<stamp>."""
    resume: bool = False
    """Resume the run in --run-dir, or the newest unfinished run of these settings."""
    overwrite: bool = False
    """Delete the run in --run-dir first."""
    json: JsonTarget = None
    """Print the result as JSON on stdout; with a file name, write it there beside the table."""
    quiet: bool = False
    """No progress display."""


def run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage())
        return 0
    algorithm, *rest = arguments
    trained = [name for name, row in ALGORITHMS.items() if row.verb == "train"]
    if algorithm not in trained:
        raise ConfigError(f"train {algorithm!r}: expected one of {', '.join(trained)}")
    task, preset = value_of("--task", rest), value_of("--preset", rest) or "none"
    if preset not in get_args(Preset):
        raise ConfigError(f"--preset {preset}: expected one of {', '.join(get_args(Preset))}")
    wants_help = bool({"-h", "--help", "--help-all"} & set(rest))
    if wants_help and task is None:
        preset = "none"  # what a preset changes depends on the task
    default = default_config(algorithm, task or "TASK", preset)  # type: ignore[arg-type]  # checked
    if wants_help:
        print(help_text(default, TrainArguments, is_whole="--help-all" in rest))
        return 0
    return _train(*_parse(default, rest))


def _parse(default: TrainConfig, arguments: list[str]) -> tuple[TrainConfig, TrainArguments]:
    """Defaults depend on task and preset, so these two were read first; then flags win."""
    flags = {word.split("=")[0] for word in arguments if word.startswith("--")}
    given = {flag[2:].replace("-", "_").removeprefix("no_") for flag in flags}
    named = sorted(given & {SHORT_FORM, *group_of_setting()})
    refuse_unread(default.algorithm, named)
    groups = {group.name: getattr(default, group.name) for group in fields(ConfigGroups)}
    has_task = value_of("--task", arguments) is not None
    parsed = parse(
        TrainArguments,
        arguments,
        f"spacil train {default.algorithm}",
        ALGORITHMS[default.algorithm].summary,
        TrainArguments(task=default.task, **groups) if has_task else None,
    )
    chosen = {group.name: getattr(parsed, group.name) for group in fields(ConfigGroups)}
    config = TrainConfig(algorithm=default.algorithm, task=parsed.task, **chosen)
    if parsed.lambda_policy is not None:
        if "penalty" in given:
            raise ConfigError("--lambda-policy is short for --penalty exact=W: give one of the two")
        config = with_user_settings(config, {SHORT_FORM: parsed.lambda_policy})
    require_read(config, named)
    return config, parsed


def _train(config: TrainConfig, parsed: TrainArguments) -> int:
    from spacil.demos.common_frame import CommonFrame
    from spacil.runs.progress import Silent, progress_for
    from spacil.training.intake import checked_demonstrations, found_demonstrations
    from spacil.training.learner import Learner, make_learner
    from spacil.training.run import Outcome, train_in_folder

    demonstrations, common_frame = None, None
    if not ALGORITHMS[config.algorithm].needs_demonstrations:
        _refuse_demonstrations(config.algorithm, parsed)
    else:
        demonstrations, config = found_demonstrations(config, config.task, parsed.demos)

    def start() -> Learner:
        nonlocal demonstrations, common_frame
        if demonstrations is not None:
            intake = checked_demonstrations(
                demonstrations,
                config,
                config.task,
                first_episode=parsed.first_demo,
                num_episodes=parsed.num_demos,
                drop_nonfinite=parsed.drop_nonfinite,
                allow_env_mismatch=parsed.allow_env_mismatch,
                every=parsed.demo_every,
                offset=parsed.demo_offset,
                noise=parsed.demo_noise,
            )
            demonstrations, common_frame = intake.used, CommonFrame.of(intake.given)
        return make_learner(config, config.task, demonstrations, common_frame)

    progress = Silent() if parsed.quiet else progress_for(config.run.iterations)
    outcome: Outcome = train_in_folder(
        config,
        start,
        progress,
        run_dir=parsed.run_dir,
        resume=parsed.resume,
        overwrite=parsed.overwrite,
    )
    demonstrator = _demonstrator_row(demonstrations, common_frame)
    picture = _draw(config, outcome.path, demonstrator)
    result = identity(task=config.task, algorithm=config.algorithm, seed=config.run.seed) | {
        "run_dir": str(outcome.path),
        "best": outcome.best,
        "last": outcome.last,
        **_target_outcome(outcome.path),
    }
    show(result, parsed.json, lambda: _print_summary(outcome, demonstrator, picture))
    return outcome.exit_code


def _refuse_demonstrations(algorithm: str, parsed: TrainArguments) -> None:
    flags = {
        "--demos": bool(parsed.demos),
        "--num-demos": parsed.num_demos is not None,
        "--first-demo": parsed.first_demo != 0,
        "--demo-every": parsed.demo_every != 1,
        "--demo-offset": parsed.demo_offset != 0,
        "--demo-noise": parsed.demo_noise != 0,
        "--drop-nonfinite": parsed.drop_nonfinite,
        "--allow-env-mismatch": parsed.allow_env_mismatch,
    }
    given = [flag for flag, is_given in flags.items() if is_given]
    if given:
        refused = ", ".join(given)
        raise ConfigError(f"{algorithm} learns from the env's reward and takes no {refused}")


def _demonstrator_row(demonstrations: Any, common_frame: Any) -> dict[str, Any] | None:
    """Return and smoothness of the demonstrator; its J only where it is in the run's frame."""
    from spacil.demos.common_frame import recorded_evaluation

    if demonstrations is None or common_frame is None or demonstrations.returns is None:
        return None
    returns = demonstrations.returns
    measured = recorded_evaluation(demonstrations, common_frame)
    return {
        "average_return": float(returns.mean()),
        "return_std": float(returns.std(correction=0)),
        "smoothness_j": measured.get("smoothness_j"),
        "smoothness_j_own": measured.get("smoothness_j_own"),
        "smoothness_j_effective": measured.get("smoothness_j_effective"),
    }


def _draw(config: TrainConfig, path: Path, demonstrator: dict[str, Any] | None) -> Path:
    from spacil.report.learning_curve import draw_learning_curve
    from spacil.runs import metrics_log

    picture = path / "learning_curve.png"
    try:
        draw_learning_curve(
            metrics_log.read(path / "metrics.jsonl"),
            picture,
            f"{config.algorithm} on {config.task}, seed {config.run.seed}",
            demonstrator["average_return"] if demonstrator else None,
        )
    except StorageError as error:  # the run is finished and kept, with or without a picture
        print(f"spacil: no learning curve: {error}", file=sys.stderr)
    return picture


def _target_outcome(path: Path) -> dict[str, Any]:
    """What the last evaluation says about a smoothness target; empty for a run without one."""
    from spacil.runs import metrics_log

    rows = [row for row in metrics_log.read(path / "metrics.jsonl") if "target_verdict" in row]
    keys = ("smoothness_target", "target_gap_evaluated", "is_target_met", "target_verdict")
    return {key: rows[-1][key] for key in (*keys, "lambda_policy")} if rows else {}


def _flags(row: dict[str, Any]) -> str:
    """What a reader of the row's numbers must know."""
    known = {"warn_saturated": "saturated", "warn_line_search": "steps refused"}
    return "".join(f" ({words})" for key, words in known.items() if row.get(key))


def _print_summary(outcome: Any, demonstrator: dict[str, Any] | None, picture: Path) -> None:
    from spacil.cli.table import print_table

    rows = [
        ("demonstrator", demonstrator),
        ("learned, best", outcome.best),
        ("learned, last", outcome.last),
    ]
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
        print(
            "saturated: the discriminator told all pairs apart, its reward carried little signal."
        )
    print("J: mean local Lipschitz constant of the mean action; lower is smoother.")
    if target := _target_outcome(outcome.path):
        print(
            f"smoothness target J {target['smoothness_target']:.3f}: {target['target_verdict']} "
            f"(last J {target['target_gap_evaluated']:+.1%} off, "
            f"weight {target['lambda_policy']:.3g})"
        )
    print(f"run folder: {outcome.path}")
    if picture.is_file():
        print(f"learning curve: {picture}")
    if outcome.exit_code:
        print("interrupted; the same command with --resume goes on", file=sys.stderr)
