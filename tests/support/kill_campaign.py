"""Kill -9 a run at labelled and at random moments, start it again, and compare how it ends.

A trial starts one command over and over with --resume, as a scheduler would: one to three times
it is killed, then it is left alone. It passes when the run then ends by itself in the state of a
run that nothing disturbed, and no kill cost more than one checkpoint interval.

    python tests/support/kill_campaign.py --trials 500
"""

import argparse
import json
import random
import re
import shutil
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from command_processes import Processes
from figures import record_figure
from run_state import state_of_run
from tiny_runs import train_command

from spacil.runs import checkpoint

ALGORITHMS = ("trpo", "gail", "spacil")
LABELS = re.findall(r'failpoint\("(.+?)"\)', Path(checkpoint.__file__).read_text())


def num_records(run_dir: Path) -> int:
    """Iterations on record; the first line is the evaluation of the untrained policy."""
    metrics = run_dir / "metrics.jsonl"
    return max(metrics.read_bytes().count(b"\n") - 1, 0) if metrics.exists() else 0


def wait_for_records(run_dir: Path, wanted: int, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while num_records(run_dir) < wanted and time.monotonic() < deadline:
        time.sleep(0.002)


def run_trial(processes: Processes, number: int, run_dir: Path, calm: dict[str, Any]) -> Any:
    """One trial, of an algorithm in turn; its moments follow from the number alone."""
    algorithm, rng = ALGORITHMS[number % len(ALGORITHMS)], random.Random(number)
    interval = rng.randint(1, 3)
    command = [*train_command(algorithm, run_dir, checkpoint_interval=interval), "--resume"]
    kills: list[tuple[str, int]] = []
    for _ in range(rng.randint(1, 3)):
        moment = rng.choice(LABELS) if rng.random() < 0.4 else "random"
        if moment == "random":
            process = processes.start(*command)
            wait_for_records(run_dir, num_records(run_dir) + rng.randint(-1, 2), seconds=5)
            time.sleep(rng.uniform(0, 0.15))
            process.send(signal.SIGKILL)
        else:
            failpoint = f"{moment}:{rng.randint(1, 2)}"
            process = processes.start(*command, environment={"SPACIL_FAILPOINT": failpoint})
        if process.wait().code == -signal.SIGKILL:
            saved = checkpoint.newest(run_dir / "checkpoints")
            lost = num_records(run_dir) - (0 if saved is None else saved.iteration)
            kills.append((moment, lost))
    is_resumed = processes.run(*command).code == 0
    is_equal = is_resumed and state_of_run(run_dir) == calm[algorithm]
    return {
        "number": number,
        "algorithm": algorithm,
        "kills": kills,
        "most_intervals_lost": max((lost for _, lost in kills), default=0) / interval,
        "is_resumed": is_resumed,
        "is_equal": is_equal,
    }


def is_passed(trial: dict[str, Any]) -> bool:
    return bool(trial["is_equal"]) and trial["most_intervals_lost"] <= 1


def run_campaign(num_trials: int, folder: Path) -> list[dict[str, Any]]:
    """So many trials; the folder of one that fails stays."""
    processes, calm = Processes(folder, draws_pictures=False), {}
    for algorithm in ALGORITHMS:
        finished = processes.run(*train_command(algorithm, folder / algorithm))
        assert finished.code == 0, finished.err
        calm[algorithm] = state_of_run(folder / algorithm)
    trials = []
    for number in range(num_trials):
        run_dir = folder / str(number)
        trials.append(run_trial(processes, number, run_dir, calm))
        if is_passed(trials[-1]):
            shutil.rmtree(run_dir)
        else:
            print(f"FAILED: {trials[-1]}, see {run_dir}", flush=True)
    return trials


def summary(trials: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures of a campaign. A trial in which every kill came too late is no kill trial."""
    trials = [trial for trial in trials if trial["kills"]]
    moments = [moment for trial in trials for moment, _ in trial["kills"]]
    return {
        "trials": len(trials),
        "resumed": sum(trial["is_resumed"] for trial in trials),
        "equal": sum(trial["is_equal"] for trial in trials),
        "passed": sum(map(is_passed, trials)),
        "trials_by_algorithm": dict(Counter(trial["algorithm"] for trial in trials)),
        "kills": len(moments),
        "kills_by_moment": dict(sorted(Counter(moments).items())),
        "most_intervals_lost": max(trial["most_intervals_lost"] for trial in trials),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill runs, resume them, compare how they end.")
    parser.add_argument("--trials", type=int, default=500)
    folder = Path(tempfile.mkdtemp(prefix="kill-campaign-"))
    trials = run_campaign(parser.parse_args().trials, folder)
    record_figure("kills", summary(trials))
    print(json.dumps(summary(trials), indent=2))
    raise SystemExit(0 if all(map(is_passed, trials)) else 1)


if __name__ == "__main__":
    main()
