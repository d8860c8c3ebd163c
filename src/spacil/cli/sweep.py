"""`spacil sweep`: every combination of algorithms, tasks, settings and seeds, in one folder."""

import contextlib
import json
import math
import shlex
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from spacil.cli.arguments import parse
from spacil.cli.output import JsonTarget, identity, show
from spacil.errors import ConfigError, DataError, StorageError

if TYPE_CHECKING:
    from spacil.sweeps.engine import Engine
    from spacil.sweeps.folder import RunState, SweepFolder
    from spacil.sweeps.plan import Grid, PlannedRun


@dataclass(frozen=True)
class SweepArguments:
    """Run every combination of algorithms, tasks, settings and seeds, each in a run folder.

    The same command goes on where it stopped; finished runs are never computed again.
    """

    plan: Annotated[Path | None, tyro.conf.Positional] = None
    """A plan in a JSON or TOML file (algorithms, tasks, seeds, set; or several under grids); or
    `status`."""
    task: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """An env of your own, module:Env-v0, that the plan in a file or folder names: none is imported
    before you type it. May be given several times."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Folder of the sweep; one that holds a sweep goes on with it, also without a plan."""
    algorithms: tuple[str, ...] = ()
    """Such as gail spacil."""
    tasks: tuple[str, ...] = ()
    """Such as Hopper-v4 Walker2d-v4."""
    seeds: tuple[str, ...] = ()
    """Numbers and ranges: 0-4 means five; 0 by default."""
    set: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """NAME=VALUE,VALUE,...: a setting or demonstration flag of `spacil train`, or preset; may be
    given several times. Quote values that hold commas or spaces."""
    jobs: int = 0
    """Runs at a time; by default one per core, and one on a GPU."""
    threads_per_job: int = 1
    """Threads of each run. Results repeat bit for bit at one number only."""
    device: str = "cpu"
    """Where updates run: cpu, cuda or auto."""
    fresh_episodes: int | None = None
    """Episodes that best and last policy play at the end of each run, 0 for none; by default as
    many as the sweep has, 150 in a new one."""
    engine: Literal["local", "ray"] = "local"
    """Where runs are computed: in processes of this machine, or on the nodes of a Ray cluster
    (pip install 'spacil[ray]')."""
    ray_address: str = "local"
    """Of the cluster, such as 10.0.0.1:6379, or auto on one of its machines; local starts one
    here."""
    lost_after: float = 60.0
    """Seconds that a run has to end after Ray lost its process; then its folder is taken from it
    (engine ray)."""
    shard: str | None = None
    """i/n: only this share of the runs, i from 0 to n - 1."""
    list: bool = False
    """Print the runs (of the shard) with their states and stop."""
    json: JsonTarget = None


@dataclass(frozen=True)
class StatusArguments:
    """Show how far a sweep is, read from its folders alone, from any machine."""

    folder: Annotated[Path, tyro.conf.Positional]
    """Folder of the sweep."""
    json: JsonTarget = None


def run(arguments: list[str]) -> int:
    from spacil.sweeps.folder import open_sweep, read_sweep, sweep_with

    if arguments[:1] == ["status"]:
        wanted = parse(StatusArguments, arguments[1:], "spacil sweep status")
        sweep = read_sweep(wanted.folder)
        return show_states(sweep, sweep.runs(), wanted.json, jobs=None)
    parsed = parse(SweepArguments, arguments, "spacil sweep")
    from spacil.sweeps.plan import planned_runs, share
    from spacil.sweeps.runner import refuse_missing_inputs
    from spacil.user_code import task_named_in_file

    if parsed.out is None:
        raise ConfigError("a sweep needs a folder: -o DIR")
    _check_counts(parsed)
    _refuse_engine(parsed)
    grids = _grids(parsed)
    planned = planned_runs(grids)  # every mistake in the plan shows before anything is written
    if not parsed.tasks:  # then a file names them; a list of the folder's runs imports nothing
        for run in planned or ([] if parsed.list else read_sweep(parsed.out).runs()):
            task_named_in_file(run.task, parsed.plan or parsed.out, parsed.task)
    # Finished runs read nothing any more, so their demonstrations may be gone.
    states = sweep_with(parsed.out, grids, parsed.fresh_episodes).states(planned)
    unfinished = [run for run in planned if states[run].state != "finished"]
    refuse_missing_inputs(unfinished, parsed.out)
    if not parsed.list:
        sweep = open_sweep(parsed.out, grids, parsed.fresh_episodes)
    else:
        listed = grids or read_sweep(parsed.out).grids
        sweep = sweep_with(parsed.out, listed, parsed.fresh_episodes)
    runs = share(planned or sweep.runs(), parsed.shard)
    if parsed.list:
        return show_states(sweep, runs, parsed.json, jobs=0)
    return _run(sweep, runs, parsed)


def _refuse_engine(parsed: SweepArguments) -> None:
    """What the runs cannot be computed with is known before anything is written."""
    if parsed.engine == "local":
        default = SweepArguments()
        for flag, value, usual in (
            ("--ray-address", parsed.ray_address, default.ray_address),
            ("--lost-after", parsed.lost_after, default.lost_after),
        ):
            if value != usual:
                raise ConfigError(f"{flag} {value} is read with --engine ray only")
    if parsed.list:
        return
    if parsed.engine == "ray":
        from spacil.sweeps.on_ray import load_ray, refuse_device

        load_ray()
        refuse_device(parsed.device)
    else:
        from spacil.engine.device import resolve_device

        resolve_device(parsed.device)


