"""`spacil train {trpo,gail,spacil,bc} --task NAME`: learn a policy and keep the run."""

import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args

from spacil.cli.arguments import parse, value_of
from spacil.cli.output import JsonTarget, identity, show
from spacil.config.flat import default_config
from spacil.config.groups import Algorithm, Preset, Settings, TrainConfig
from spacil.errors import ConfigError, StorageError

DESCRIPTIONS = {
    "trpo": "Learn from the env's reward: how demonstrators are made (eq:TRPO).",
    "gail": "Learn from demonstrations against a discriminator, without smoothness penalties.",
    "spacil": "Learn a smooth policy from demonstrations: GAIL with penalties on policy and cost.",
    "bc": "Clone the demonstrations by regression, without env steps; --lambda-policy smooths.",
}


@dataclass(frozen=True, kw_only=True)
class TrainArguments(Settings):
    task: str
    """Task name (see `spacil tasks`), or any Gymnasium id with Box spaces."""
    preset: Preset = "none"
    """paper-mean or paper-sum: the paper's printed penalty scaling and discriminator. fast: a
    start from a clone, and a larger trust region. Flags win."""
    demos: tuple[str, ...] = ()
    """Demonstrations: files or folders of any format, minari:ID, or a task name for the bundled
    ones (the default). Several are put together."""
    num_demos: int | None = None
    """Use only the first so many trajectories; all by default."""
    demo_every: int = 1
    """Use every so many-th step of each trajectory, as the GAIL paper does with 20."""
    demo_noise: float = 0.0
    """Add Gaussian noise to the demonstrated states, in units of their standard deviation."""
    drop_nonfinite: bool = False
    """Leave out demonstrated episodes that hold NaN or infinity instead of refusing the file."""
    allow_env_mismatch: bool = False
    """Use demonstrations recorded in another env or version of the same sizes."""
    run_dir: Path | None = None
    """Folder of the run; by default runs/<algorithm>/<task>/seed<S>-<stamp>."""
    resume: bool = False
    """Go on with the run in --run-dir, or with the newest unfinished run of these settings."""
    overwrite: bool = False
    """Delete the run in --run-dir first."""
    json: JsonTarget = None
    quiet: bool = False
    """No progress display."""


def run(arguments: list[str]) -> int:
    algorithms = get_args(Algorithm)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_usage())
        return 0
    algorithm, *rest = arguments
    if algorithm not in algorithms:
        raise ConfigError(f"train {algorithm!r}: expected one of {', '.join(algorithms)}")
    parsed = _parse(algorithm, rest)  # type: ignore[arg-type]  # checked just above
    config = TrainConfig(
        algorithm=algorithm,  # type: ignore[arg-type]  # checked above
        task=parsed.task,
        **{group.name: getattr(parsed, group.name) for group in fields(Settings)},
    )
    return _train(config, parsed)


def _parse(algorithm: Algorithm, arguments: list[str]) -> TrainArguments:
    """Defaults depend on task and preset, so these two are read first; then flags win."""
    task = value_of("--task", arguments)
    preset = value_of("--preset", arguments) or "none"
    if preset not in get_args(Preset):
        raise ConfigError(f"--preset {preset}: expected one of {', '.join(get_args(Preset))}")
    default = None
    if task is not None:
        config = default_config(algorithm, task, preset)  # type: ignore[arg-type]  # checked above
        groups = {group.name: getattr(config, group.name) for group in fields(Settings)}
        default = TrainArguments(task=task, **groups)
    prog = f"spacil train {algorithm}"
    return parse(TrainArguments, arguments, prog, DESCRIPTIONS[algorithm], default)


def _usage() -> str:
    lines = ["usage: spacil train ALGORITHM --task NAME [options]", ""]
    lines += [f"  {name:<8} {text}" for name, text in DESCRIPTIONS.items()]
    lines += [
        "",
        "`spacil train ALGORITHM --task NAME --help` shows every option with that task's defaults.",
    ]
    return "\n".join(lines)


def _train(config: TrainConfig, parsed: TrainArguments) -> int:
    from spacil.runs.progress import Silent, progress_for
    from spacil.training.algorithms import AnyLearner, make_learner
    from spacil.training.intake import checked_demonstrations, found_demonstrations
    from spacil.training.run import Outcome, train_in_folder

    demonstrations = None
    if config.algorithm == "trpo":
        _refuse_demonstrations(parsed)
    else:
        demonstrations, config = found_demonstrations(config, config.task, parsed.demos)

    def start() -> AnyLearner:
        nonlocal demonstrations
        if demonstrations is not None:
            demonstrations = checked_demonstrations(
                demonstrations,
                config,
                config.task,
                num_episodes=parsed.num_demos,
                drop_nonfinite=parsed.drop_nonfinite,
                allow_env_mismatch=parsed.allow_env_mismatch,
                every=parsed.demo_every,
                noise=parsed.demo_noise,
            )
        return make_learner(config, config.task, demonstrations)

    progress = Silent() if parsed.quiet else progress_for(config.run.iterations)
    outcome: Outcome = train_in_folder(
        config,
        start,
        progress,
        run_dir=parsed.run_dir,
        resume=parsed.resume,
        overwrite=parsed.overwrite,
    )
    demonstrator = _demonstrator_row(config.task, demonstrations)
    picture = _draw(config, outcome.path, demonstrator)
    result = identity(task=config.task, algorithm=config.algorithm, seed=config.run.seed) | {
        "run_dir": str(outcome.path),
        "best": outcome.best,
        "last": outcome.last,
        **_target_outcome(outcome.path),
    }
    show(result, parsed.json, lambda: _print_summary(outcome, demonstrator, picture))
    return outcome.exit_code


def _refuse_demonstrations(parsed: TrainArguments) -> None:
    flags = {
        "--demos": bool(parsed.demos),
        "--num-demos": parsed.num_demos is not None,
        "--demo-every": parsed.demo_every != 1,
        "--demo-noise": parsed.demo_noise != 0,
        "--drop-nonfinite": parsed.drop_nonfinite,
        "--allow-env-mismatch": parsed.allow_env_mismatch,
    }
    given = [flag for flag, is_given in flags.items() if is_given]
    if given:
        raise ConfigError(f"trpo learns from the env's reward and takes no {', '.join(given)}")


def _demonstrator_row(task: str, demonstrations: Any) -> dict[str, Any] | None:
    """Return and smoothness of whoever gave the demonstrations, as far as the file tells."""
    if demonstrations is None or demonstrations.returns is None:
        return None
    returns = demonstrations.returns
    measured = demonstrations.metadata.provenance.get("evaluation", {})
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
