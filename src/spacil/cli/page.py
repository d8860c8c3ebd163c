"""`spacil page RUN|POLICY... -o page.html`: policies live in a browser page."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from spacil.cli.arguments import Json
from spacil.cli.output import identity, print_records, show


@dataclass(frozen=True, kw_only=True)
class Arguments(Json):
    """Policies side by side in a page that opens offline, with sliders for noise and delay.

    MuJoCo runs in the page. Tasks that are not built in, and policies that spacil did not make,
    are shown as a film.
    """

    sources: Annotated[tuple[str, ...], tyro.conf.Positional]
    """One to three run folders, policy files, or tasks' names for their bundled experts; what
    `spacil video` takes besides these is filmed."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("page.html")
    """File to write."""
    task: str | None = None
    """Task name, or a Gymnasium id; by default the task that the policies are from."""
    title: str = ""
    """Heading of the page."""
    names: tuple[str, ...] = ()
    """Name of each policy; by default that of its file or folder."""
    seed: int = 0
    """Seed of the first start, the same for every policy."""
    which: Literal["best", "last"] = "best"
    """Which policy of a run folder."""
    overwrite: bool = False
    """Replace the file if it exists."""


def run(parsed: Arguments) -> int:
    from spacil.errors import ConfigError
    from spacil.film.page import make_page

    if parsed.names and len(parsed.names) != len(parsed.sources):
        raise ConfigError(
            f"--names has {len(parsed.names)} names for {len(parsed.sources)} policies: give one "
            "for each"
        )
    policies: Any = parsed.sources
    if parsed.names:
        policies = dict(zip(parsed.names, parsed.sources, strict=True))
    page = make_page(
        policies,
        parsed.out,
        env=parsed.task,
        seed=parsed.seed,
        title=parsed.title,
        which=parsed.which,
        overwrite=parsed.overwrite,
    )
    panels: dict[str, dict[str, Any]] = {
        panel.name: {
            "average_return": panel.total_return,
            "smoothness_j": panel.smoothness_j,
            "action_fluctuation": panel.action_change,
        }
        for panel in page.recording.panels
    }
    document = identity(task=page.task, seed=parsed.seed) | {
        "page": str(page.path),
        "num_bytes": page.num_bytes,
        "is_live": page.is_live,
        "panels": [{"name": name, **panel} for name, panel in panels.items()],
    }

    def show_table() -> None:
        print(f"{page.task}, seed {parsed.seed}, the first 8 seconds")
        print_records(panels, next(iter(panels.values())))
        kind = "live" if page.is_live else "a film: not a built-in task, or not spacil's policies"
        print(f"page: {page.path} ({page.num_bytes / 1e6:.1f} MB, {kind})")

    show(document, parsed.json, show_table)
    return 0
