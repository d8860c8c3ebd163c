"""`spacil train ALGORITHM --task NAME`: learn a policy and keep the run."""

import itertools
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args

from spacil.cli.arguments import parse, value_of
from spacil.cli.output import JsonTarget
from spacil.cli.training.config_file import (
    chosen_algorithm,
    demo_flags_beside,
    read_config_file,
)
from spacil.cli.training.settings_help import help_text, usage
from spacil.config.algorithms import ALGORITHMS, Preset
from spacil.config.defaults import default_config
from spacil.config.flat import (
    SHORT_FORM,
    group_of_setting,
    implied_settings,
    refuse_unread,
    require_read,
    with_settings,
    without_short_form,
)
from spacil.config.train_config import ConfigGroups, TrainConfig
from spacil.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class TrainArguments(ConfigGroups):
    task: str
    """Task name (see `spacil tasks`), any Gymnasium id with Box spaces, or an env of your own:
    module:Env-v0, with module.py in this folder or on PYTHONPATH."""
    config: Path | None = None
    """Settings from a JSON file: a run's config.json, or a part of one. The demonstrations are
    those of the run. Flags win."""
    preset: Preset = "none"
    """none; fast (spacil: fewer iterations; others: a start from a clone and larger steps);
    gail-like (spacil without its policy penalty, to compare with); plain (spacil from an untrained
    start, with a fixed weight); paper-mean, paper-sum (the paper's weights and discriminator).
    Flags win."""
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
    path = value_of("--config", arguments)
    file = read_config_file(None if path is None else Path(path))
    is_named = path is None or not arguments[0].startswith("-")
    typed, rest = (arguments[0], arguments[1:]) if is_named else (None, arguments)
    algorithm = chosen_algorithm(typed, file)
    typed_task = value_of("--task", rest)
    task = typed_task or file.task
    preset = value_of("--preset", rest) or file.preset or "none"
    if preset not in get_args(Preset):
        raise ConfigError(f"--preset {preset}: expected one of {', '.join(get_args(Preset))}")
    wants_help = bool({"-h", "--help", "--help-all"} & set(rest))
    if wants_help and task is None:
        preset = "none"  # what a preset changes depends on the task
    default = default_config(algorithm, task or "TASK", preset)  # type: ignore[arg-type]  # checked
    default = file.applied_to(default)
    if wants_help:
        print(help_text(default, TrainArguments, is_whole="--help-all" in rest))
        return 0
    if typed_task is None and task is not None:
        from spacil.user_code import task_named_in_file

        task_named_in_file(task, file.name)
    demo_flags: dict[str, Any] = {}
    if path is not None and ALGORITHMS[algorithm].needs_demonstrations:
        demo_flags = demo_flags_beside(Path(path), has_sources="demos" in _given(rest))
    return _train(*_parse(default, demo_flags, rest, has_task=task is not None))


def _parse(
    default: TrainConfig, demo_flags: dict[str, Any], arguments: list[str], *, has_task: bool
) -> tuple[TrainConfig, TrainArguments]:
    """Defaults depend on task, preset and file, so these were read first; then flags win."""
    given = _given(arguments)
    named = sorted(given.keys() & {SHORT_FORM, *group_of_setting()})
    refuse_unread(default.algorithm, named)
    default = with_settings(default, implied_settings(given))
    groups = {group.name: getattr(default, group.name) for group in fields(ConfigGroups)}
    parsed = parse(
        TrainArguments,
        arguments,
        f"spacil train {default.algorithm}",
        ALGORITHMS[default.algorithm].summary,
        TrainArguments(task=default.task, **groups, **demo_flags) if has_task else None,
    )
    chosen = {group.name: getattr(parsed, group.name) for group in fields(ConfigGroups)}
    config = TrainConfig(algorithm=default.algorithm, task=parsed.task, **chosen)
    if parsed.lambda_policy is not None:
        if "penalty" in given:
            raise ConfigError("--lambda-policy is short for --penalty exact=W: give one of the two")
        config = with_settings(config, without_short_form({SHORT_FORM: parsed.lambda_policy}))
    require_read(config, named)
    return config, parsed


def _given(arguments: list[str]) -> dict[str, Any]:
    """The flags by name, with their first value as far as it can be told before the full parse."""
    given: dict[str, Any] = {}
    for word, following in itertools.pairwise([*arguments, ""]):
        if word.startswith("--"):
            flag, _, value = word[2:].partition("=")
            name = flag.replace("-", "_")
            if name.startswith("no_"):
                given[name.removeprefix("no_")] = False
            else:
                given[name] = _number_or_word(value or following)
    return given


def _number_or_word(text: str) -> float | str | bool:
    """True for a flag without a value: the end, or another flag, comes after it."""
    try:
        return float(text)
    except ValueError:
        return True if text == "" or text.startswith("--") else text


def _train(config: TrainConfig, parsed: TrainArguments) -> int:
    from spacil.cli.training.session import Output, Session
    from spacil.runs.inputs import DemoChoice, DemoInputs, full_names

    demos = None
    if ALGORITHMS[config.algorithm].needs_demonstrations:
        names = [field.name for field in fields(DemoChoice)]
        choice = DemoChoice(**{name: getattr(parsed, name) for name in names})
        demos = DemoInputs(full_names(parsed.demos), choice)
    else:
        _refuse_demonstrations(config.algorithm, parsed)
    session = Session(config, demos, Output(is_quiet=parsed.quiet, json=parsed.json))
    return session.train(parsed.run_dir, resume=parsed.resume, overwrite=parsed.overwrite)


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
