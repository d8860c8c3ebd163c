"""`spacil compare RUN...|SWEEP`: one table over seeds, with intervals and the paper's numbers."""

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from spacil import storage
from spacil.cli.output import identity
from spacil.errors import ConfigError, RunDirError, StorageError
from spacil.plain_text import printable_lines

if TYPE_CHECKING:
    from spacil.comparison.comparison import Comparison

EXIT_INCOMPLETE = 3
"""Exit code where some runs are missing, unfinished or damaged; the table holds the others"""

FORMS = {"markdown": "md", "csv": "csv", "latex": "tex"}
WRITTEN = (
    *(f"comparison.{suffix}" for suffix in ("json", *FORMS.values())),
    *(f"{figure}.{kind}" for figure in ("curves", "front", "aggregate") for kind in ("png", "svg")),
)
"""Files in the folder of `-o`"""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """Flags that name the runs to compare."""

    sources: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Run folders, folders of runs, or sweeps."""
    which: Literal["best", "last"] = "best"
    """Which policy of each run."""
    baseline: str = "gail"
    """Algorithm, or name of the row, that probabilities of improvement refer to."""
    margins: int = 0
    """Episodes by which to measure what each policy bears: how much later its commands may come,
    and how noisy its sensors may be, until a tenth of the return is lost, e.g. 20; 0: not."""

    def compare(self) -> "Comparison":
        if not self.sources:
            raise ConfigError("no runs given: name run folders, folders of runs, or a sweep")
        from spacil.comparison.comparison import compare

        comparison = compare(
            self.sources, which=self.which, baseline=self.baseline, margins=self.margins
        )
        if not comparison.rows:
            raise RunDirError("no run to compare:\n  " + "\n  ".join(comparison.problems))
        return comparison


@dataclass(frozen=True, kw_only=True)
class Arguments(Compared):
    """Compare runs over seeds, from their fresh episodes; exits 3 if some are missing."""

    format: Literal["table", "markdown", "csv", "latex", "json"] = "table"
    """What is printed."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Folder for all formats, and for the figures as PNG and SVG."""
    overwrite: bool = False
    """Replace what an earlier comparison wrote into --out."""


def run(parsed: Arguments) -> int:
    if parsed.out is not None:
        present = next((one for one in (parsed.out, *parsed.out.parents) if one.exists()), None)
        if present is not None and not present.is_dir():
            raise StorageError(f"-o {parsed.out}: {str(present)!r} is a file, expected a folder")
        storage.require_free_in(parsed.out, WRITTEN, overwrite=parsed.overwrite)
    comparison = parsed.compare()
    document = identity() | comparison.document()
    if parsed.format == "json":
        print(json.dumps(document, allow_nan=False))
    else:
        print(printable_lines(comparison.rendered(parsed.format)), end="")
    if parsed.format == "csv":  # which has no place for them
        sys.stderr.writelines(f"{remark}\n" for remark in comparison.remarks)
    if parsed.out is not None:
        written = _write(comparison, document, parsed.out)
        if parsed.format == "table":
            print("\n".join(f"written: {path}" for path in written))
    return EXIT_INCOMPLETE if comparison.problems else 0


def _write(comparison: "Comparison", document: object, folder: Path) -> list[Path]:
    from spacil.comparison.figures import aggregates_of, curves_of, draw_charts, front_of
    from spacil.runs.folder import make_folder

    make_folder(folder)
    with tempfile.TemporaryDirectory(prefix=".tmp-", dir=folder) as stage:  # all of them, or none
        written = [Path(stage) / "comparison.json"]
        storage.write_json(written[0], document)
        for form, suffix in FORMS.items():
            written.append(Path(stage) / f"comparison.{suffix}")
            storage.replace_file(written[-1], comparison.rendered(form).encode())
        tasks = comparison.tasks
        for name, charts, columns in (
            ("curves", [chart for task in tasks for chart in curves_of(comparison, task)], 2),
            ("front", [chart for task in tasks for chart in front_of(comparison, task)], 5),
            ("aggregate", aggregates_of(comparison), 2),
        ):
            for suffix in ("png", "svg") if charts else ():
                path = Path(stage) / f"{name}.{suffix}"
                written.append(draw_charts(charts, path, columns, size=(5, 3.5)))
        return [path.replace(folder / path.name) for path in written]
