"""Run folders of one Hopper configuration, begun and finished."""

from pathlib import Path
from typing import Any

from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.config.train_config import TrainConfig
from spacil.runs import folder
from spacil.runs.folder import RunDir


def some_config(**settings: Any) -> TrainConfig:
    return with_settings(default_config("spacil", "Hopper-v4"), {"seed": 3, **settings})


def open_run(config: TrainConfig, **options: Any) -> RunDir:
    """Hold a folder and begin, as a run does once its envs are made."""
    run = folder.open_run(config, **options)
    run.begin()
    return run


def finish(path: Path, **options: Any) -> Path:
    with open_run(some_config(), run_dir=path, **options) as run:
        run.record(status="finished")
    return path


def names_in(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())
