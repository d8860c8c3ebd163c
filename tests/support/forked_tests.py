"""Tests in forks of one process that has imported the libraries, and what each of them calls."""

import functools
import hashlib
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "spacil"
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
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended and os.waitstatus_to_exitcode(status) == BROKEN:
            raise RuntimeError(f"not the tests but their trial failed: see {log}")
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


def quiet_hypothesis() -> None:
    from hypothesis import settings

    settings.register_profile("mutants", database=None, derandomize=True)
    settings.load_profile("mutants")


@functools.cache
def profile_tests(folder: Path, places: tuple[str, ...]) -> dict[str, Any]:
    """Seconds and called functions of every test, from files where they are there."""
    found: dict[str, Any] = {"seconds": {}, "functions": {}}
    for place in places:
        name = f"calls-{place.replace('/', '-')}-{_digest(ROOT / 'tests' / place)}.json"
        file = folder / name
        if not file.exists():
            work = functools.partial(_profile, place, file)
            if in_fork(work, 3600, file.with_suffix(".log")) != 0:
                raise RuntimeError(f"tests/{place} is not green: see {file.with_suffix('.log')}")
        for name, values in json.loads(file.read_text(encoding="utf-8")).items():
            found[name] |= values
    return found


def _digest(place: Path) -> str:
    files = [place] if place.is_file() else sorted(place.rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:8]


def _profile(place: str, file: Path) -> int:
    quiet_hypothesis()
    calls = Calls()
    code = int(pytest.main([*OPTIONS, str(ROOT / "tests" / place)], plugins=[calls]))
    if code == 0:
        seen = {"seconds": calls.seconds, "functions": calls.functions}
        file.write_text(json.dumps(seen), encoding="utf-8")
    return code
