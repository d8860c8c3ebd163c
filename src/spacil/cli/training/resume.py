"""`spacil resume RUN`: go on with a run; its folder knows everything that `train` was given."""

import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from spacil.cli.arguments import parse
from spacil.cli.output import JsonTarget
from spacil.errors import ConfigError, RunDirError

if TYPE_CHECKING:
    from spacil.config.train_config import TrainConfig
    from spacil.runs.facts import DemoInputs, RunInputs


@dataclass(frozen=True)
class ResumeArguments:
    run: Annotated[Path, tyro.conf.Positional]
    """The run folder."""
    iterations: int | None = None
    """Go on up to this many iterations in total; by default as many as the run was started for."""
    task: str | None = None
    """The run's task, typed again where it is an env of your own (module:Env-v0): no folder decides
    what is imported."""
    demos: tuple[str, ...] = ()
    """The run's demonstrations, where they were moved."""
    quiet: bool = False
    """No progress display."""
    json: JsonTarget = None


def run(arguments: list[str]) -> int:
    parsed = parse(
        ResumeArguments,
        arguments,
        "spacil resume",
        "Go on with a run where it stopped, with the settings, task and demonstrations it has.",
    )
    from spacil.cli.arguments import Output
    from spacil.cli.training.session import Session
    from spacil.config.flat import with_settings
    from spacil.runs.facts import read_run
    from spacil.runs.folder import is_run_folder, named_runs

    if not is_run_folder(parsed.run):
        what = "is not a run folder" if parsed.run.exists() else "does not exist"
        inside = named_runs(parsed.run) or ": name the folder of a run, runs/.../seed0-..."
        raise RunDirError(f"{parsed.run} {what}{inside}")
    facts = read_run(parsed.run)
    config, inputs = facts.config, facts.inputs
    _check_verb(config.algorithm, parsed.run)
    num_done = _num_done(parsed.run)
    if parsed.iterations is not None:
        config = with_settings(config, {"iterations": parsed.iterations})
        _check_iterations(parsed.iterations, num_done)
    _check_task(parsed, config, inputs)
    num_wanted = config.run.iterations
    # The last iteration may be recorded and not yet saved: a run that was killed there goes on.
    if num_done > num_wanted or (num_done == num_wanted and facts.status == "finished"):
        print(f"spacil: all {num_done} iterations are done: {_way_on(num_done)}", file=sys.stderr)
    session = Session(
        config,
        _demonstrations(parsed, config, inputs),
        Output(quiet=parsed.quiet, json=parsed.json),
    )
    return session.train(parsed.run, resume=True)


def _check_verb(algorithm: str, path: Path) -> None:
    """A run of another verb has a teacher, which is code or a file that it does not hold."""
    from spacil.config.algorithms import ALGORITHMS

    verb = ALGORITHMS[algorithm].verb
    if verb != "train":
        raise ConfigError(
            f"{path} is a run of `spacil {verb}`, whose teacher the folder does not hold: give "
            f"that command again, with --run-dir {path} --resume"
        )


def _num_done(path: Path) -> int:
    from spacil.runs import metrics_log

    rows = metrics_log.read(path / "metrics.jsonl")
    return int(rows[-1]["iteration"]) if rows else 0


def _check_iterations(num_wanted: int, num_done: int) -> None:
    """What was learned is not taken back: fewer iterations than are done is a slip."""
    if num_wanted < num_done:
        raise ConfigError(
            f"--iterations is {num_wanted}, but {num_done} iterations are done: {_way_on(num_done)}"
        )


def _way_on(num_done: int) -> str:
    return f"--iterations {num_done + 1} or more goes on"


def _check_task(parsed: ResumeArguments, config: "TrainConfig", inputs: "RunInputs | None") -> None:
    """Only an env that a name can make, and a module only if the user named it."""
    from spacil.user_code import task_named_in_file

    if parsed.task is not None:
        if parsed.task != config.task:
            raise ConfigError(
                f"--task {parsed.task}: {parsed.run} is a run on {config.task}; another task is "
                "another run"
            )
        return
    if inputs is not None and not inputs.env_is_named:
        raise ConfigError(
            f"{parsed.run} was trained in Python on an env object ({config.task}), which a folder "
            "cannot hold: run the same script again, its learn(run_dir=...) goes on"
        )
    command = f"spacil resume {shlex.quote(str(parsed.run))}"
    task_named_in_file(config.task, parsed.run, command=command)


def _demonstrations(
    parsed: ResumeArguments, config: "TrainConfig", inputs: "RunInputs | None"
) -> "DemoInputs | None":
    from spacil.config.algorithms import ALGORITHMS
    from spacil.runs.facts import DemoInputs, full_names

    if not ALGORITHMS[config.algorithm].needs_demonstrations:
        if parsed.demos:
            raise ConfigError(f"{config.algorithm} learns from the env's reward: leave out --demos")
        return None
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
