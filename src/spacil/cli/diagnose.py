"""`spacil diagnose MODEL --task T`: why does my robot shake?"""

import textwrap
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from spacil.cli.arguments import Episodes, Json, PolicySource
from spacil.cli.output import identity, show

if TYPE_CHECKING:
    from spacil.measuring.diagnose import Diagnosis


@dataclass(frozen=True, kw_only=True)
class Arguments(PolicySource, Episodes, Json):
    """Why does my robot shake? Plays a policy and checks what makes actions jerky: each finding
    with its evidence and its remedy."""

    episodes: int = 10
    """Number of whole episodes for each check that plays: undisturbed, sampled, noise, and two
    delays."""


def run(parsed: Arguments) -> int:
    from spacil.measuring.diagnose import diagnose

    found = diagnose(
        parsed.source,
        parsed.task,
        which=parsed.which,
        episodes=parsed.episodes,
        seed=parsed.seed,
    )
    document = identity(task=found.task, seed=parsed.seed) | asdict(found)
    show(document, parsed.json, lambda: _print(found))
    return 0


def _print(found: "Diagnosis") -> None:
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
