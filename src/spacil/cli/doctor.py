"""`spacil doctor`: facts about this machine, and whether it is fit to train on.

Each check returns its finding in words or raises.
"""

import contextlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from spacil.agents import SPaCIL
from spacil.cli.arguments import Json
from spacil.cli.output import STDOUT, identity, print_record, show
from spacil.errors import SpacilError

UNFIT = 69
"""Exit code of a machine that fails a check."""
PACKAGES = ("spacil", "torch", "numpy", "mujoco", "gymnasium", "safetensors")
_MAX_GL_SECONDS = 10
_EXACT_STEPS = 100
_TINY: dict[str, Any] = {
    "num_envs": 10,
    "steps_per_iteration": 500,
    "simulation_threads": 1,
    "torch_threads": 1,
    "policy_hidden": (32, 32),
    "value_hidden": (32,),
    "discriminator_hidden": (32,),
    "evaluation_steps": 100,
}


class CheckFailedError(SpacilError):
    """This machine failed a check."""


@dataclass(frozen=True, kw_only=True)
class Arguments(Json):
    """Facts about this machine, and a self-test that takes seconds: is it fit to train on?"""


def run(parsed: Arguments) -> int:
    began, facts = time.perf_counter(), gather_facts()
    if parsed.json != STDOUT:  # at once: the checks take a while
        about = facts["versions"] | facts
        print_record({name: value for name, value in about.items() if name != "versions"})
    checks = run_checks(Path.cwd())
    failed = [check["name"] for check in checks if not check["is_passed"]]
    seconds = round(time.perf_counter() - began, 1)
    parts = [f"{len(checks) - len(failed)} of {len(checks)} checks passed"]
    parts += [f"failed: {', '.join(failed)}"] if failed else []
    verdict = f"{'not ' if failed else ''}fit to train on: {'; '.join(parts)} ({seconds} s)"
    document = identity() | {
        "facts": facts,
        "checks": checks,
        "is_fit": not failed,
        "verdict": verdict,
        "seconds": seconds,
    }

    def print_checks() -> None:
        for check in checks:
            mark = "ok" if check["is_passed"] else "FAILED"
            print(f"{check['name']:<24}{mark:<8}{check['detail']} ({check['seconds']} s)")
        print(verdict)

    show(document, parsed.json, print_checks)
    return UNFIT if failed else 0


# --- facts


def gather_facts() -> dict[str, Any]:
    """Every fact by name, JSON-able; what is missing is stated in words."""
    import torch

    installed = {package for package in PACKAGES if importlib.util.find_spec(package)}
    versions = {"python": platform.python_version()} | {
        package: version(package) if package in installed else "not installed"
        for package in PACKAGES
    }
    gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    is_built = torch.backends.cuda.is_built()
    no_gpu = "none: torch sees no CUDA device" if is_built else "none: this torch is CPU-only"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "versions": versions,
        "system": platform.platform(),
        "cpu": f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}",
        "cores": len(os.sched_getaffinity(0)),
        "torch_threads": torch.get_num_threads(),
        "memory_gb": round(memory / 2**30, 1),
        "disk_free_gb": round(shutil.disk_usage(Path.cwd()).free / 2**30, 1),
        "gpu": ", ".join(gpus) or no_gpu,
        "rendering": rendering(),
    }


def rendering() -> str:
    """Whether MuJoCo can render without a display; training does not need it."""
    from spacil.film.draw import backends

    # In a process of its own: a broken graphics driver may abort, or never return.
    program = [sys.executable, "-c", "import mujoco; mujoco.GLContext(16, 16).make_current()"]
    for backend in backends():
        env = {**os.environ, "MUJOCO_GL": backend}
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run(
                program, env=env, capture_output=True, timeout=_MAX_GL_SECONDS, check=True
            )
            return f"yes (MUJOCO_GL {backend})"
    return f"no (tried MUJOCO_GL {', '.join(backends())}); only pictures need it"


# --- checks


def run_checks(folder: Path) -> list[dict[str, Any]]:
    """All checks, in order; `folder` is where run folders would be created."""
    checks: dict[str, Callable[[], str]] = {
        "step-exactness": steps_equal_gymnasium,
        "determinism": one_seed_gives_one_run,
        "checkpoint round trip": lambda: a_saved_run_resumes(folder),
    }
    results = []
    for name, check in checks.items():
        began, is_passed = time.perf_counter(), True
        try:
            detail = check()
        except Exception as error:  # a missing or broken library is what we are looking for
            is_passed, detail = False, f"{type(error).__name__}: {error}"
        results.append(
            {
                "name": name,
                "is_passed": is_passed,
                "detail": detail,
                "seconds": round(time.perf_counter() - began, 2),
            }
        )
    return results


def steps_equal_gymnasium() -> str:
    """Compare our simulator with `gymnasium.make`, bit for bit."""
    from spacil.envs.registry import PAPER_TASKS, TASKS
    from spacil.envs.threaded_mujoco import difference_from_gymnasium

    for name in PAPER_TASKS:
        difference = difference_from_gymnasium(TASKS[name], _EXACT_STEPS)
        if difference is not None:
            raise CheckFailedError(f"our simulator differs from gymnasium's: {difference}")
    return f"{len(PAPER_TASKS)} tasks x {_EXACT_STEPS} steps equal gymnasium.make, difference 0"


def one_seed_gives_one_run() -> str:
    if not _is_same(_agent().learn(2), _agent().learn(2)):
        raise CheckFailedError("two runs with the same seed ended with different policies")
    return "two runs with the same seed are equal, bit for bit"


def a_saved_run_resumes(folder: Path) -> str:
    """Compare two iterations, saved, loaded and continued for one more, with three in one go."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".spacil-doctor-") as scratch:
        _agent().learn(2).save(scratch)
        resumed = SPaCIL.load(scratch).learn(1)
    if not _is_same(resumed, _agent().learn(3)):
        raise CheckFailedError("a run that was saved and resumed ended with a different policy")
    return "resumed bit for bit"


def _agent() -> SPaCIL:
    return SPaCIL("Reacher-v4", preset="plain", **_TINY)


def _is_same(one: SPaCIL, other: SPaCIL) -> bool:
    one.close()
    other.close()
    tensors = other.policy.state_dict()
    return all(value.equal(tensors[name]) for name, value in one.policy.state_dict().items())
