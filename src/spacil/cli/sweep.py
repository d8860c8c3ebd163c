"""`spacil sweep`: every combination of algorithms, tasks, settings and seeds, in one folder."""

import contextlib
import math
import shlex
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from spacil import storage
from spacil.cli.arguments import parse
from spacil.cli.compare import EXIT_INCOMPLETE
from spacil.cli.output import JsonTarget, identity, print_records, show
from spacil.config.checks import require, whole_number
from spacil.errors import ConfigError, DataError, StorageError
from spacil.plain_text import printable

if TYPE_CHECKING:
    from spacil.sweeps.folder import RunState, SweepFolder
    from spacil.sweeps.plan import Grid, PlannedRun

_LINE_SECONDS = 60.0
"""Between two lines that say how far all runs are"""


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
    iterations: str = ""
    """Short for --set iterations=N,N,..."""
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
        return show_states(sweep, sweep.runs(), wanted.json)
    parsed = parse(SweepArguments, arguments, "spacil sweep")
    from spacil.engine.device import resolve_device
    from spacil.sweeps.engine import Engine, JobOptions
    from spacil.sweeps.on_ray import load_ray, ray_engine
    from spacil.sweeps.plan import planned_runs, share
    from spacil.sweeps.runner import SWEEP_PARTIAL, refuse_missing_inputs, run_sweep
    from spacil.user_code import task_named_in_file

    if parsed.out is None:
        raise ConfigError("a sweep needs a folder: -o DIR")
    whole_number("jobs", parsed.jobs, least=0)
    whole_number("threads_per_job", parsed.threads_per_job)
    whole_number("fresh_episodes", parsed.fresh_episodes or 0, least=0)
    require(0 < parsed.lost_after < math.inf, "lost_after", parsed.lost_after, "seconds, above 0")
    grids = _grids(parsed)
    planned = planned_runs(grids)  # every mistake in the plan shows before anything is written
    if not parsed.tasks:  # then a file names them; a list of the folder's runs imports nothing
        for run in planned or ([] if parsed.list else read_sweep(parsed.out).runs()):
            task_named_in_file(run.task, parsed.plan or parsed.out, parsed.task)
    # Finished runs read nothing any more, so their demonstrations may be gone.
    states = sweep_with(parsed.out, grids, parsed.fresh_episodes).states(planned)
    unfinished = [run for run in planned if states[run].state != "finished"]
    refuse_missing_inputs(unfinished)
    if parsed.list:
        sweep = sweep_with(parsed.out, grids or read_sweep(parsed.out).grids, parsed.fresh_episodes)
        return show_states(sweep, share(planned or sweep.runs(), parsed.shard), parsed.json)
    if parsed.engine == "ray":
        load_ray()
        device = parsed.device  # which there are, the nodes know
        require(device in ("cpu", "cuda"), "device", device, "cpu or cuda: Ray numbers the GPUs")
    else:
        resolve_device(parsed.device)
    sweep = open_sweep(parsed.out, grids, parsed.fresh_episodes)
    runs = share(planned or sweep.runs(), parsed.shard)
    options = JobOptions(parsed.jobs, parsed.threads_per_job, parsed.device)
    with contextlib.ExitStack() as stack:
        engine = Engine(sweep, options)
        if parsed.engine == "ray":
            on_ray = ray_engine(sweep, options, parsed.ray_address, parsed.lost_after)
            engine = stack.enter_context(on_ray)
        overview = Overview(sweep, runs)
        exit_code = run_sweep(sweep, runs, engine, overview.report, overview.refresh)
    show_states(sweep, runs, parsed.json)
    if exit_code not in (0, SWEEP_PARTIAL):
        print("interrupted; the same command goes on", file=sys.stderr)
    return exit_code


def _grids(parsed: SweepArguments) -> "list[Grid]":
    from spacil.sweeps.plan import Grid, assignment, grids_of, seeds_of

    given = [name for name in ("algorithms", "tasks", "seeds", "set") if getattr(parsed, name)]
    path = parsed.plan
    if path is None:
        chosen = (*parsed.set, *[f"iterations={parsed.iterations}"] * bool(parsed.iterations))
        values = dict(map(assignment, chosen))
        if len(values) < len(chosen):
            raise ConfigError("--set names a setting twice: put all its values into one")
        seeds = seeds_of(parsed.seeds or ("0",))
        grid = (parsed.algorithms, parsed.tasks, seeds, tuple(values.items()))
        return [Grid(*grid)] if given else []  # without any, what the folder remembers
    if given:
        raise ConfigError(
            f"{path} is the plan: leave out --{given[0]}; several settings are --set A=1 --set B=2"
        )
    try:
        content = storage.read_bytes(path, storage.MAX_JSON_BYTES)
        is_toml = path.suffix == ".toml"
        plan = tomllib.loads(content.decode()) if is_toml else storage.parse_json(content, path)
    except StorageError as error:
        hint = "expected a JSON or TOML file; -o alone goes on with the sweep in a folder"
        raise StorageError(f"cannot read the plan: {error}; {hint}") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"the plan {str(path)!r} is no TOML: {error}") from None
    return grids_of(plan, str(path))


def show_states(sweep: "SweepFolder", runs: "Sequence[PlannedRun]", target: Path | None) -> int:
    states = sweep.states(runs)
    document = identity() | {
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

    def print_states() -> None:
        columns = ("state", "iteration", "iterations", "average_return", "host", "reason")
        print_records({run.name: vars(state) for run, state in states.items()}, columns)
        print(summary_line(states))
        print(f"sweep folder: {sweep.path}, its runs' output: logs/")

    show(document, target, print_states)
    return EXIT_INCOMPLETE if "failed" in document["states"] else 0


class Overview:
    """What a user sees of a sweep at work, on stderr: a line per event, and how far all runs are
    once a minute."""

    def __init__(self, sweep: "SweepFolder", runs: "Sequence[PlannedRun]") -> None:
        self._sweep, self._runs = sweep, runs
        self._states, self._next = sweep.states(runs), 0.0

    def report(self, run: "PlannedRun", words: str) -> None:
        self._say(f"{run.name}: {words}")

    def refresh(self) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _LINE_SECONDS
            self._states = self._sweep.states(self._runs, self._states)
            self._say(summary_line(self._states))

    def _say(self, line: str) -> None:
        # The reader may be gone (`... | head`); the sweep does not need one.
        with contextlib.suppress(OSError):
            print(printable(line), file=sys.stderr, flush=True)


def summary_line(states: "Mapping[PlannedRun, RunState]") -> str:
    """`12 runs: 6 waiting, 3 running, 3 finished`"""
    counts = Counter(state.state for state in states.values())
    parts = [f"{count} {state}" for state, count in sorted(counts.items(), reverse=True)]
    return f"{len(states)} runs: {', '.join(parts) or 'none'}"
