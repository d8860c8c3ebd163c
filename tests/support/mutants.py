"""Would a test notice? Mutants of the code, each against the quick tests that call what it changes.

    python tests/support/mutants.py --count 300          # goes on where it was stopped
    python tests/support/mutants.py --again survived     # after new tests
    python tests/support/mutants.py --again survived --tests tests/nets/test_nets.py

Golden traces and slow runs are left out: what they alone would notice counts as a survivor. Each
mutant runs in a fork of a process that has imported the libraries, but not spacil: seconds each.
Which tests call which functions is found out first, by one run of the tests under a profiler, and
again for a folder whose tests have changed. With --wider, what survives the tests of the rooms
meets those of commands, agents and faults too.
"""

import argparse
import ast
import functools
import gc
import importlib.abc
import importlib.machinery
import json
import os
import random
import sys
import time
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from forked_tests import OPTIONS, ROOT, SOURCE, in_fork, profile_tests, quiet_hypothesis
from mutations import Mutant, mutants_of, mutated

ROOMS = ("functional", "smoothness", "learning", "nets", "measuring")
TESTS = (*ROOMS, "engine", "envs", "attach")
WIDER_TESTS = (
    "test_agents.py", "cli/test_evaluate.py", "cli/test_smoothness.py", "cli/test_train.py",
    "integration/test_airl.py", "faults/test_training.py", "faults/test_meddled_run_folders.py",
)  # fmt: skip
SLOW_TEST_SECONDS = 8.0
LIBRARIES = (
    "torch", "numpy", "mujoco", "gymnasium", "hypothesis", "safetensors.torch", "tyro", "rich",
    "matplotlib.figure", "torch._dynamo", "torch.func", "torch.fx.experimental.symbolic_shapes",
)  # fmt: skip
FIRST_TESTS = 12
"""Run before the others: few files to import, and most mutants die here"""


