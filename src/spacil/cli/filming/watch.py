"""`spacil watch RUN|POLICY`: a policy in MuJoCo's viewer."""

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from spacil.cli.arguments import parse
from spacil.errors import ConfigError


@dataclass(frozen=True)
class WatchArguments:
    source: Annotated[str, tyro.conf.Positional]
    """A run folder, a policy or .onnx file, a task's name for its bundled expert, or module:name of
    a torch module, a Stable-Baselines3 model or a function from states to actions."""
    task: str | None = None
    """Task name, or any Gymnasium id whose env simulates with MuJoCo; by default the task the
    policy is from, where it says."""
    seed: int = 0
    """Of the start states: those of `spacil evaluate` with this seed."""
    speed: float = 1.0
    """1 is real time, 0.25 slow motion."""
    which: Literal["best", "last"] = "best"
    """Which policy of a run folder."""


def run(arguments: list[str]) -> int:
    parsed = parse(
        WatchArguments,
        arguments,
        "spacil watch",
        "A policy in MuJoCo's viewer, in real time, until the window is closed. Without a display: "
        "spacil video.",
    )
    from spacil.film.video import open_panels
    from spacil.film.watch import watch

    if not parsed.speed > 0:
        raise ConfigError(f"--speed is {parsed.speed:g}, expected more than 0")
    panels = open_panels([(None, parsed.source)], parsed.task, parsed.which)
    (source,) = panels.policies.values()
    num_episodes = watch(source, panels.env_source, parsed.seed, parsed.speed)
    print(f"closed after {num_episodes} whole episodes")
    return 0
