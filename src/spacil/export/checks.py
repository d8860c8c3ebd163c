"""Exported files against `predict`: do they give the same actions, and how long do they take?"""

import contextlib
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from spacil.engine.torch_threads import one_torch_thread
from spacil.errors import DataError
from spacil.nets.policy import GaussianPolicy
from spacil.policies.onnx_policy import onnx_policy
from spacil.policies.plain_network import Floats, PlainNetwork

TOLERANCE = 1e-5
"""Largest difference to `predict`, in units of the largest action, or of 1 where that is smaller"""
ROUNDING_FACTOR = 10
"""Or so many times what single precision does to its actions: a steep policy magnifies it"""
C_FLAGS = (("-std=c99", "-O3", "-march=native"), ("-std=c99", "-O3"))
"""Tried in this order: not every compiler knows the processor it runs on"""

_NUM_TIMED = 2_000
_NUM_WARM_UP = 100
_SECONDS = 120
_DRIVER = r"""
#define _POSIX_C_SOURCE 199309L
#define SPACIL_POLICY_SELF_TEST
#include <stdio.h>
#include <time.h>
#include "policy.h"

int main(void)
{
    float observation[SPACIL_POLICY_NUM_OBSERVATIONS], answer[SPACIL_POLICY_NUM_ACTIONS + 1];
    struct timespec start, stop;
    float *const microseconds = answer + SPACIL_POLICY_NUM_ACTIONS;
    answer[0] = spacil_policy_self_test();
    fwrite(answer, sizeof(float), 1, stdout);
    while (fread(observation, sizeof observation, 1, stdin) == 1) {
        clock_gettime(CLOCK_MONOTONIC, &start);
        if (spacil_policy(observation, answer)) return 3;
        clock_gettime(CLOCK_MONOTONIC, &stop);
        *microseconds = 1e6f * (float)(stop.tv_sec - start.tv_sec)
                        + 1e-3f * (float)(stop.tv_nsec - start.tv_nsec);
        fwrite(answer, sizeof answer, 1, stdout);
    }
    return 0;
}
"""


@dataclass(frozen=True)
class Latency:
    """Microseconds for one state."""

    median: float
    p99: float

    @classmethod
    def of(cls, microseconds: Floats) -> "Latency":
        return cls(float(np.median(microseconds)), float(np.percentile(microseconds, 99)))


@dataclass(frozen=True)
class Checked:
    """One form of the policy, compared."""

    form: str
    num_states: int
    largest_difference: float | None
    """None for `predict` itself, and where it could not be computed"""
    latency: Latency | None
    reason: str | None = None
    """Why it could not be computed"""


def check_predict(policy: GaussianPolicy, states: Floats) -> Checked:
    """How long the original takes, in torch, on one thread."""
    with one_torch_thread():
        return Checked("predict", len(states), None, _timed(policy.predict, states))


def check_onnx(
    content: bytes, path: Path, states: Floats, expected: Floats, tolerance: float
) -> Checked:
    """By onnxruntime, in batches and one by one."""
    opened = onnx_policy(content, path)
    difference = _agreeing(opened.act(states) - expected, tolerance, "policy.onnx")
    return Checked("ONNX Runtime", len(states), difference, _timed(opened.act, states[:, None]))


def check_c(header: str, states: Floats, expected: Floats, tolerance: float) -> Checked:
    """Compiled by this machine's compiler, where there is one."""
    compiler = c_compiler()
    if compiler is None:
        return Checked("C", 0, None, None, "no C compiler here (cc, gcc, clang, or CC=...)")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "policy.h").write_text(header)
        (place / "driver.c").write_text(_DRIVER)
        try:
            _compile(compiler, place)
            answer = _run([str(place / "driver")], place, states.tobytes())
        except (OSError, subprocess.SubprocessError) as error:
            said = getattr(error, "stderr", None) or b""
            words = (said.decode(errors="replace").strip().splitlines() or [str(error)])[0]
            return Checked("C", 0, None, None, f"{' '.join(compiler)} failed: {words}")
    numbers = np.frombuffer(answer, np.float32)
    rows = numbers[1:].reshape(len(states), expected.shape[1] + 1)
    _agreeing(numbers[:1], tolerance, "policy.h in its self-test")
    difference = _agreeing(rows[:, :-1] - expected, tolerance, "policy.h")
    return Checked("C", len(states), difference, Latency.of(rows[:, -1]))


def c_compiler() -> list[str] | None:
    """The command of the C compiler: $CC, else the usual names."""
    named = shlex.split(os.environ.get("CC", ""))
    candidates = [named] if named else [["cc"], ["gcc"], ["clang"]]
    return next((command for command in candidates if shutil.which(command[0])), None)


def _compile(compiler: list[str], folder: Path) -> None:
    *better, last = ([*compiler, *flags, "driver.c", "-o", "driver"] for flags in C_FLAGS)
    for command in better:
        with contextlib.suppress(subprocess.SubprocessError):
            _run(command, folder)
            return
    _run(last, folder)


def _run(command: list[str], folder: Path, content: bytes = b"") -> bytes:
    done = subprocess.run(
        command, cwd=folder, input=content, capture_output=True, check=True, timeout=_SECONDS
    )
    return done.stdout


def tolerance_for(network: PlainNetwork, states: Floats) -> float:
    """What another order of the same sums may change in the actions."""
    exact = network.actions(states[:_NUM_TIMED], np.float64)
    rounding = np.abs(network.actions(states[:_NUM_TIMED], np.float32) - exact).max()
    size = max(1.0, float(np.abs(exact).max()))
    return max(TOLERANCE * size, ROUNDING_FACTOR * float(rounding))


def _agreeing(differences: Floats, tolerance: float, what: str) -> float:
    """The largest difference; too large a one is a defect of the export: nothing is handed out."""
    largest = float(np.abs(differences).max())
    if not largest <= tolerance:
        raise DataError(
            f"{what} differs from predict by {largest:.3g}, more than {tolerance:.3g}: nothing was "
            "written; please report this policy"
        )
    return largest


def _timed(act: Callable[[Floats], object], states: Floats) -> Latency:
    """One state at a time, as a control loop asks."""
    rows = [states[i % len(states)] for i in range(_NUM_WARM_UP + _NUM_TIMED)]
    microseconds = np.empty(len(rows), np.float32)
    with torch.no_grad():
        for i, row in enumerate(rows):
            start = time.perf_counter_ns()
            act(row)
            microseconds[i] = 1e-3 * (time.perf_counter_ns() - start)
    return Latency.of(microseconds[_NUM_WARM_UP:])
