"""`spacil experiment NAME`: a table or figure of the paper, from its runs to its page.

Runs what is missing in the sweep folder, measures what the experiment measures at finished runs,
and writes NAME.md, NAME.json, NAME.png and NAME.svg. Everything is kept: the same command goes on.
"""

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from spacil.cli.arguments import parse
from spacil.cli.output import JsonTarget, identity, show
from spacil.errors import ConfigError, RunDirError, StorageError
from spacil.experiments.named.table import NAMED, named_experiment, page_of

if TYPE_CHECKING:
    from spacil.experiments.named.experiment import Gathered, Measure, NamedExperiment, Subject
    from spacil.experiments.named.outcome import Outcome
    from spacil.experiments.named.plan import Arm, Extended, Scope
    from spacil.sweeps.folder import SweepFolder

EXIT_INCOMPLETE = 3
"""Some runs failed or are missing; the tables hold the others"""
QUICK_FRESH_EPISODES = 20


@dataclass(frozen=True)
class NamedArguments:
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Folder of the runs, a sweep that experiments share: sweeps/paper, or sweeps/quick."""
    results: Path | None = None
    """Folder for NAME.md, NAME.json and the figure; by default `results` in the folder of the
    runs."""
    quick: bool = False
    """The same path on Reacher with 2 seeds and few iterations: minutes, and no result."""
    tasks: tuple[str, ...] = ()
    """Only these tasks."""
    seeds: tuple[str, ...] = ()
    """These seeds instead of the experiment's own: 0-4 means five."""
    groups: tuple[str, ...] = ()
    """Only these groups of an experiment that has several."""
    methods: tuple[str, ...] = ()
    """Only these methods, by the names that its table has."""
    set: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """NAME=VALUE: a setting of every run that reads it; may be given several times."""
    runs: tuple[Path, ...] = ()
    """Finished runs to measure instead of the experiment's own (perturbation)."""
    policies: tuple[Path, ...] = ()
    """Policy files to measure instead, one per task (perturbation)."""
    jobs: int = 0
    """Runs at a time; by default one per core, and one on a GPU."""
    threads_per_job: int = 1
    """Threads of each run. Results repeat bit for bit at one number only."""
    device: str = "cpu"
    """Where updates run: cpu, cuda or auto."""
    fresh_episodes: int | None = None
    """Episodes that best and last policy play at the end of each run, 0 for none; by default as
    many as the sweep in the folder has, in a new one 150, or 20 if quick."""
    shard: str | None = None
    """i/n: train only this share of the runs, i from 0 to n - 1."""
    train: bool = True
    """Compute missing runs; --no-train measures and reports what is there."""
    extend: bool = False
    """Count the runs that the document in --results has as done, wherever their folders are, and
    add to it: --tasks, --seeds, --groups and --methods say what is run, the page keeps the rest
    (returns, recipe, lambda-grid, mixing, front)."""
    list: bool = False
    """Print the runs with their states and stop."""
    json: JsonTarget = None


def run(name: str, arguments: list[str]) -> int:
    about = NAMED[name][1]
    prog = f"spacil experiment {name}"
    parsed = parse(NamedArguments, arguments, prog, about[0].upper() + about[1:] + ".")
    from spacil.experiments.named.experiment import gather
    from spacil.experiments.named.plan import require_known
    from spacil.experiments.named.remarks import notes_on_episodes
    from spacil.sweeps.folder import RESULTS, sweep_with

    if parsed.fresh_episodes is not None and parsed.fresh_episodes < 0:
        raise ConfigError(f"--fresh-episodes is {parsed.fresh_episodes}, expected 0 or more")
    experiment = named_experiment(name)
    folder = parsed.out or Path("sweeps") / ("quick" if parsed.quick else "paper")
    results = parsed.results or folder / RESULTS
    _refuse_others(name, results)
    scope = _scope(parsed)
    if parsed.extend:
        scope = replace(scope, extended=_extended(name, experiment, results))
        known = experiment.stages[-1](scope.of_page, folder)
        require_known(known, tasks=scope.tasks, groups=scope.groups, methods=scope.methods)
    if parsed.runs or parsed.policies:
        gathered = _given(name, experiment, parsed)
    elif not experiment.stages:
        gathered = _without_runs(scope)
    elif parsed.list:
        arms = _to_run(experiment.stages[-1](scope.of_page, folder), scope, parsed)
        return _list(_sweep(sweep_with, folder, arms, parsed), arms, parsed)
    else:
        for stage in experiment.stages:
            if experiment.prepare is not None and parsed.train:
                experiment.prepare(scope, folder)
            arms = stage(scope.of_page, folder)
            code = _train(folder, _to_run(arms, scope, parsed), parsed) if parsed.train else 0
            if code not in (0, EXIT_INCOMPLETE):
                return code
        gathered = gather(_sweep(sweep_with, folder, arms, parsed), arms, scope.of_page)
        if not gathered.records and not gathered.kept:
            raise RunDirError("no finished run to report on:\n  " + "\n  ".join(gathered.problems))
    outcome = experiment.analyse(_measured(name, experiment, gathered, folder, results))
    notes = notes_on_episodes(outcome.records, outcome.kept)
    outcome = replace(outcome, notes=[*outcome.notes, *notes])
    written = _write(name, outcome, shlex.join(["spacil", "experiment", name, *arguments]), results)
    document = identity(experiment=name) | {"written": [str(path) for path in written]}
    document |= {"problems": [*outcome.problems]}
    show(document, parsed.json, lambda: _print(outcome, written))
    return EXIT_INCOMPLETE if outcome.problems else 0


