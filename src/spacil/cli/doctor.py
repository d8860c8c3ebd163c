"""`spacil doctor`: facts about this machine, and whether it is fit to train on."""

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spacil.cli.arguments import parse
from spacil.cli.output import STDOUT, JsonTarget, identity, show

UNFIT = 69
"""Exit code of a machine that fails a check."""


@dataclass(frozen=True)
class DoctorArguments:
    json: JsonTarget = None


def run(arguments: list[str]) -> int:
    parsed = parse(
        DoctorArguments,
        arguments,
        "spacil doctor",
        "Facts about this machine, and a self-test that takes seconds: is it fit to train on?",
    )
    from spacil.health import facts
    from spacil.health.self_test import run_checks

    began = time.perf_counter()
    known = facts.gather()
    if parsed.json != STDOUT:
        _print_facts(known)  # at once: the checks take a while
    checks = [asdict(check) for check in run_checks(Path.cwd())]
    failed = [check["name"] for check in checks if not check["is_passed"]]
    skipped = [check["name"] for check in checks if check["is_skipped"]]
    seconds = round(time.perf_counter() - began, 1)
    verdict = _verdict(len(checks), failed, skipped, seconds)
    document = identity() | {
        "facts": known,
        "checks": checks,
        "is_fit": not failed,
        "verdict": verdict,
        "seconds": seconds,
    }
    show(document, parsed.json, lambda: _print_checks(checks, verdict))
    return UNFIT if failed else 0


def _verdict(num_checks: int, failed: list[str], skipped: list[str], seconds: float) -> str:
    if failed:
        return f"not fit to train on: {', '.join(failed)} failed ({seconds} s)"
    if skipped:
        num_passed = num_checks - len(skipped)
        return (
            f"fit to train on: {num_passed} of {num_checks} checks passed, "
            f"not checked: {', '.join(skipped)} ({seconds} s)"
        )
    return f"fit to train on: all {num_checks} checks passed ({seconds} s)"


def _print_facts(known: dict[str, Any]) -> None:
    versions = "  ".join(f"{name} {number}" for name, number in known["versions"].items())
    print(f"{'versions':<24}{versions}")
    for name, value in known.items():
        if name != "versions":
            print(f"{name.replace('_', ' '):<24}{value}")


def _print_checks(checks: list[dict[str, Any]], verdict: str) -> None:
    for check in checks:
        mark = "FAILED" if not check["is_passed"] else "--    " if check["is_skipped"] else "ok    "
        print(f"{check['name']:<24}{mark}  {check['detail']} ({check['seconds']} s)")
    print(verdict)
