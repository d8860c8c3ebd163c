"""`spacil export RUN|POLICY -o DIR`: a policy as files for a robot."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from spacil.cli.arguments import Json, PolicySource
from spacil.cli.output import identity, show

if TYPE_CHECKING:
    from spacil.export.export import ExportResult


@dataclass(frozen=True, kw_only=True)
class Arguments(PolicySource, Json):
    """A policy as files for a robot: ONNX with everything inside, a C header without dependencies,
    facts and a golden file, compared with Python before they are handed out."""

    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Folder to write: policy.onnx, policy.h, policy.json and golden.json."""
    episodes: int = 10
    """Number of whole episodes to measure J on; 0 leaves J, return and dt out."""
    num_checked: int = 10_000
    """Number of states on which ONNX Runtime and compiled C are compared with `predict`."""
    seed: int = 0
    """Seed of the start states; no training run uses them."""
    overwrite: bool = False
    """Replace an earlier export in --out."""


def run(parsed: Arguments) -> int:
    from spacil.export.export import export_policy

    result = export_policy(
        parsed.source,
        parsed.out,
        parsed.task,
        which=parsed.which,
        episodes=parsed.episodes,
        seed=parsed.seed,
        overwrite=parsed.overwrite,
        num_checked=parsed.num_checked,
    )
    document = identity(task=None, algorithm=None, seed=parsed.seed) | result.as_document()
    show(document, parsed.json, lambda: _print(result))
    return 0


def _print(result: "ExportResult") -> None:
    facts = result.facts
    sizes = f"{facts['num_observations']} observations, {facts['num_actions']} actions"
    print(f"{facts.get('task', 'unnamed task')}: {sizes}")
    if "not_measured" in facts:
        print(facts["not_measured"])
    else:
        rate, j = facts.get("control_rate_hz"), facts.get("smoothness_j")
        print(
            f"J {'unknown' if j is None else f'{j:.3g}'}, return {facts['average_return']:.1f} "
            f"over {facts['num_episodes']} episodes; made for "
            f"{'an unknown rate' if rate is None else f'{rate:g} actions per second'}"
        )
    for check in result.checks[1:]:
        difference = check.largest_difference
        print(
            f"parity, {check.form}: not checked, {check.reason}"
            if difference is None
            else f"parity, {check.form}: {difference:.2g} at most, {check.num_states:,} states"
        )
    times = [f"{c.form} {c.latency.median:.1f} us" for c in result.checks if c.latency is not None]
    print(f"latency, one state, median: {', '.join(times)}")
    print("\n".join(f"written: {result.folder / name}" for name in result.as_document()["files"]))
