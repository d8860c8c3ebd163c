"""Would a test notice? Mutants of the code, each against the quick tests that call what it changes.

    python tests/support/mutants.py --count 300          # goes on where it was stopped
    python tests/support/mutants.py --again survived     # after new tests

Golden traces and slow runs are left out: what they alone would notice counts as a survivor. Each
mutant runs in a fork of a process that has imported the libraries, but not spacil: seconds each.
Which tests call which functions is found out first, by one run of the tests under a profiler.
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
import signal
import sys
import time
import traceback
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from mutations import Mutant, mutants_of, mutated

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "spacil"
ROOMS = (
    "functional", "smoothness", "updates", "adversaries", "penalties", "nets", "training",
    "measuring",
)  # fmt: skip
TESTS = [*ROOMS, "engine", "cloning", "sampling"]
SLOW_TEST_SECONDS = 8.0
LIBRARIES = (
    "torch", "numpy", "mujoco", "gymnasium", "hypothesis", "safetensors.torch", "tyro", "rich",
    "matplotlib.figure", "torch._dynamo", "torch.func", "torch.fx.experimental.symbolic_shapes",
)  # fmt: skip
FIRST_TESTS = 12
"""Run before the others: few files to import, and most mutants die here"""
BROKEN = 99
"""Exit code of a fork whose trial itself went wrong"""
OPTIONS = [
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:randomly",
    "--no-header",
    "--tb=no",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
]


class Calls:
    """A pytest plugin: which functions of the package each test calls, and how long it takes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.functions: dict[str, list[tuple[str, str]]] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        called: set[CodeType] = set()

        def note(frame: Any, event: str, argument: Any) -> None:
            if event == "call":
                called.add(frame.f_code)

        began = time.process_time()
        sys.setprofile(note)
        yield
        sys.setprofile(None)
        self.seconds[item.nodeid] = time.process_time() - began
        prefix = f"{SOURCE}/"
        self.functions[item.nodeid] = sorted(
            {
                (code.co_filename.removeprefix(prefix), code.co_qualname)
                for code in called
                if code.co_filename.startswith(prefix)
            }
        )


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


def in_fork(work: Any, seconds: float, log: Path) -> int | None:
    """The exit code of `work` in a fork; None when it took too long."""
    process = os.fork()
    if process == 0:
        os.setpgid(0, 0)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        code = BROKEN
        try:
            code = work()
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended and os.waitstatus_to_exitcode(status) == BROKEN:
            raise RuntimeError(f"not the mutant but its trial failed: see {log}")
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


def quiet_hypothesis() -> None:
    from hypothesis import settings

    settings.register_profile("mutants", database=None, derandomize=True)
    settings.load_profile("mutants")


def profile_tests(folder: Path) -> dict[str, Any]:
    """Seconds and called functions of every test, from files where they are there."""
    found: dict[str, Any] = {"seconds": {}, "functions": {}}
    for room in TESTS:
        file = folder / f"calls-{room}.json"
        if not file.exists():
            code = in_fork(functools.partial(_profile, room, file), 3600, file.with_suffix(".log"))
            if code != 0:
                raise RuntimeError(f"tests/{room} is not green: see {file.with_suffix('.log')}")
        for name, values in json.loads(file.read_text(encoding="utf-8")).items():
            found[name] |= values
    return found


def _profile(room: str, file: Path) -> int:
    quiet_hypothesis()
    calls = Calls()
    code = int(pytest.main([*OPTIONS, str(ROOT / "tests" / room)], plugins=[calls]))
    if code == 0:
        seen = {"seconds": calls.seconds, "functions": calls.functions}
        file.write_text(json.dumps(seen), encoding="utf-8")
    return code


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


def try_mutant(
    mutant: Mutant, calls: dict[str, Any], budget: float, folder: Path
) -> dict[str, Any]:
    tests = tests_for(mutant, calls, budget)
    began, killer = time.monotonic(), folder / f"killer-{os.getpid()}"
    killer.unlink(missing_ok=True)

    def work() -> int:
        quiet_hypothesis()
        file = SOURCE / mutant.path
        module = "spacil." + mutant.path.removesuffix(".py").replace("/", ".")
        sys.meta_path.insert(0, MutatedImport(module, file, mutated(file, mutant)))
        for group in (tests[:FIRST_TESTS], tests[FIRST_TESTS:]):
            options = [*OPTIONS, "-x", "--timeout", "60", *group]
            if group and (code := int(pytest.main(options, plugins=[Failed(killer)]))):
                return code
        return 0

    code: int | None = 0
    if tests:
        code = in_fork(work, 10 * budget + 120, folder / f"last-{os.getpid()}.log")
    outcome = "survived" if code == 0 else "timeout" if code is None else "killed"
    return {
        **asdict(mutant),
        "outcome": outcome,
        "num_tests": len(tests),
        "killer": killer.read_text(encoding="utf-8") if killer.exists() else "",
        "seconds": round(time.monotonic() - began, 1),
    }


def chosen_mutants(count: int, seed: int) -> list[Mutant]:
    """A random sample over the rooms; a larger count goes on with the same sample."""
    found: list[Mutant] = []
    for room in ROOMS:
        for file in sorted((SOURCE / room).glob("*.py")):
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
    calls = profile_tests(options.folder)
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
        row = {"name": mutant.name, **try_mutant(mutant, calls, options.seconds, options.folder)}
        rows[mutant.name] = row
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
        if row["outcome"] == "survived":
            print(f"survived: {mutant.name}: {mutant.before}  ->  {mutant.after}", flush=True)
    print(score([rows[mutant.name] for mutant in chosen]))


if __name__ == "__main__":
    main()
