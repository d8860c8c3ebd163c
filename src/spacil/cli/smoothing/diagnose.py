"""`spacil diagnose MODEL --task T`: why does my robot shake?"""

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from spacil.cli.arguments import parse
from spacil.cli.output import JsonTarget, identity, show

if TYPE_CHECKING:
    from spacil.measuring.diagnose import Diagnosis

_MARKS = {"fine": "fine", "note": "note", "warning": "LOOK"}


@dataclass(frozen=True)
class DiagnoseArguments:
    model: Annotated[str, tyro.conf.Positional]
    """The policy: a run folder, a policy or .onnx file, a task's name for its bundled expert, or
    module:name of a torch module, a Stable-Baselines3 model or a function from raw states [B, S] to
    actions [B, A]."""
    task: str | None = None
    """Play here; by default the task the policy was trained on, where it says."""
    episodes: int = 10
    """Whole episodes for each check that plays: undisturbed, sampled, noise, and two delays."""
    seed: int = 0
    """Of the start states and of every draw; no training run uses them."""
    which: Literal["best", "last"] = "best"
    """Which policy of a run folder."""
    json: JsonTarget = None


def run(arguments: list[str]) -> int:
    parsed = parse(
        DiagnoseArguments,
        arguments,
        "spacil diagnose",
        "Why does my robot shake? Plays a policy and checks what makes actions jerky: each finding "
        "with its evidence and its remedy.",
    )
    from spacil.measuring.diagnose import diagnose

    found = diagnose(
        parsed.model,
        parsed.task,
        which=parsed.which,
        episodes=parsed.episodes,
        seed=parsed.seed,
    )
    document = identity(task=found.task, seed=parsed.seed) | found.as_document()
    show(document, parsed.json, lambda: _print(found))
    return 0


def _print(found: "Diagnosis") -> None:
    earned = "" if found.average_return is None else f", return {found.average_return:.1f}"
    print(f"{found.source} on {found.task}: {found.num_episodes} episodes{earned}\n")
    for finding in sorted(found.findings, key=lambda f: f.severity != "warning"):
        title = f"{_MARKS[finding.severity]}  {finding.check.replace('_', ' ')}: "
        print(textwrap.fill(title + finding.message, 98, subsequent_indent=" " * 6))
        if finding.remedy is not None:
            lines = textwrap.wrap(finding.remedy, 90)
            print("\n".join(f"      {'->' if i == 0 else '  '} {t}" for i, t in enumerate(lines)))
    print(f"\n{_count(found)}")


def _count(found: "Diagnosis") -> str:
    num_measured = sum(finding.is_measured for finding in found.findings)
    words = f"{len(found.warnings)} of {num_measured} checks found something"
    num_others = len(found.findings) - num_measured
    return f"{words}; {num_others} could not be measured" if num_others else words