def _scope(parsed: NamedArguments) -> "Scope":
    from spacil.experiments.named.plan import Scope
    from spacil.sweeps.plan import assignment, seeds_of

    changes = []
    for name, values in map(assignment, parsed.set):
        if len(values) != 1:
            raise ConfigError(f"--set {name}: an experiment takes one value; sweep takes several")
        changes.append((name, values[0]))
    seeds = seeds_of(parsed.seeds)
    return Scope(parsed.tasks, seeds, parsed.groups, parsed.methods, parsed.quick, tuple(changes))


def _refuse_others(name: str, results: Path) -> None:
    """Hours of work must not end by overwriting a page that somebody wrote."""
    from spacil import storage

    page = results / f"{page_of(name)}.md"
    source = page.with_suffix(".json")
    document = storage.read_json(source) if source.is_file() else None
    is_ours = isinstance(document, dict) and document.get("experiment") == name
    if not is_ours and (page.exists() or source.exists()):
        raise StorageError(f"{str(page)!r} is no result of experiment {name}: choose --results")


def _extended(name: str, experiment: "NamedExperiment", results: Path) -> "Extended":
    """The runs of the document that an earlier call wrote."""
    from spacil import storage
    from spacil.experiments.named.plan import Extended, name_in

    if not experiment.can_be_extended:
        raise ConfigError(f"--extend: the page of {name} is made of run folders only")
    source = results / f"{page_of(name)}.json"
    if not source.is_file():
        raise ConfigError(f"--extend: there is no {str(source)!r} yet; leave it out the first time")
    document = storage.read_json(source)
    try:
        rows = {run: row for row in document["runs"] if (run := name_in(row)) is not None}
        return Extended(rows, tuple(document["commits"]))
    except (KeyError, TypeError):
        raise StorageError(
            f"--extend: {str(source)!r} does not hold its runs; it is from an earlier version"
        ) from None


def _to_run(arms: "Sequence[Arm]", scope: "Scope", parsed: NamedArguments) -> "Sequence[Arm]":
    from spacil.experiments.named.plan import still_to_run

    return still_to_run(arms, scope) if parsed.extend else arms


def _sweep(
    opened: "Callable[..., SweepFolder]",
    folder: Path,
    arms: "Sequence[Arm]",
    parsed: NamedArguments,
) -> "SweepFolder":
    """The folder with the arms in its plan, as `opened` by reading or by writing it."""
    from spacil.sweeps.folder import FRESH_EPISODES

    usual = QUICK_FRESH_EPISODES if parsed.quick else FRESH_EPISODES
    grids = [grid for arm in arms for grid in arm.grids()]
    return opened(folder, grids, parsed.fresh_episodes, usual=usual)


def _train(folder: Path, arms: "Sequence[Arm]", parsed: NamedArguments) -> int:
    """Compute this machine's share of all arms, as far as they are ready."""
    from spacil.cli.experiments.overview import overview_for
    from spacil.sweeps.engine import JobOptions
    from spacil.sweeps.folder import open_sweep
    from spacil.sweeps.local import local_engine
    from spacil.sweeps.plan import share
    from spacil.sweeps.runner import run_sweep

    ready = [arm for arm in arms if not arm.missing_files(folder)]
    if not ready:
        return 0
    sweep = _sweep(open_sweep, folder, ready, parsed)
    can_run = set(_checked_runs(ready))
    runs = [run for run in share(_checked_runs(arms), parsed.shard) if run in can_run]
    options = JobOptions(parsed.jobs, parsed.threads_per_job, parsed.device)
    engine = local_engine(sweep, options)
    with overview_for(sweep, runs, engine.capacity) as overview:
        outcome = run_sweep(sweep, runs, engine, overview.report, overview.refresh)
    if outcome.signal_code:
        print("interrupted; the same command goes on", file=sys.stderr)
    return outcome.exit_code


