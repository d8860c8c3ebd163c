"""Facts about this machine: versions, cores, memory, disk, GPU, rendering. Changes nothing."""

import os
import platform
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from spacil.film.draw import backends

PACKAGES = ("spacil", "torch", "numpy", "mujoco", "gymnasium", "safetensors")
_MAX_GL_SECONDS = 10
# In a process of its own: a broken graphics driver may abort, or never return.
_OPEN_GL = "import mujoco; mujoco.GLContext(16, 16).make_current()"


def gather() -> dict[str, Any]:
    """Every fact by name, JSON-able; what is missing is stated in words."""
    return {
        "versions": {"python": platform.python_version()}
        | {name: _version(name) for name in PACKAGES},
        "system": platform.platform(),
        "cpu": f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}",
        "cores": len(os.sched_getaffinity(0)),
        "torch_threads": torch.get_num_threads(),
        "memory_gb": round(_memory_bytes() / 2**30, 1),
        "disk_free_gb": round(shutil.disk_usage(Path.cwd()).free / 2**30, 1),
        "gpu": gpu(),
        "rendering": rendering(),
    }


def gpu() -> str:
    """The CUDA devices that torch sees, or why it sees none."""
    if not torch.backends.cuda.is_built():
        return "none: this torch is a CPU-only build"
    if not torch.cuda.is_available():
        return "none: torch sees no CUDA device"
    return ", ".join(
        torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())
    )


def rendering() -> str:
    """Whether MuJoCo can render without a display; training does not need it."""
    faults = []
    for backend in backends():
        fault = _opening_fault(backend)
        if fault is None:
            return f"yes (MUJOCO_GL {backend})"
        faults.append(f"{fault} (MUJOCO_GL {backend})")
    return f"no: {'; '.join(faults)}; only pictures need it"


def _opening_fault(backend: str) -> str | None:
    try:
        attempt = subprocess.run(
            [sys.executable, "-c", _OPEN_GL],
            env={**os.environ, "MUJOCO_GL": backend},
            capture_output=True,
            text=True,
            timeout=_MAX_GL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    if attempt.returncode == 0:
        return None
    return (attempt.stderr.strip().splitlines() or [f"exit code {attempt.returncode}"])[-1]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
