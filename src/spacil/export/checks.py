"""Exported files against `predict`: do they give the same actions, and how long do they take?"""

import copy
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
from numpy.typing import NDArray

from spacil.engine.device import one_torch_thread
from spacil.errors import ConfigError, DataError
from spacil.nets.policy import GaussianPolicy
from spacil.plain_text import shown
from spacil.policies.history import InLoop
from spacil.policies.onnx import INPUT, OUTPUT, OnnxGraph

Floats = NDArray[np.float32]

TOLERANCE = 1e-5
"""Largest difference to `predict`, in units of the largest action, or of 1 where that is smaller"""
ROUNDING_FACTOR = 10
"""Or so many times what single precision does to its actions: a steep policy magnifies it"""
C_FLAGS = ("-std=c99", "-O3", "-march=native")

_NUM_IN_LOOP = 1_000
_NUM_TIMED, _NUM_WARM_UP, _SECONDS = 2_000, 100, 120
_DRIVER = r"""
#define _POSIX_C_SOURCE 199309L
#define SPACIL_POLICY_SELF_TEST
#include <stdio.h>
#include <time.h>
#include "policy.h"

int main(int argc, char **argv)
{
    float observation[SPACIL_POLICY_NUM_OBSERVATIONS], answer[SPACIL_POLICY_NUM_ACTIONS + 1];
    struct timespec start, stop;
    (void)argc, (void)argv;
    float *const microseconds = answer + SPACIL_POLICY_NUM_ACTIONS;
    answer[0] = spacil_policy_self_test();
    fwrite(answer, sizeof(float), 1, stdout);
#ifdef SPACIL_POLICY_NUM_SENSORS
    spacil_policy_memory memory;
    spacil_policy_reset(&memory);
    while (argc > 1 && fread(observation, sizeof(float), SPACIL_POLICY_NUM_SENSORS, stdin)) {
        if (spacil_policy_step(&memory, observation, answer)) return 3;
        fwrite(answer, sizeof(float), SPACIL_POLICY_NUM_ACTIONS, stdout);
    }
#endif
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


def check_files(
    policy: GaussianPolicy,
    onnx: bytes | None,
    header: str,
    states: Floats,
    tolerance: float,
    loop: InLoop | None = None,
) -> tuple[Checked, ...]:
    """`predict` itself, ONNX Runtime in batches and one by one, and compiled C.

    `loop`: the policy with its memory, where it has one: then that is compared over many steps too.
    """
    expected = np.asarray(policy.predict(states))
    with one_torch_thread():
        latency = _timed(policy.predict, states)
    graph = None if onnx is None else OnnxGraph(onnx, Path("policy.onnx"))
    in_onnx = Checked("ONNX", 0, None, None, "not written: pip install 'spacil[export]'")
    if graph is not None:
        difference = _agreeing(graph.act(states) - expected, tolerance, "policy.onnx")
        timed = _timed(graph.act, states[:, None])
        in_onnx = Checked("ONNX Runtime", len(states), difference, timed)
    sensed = commands = None
    if loop is not None:
        sensed = states[:_NUM_IN_LOOP, : loop.layout.num_sensors]
        loop.reset()
        commands = np.stack([loop.step(row) for row in sensed])
        if graph is not None:
            answers = onnx_in_loop(graph, loop, sensed)
            _agreeing(answers - commands, tolerance, "policy.onnx in a loop")
    return (
        Checked("predict", len(states), None, latency),
        in_onnx,
        _check_c(header, states, expected, tolerance, sensed, commands),
    )


def onnx_in_loop(graph: OnnxGraph, loop: InLoop, sensed: Floats) -> Floats:
    """The commands of a graph that is given its own outputs as its past, as a robot would."""
    past, answers = loop.at_start(sensed[0]), []
    for row in sensed:
        found = graph.step({INPUT: row[None], **past})
        answers.append(found[OUTPUT][0])
        past = {name: found[f"next_{name}"] for name in past}
    return np.stack(answers)


def _check_c(
    header: str,
    states: Floats,
    expected: Floats,
    tolerance: float,
    sensed: Floats | None,
    commands: Floats | None,
) -> Checked:
    """Compiled by this machine's compiler, where there is one."""
    compiler = c_compiler()
    if compiler is None:
        return Checked("C", 0, None, None, "no C compiler here (cc, gcc, clang, or CC=...)")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "policy.h").write_text(header)
        (place / "driver.c").write_text(_DRIVER)

        def run(*command: str, content: bytes = b"") -> bytes:
            done = subprocess.run(
                command, cwd=place, input=content, capture_output=True, check=True, timeout=_SECONDS
            )
            return done.stdout

        try:
            run(*compiler, *C_FLAGS, "driver.c", "-o", "driver")
            answer = run(str(place / "driver"), content=states.tobytes())
            looped = b""
            if sensed is not None:
                looped = run(str(place / "driver"), "loop", content=sensed.tobytes())
        except (OSError, subprocess.SubprocessError) as error:
            said = (getattr(error, "stderr", None) or b"").decode(errors="replace")
            reason = (said.strip().splitlines() or [str(error)])[0]
            return Checked("C", 0, None, None, f"{' '.join(compiler)} failed: {reason}")
    numbers = np.frombuffer(answer, np.float32)
    rows = numbers[1:].reshape(len(states), expected.shape[1] + 1)
    _agreeing(numbers[:1], tolerance, "policy.h in its self-test")
    difference = _agreeing(rows[:, :-1] - expected, tolerance, "policy.h")
    if commands is not None:
        answers = np.frombuffer(looped, np.float32)[1:].reshape(commands.shape)
        _agreeing(answers - commands, tolerance, "policy.h in a loop")
    return Checked("C", len(states), difference, Latency.of(rows[:, -1]))


def c_compiler() -> list[str] | None:
    """The command of the C compiler: $CC, else the usual names."""
    try:
        named = shlex.split(os.environ.get("CC", ""))
    except ValueError as error:
        raise ConfigError(f"CC is {shown(os.environ['CC'])}, expected a command: {error}") from None
    candidates = [named] if named else [["cc"], ["gcc"], ["clang"]]
    return next((command for command in candidates if shutil.which(command[0])), None)


@torch.no_grad()
def tolerance_for(policy: GaussianPolicy, states: Floats) -> float:
    """What another order of the same sums may change in the actions."""
    rows = torch.from_numpy(states[:_NUM_TIMED])
    wide = copy.deepcopy(policy).double()
    exact = wide.clip(wide.mean(rows.double()))
    rounding = float((policy.clip(policy.mean(rows)) - exact).abs().max())
    size = max(1.0, float(exact.abs().max()))
    return max(TOLERANCE * size, ROUNDING_FACTOR * rounding)


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
    microseconds = np.empty(_NUM_WARM_UP + _NUM_TIMED, np.float32)
    with torch.no_grad():
        for i in range(len(microseconds)):
            row = states[i % len(states)]
            start = time.perf_counter_ns()
            act(row)
            microseconds[i] = 1e-3 * (time.perf_counter_ns() - start)
    return Latency.of(microseconds[_NUM_WARM_UP:])