class Failed:
    """A pytest plugin: the first test that failed, written to a file."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.file.exists():
            self.file.write_text(report.nodeid, encoding="utf-8")

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self.file.exists():
            self.file.write_text(f"{report.nodeid} (import)", encoding="utf-8")


class MutatedImport(importlib.abc.MetaPathFinder):
    """Imports one module of the package from another syntax tree."""

    def __init__(self, module: str, file: Path, tree: ast.Module) -> None:
        self.module, self.file, self.tree = module, file, tree

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != self.module:
            return None
        loader = _TreeLoader(name, str(self.file))
        loader.tree = self.tree
        return importlib.machinery.ModuleSpec(name, loader, origin=str(self.file))


class _TreeLoader(importlib.machinery.SourceFileLoader):
    tree: ast.Module

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.tree, self.path, "exec")


def tests_for(mutant: Mutant, calls: dict[str, Any], budget: float) -> list[str]:
    """Those that call the function, of its own room first, then the quickest, within a budget."""
    room = f"tests/{mutant.path.split('/')[0]}/"
    called = []
    for test, functions in calls["functions"].items():
        names = {name for path, name in functions if path == mutant.path}
        if names and (mutant.function in names or not mutant.function):
            called.append(test)
    called = [test for test in called if calls["seconds"][test] < SLOW_TEST_SECONDS]
    called.sort(key=lambda test: (not test.startswith(room), calls["seconds"][test]))
    chosen, seconds = [], 0.0
    for test in called:
        if seconds + calls["seconds"][test] < budget:
            chosen.append(test)
            seconds += calls["seconds"][test]
    return chosen


def found_tests(mutant: Mutant, options: argparse.Namespace) -> list[list[str]]:
    places = (TESTS, WIDER_TESTS) if options.wider else (TESTS,)
    profiles = [profile_tests(options.folder, each) for each in places]
    return [tests_for(mutant, profile, options.seconds) for profile in profiles]


def try_mutant(
    mutant: Mutant, suites: list[list[str]], budget: float, folder: Path
) -> dict[str, Any]:
    """One suite of tests after the other, until one notices."""
    began, killer = time.monotonic(), folder / f"killer-{os.getpid()}"
    killer.unlink(missing_ok=True)
    outcome, num_tests = "survived", 0
    for tests in suites:
        num_tests += len(tests)
        if tests:
            work = functools.partial(_run_mutated, mutant, tests, killer)
            code = in_fork(work, 10 * budget + 120, folder / f"last-{os.getpid()}.log")
            outcome = "survived" if code == 0 else "timeout" if code is None else "killed"
        if outcome != "survived":
            break
    return {
        **asdict(mutant),
        "outcome": outcome,
        "num_tests": num_tests,
        "killer": killer.read_text(encoding="utf-8") if killer.exists() else "",
        "seconds": round(time.monotonic() - began, 1),
    }


def _run_mutated(mutant: Mutant, tests: list[str], killer: Path) -> int:
    """In a fork: the tests on the changed code, up to the first that fails."""
    quiet_hypothesis()
    file = SOURCE / mutant.path
    module = "spacil." + mutant.path.removesuffix(".py").replace("/", ".")
    sys.meta_path.insert(0, MutatedImport(module, file, mutated(file, mutant)))
    for group in (tests[:FIRST_TESTS], tests[FIRST_TESTS:]):
        options = [*OPTIONS, "-x", "--timeout", "60", *group]
        if group and (code := int(pytest.main(options, plugins=[Failed(killer)]))):
            return code
    return 0


def chosen_mutants(count: int, seed: int) -> list[Mutant]:
    """A random sample over the rooms; a larger count goes on with the same sample."""
    found: list[Mutant] = []
    for room in ROOMS:
        for file in sorted((SOURCE / room).rglob("*.py")):
            found += mutants_of(file, str(file.relative_to(SOURCE)))
    random.Random(seed).shuffle(found)
    print(f"{len(found)} mutants in {len(ROOMS)} rooms; {min(count, len(found))} are asked for")
    return found[:count]


def score(rows: list[dict[str, Any]]) -> str:
    by_room: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        counts = by_room[row["path"].split("/")[0]]
        counts[0] += row["outcome"] != "survived"
        counts[1] += 1
    by_room["all"] = [sum(pair[i] for pair in by_room.values()) for i in (0, 1)]
    return "\n".join(f"{room:<12}{k:>5} of {n:>4} killed" for room, (k, n) in by_room.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", choices=["survived", "none"], default="none")
    parser.add_argument("--tests", nargs="+", default=[], help="these in place of those found")
    parser.add_argument("--wider", action="store_true", help="more tests for what survives")
    parser.add_argument("--seconds", type=float, default=30.0, help="of tests for one mutant")
    parser.add_argument("--part", default="0/1", help="i/n: every n-th mutant from the i-th on")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutants")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in LIBRARIES:
        __import__(name)
    gc.freeze()  # a collection in a fork would touch, and so copy, every page of what is loaded
    os.chdir(ROOT)
    part, parts = map(int, options.part.split("/"))
    file = options.folder / f"results-{options.seed}-{part}.jsonl"
    rows = {}
    if file.exists():
        rows = {json.loads(line)["name"]: json.loads(line) for line in file.open()}
    chosen = chosen_mutants(options.count, options.seed)[part::parts]
    for mutant in chosen:
        known = rows.get(mutant.name)
        if known is not None and known["outcome"] != options.again:
            continue
        suites = [options.tests] if options.tests else found_tests(mutant, options)
        tried = try_mutant(mutant, suites, options.seconds, options.folder)
        row = {"name": mutant.name, **tried}
        rows[mutant.name] = row
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
        if row["outcome"] == "survived":
            print(f"survived: {mutant.name}: {mutant.before}  ->  {mutant.after}", flush=True)
    print(score([rows[mutant.name] for mutant in chosen]))


if __name__ == "__main__":
    main()
