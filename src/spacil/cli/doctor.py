"""`spacil doctor`: facts about this machine, and whether it is fit to train on.

Each check returns its finding in words or raises. A check that could not be made is no reason
against training.
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
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from spacil.cli.arguments import Json
from spacil.cli.output import STDOUT, identity, show
from spacil.errors import SpacilError

UNFIT = 69
"""Exit code of a machine that fails a check."""
PACKAGES = ("spacil", "torch", "numpy", "mujoco", "gymnasium", "safetensors")
_MAX_GL_SECONDS = 10
_EXACT_STEPS = 100
_TINY = {
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


class NotCheckedError(SpacilError):
    """A check needs what training does not: it says nothing about this machine."""


@dataclass(frozen=True, kw_only=True)
class Arguments(Json):
    """Facts about this machine, and a self-test that takes seconds: is it fit to train on?"""


def run(parsed: Arguments) -> int:
    began, known = time.perf_counter(), gather_facts()
    if parsed.json != STDOUT:  # at once: the checks take a while
        for name, value in known.items():
            words = value
            if name == "versions":
                words = "  ".join(f"{package} {number}" for package, number in value.items())
            print(f"{name.replace('_', ' '):<24}{words}")
    checks = run_checks(Path.cwd())
    failed = [check["name"] for check in checks if not check["is_passed"]]
    skipped = [check["name"] for check in checks if check["is_skipped"]]
    seconds, verdict = round(time.perf_counter() - began, 1), f"all {len(checks)} checks passed"
    if skipped:
        num_passed, missing = len(checks) - len(skipped), ", ".join(skipped)
        verdict = f"{num_passed} of {len(checks)} checks passed, not checked: {missing}"
    verdict = f"fit to train on: {verdict} ({seconds} s)"
    if failed:
        verdict = f"not fit to train on: {', '.join(failed)} failed ({seconds} s)"
    document = identity() | {
        "facts": known,
        "checks": checks,
        "is_fit": not failed,
        "verdict": verdict,
        "seconds": seconds,
    }

    def print_checks() -> None:
        for check in checks:
            mark = "--    " if check["is_skipped"] else "ok    "
            mark = mark if check["is_passed"] else "FAILED"
            print(f"{check['name']:<24}{mark}  {check['detail']} ({check['seconds']} s)")
        print(verdict)

    show(document, parsed.json, print_checks)
    return UNFIT if failed else 0


# --- facts


def gather_facts() -> dict[str, Any]:
    """Every fact by name, JSON-able; what is missing is stated in words."""
    import torch

    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    gpu = "none: torch sees no CUDA device"
    if not torch.backends.cuda.is_built():
        gpu = "none: this torch is a CPU-only build"
    elif torch.cuda.is_available():
        gpu = ", ".join(map(torch.cuda.get_device_name, range(torch.cuda.device_count())))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "versions": versions,
        "system": platform.platform(),
        "cpu": f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}",
        "cores": len(os.sched_getaffinity(0)),
        "torch_threads": torch.get_num_threads(),
        "memory_gb": round(memory / 2**30, 1),
        "disk_free_gb": round(shutil.disk_usage(Path.cwd()).free / 2**30, 1),
        "gpu": gpu,
        "rendering": rendering(),
    }


def rendering() -> str:
    """Whether MuJoCo can render without a display; training does not need it."""
    from spacil.film.draw import backends

    # In a process of its own: a broken graphics driver may abort, or never return.
    program = [sys.executable, "-c", "import mujoco; mujoco.GLContext(16, 16).make_current()"]
    faults = []
    for backend in backends():
        env = {**os.environ, "MUJOCO_GL": backend}
        try:
            attempt = subprocess.run(
                program, env=env, capture_output=True, text=True, timeout=_MAX_GL_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            faults.append(f"{type(error).__name__} (MUJOCO_GL {backend})")
            continue
        if attempt.returncode == 0:
            return f"yes (MUJOCO_GL {backend})"
        lines = attempt.stderr.strip().splitlines() or [f"exit code {attempt.returncode}"]
        faults.append(f"{lines[-1]} (MUJOCO_GL {backend})")
    return f"no: {'; '.join(faults)}; only pictures need it"


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
        began, is_passed, is_skipped = time.perf_counter(), True, False
        try:
            detail = check()
        except NotCheckedError as error:
            is_skipped, detail = True, str(error)
        except SpacilError as error:
            is_passed, detail = False, str(error)
        except Exception as error:  # a missing or broken library is what we are looking for
            is_passed, detail = False, f"{type(error).__name__}: {error}"
        results.append(
            {
                "name": name,
                "is_passed": is_passed,
                "detail": detail,
                "seconds": round(time.perf_counter() - began, 2),
                "is_skipped": is_skipped,
            }
        )
    return results


def steps_equal_gymnasium() -> str:
    """Compare our simulator with `gymnasium.make`, bit for bit."""
    from spacil.envs.fidelity import difference_from_gymnasium
    from spacil.envs.registry import PAPER_TASKS, TASKS

    if importlib.util.find_spec("imageio") is None:
        # Gymnasium's own envs import it to save pictures; ours do not.
        raise NotCheckedError("gymnasium's MuJoCo envs need imageio: pip install imageio")
    for name in PAPER_TASKS:
        difference = difference_from_gymnasium(TASKS[name], _EXACT_STEPS)
        if difference is not None:
            raise CheckFailedError(f"our simulator differs from gymnasium's: {difference}")
    return f"{len(PAPER_TASKS)} tasks x {_EXACT_STEPS} steps equal gymnasium.make, difference 0"


def one_seed_gives_one_run() -> str:
    if _state_after(2) != _state_after(2):
        raise CheckFailedError("two runs with the same seed ended in different states")
    return "two runs with the same seed are equal, bit for bit"


def a_saved_run_resumes(folder: Path) -> str:
    """Compare two iterations, saved, loaded and continued for one more, with three in one go."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".spacil-doctor-") as scratch:
        began, folder = time.perf_counter(), Path(scratch)
        _state_after(2, save_in=folder)
        found = _state_after(1, load_from=next(folder.glob("iter-*")))
    if found != _state_after(3):
        raise CheckFailedError("a run that was saved and resumed ended in a different state")
    return f"resumed bit for bit, in {time.perf_counter() - began:.1f} s"


def _state_after(
    iterations: int, save_in: Path | None = None, load_from: Path | None = None
) -> str:
    """Hash of a tiny run's state after some iterations."""
    from spacil import storage
    from spacil.config.defaults import default_config
    from spacil.config.flat import with_settings
    from spacil.engine.device import torch_threads
    from spacil.learning.intake import demonstrations_for
    from spacil.learning.learner import make_learner
    from spacil.learning.run import restore, state_to_save
    from spacil.runs import checkpoint

    config = with_settings(default_config("spacil", "Reacher-v4", "plain"), _TINY)
    intake, config = demonstrations_for(config, "Reacher-v4", None)
    learner = make_learner(config, "Reacher-v4", intake.used)
    with contextlib.closing(learner), torch_threads(learner.config.run.torch_threads):
        if load_from is not None:
            restore(learner, checkpoint.read(load_from))
        for _ in range(iterations):
            learner.iterate()
        state = state_to_save(learner)
        if save_in is not None:
            checkpoint.write(save_in, iterations, state)
        tensors, document, _ = state
        return storage.content_hash(tensors, document)