def _checked_runs(arms: "Sequence[Arm]") -> "list[Any]":
    from spacil.sweeps.plan import planned_runs

    return planned_runs(grid for arm in arms for grid in arm.grids())


def _list(sweep: "SweepFolder", arms: "Sequence[Arm]", parsed: NamedArguments) -> int:
    from spacil.cli.experiments.sweep import show_states
    from spacil.sweeps.plan import share

    return show_states(sweep, share(_checked_runs(arms), parsed.shard), parsed.json, jobs=0)


def _given(name: str, experiment: "NamedExperiment", parsed: NamedArguments) -> "Gathered":
    """The runs a user names, one arm per task and algorithm, and policy files."""
    from spacil.comparison.found_runs import find_runs
    from spacil.comparison.policy_file import one_per_task
    from spacil.experiments.named.experiment import ArmRuns, Gathered
    from spacil.experiments.named.plan import Arm, Setting

    if experiment.measure_file is None:
        raise ConfigError(f"--runs, --policies: the experiment {name} measures its own runs")
    records, problems = find_runs(parsed.runs) if parsed.runs else ([], [])
    files = one_per_task(parsed.policies, [record.task for record in records])
    if not records and not files:
        raise RunDirError("no finished run to measure:\n  " + "\n  ".join(problems))
    keys = dict.fromkeys((record.task, record.algorithm) for record in records)
    arms = []
    for task, algorithm in keys:
        members = [r for r in records if (r.task, r.algorithm) == (task, algorithm)]
        seeds = tuple(record.seed for record in members)
        arms.append(ArmRuns(Arm(Setting(algorithm, algorithm), task, seeds), tuple(members)))
    return Gathered(tuple(arms), _scope(parsed), files, tuple(problems))


def _without_runs(scope: "Scope") -> "Gathered":
    from spacil.experiments.named.experiment import Gathered

    return Gathered((), scope)


def _measured(
    name: str, experiment: "NamedExperiment", gathered: "Gathered", folder: Path, results: Path
) -> "Gathered":
    """With what the experiment measures at its runs, and the results of others that it reads."""
    from spacil.experiments.named.experiment import measured_at

    found: dict[Path, Any] = {}
    wanted = experiment.measured_runs(gathered.arms) if experiment.measure is not None else []
    runs = {record.path: record for record in wanted}
    count = len(runs) + len(gathered.files)
    how = experiment.measured_with(gathered.scope) if experiment.measured_with else None

    def kept(subject: "Subject", measure: "Measure[Subject] | None") -> None:
        assert measure is not None
        print(f"measuring {len(found) + 1} of {count}: {subject.path}", file=sys.stderr)
        found[subject.path] = measured_at(subject, folder, name, measure, gathered.scope, how)

    for record in runs.values():
        kept(record, experiment.measure)
    for file in gathered.files:
        kept(file, experiment.measure_file)
    return replace(gathered, measured=found, results=_documents(experiment, results))


def _documents(experiment: "NamedExperiment", results: Path) -> dict[str, Any]:
    from spacil import storage

    paths = {name: results / f"{page_of(name)}.json" for name in experiment.reads}
    paths |= {name: results / name for name in experiment.reads_files}
    return {name: storage.read_json(path) for name, path in paths.items() if path.is_file()}


def _write(name: str, outcome: "Outcome", command: str, results: Path) -> list[Path]:
    from spacil import storage
    from spacil.comparison.panels import draw_panels
    from spacil.experiments.named.outcome import markdown
    from spacil.runs.location import make_folder

    make_folder(results)
    document = identity(experiment=name) | {"command": command} | outcome.document()
    document = storage.without_non_finite(document)
    page = page_of(name)
    written = [results / f"{page}.json"]
    storage.write_json(written[0], document)
    figure = None
    if any(panel["series"] for panel in document["panels"]):
        figure = results / f"{page}.png"
        for path in (figure, figure.with_suffix(".svg")):
            draw_panels(document["panels"], path, document["panel_columns"])
            written.append(path)
    written.append(results / f"{page}.md")
    storage.replace_file(written[-1], markdown(outcome, command, figure, f"{page}.json").encode())
    return written


def _print(outcome: "Outcome", written: Sequence[Path]) -> None:
    from spacil.comparison.comparison_text import aligned_table

    for table in outcome.tables:
        print(f"{table.title}\n")
        if table.rows:
            print(aligned_table((list(table.header), [list(row) for row in table.rows])))
        else:
            print("not measured")
        print()
    for note in outcome.notes:
        print(f"note: {note}")
    for problem in outcome.problems:
        print(f"missing: {problem}")
    for path in written:
        print(f"written: {path}")
