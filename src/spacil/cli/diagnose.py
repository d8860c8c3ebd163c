"""`spacil diagnose MODEL --task T`, or a recording: why does my robot shake?"""

import textwrap
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from spacil.cli.arguments import Episodes, Json, PolicySource
from spacil.cli.output import identity, show

if TYPE_CHECKING:
    from spacil.measuring.diagnose import Diagnosis


@dataclass(frozen=True, kw_only=True)
class Arguments(PolicySource, Episodes, Json):
    """Why does my robot shake? Plays a policy and checks what makes actions jerky; or reads a
    recording (.parquet, .csv, .npz, .hdf5, a LeRobot folder, a Minari id), without env and policy.
    Each finding has its evidence and its remedy."""

    episodes: int = 10
    """Number of whole episodes for each check that plays: undisturbed, sampled, noise, and two
    delays."""
    rate: float | None = None
    """Rows a second of a recording without time stamps."""
    commands: tuple[str, ...] = ()
    """Columns of a recording that hold commands, one per joint or a vector; name* for all that
    begin so. By default those called action, command, target or the like; so below."""
    measured: tuple[str, ...] = ()
    """Columns that hold the measured joints, in the order of the commands."""
    time: str | None = None
    """Column that holds time stamps."""
    chunk: int | None = None
    """Rows of a chunk of the policy's commands, where known; otherwise it is looked for."""
    policy: str | None = None
    """The policy that acted, to tell whether sudden commands are its answers to the states."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Page about a recording to write: a name that ends in .html."""
    overwrite: bool = False
    """Replace the page if it exists."""


def run(parsed: Arguments) -> int:
    from spacil.recordings.files import is_recording

    if is_recording(parsed.source):
        return _of_recording(parsed)
    from spacil.measuring.diagnose import diagnose

    found = diagnose(
        parsed.opened(),
        parsed.task,
        episodes=parsed.episodes,
        seed=parsed.seed,
    )
    document = identity(task=found.task, seed=parsed.seed) | asdict(found)
    show(document, parsed.json, lambda: print_diagnosis(found))
    return 0


def _of_recording(parsed: Arguments) -> int:
    from spacil import storage
    from spacil.recordings.diagnosis import diagnose_recording
    from spacil.recordings.files import load_recording

    if parsed.out is not None:
        storage.require_free(parsed.out, overwrite=parsed.overwrite, endings=storage.PAGE_ENDINGS)
    arrays, names, rate = load_recording(
        parsed.source, parsed.commands, parsed.measured, parsed.time
    )
    found = diagnose_recording(
        arrays,
        rate=parsed.rate or rate,
        chunk=parsed.chunk,
        policy=parsed.policy,
        names=names,
        source=parsed.source,
    )
    if parsed.out is not None:
        found.save(parsed.out, overwrite=parsed.overwrite)
    page = "" if parsed.out is None else f"\n\npage: {parsed.out}"
    show(identity() | found.as_dict(), parsed.json, lambda: print(f"{found}{page}"))
    return 0


def print_diagnosis(found: "Diagnosis") -> None:
    earned = "" if found.average_return is None else f", return {found.average_return:.1f}"
    print(f"{found.source} on {found.task}: {found.num_episodes} episodes{earned}\n")
    for finding in sorted(found.findings, key=lambda f: f.severity != "warning"):
        mark = "LOOK" if finding.severity == "warning" else finding.severity
        remedy = "" if finding.remedy is None else f"-> {finding.remedy}"
        text = f"{mark}  {finding.check.replace('_', ' ')}: {finding.message} {remedy}"
        print(textwrap.fill(text, 98, subsequent_indent=" " * 6))
    num_measured = sum(finding.is_measured for finding in found.findings)
    print(
        f"\n{len(found.warnings)} of {num_measured} checks found something; "
        f"{len(found.findings) - num_measured} could not be measured"
    )
