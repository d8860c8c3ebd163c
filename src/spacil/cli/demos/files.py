"""`spacil demos import SOURCE OUT` and `spacil demos export SOURCE OUT`: from and to any format."""

import os
import sys
from dataclasses import dataclass, replace
from typing import Annotated

import tyro

from spacil.cli.arguments import parse
from spacil.cli.output import JsonTarget, show
from spacil.errors import ConfigError, StorageError


@dataclass(frozen=True)
class ImportArguments:
    source: Annotated[str, tyro.conf.Positional]
    """A file or folder of any format, or minari:ID from the local Minari root."""
    out: Annotated[str, tyro.conf.Positional]
    """The native file to write, e.g. my.demos.safetensors."""
    task: str | None = None
    """The task they belong to, if the source does not say; they are checked against it."""
    drop_nonfinite: bool = False
    """Drop episodes that hold NaN or infinity instead of refusing the source."""
    allow_env_mismatch: bool = False
    """Only warn when the source was recorded in another env or version of the same sizes."""
    overwrite: bool = False
    """Replace OUT if it exists."""
    json: JsonTarget = None


@dataclass(frozen=True)
class ExportArguments:
    source: Annotated[str, tyro.conf.Positional]
    """A file or folder of any format, minari:ID, or a task name for the bundled ones."""
    out: Annotated[str, tyro.conf.Positional]
    """A file whose ending names the format, minari:ID, or a new folder with --format."""
    format: str | None = None
    """By default, OUT's name decides; needed for imitation, which writes a folder."""
    overwrite: bool = False
    """Replace OUT if it exists and is a file."""
    json: JsonTarget = None


def run_import(arguments: list[str]) -> int:
    parsed = parse(
        ImportArguments,
        arguments,
        "spacil demos import",
        "Convert demonstrations of any format into a checked native file.",
    )
    from spacil.cli.demos.check import checked, identity_of
    from spacil.demos.check import report_lines
    from spacil.demos.file import load_demos, require_savable, save_demos
    from spacil.demos.findings import require_usable

    if require_savable(parsed.out) != "native":
        raise ConfigError(
            f"{parsed.out}: import writes native files only, spacil demos export others"
        )
    refuse_existing(parsed.out, overwrite=parsed.overwrite)
    demos = load_demos(parsed.source)
    if parsed.task is not None and demos.metadata.task is None:
        metadata = replace(demos.metadata, task=parsed.task)
        named = metadata.with_change("name_task", task=parsed.task)
        demos = replace(demos, metadata=named)
    if parsed.drop_nonfinite:
        demos = demos.without_nonfinite_episodes()
    report = checked(demos, parsed.task, allow_env_mismatch=parsed.allow_env_mismatch)
    require_usable(report.findings)
    save_demos(demos, parsed.out)
    document = identity_of(demos) | report.as_dict() | {"out": parsed.out}
    lines = [*report_lines(report), f"written: {parsed.out}"]
    show(document, parsed.json, lambda: print("\n".join(lines)))
    return 0


def refuse_existing(out: str, *, overwrite: bool) -> None:
    """Demonstrations may have taken hours to record: none is replaced unless asked for."""
    if not overwrite and os.path.lexists(out):
        raise StorageError(
            f"{out!r} exists already: --overwrite replaces it, another name leaves it alone"
        )


def run_export(arguments: list[str]) -> int:
    parsed = parse(
        ExportArguments,
        arguments,
        "spacil demos export",
        "Write demonstrations in any format.",
    )
    from spacil.cli.demos.check import identity_of
    from spacil.demos.file import left_out, load_demos, require_savable, save_demos

    name = require_savable(parsed.out, parsed.format)
    refuse_existing(parsed.out, overwrite=parsed.overwrite)
    demos = load_demos(parsed.source)
    save_demos(demos, parsed.out, name)
    missing = left_out(demos, name)
    document = identity_of(demos) | {
        "source": parsed.source,
        "out": parsed.out,
        "format": name,
        "num_episodes": demos.num_episodes,
        "num_steps": demos.num_steps,
        "left_out": missing,
    }
    summary = f"{demos.num_episodes} episodes, {demos.num_steps} steps"
    show(document, parsed.json, lambda: print(f"{parsed.out}: {summary}, format {name}"))
    if missing:
        names = ", ".join(missing)
        print(f"spacil: left out, {name} has no place for them: {names}", file=sys.stderr)
    return 0
