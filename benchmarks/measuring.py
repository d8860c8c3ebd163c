"""What the benchmarks share: the machine, the clock, learners to measure, and where results go."""

import ctypes
import gc
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import bundled_demos, load_demos
from spacil.envs.registry import TASKS
from spacil.learning.intake import demonstrations_for
from spacil.learning.on_policy import OnPolicy

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "speed.json"
PACKAGES = ("torch", "numpy", "mujoco", "gymnasium")
NUM_NOISE_EPISODES = 15


def num_cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def describe_machine() -> dict[str, Any]:
    """What a ratio depends on: never a host's name, never a path."""
    return {
        "cpu": _cpu_model(),
        "cores": num_cores(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "python": platform.python_version(),
        **{package: importlib.metadata.version(package) for package in PACKAGES},
        "commit": _commit(),
    }


def _cpu_model() -> str:
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _commit() -> str:
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip() or "unknown"


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def medians(rows: list[dict[str, float]]) -> dict[str, float]:
    """Key by key; a key that a row lacks counts as 0."""
    keys = dict.fromkeys(key for row in rows for key in row)
    return {key: statistics.median(row.get(key, 0.0) for row in rows) for key in keys}


@contextmanager
def timed_calls(places: Mapping[str, tuple[Any, str]]) -> Iterator[dict[str, float]]:
    """Seconds spent inside some functions, by name; each is given as its owner and its name."""
    spent = dict.fromkeys(places, 0.0)

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                spent[name] += time.perf_counter() - began

        return call

    originals = {name: getattr(owner, attribute) for name, (owner, attribute) in places.items()}
    for name, (owner, attribute) in places.items():
        setattr(owner, attribute, timed(name, originals[name]))
    try:
        yield spent
    finally:
        for name, (owner, attribute) in places.items():
            setattr(owner, attribute, originals[name])


def stage_seconds(metrics: Mapping[str, Any]) -> dict[str, float]:
    """`seconds_<stage>` of an iteration, by stage."""
    prefix = "seconds_"
    return {k.removeprefix(prefix): v for k, v in metrics.items() if k.startswith(prefix)}


def record(section: str, rows: Any, path: Path | None) -> None:
    """Put one benchmark's results into the common file, beside those of the others."""
    if path is None:
        return
    document = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    document[section] = {"machine": describe_machine(), "rows": rows}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def make_learner(algorithm: str, task: str, settings: Mapping[str, Any]) -> OnPolicy:
    """A learner with its defaults for the task; penalties from the first iteration on."""
    # An iteration of the paper's loop: spacil's rule would clone before the first.
    config = default_config(algorithm, task, "plain" if algorithm == "spacil" else "none")
    config = with_settings(config, {"penalty_ramp_iterations": 0, **settings})
    if algorithm == "trpo":
        return OnPolicy(config, task, None)
    if task in bundled_demos():
        intake, config = demonstrations_for(config, task)
        return OnPolicy(config, task, intake.used)
    return OnPolicy(config, task, noise_demonstrations(task))


def demonstrations_or_noise(task: str) -> Demonstrations:
    return load_demos(task) if task in bundled_demos() else noise_demonstrations(task)


def noise_demonstrations(task: str) -> Demonstrations:
    """Of the task's sizes: what demonstrations hold does not change the time."""
    sizes, length = TASKS[task], 1_000
    rng = np.random.default_rng(0)
    observations = rng.normal(size=(NUM_NOISE_EPISODES, length + 1, sizes.num_states))
    actions = rng.uniform(-1, 1, size=(NUM_NOISE_EPISODES, length, sizes.num_actions))
    return Demonstrations.from_arrays(list(observations), list(actions))


def peak_megabytes() -> float:
    """Largest resident memory of this process so far."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def reset_peak() -> None:
    """Give free memory back and measure the peak from here on (Linux)."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
