"""Kill -9 a run at labelled and at random moments, start it again, and compare how it ends.

A trial starts one command over and over with --resume, as a scheduler would: one to three times
it is killed, then it is left alone. It passes when the run then ends by itself in the state of a
run that nothing disturbed, and no kill cost more than one checkpoint interval.

    python tests/support/kill_campaign.py --trials 500 --record runs/kill_campaign.jsonl

Trials that stand in the record already are not run again; `--first` leaves out those before it, so
that several processes can share a campaign, each with a record of its own.
"""

import argparse
import json
import random
import re
import shutil
import signal
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from command_processes import Process, Processes
from figures import record_figure
from run_state import RunState, state_of_run
from tiny_runs import train_command

from spacil.runs import checkpoint

ALGORITHMS = ("trpo", "gail", "spacil")
LABELS = re.findall(r'failpoint\("(.+?)"\)', Path(checkpoint.__file__).read_text())


@dataclass(frozen=True)
class Kill:
    """One end of the process, and what it cost."""

    moment: str
    """A failpoint's label, or "random"."""
    lost_iterations: int
    """Recorded and not saved: what the next start computes again."""


@dataclass(frozen=True)
class Trial:
    algorithm: str
    number: int
    checkpoint_interval: int
    kills: list[Kill]
    is_resumed: bool
    """Whether the last start, of the same command, ended by itself with code 0."""
    is_equal: bool
    """Whether hashes and metrics are those of the run that nothing disturbed."""
    seconds: float

    @property
    def is_passed(self) -> bool:
        lost = max((kill.lost_iterations for kill in self.kills), default=0)
        return self.is_resumed and self.is_equal and lost <= self.checkpoint_interval


def num_records(run_dir: Path) -> int:
    """Iterations on record; the first line is the evaluation of the untrained policy."""
    metrics = run_dir / "metrics.jsonl"
    return max(metrics.read_bytes().count(b"\n") - 1, 0) if metrics.exists() else 0


def wait_for_records(run_dir: Path, wanted: int, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while num_records(run_dir) < wanted and time.monotonic() < deadline:
        time.sleep(0.002)


def lost_iterations(run_dir: Path) -> int:
    saved = checkpoint.newest(run_dir / "checkpoints")
    return num_records(run_dir) - (0 if saved is None else saved.iteration)


def run_trial(
    processes: Processes, algorithm: str, number: int, run_dir: Path, expected: RunState
) -> Trial:
    """One trial; its moments follow from the algorithm and the number alone."""
    rng = random.Random(f"{algorithm} {number}")
    interval = rng.randint(1, 3)
    started = time.perf_counter()

    def start(failpoint: str = "") -> Process:
        environment = {"SPACIL_FAILPOINT": failpoint} if failpoint else {}
        command = train_command(algorithm, run_dir, checkpoint_interval=interval)
        return processes.start(*command, "--resume", environment=environment)

    kills = []
    for _ in range(rng.randint(1, 3)):
        moment = rng.choice(LABELS) if rng.random() < 0.4 else "random"
        if moment == "random":
            process = start()
            wait_for_records(run_dir, num_records(run_dir) + rng.randint(-1, 2), seconds=5)
            time.sleep(rng.uniform(0, 0.15))
            process.send(signal.SIGKILL)
        else:
            process = start(f"{moment}:{rng.randint(1, 2)}")
        if process.wait().code == -signal.SIGKILL:
            kills.append(Kill(moment, lost_iterations(run_dir)))
    is_resumed = start().wait().code == 0
    is_equal = is_resumed and state_of_run(run_dir) == expected
    seconds = round(time.perf_counter() - started, 2)
    return Trial(algorithm, number, interval, kills, is_resumed, is_equal, seconds)


def undisturbed_state(processes: Processes, algorithm: str, folder: Path) -> RunState:
    finished = processes.run(*train_command(algorithm, folder / algorithm))
    assert finished.code == 0, finished.err
    return state_of_run(folder / algorithm)


def run_campaign(first: int, num_trials: int, record: Path, folder: Path) -> list[Trial]:
    """All trials from `first` on and those of the record; each is recorded when it is done."""
    trials = read_record(record)
    done = {(trial.algorithm, trial.number) for trial in trials}
    processes = Processes(folder, draws_pictures=False)
    try:
        expected = {name: undisturbed_state(processes, name, folder) for name in ALGORITHMS}
        for algorithm, number in planned(first, num_trials):
            if (algorithm, number) in done:
                continue
            run_dir = folder / f"{algorithm}-{number}"
            trial = run_trial(processes, algorithm, number, run_dir, expected[algorithm])
            with record.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(trial)) + "\n")
            trials.append(trial)
            if trial.is_passed:
                shutil.rmtree(run_dir)
            else:
                print(f"FAILED: {trial}, see {run_dir}", flush=True)
    finally:
        processes.close()
    return trials


def planned(first: int, num_trials: int) -> Iterable[tuple[str, int]]:
    """Trials in an order in which every algorithm has its turn."""
    for index in range(first, num_trials):
        yield ALGORITHMS[index % len(ALGORITHMS)], index // len(ALGORITHMS)


def read_record(record: Path) -> list[Trial]:
    if not record.exists():
        return []
    rows = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    return [Trial(**row | {"kills": [Kill(**kill) for kill in row["kills"]]}) for row in rows]


def summary(trials: list[Trial]) -> dict[str, Any]:
    """The figures of a campaign. A trial in which every kill came too late is no kill trial."""
    trials = [trial for trial in trials if trial.kills]
    kills = [kill for trial in trials for kill in trial.kills]

    def count(wanted: Callable[[Trial], bool]) -> int:
        return sum(map(wanted, trials))

    return {
        "trials": len(trials),
        "resumed": count(lambda trial: trial.is_resumed),
        "equal": count(lambda trial: trial.is_equal),
        "passed": count(lambda trial: trial.is_passed),
        "trials_by_algorithm": dict(Counter(trial.algorithm for trial in trials)),
        "kills": len(kills),
        "kills_by_moment": dict(sorted(Counter(kill.moment for kill in kills).items())),
        "most_intervals_lost": max(
            kill.lost_iterations / trial.checkpoint_interval
            for trial in trials
            for kill in trial.kills
        ),
        "median_seconds_per_trial": statistics.median(trial.seconds for trial in trials),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill runs, resume them, compare how they end.")
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--record", type=Path, default=Path("runs/kill_campaign.jsonl"))
    arguments = parser.parse_args()
    arguments.record.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="kill-campaign-"))
    trials = run_campaign(arguments.first, arguments.trials, arguments.record, folder)
    record_figure("kills", summary(trials))
    print(json.dumps(summary(trials), indent=2))
    raise SystemExit(0 if all(trial.is_passed for trial in trials) else 1)


if __name__ == "__main__":
    main()