def _run(sweep: "SweepFolder", runs: "Sequence[PlannedRun]", parsed: SweepArguments) -> int:
    from spacil.cli.overview import Overview, summary_line
    from spacil.sweeps.runner import run_sweep

    with (
        _engine(sweep, parsed) as engine,
        Overview(sweep, runs, engine.capacity, is_live=sys.stderr.isatty()) as overview,
    ):
        outcome = run_sweep(sweep, runs, engine, overview.report, overview.refresh)

    def print_ending() -> None:
        print(summary_line(outcome.states, 0))
        for run, state in outcome.states.items():
            if state.state == "failed":
                print(f"  failed: {run.name}: {state.reason}")
                print(f"          log: {sweep.log(run)}")
        print(f"sweep folder: {sweep.path}")

    show(_document(sweep, outcome.states), parsed.json, print_ending)
    if outcome.signal_code:
        print("interrupted; the same command goes on", file=sys.stderr)
    return outcome.exit_code


@contextlib.contextmanager
def _engine(sweep: "SweepFolder", parsed: SweepArguments) -> "Iterator[Engine]":
    from spacil.sweeps.engine import JobOptions, LocalEngine

    options = JobOptions(parsed.jobs, parsed.threads_per_job, parsed.device)
    if parsed.engine == "ray":
        from spacil.sweeps.on_ray import ray_engine

        with ray_engine(sweep, options, parsed.ray_address, parsed.lost_after) as engine:
            yield engine
        return
    yield LocalEngine(sweep, options)


def _grids(parsed: SweepArguments) -> "list[Grid]":
    from spacil.sweeps.plan import Grid, assignment, grids_of, seeds_of

    flags = {
        "--algorithms": parsed.algorithms,
        "--tasks": parsed.tasks,
        "--seeds": parsed.seeds,
        "--set": parsed.set,
    }
    given = [flag for flag, words in flags.items() if words]
    if parsed.plan is not None:
        if given and "=" in str(parsed.plan):
            raise ConfigError(
                f"{parsed.plan}: every setting has its own --set, e.g. --set {parsed.plan}"
            )
        if given:
            raise ConfigError(f"{parsed.plan} is the plan: leave out {', '.join(given)}")
        return grids_of(_read_plan(parsed.plan), str(parsed.plan))
    if not given:
        return []  # what the folder remembers
    if not parsed.algorithms and not parsed.tasks:
        raise ConfigError(
            f"{', '.join(given)}: give --algorithms and --tasks too; without any of them a sweep "
            "goes on with what its folder remembers"
        )
    values: dict[str, Any] = {}
    for name, found in map(assignment, parsed.set):
        if name in values:
            raise ConfigError(f"--set {name} is given twice: put all its values into one")
        values[name] = found
    seeds = seeds_of(parsed.seeds or ("0",))
    return [Grid(parsed.algorithms, parsed.tasks, seeds, tuple(values.items()))]


def _read_plan(path: Path) -> object:
    if path.is_dir():
        raise ConfigError(
            f"{path} is a folder, expected a plan in a JSON or TOML file; -o {path} goes on with "
            "the sweep in a folder"
        )
    try:
        text = path.read_text(encoding="utf-8")
        return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise StorageError(f"cannot read the plan {str(path)!r}: {error.strerror}") from None
    except ValueError as error:
        kind = "TOML" if path.suffix == ".toml" else "JSON"
        raise DataError(f"the plan {str(path)!r} is no {kind}: {error}") from None


def _check_counts(parsed: SweepArguments) -> None:
    for flag, value, least in (
        ("--jobs", parsed.jobs, 0),
        ("--threads-per-job", parsed.threads_per_job, 1),
        ("--fresh-episodes", parsed.fresh_episodes, 0),
    ):
        if value is not None and value < least:
            raise ConfigError(f"{flag} is {value}, expected {least} or more")
    if not 0 < parsed.lost_after < math.inf:
        raise ConfigError(f"--lost-after is {parsed.lost_after}, expected seconds, above 0")


# --- what is shown


def show_states(
    sweep: "SweepFolder", runs: "Sequence[PlannedRun]", target: Path | None, jobs: int | None
) -> int:
    from spacil.cli.output import print_table
    from spacil.cli.overview import summary_line

    states = sweep.states(runs)
    num_running = sum(state.state == "running" for state in states.values())

    def print_states() -> None:
        print_table(
            ["run", "state", "iteration", "return G", ""],
            [
                [
                    run.name,
                    state.state,
                    f"{state.iteration}/{state.iterations}",
                    state.average_return,
                    state.reason,
                ]
                for run, state in states.items()
            ],
        )
        print(summary_line(states, num_running if jobs is None else jobs))

    show(_document(sweep, states), target, print_states)
    return 0


def _document(sweep: "SweepFolder", states: "Mapping[PlannedRun, RunState]") -> dict[str, Any]:
    return identity() | {
        "folder": str(sweep.path),
        "fresh_episodes": sweep.fresh_episodes,
        "states": dict(Counter(state.state for state in states.values())),
        "runs": [
            {
                "run_dir": str(sweep.run_dir(run)),
                "algorithm": run.algorithm,
                "task": run.task,
                "seed": run.seed,
                "settings": dict(run.choices),
                "command": shlex.join(["spacil", *run.train_words(sweep.path)]),
                **asdict(state),
            }
            for run, state in states.items()
        ],
    }
