"""`spacil train --config FILE`: settings from a file, under the names that config.json uses.

A file is the config.json of a run, or a part of one written by hand: any settings, and beside them
`algorithm`, `task` and `preset`. The order is defaults, preset, file, flags; the last one wins.
The inputs.json beside a run's config.json says which demonstrations the run had.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from spacil.config.algorithms import ALGORITHMS
from spacil.config.flat import refuse_unread, with_implied, with_settings
from spacil.config.train_config import TrainConfig
from spacil.errors import ConfigError, StorageError


@dataclass(frozen=True)
class ConfigFile:
    """What a file says; nothing where there is no file."""

    algorithm: str | None = None
    task: str | None = None
    preset: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""

    def applied_to(self, config: TrainConfig) -> TrainConfig:
        """The config with the file's settings; one that the algorithm does not read is refused."""
        try:
            refuse_unread(config.algorithm, self.settings)
            return with_settings(config, with_implied(self.settings))
        except ConfigError as error:
            raise ConfigError(f"{self.name}: {error}") from None


def read_config_file(path: Path | None) -> ConfigFile:
    """The settings in a file, as this version names them."""
    if path is None:
        return ConfigFile()
    from spacil import storage

    try:
        document = storage.read_json(path)
    except StorageError as error:
        raise ConfigError(f"--config: {error}") from None
    if not isinstance(document, dict):
        raise ConfigError(f"--config {path}: expected one JSON object of settings by name")
    settings = dict(document)
    names = {key: settings.pop(key, None) for key in ("algorithm", "task", "preset")}
    for key, value in names.items():
        if value is not None and not isinstance(value, str):
            raise ConfigError(f"--config {path}: {key} is {value!r}, expected a name")
    return ConfigFile(**names, settings=settings, name=f"--config {path}")


def demo_flags_beside(path: Path, *, has_sources: bool) -> dict[str, Any]:
    """What the run of a config.json was given about demonstrations, by flag; empty if not known.

    `has_sources`: the user names demonstrations, so those of the run need not be found again.
    """
    from spacil.runs.inputs import read_inputs

    inputs = read_inputs(path.parent)
    if inputs is None or inputs.demonstrations is None:
        return {}
    demos = inputs.demonstrations
    sources = () if has_sources else _found_again(demos.sources, path)
    return {"demos": sources, **asdict(demos.choice)}


def _found_again(sources: tuple[str, ...] | None, path: Path) -> tuple[str, ...]:
    if sources is None:
        raise ConfigError(
            f"--config {path}: its run was trained in Python on demonstrations in memory: save "
            "them with spacil.save_demos and name the file with --demos"
        )
    for source in sources:  # a file is named by its full path, all else is a name
        if Path(source).is_absolute() and not Path(source).exists():
            raise ConfigError(
                f"--config {path}: the demonstrations of its run are no longer at {source}: name "
                "them with --demos"
            )
    return sources


def chosen_algorithm(typed: str | None, file: ConfigFile) -> str:
    """Of the command line or the file, which must agree where both name one."""
    if typed is not None and file.algorithm not in (None, typed):
        raise ConfigError(f"train {typed}: {file.name} is of {file.algorithm}, another algorithm")
    algorithm = typed or file.algorithm
    trained = [name for name, row in ALGORITHMS.items() if row.verb == "train"]
    if algorithm is None or algorithm not in trained:
        raise ConfigError(f"train {algorithm!r}: expected one of {', '.join(trained)}")
    return algorithm
