"""The seam between an experiment and the command that runs it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from spacil import storage
from spacil.comparison.policy_file import PolicyFile
from spacil.comparison.run_record import RunRecord, read_run
from spacil.errors import SpacilError
from spacil.experiments.named.outcome import Document, Outcome
from spacil.experiments.named.plan import Arm, Scope, Stage
from spacil.runs.location import make_folder, safe_folder_name
from spacil.sweeps.folder import MEASURED, SweepFolder

_WITH = "measured_with"


@dataclass(frozen=True)
class ArmRuns:
    """An arm and those of its runs that are finished, by seed."""

    arm: Arm
    records: tuple[RunRecord, ...]
    kept: tuple[Mapping[str, Any], ...] = ()
    """Rows of an extended document, of runs that have no finished folder here"""

    @property
    def has_run(self) -> bool:
        return bool(self.records or self.kept)

    @property
    def task(self) -> str:
        return self.arm.task

    @property
    def label(self) -> str:
        return self.arm.label


@dataclass(frozen=True)
class Gathered:
    """What an analysis is a function of."""

    arms: tuple[ArmRuns, ...]
    scope: Scope = field(default_factory=Scope)
    files: tuple[PolicyFile, ...] = ()
    """Policies that a user named"""
    problems: tuple[str, ...] = ()
    """Runs that are missing, in words"""
    measured: Mapping[Path, Document] = field(default_factory=dict)
    """By run folder or policy file, where the experiment measures at them"""
    results: Mapping[str, Document] = field(default_factory=dict)
    """Documents of other experiments by their names, and other ones by those of their files,
    where this experiment reads them"""

    @property
    def records(self) -> list[RunRecord]:
        """Every run once, also where several arms share it."""
        return list({record.path: record for arm in self.arms for record in arm.records}.values())

    @property
    def kept(self) -> list[Mapping[str, Any]]:
        """Rows of runs that only an extended document knows."""
        return [row for arm in self.arms for row in arm.kept]

    @property
    def sources(self) -> dict[str, Any]:
        """What an outcome says of the runs behind it, as its arguments."""
        return {
            "problems": self.problems,
            "records": self.records,
            "kept": self.kept,
            "kept_commits": self.scope.extended.commits,
        }

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(arm.task for arm in self.arms))

    def arm(self, task: str, label: str, group: str = "") -> ArmRuns | None:
        """The finished runs of one setting; None where it was not asked for or has none."""
        for found in self.arms:
            if (found.task, found.label, found.arm.group) == (task, label, group):
                return found if found.has_run else None
        return None


class Measurable(Protocol):
    """A run or a policy file."""

    @property
    def path(self) -> Path: ...

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Differs where the policy does"""
        ...


Subject = TypeVar("Subject", bound=Measurable)
Measure = Callable[[Subject, Scope], Document]


def all_runs(arms: Sequence[ArmRuns]) -> list[RunRecord]:
    return [record for arm in arms for record in arm.records]


@dataclass(frozen=True)
class NamedExperiment:
    """One experiment."""

    stages: tuple[Stage, ...]
    analyse: Callable[[Gathered], Outcome]
    prepare: Callable[[Scope, Path], None] | None = None
    """Makes files in the sweep's folder that runs of a later stage read, from finished runs"""
    measure: Measure[RunRecord] | None = None
    """At a finished run: takes time, so its result is kept"""
    measured_with: Callable[[Scope], Document] | None = None
    """What its numbers depend on besides the policy, such as the number of episodes: where it
    changes, all is measured again. As JSON has it: lists, no tuples"""
    measured_runs: Callable[[Sequence[ArmRuns]], list[RunRecord]] = all_runs
    """Which runs are measured"""
    reads: tuple[str, ...] = ()
    """Other experiments whose results it reads"""
    reads_files: tuple[str, ...] = ()
    """Documents in the results folder that no experiment wrote"""
    page: str = ""
    """Name of its files, where it is not the experiment's"""
    can_be_extended: bool = False
    """Whether its document holds of each run all that the analysis reads, as rows under `runs`"""
    measure_file: Measure[PolicyFile] | None = None
    """The same at a policy file, where an experiment can be told which policies to use instead of
    those of its own runs"""


def gather(sweep: SweepFolder, arms: Sequence[Arm], scope: Scope) -> Gathered:
    """The finished runs of the arms; what is missing or damaged is named.

    A run that has no finished folder is taken from the document that the scope extends.
    """
    found, problems = [], []
    for arm in arms:
        records, kept, missing = [], [], dict[str, list[int]]()
        awaited = ", ".join(arm.missing_files(sweep.path))
        for run in arm.runs():
            run_dir, state = sweep.run_dir(run), sweep.state(run)
            if state.state not in ("finished", "trained"):
                row = scope.extended.rows.get(run.name)
                if row is not None:
                    kept.append(row)
                    continue
                why = state.reason or (f"for {awaited}" if awaited else "")
                reason = f" ({why})" if why else ""
                missing.setdefault(f"{state.state}{reason}", []).append(run.seed)
                continue
            try:
                records.append(read_run(run_dir, run))
            except SpacilError as error:
                problems.append(f"{run.name}: {error}")
        problems += [_missing(arm, state, seeds) for state, seeds in missing.items()]
        records.sort(key=lambda record: record.seed)
        found.append(ArmRuns(arm, tuple(records), tuple(kept)))
    return Gathered(tuple(found), scope, problems=tuple(dict.fromkeys(problems)))


def _missing(arm: Arm, state: str, seeds: Sequence[int]) -> str:
    """`Hopper-v4, gail: seeds 3, 4 waiting`"""
    numbers = ", ".join(map(str, seeds))
    return f"{arm.place}: seed{'s' if len(seeds) > 1 else ''} {numbers} {state}"


def measured_at(
    subject: Subject,
    folder: Path,
    name: str,
    measure: Measure[Subject],
    scope: Scope,
    measured_with: Document | None = None,
) -> Document:
    """What an experiment measures at a run or file, from an earlier call where it is there.

    The document knows which policy it measured, and with what; one of an earlier version does not
    know the latter, and is taken to be alike. A run that was trained again is measured again, and
    so is one whose document is damaged.
    """
    parts = [*subject.path.parts[-4:], "quick"] if scope.is_quick else subject.path.parts[-4:]
    path = folder / MEASURED / name / f"{safe_folder_name('--'.join(parts))}.json"
    policy = storage.document_hash(storage.without_non_finite(subject.fingerprint))
    known = _kept(path)
    is_of_it = known.get("policy") == policy and known.get(_WITH, measured_with) == measured_with
    measured = known.get("measured") if is_of_it else None
    if not isinstance(measured, dict):
        measured = storage.without_non_finite(measure(subject, scope))
    document = {"policy": policy, "run": subject.path.name, "measured": measured}
    if measured_with is not None:
        document[_WITH] = measured_with
    if document != known:
        make_folder(path.parent)
        storage.write_json(path, document)
    return dict(measured)


def _kept(path: Path) -> Document:
    """The document of an earlier call; empty where there is none, or none that can be read."""
    try:
        document = storage.read_json(path) if path.is_file() else None
    except storage.DamagedFileError:
        return {}
    return document if isinstance(document, dict) else {}
