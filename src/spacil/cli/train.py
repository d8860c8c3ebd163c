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
from typing import Any

import tyro

from spacil.cli.arguments import Output, parse, value_of
from spacil.config.algorithms import ALGORITHMS, Preset
from spacil.config.defaults import default_config
from spacil.config.flat import SHORT_FORM, refuse_unknown, settings_of, with_user_settings
from spacil.config.settings import DemoChoice
from spacil.config.train_config import TrainConfig
from spacil.errors import ConfigError, StorageError


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
        print("\n`spacil train ALGORITHM --task NAME --help`: every option, that task's defaults")
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
    typed, rest = (arguments[0], arguments[1:]) if is_named else (None, arguments)
    in_file, task, preset = (file.pop(key, None) for key in ("algorithm", "task", "preset"))
    if typed is not None and in_file not in (None, typed):
        raise ConfigError(f"train {typed}: --config {path} is of {in_file}, another algorithm")
    algorithm = typed or in_file
    trained = [name for name, row in ALGORITHMS.items() if row.verb == "train"]
    if algorithm not in trained:
        raise ConfigError(f"train {algorithm!r}: expected one of {', '.join(trained)}")
    wants_help = {"-h", "--help"} & {*rest}
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
    default = flags_of(config, tyro.MISSING if task is None else task, inputs)
    own = {"help", *demo_flags, *(flag.name for flag in fields(default))}
    refuse_unknown(algorithm, sorted(given - own))
    parsed = parse(type(default), rest, f"spacil train {algorithm}", config.summary, default)
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
) -> Any:
    """The flags of one algorithm, with the defaults of `config`."""
    homes = settings_of(config.algorithm)
    groups = {group: getattr(config, group) for group in homes.values()}
    bases: list[type] = [ImitationArguments if config.needs_demonstrations else TrainArguments]
    bases += [ShortForm] if "penalty" in homes else []
    members = [(name, type(group), field(default=group)) for name, group in groups.items()]
    kind = make_dataclass("Flags", members, bases=tuple(bases), frozen=True, kw_only=True)
    return kind(task=task, **inputs)


# --- the file


def _read_config(path: Path) -> dict[str, Any]:
    from spacil import storage

    try:
        document = storage.read_json(path)
    except StorageError as error:
        raise ConfigError(f"--config: {error}") from None
    if not isinstance(document, dict):
        raise ConfigError(f"--config {path}: expected one JSON object of settings by name")
    document = dict(document.get("config", document))  # of a run
    for key in ("algorithm", "task", "preset"):
        if not isinstance(document.get(key), str | None):
            raise ConfigError(f"--config {path}: {key} is {document[key]!r}, expected a name")
    return document
