"""`spacil train ALGORITHM --task NAME`: an algorithm on a task.

Defaults are the algorithm's on the task, then come preset, `--config` file and flags; the last one
wins. A file is the run.json of a run, or settings written by hand: any settings, and beside
them `algorithm`, `task` and `preset`. A run.json also says which
demonstrations the run had.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, make_dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, get_type_hints

import tyro

from spacil.cli.arguments import Output, parse, value_of
from spacil.config.algorithms import ALGORITHMS, Preset
from spacil.config.defaults import default_config
from spacil.config.flat import SHORT_FORM, refuse_unknown, settings_of, with_user_settings
from spacil.config.settings import DemoChoice
from spacil.config.train_config import TrainConfig
from spacil.errors import ConfigError, StorageError

USED_MOST = {
    "penalty", "penalty_weight", "keep_return", "smoothest", "smoothness_target",
    "smoothness_target_reference", "fluctuation_target", "fluctuation_target_reference",
    "cost_penalty_form", "lambda_cost", "seed", "iterations", "device", "action_delay",
    "sensor_noise", "steps_per_iteration", "num_envs", "warm_start_steps", "select",
    "anchor_weight", "discriminator_inputs", "discriminator_steps", "policy_step", "max_kl",
    "gamma", "policy_hidden", "airl_reward", "evaluation_interval", "evaluation_steps",
}  # fmt: skip
"""Settings that `--help` explains; `--help-all` explains every one, and so does `--help` of bc."""


@dataclass(frozen=True, kw_only=True)
class TrainArguments(Output):
    """Flags of `spacil train` that are no settings."""

    task: str
    """Built-in task, any Gymnasium id with Box spaces, or module:Env-v0."""
    config: Path | None = None
    """Settings from a run's run.json, or from a JSON file with some of them; flags win over the
    file, and the file over the preset. The run.json of a run brings its demonstrations too, and
    the algorithm may be left out."""
    preset: Preset = "none"
    """fast (for spacil: its rule for 60 iterations; else a start from a clone and larger steps);
    gail-like (spacil without its policy penalty, to compare with); plain (spacil from an untrained
    start, with a fixed weight); paper-mean, paper-sum (the paper's weights and discriminator).
    Flags win."""
    run_dir: Path | None = None
    """Folder of the run; by default runs/<algorithm>/<task>/seed<S>-<stamp>."""
    resume: bool = False
    """Resume the run in --run-dir, or the newest unfinished run of these settings."""
    overwrite: bool = False
    """Delete the run in --run-dir first."""


@dataclass(frozen=True, kw_only=True)
class ImitationArguments(TrainArguments):
    """The same of an algorithm that learns from demonstrations."""

    demos: tuple[str, ...] = ()
    """Files or folders of demonstrations in any format, minari:ID, or a task name for the bundled
    ones (the default). Several are put together."""
    choice: DemoChoice = DemoChoice()


@dataclass(frozen=True, kw_only=True)
class ShortForm:
    """Flag of an algorithm that has a policy penalty."""

    lambda_policy: float | None = None
    """Short for --penalty exact=W: the weight of the policy penalty (lambda_1)."""


def run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: spacil train ALGORITHM --task NAME [options]\n")
        for name, row in ALGORITHMS.items():
            if row.verb == "train":
                print(f"  {name:<8} {row.summary}")
        print(
            "\n`spacil train ALGORITHM --task NAME --help`: the options used most, with the "
            "defaults of that task;\n--help-all: every option"
        )
        return 0
    config, parsed = config_of_words(arguments)
    from spacil.cli.session import train_and_show
    from spacil.runs.facts import DemoInputs, full_names

    demos = None
    if isinstance(parsed, ImitationArguments):
        demos = DemoInputs(full_names(parsed.demos), parsed.choice)
    return train_and_show(config, demos, parsed, parsed.run_dir, parsed.resume, parsed.overwrite)


def config_of_words(arguments: list[str]) -> tuple[TrainConfig, Any]:
    """The settings, and the flags that are none, of `ALGORITHM --task NAME ...`."""
    path = value_of("--config", arguments)
    file = {} if path is None else _read_config(Path(path))
    is_named = path is None or not arguments[0].startswith("-")
    typed, rest = (arguments[0].lower(), arguments[1:]) if is_named else (None, arguments)
    in_file, task, preset = (file.pop(key, None) for key in ("algorithm", "task", "preset"))
    if typed is not None and in_file not in (None, typed):
        raise ConfigError(f"train {typed}: --config {path} is of {in_file}, another algorithm")
    algorithm = typed or in_file
    trained = [name for name, row in ALGORITHMS.items() if row.verb == "train"]
    if algorithm == "ppo":
        raise ConfigError("PPO is a way to move the policy: spacil train trpo --policy-step ppo")
    if algorithm not in trained:
        raise ConfigError(f"train {algorithm!r}: expected one of {', '.join(trained)}")
    wants_help = {"-h", "--help", "--help-all"} & {*rest}
    preset = value_of("--preset", rest) or preset or "none"
    if (typed_task := value_of("--task", rest)) is not None:
        task = typed_task
    elif task is not None and not wants_help:
        from spacil.user_code import task_named_in_file

        task_named_in_file(task, f"--config {path}")
    if wants_help and task is None:
        preset = "none"  # what a preset changes depends on the task
    config = default_config(algorithm, task or "TASK", preset)
    try:
        config = with_user_settings(config, file)
    except ConfigError as error:
        raise ConfigError(f"--config {path}: {error}") from None
    given = {
        word[2:].partition("=")[0].replace("-", "_").removeprefix("no_")
        for word in rest
        if word.startswith("--")
    }
    inputs: dict[str, Any] = {}
    if path is not None and not wants_help:
        from spacil.runs.facts import inputs_of

        beside = inputs_of(Path(path).parent)
        if beside is not None and (demos := beside.demonstrations) is not None:
            inputs = {"choice": demos.choice, "demos": demos.sources or ()}
            if demos.sources is None and "demos" not in given:
                raise ConfigError(
                    f"--config {path}: its run was trained in Python on demonstrations in memory: "
                    "save them with spacil.save_demos and name the file with --demos"
                )
    demo_flags = given & {"demos", *(flag.name for flag in fields(DemoChoice))}
    if demo_flags and not ALGORITHMS[algorithm].needs_demonstrations:
        flag = sorted(demo_flags)[0].replace("_", "-")
        raise ConfigError(f"{algorithm} learns from the env's reward and takes no --{flag}")
    is_short = "--help-all" not in rest and bool(wants_help) and algorithm != "bc"
    default = flags_of(config, tyro.MISSING if task is None else task, inputs, is_short)
    own = {"help", "help_all", *demo_flags, *(flag.name for flag in fields(default))}
    refuse_unknown(algorithm, sorted(given - own))
    words = ["--help" if word == "--help-all" else word for word in rest]
    summary = f"{config.summary} Settings that are seldom changed: --help-all."
    parsed = parse(type(default), words, f"spacil train {algorithm}", summary, default)
    groups = settings_of(algorithm)
    settings = {
        name: getattr(getattr(parsed, groups[name]), name) for name in given & groups.keys()
    }
    if SHORT_FORM in given:
        settings[SHORT_FORM] = parsed.lambda_policy
    return with_user_settings(config, settings), parsed


def flags_of(
    config: TrainConfig,
    task: Any = tyro.MISSING,
    inputs: Mapping[str, Any] = MappingProxyType({}),
    is_short: bool = False,
) -> Any:
    """The flags of one algorithm, with the defaults of `config`; short: help shows a few."""
    homes = settings_of(config.algorithm)
    groups = {group: getattr(config, group) for group in homes.values()}
    if is_short:
        groups = {name: _with_few_shown(group) for name, group in groups.items()}
    bases: list[type] = [ImitationArguments if config.needs_demonstrations else TrainArguments]
    bases += [ShortForm] if "penalty" in homes else []
    members = [(name, type(group), field(default=group)) for name, group in groups.items()]
    kind = make_dataclass("Flags", members, bases=tuple(bases), frozen=True, kw_only=True)
    return kind(task=task, **inputs)


def _with_few_shown(group: Any) -> Any:
    """The same settings; help explains those used most."""
    kind: Any = type(group)
    hints = get_type_hints(kind, include_extras=True)
    hidden = [each.name for each in fields(kind) if each.name not in USED_MOST]
    notes = {name: Annotated[hints[name], tyro.conf.Suppress] for name in hidden}
    # As if written beside it: tyro reads the docstrings of fields from there.
    about = {"__doc__": kind.__doc__, "__module__": kind.__module__, "__annotations__": notes}
    made: Any = type(kind.__name__, (kind,), about | {name: vars(group)[name] for name in hidden})
    return made(**vars(group))


# --- the file


def _read_config(path: Path) -> dict[str, Any]:
    from spacil import storage

    try:
        document = storage.read_json(path)
    except StorageError as error:
        raise ConfigError(f"--config: {error}") from None
    if isinstance(document, dict):
        document = document.get("config", document)  # of a run
    if not isinstance(document, dict):
        raise ConfigError(f"--config {path}: expected one JSON object of settings by name")
    for key in ("algorithm", "task", "preset"):
        if not isinstance(document.get(key), str | None):
            raise ConfigError(f"--config {path}: {key} is {document[key]!r}, expected a name")
    return document
