"""`spacil export RUN|POLICY -o DIR`: a policy as files for a robot."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from spacil.cli.arguments import Json, PolicySource
from spacil.cli.output import identity, print_record, print_records, show

if TYPE_CHECKING:
    from spacil.export.export import ExportResult

_SHOWN = (
    *("num_observations", "num_actions", "control_rate_hz"),
    *("smoothness_j", "average_return", "num_episodes"),
)


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
    rate: float | None = None
    """Control rate in Hz that the policy was made for, where its env does not say."""
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
        rate=parsed.rate,
    )
    document = identity(task=None, algorithm=None, seed=parsed.seed) | result.as_document()
    show(document, parsed.json, lambda: print_result(result))
    return 0


def print_result(result: "ExportResult") -> None:
    facts = result.facts
    print(facts.get("task", "unnamed task"))
    print_record({key: facts.get(key) for key in _SHOWN})
    if "not_measured" in facts:
        print(facts["not_measured"])
    checks = {
        check.form: {
            "largest_difference": check.largest_difference,
            "states": check.num_states,
            "latency_us": check.latency and check.latency.median,
            "not_checked": check.reason,
        }
        for check in result.checks
    }
    print_records(checks, next(iter(checks.values())))
    print("\n".join(f"written: {result.folder / name}" for name in result.as_document()["files"]))
