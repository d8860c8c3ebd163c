"""Does a long run stay as it began? Memory, open files and processor time over 500 iterations.

A SPaCIL run on Hopper in a run folder, with a checkpoint and a metrics line every iteration, in
batches of 1,000 steps. Compared are the iterations 50 to 150, when everything has been used once,
and the last 100, by their medians. Processor time, not wall-clock: others may use the machine too.

    python benchmarks/soak.py --iterations 500 --json soak.json
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import spacil

WARM_UP = 50
WINDOW = 100
MAX_MEMORY_GROWTH = 0.05
MAX_SLOWDOWN = 0.05


@dataclass(frozen=True)
class Sample:
    """The process after an iteration."""

    memory_mb: float
    open_files: int
    processor_seconds: float
    """Of this iteration"""


@dataclass(frozen=True)
class Verdict:
    iterations: int
    memory_mb: tuple[float, float]
    """Early, late"""
    memory_growth: float
    open_files: tuple[int, int]
    processor_seconds: tuple[float, float]
    slowdown: float

    @property
    def is_steady(self) -> bool:
        return (
            self.memory_growth <= MAX_MEMORY_GROWTH
            and self.open_files[1] <= self.open_files[0]
            and self.slowdown <= MAX_SLOWDOWN
        )


def memory_mb() -> float:
    resident_pages = int(Path("/proc/self/statm").read_text().split()[1])
    return resident_pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def run(iterations: int, run_dir: Path) -> list[Sample]:
    agent = spacil.SPaCIL(
        "Hopper-v4",
        iterations=iterations,
        steps_per_iteration=1_000,
        num_envs=10,
        evaluation_interval=iterations,
        torch_threads=1,
        simulation_threads=1,
    )
    samples: list[Sample] = []
    before = time.process_time()

    def note(agent: Any, metrics: dict[str, Any]) -> None:
        nonlocal before
        now = time.process_time()
        open_files = len(os.listdir("/proc/self/fd"))  # noqa: PTH208  # names, no Path objects
        samples.append(Sample(memory_mb(), open_files, now - before))
        before = now

    agent.learn(callback=note, run_dir=run_dir)
    agent.close()
    return samples


def judge(samples: list[Sample]) -> Verdict:
    early, late = samples[WARM_UP : WARM_UP + WINDOW], samples[-WINDOW - 1 : -1]

    def medians(field: str) -> tuple[float, float]:
        return (
            statistics.median(getattr(sample, field) for sample in early),
            statistics.median(getattr(sample, field) for sample in late),
        )

    memory, seconds = medians("memory_mb"), medians("processor_seconds")
    return Verdict(
        iterations=len(samples),
        memory_mb=memory,
        memory_growth=memory[1] / memory[0] - 1,
        open_files=(
            max(sample.open_files for sample in early),
            max(sample.open_files for sample in late),
        ),
        processor_seconds=seconds,
        slowdown=seconds[1] / seconds[0] - 1,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Memory, open files and time of a long run.")
    parser.add_argument("--iterations", type=int, default=500)
    parser.add_argument("--json", type=Path, help="write the verdict to this file")
    arguments = parser.parse_args()
    if arguments.iterations < WARM_UP + 2 * WINDOW + 1:
        parser.error(f"--iterations: {WARM_UP + 2 * WINDOW + 1} or more, to compare two windows")
    with tempfile.TemporaryDirectory(prefix="spacil-soak-") as folder:
        verdict = judge(run(arguments.iterations, Path(folder) / "run"))
    result = asdict(verdict) | {"is_steady": verdict.is_steady}
    print(json.dumps(result, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    raise SystemExit(0 if verdict.is_steady else 1)


if __name__ == "__main__":
    main()
