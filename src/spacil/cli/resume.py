"""`spacil resume RUN`: go on with a run; its folder knows everything that `train` was given."""

import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from spacil.cli.arguments import Output
from spacil.errors import ConfigError, RunDirError

if TYPE_CHECKING:
    from spacil.config.train_config import TrainConfig
    from spacil.runs.facts import DemoInputs, RunInputs


@dataclass(frozen=True, kw_only=True)
class Arguments(Output):
    """Go on with a run where it stopped, with the settings, task and demonstrations it has."""

    run: Annotated[Path, tyro.conf.Positional]
    """The run folder."""
    iterations: int | None = None
    """Go on up to this many iterations in total; by default as many as the run was started for."""
    task: str | None = None
    """The run's task, typed again where it is an env of your own (module:Env-v0): no folder decides
    what is imported."""
    demos: tuple[str, ...] = ()
    """The run's demonstrations, where they were moved."""


def run(parsed: Arguments) -> int:
    from spacil.cli.session import train_and_show
    from spacil.config.algorithms import ALGORITHMS
    from spacil.config.flat import with_settings
    from spacil.runs import metrics_log
    from spacil.runs.facts import read_run
    from spacil.runs.folder import is_run_folder, named_runs

    path = parsed.run
    if not is_run_folder(path):
        what = "is not a run folder" if path.exists() else "does not exist"
        inside = named_runs(path) or ": name the folder of a run, runs/.../seed0-..."
        raise RunDirError(f"{path} {what}{inside}")
    facts = read_run(path)
    config, row = facts.config, ALGORITHMS[facts.config.algorithm]
    if row.verb != "train":
        raise ConfigError(
            f"{path} is a run of `spacil {row.verb}`, whose teacher the folder does not hold: give "
            f"that command again, with --run-dir {path} --resume"
        )
    rows = metrics_log.read(path / "metrics.jsonl")
    num_done = int(rows[-1]["iteration"]) if rows else 0
    way_on = f"--iterations {num_done + 1} or more goes on"
    if parsed.iterations is not None:
        config = with_settings(config, {"iterations": parsed.iterations})
        if parsed.iterations < num_done:  # what was learned is not taken back
            raise ConfigError(
                f"--iterations is {parsed.iterations}, but {num_done} iterations are done: {way_on}"
            )
    _check_task(parsed, config, facts.inputs)
    num_wanted = config.run.iterations
    # The last iteration may be recorded and not yet saved: a run that was killed there goes on.
    if num_done > num_wanted or (num_done == num_wanted and facts.status == "finished"):
        print(f"spacil: all {num_done} iterations are done: {way_on}", file=sys.stderr)
    demos = _demonstrations(parsed, facts.inputs) if row.needs_demonstrations else None
    if parsed.demos and demos is None:
        raise ConfigError(f"{config.algorithm} learns from the env's reward: leave out --demos")
    return train_and_show(config, demos, parsed, path, resume=True)


def _check_task(parsed: Arguments, config: "TrainConfig", inputs: "RunInputs | None") -> None:
    """Only an env that a name can make, and a module only if the user named it."""
    from spacil.user_code import task_named_in_file

    if parsed.task is None:
        if inputs is not None and not inputs.env_is_named:
            raise ConfigError(
                f"{parsed.run} was trained in Python on an env object ({config.task}), which a "
                "folder cannot hold: run the same script again, its learn(run_dir=...) goes on"
            )
        command = f"spacil resume {shlex.quote(str(parsed.run))}"
        task_named_in_file(config.task, parsed.run, command=command)
    elif parsed.task != config.task:
        raise ConfigError(
            f"--task {parsed.task}: {parsed.run} is on {config.task}; another task is another run"
        )


def _demonstrations(parsed: Arguments, inputs: "RunInputs | None") -> "DemoInputs":
    from spacil.runs.facts import DemoInputs, full_names

    known = None if inputs is None else inputs.demonstrations
    if known is None:  # the checkpoint says whether they are the same
        return DemoInputs(full_names(parsed.demos))
    if parsed.demos:
        return replace(known, sources=full_names(parsed.demos))
    if known.sources is None:
        raise ConfigError(
            f"{parsed.run} was trained in Python on demonstrations in memory: run the same script "
            "again, or save them with spacil.save_demos and name the file with --demos"
        )
    return known
