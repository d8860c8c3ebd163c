"""How long until something happens: importing, `--help`, the first iteration; and peak memory.

Each figure is a fresh process. `import spacil` and `spacil --help` do not load torch. The first
iteration is measured from the start of `spacil train` to its first line of metrics; the memory is
that of an expert's run on Ant with the paper's 50,000 steps per iteration.

    python benchmarks/startup.py --repeats 5
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measuring import record

LIMITS = {"import": 0.3, "help": 0.5}
MEMORY_LIMIT_MB = 1_500
EXPERT_ITERATIONS = 2


def seconds_of(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def spacil(*arguments: str) -> list[str]:
    program = "import sys; from spacil.cli.main import main; sys.exit(main())"
    return [sys.executable, "-c", program, *arguments]


def first_iteration() -> dict[str, float]:
    """Seconds to the first line of metrics, and what of them was the iteration itself."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        train = ("train", "gail", "--task", "Hopper-v4", "--iterations", "1")
        until_end = seconds_of(spacil(*train, "--run-dir", str(run)))
        row = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    stages = sum(value for key, value in row.items() if key.startswith("seconds_"))
    return {"whole_command": until_end, "iteration_and_evaluation": stages}


def expert_peak_megabytes(task: str) -> float:
    """Largest resident memory of a TRPO run with the paper's batch."""
    with tempfile.TemporaryDirectory() as folder:
        train = ["train", "trpo", "--task", task, "--iterations", str(EXPERT_ITERATIONS)]
        command = spacil(*train, "--run-dir", str(Path(folder) / "run"))
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(train)} ended with {process.returncode}")
    return usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--expert-task", default="Ant-v4", help="none: leave the memory out")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    python = [sys.executable, "-c"]
    empty = [seconds_of([*python, "pass"]) for _ in range(arguments.repeats)]
    imports = [seconds_of([*python, "import spacil"]) for _ in range(arguments.repeats)]
    helps = [seconds_of(spacil("--help")) for _ in range(arguments.repeats)]
    rows: dict[str, Any] = {
        "python": statistics.median(empty),
        "import": statistics.median(imports),
        "help": statistics.median(helps),
        **first_iteration(),
    }
    if arguments.expert_task != "none":
        rows["expert_peak_megabytes"] = expert_peak_megabytes(arguments.expert_task)
    print({name: round(value, 2) for name, value in rows.items()})
    record("startup", rows, arguments.json)


if __name__ == "__main__":
    main()
