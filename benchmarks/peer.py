"""Side by side with imitation's GAIL on sb3-contrib's TRPO: env steps/s, or time to a good policy.

Both train on Hopper from the same six demonstrations with the same networks, batch, conjugate
gradient, critic and discriminator steps; a round of one and a round of the other in turn, so that
what slows the machine slows both. The peer lives in a virtual environment of its own, made when it
is missing (about 1 GB), and is measured with each of its vector envs; the faster one counts.

    python benchmarks/peer.py --rounds 10
    python benchmarks/peer.py --until 0.95 --seeds 0 1 2 3 4 --kinds dummy
"""

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch

from measuring import num_cores, record
from own_environment import python_with
from spacil.data.demo_file import load_demos
from spacil.data.demos import Demonstrations
from spacil.settings import default_config, with_settings
from spacil.training.evaluate import evaluate
from spacil.training.learner import Learner
from spacil.training.loop import run_iteration

HERE = Path(__file__).parent
REQUIREMENTS = HERE / "peer_requirements.txt"
TASK, BATCH, NUM_TRAJECTORIES = "Hopper-v4", 6_000, 6
KINDS = ("dummy", "subproc")
WARM_UP_ROUNDS = 1
EVALUATION_ROUNDS = 10
"""Rounds between evaluations on the way to a return; their time counts on neither side."""


class Ours:
    """spacil's GAIL."""

    def __init__(self, demonstrations: Demonstrations, settings: dict[str, Any], seed: int) -> None:
        config = with_settings(default_config("gail", TASK), {"seed": seed, **settings})
        self._learner = Learner(config, TASK, demonstrations)

    def round(self) -> float:
        """Seconds of one iteration."""
        began = time.perf_counter()
        run_iteration(self._learner)
        return time.perf_counter() - began

    def average_return(self) -> float:
        learner = self._learner
        return evaluate(
            learner.acting_policy,
            learner.eval_env,
            first_episode=learner.counters.iteration,
            num_episodes=learner.eval_env.num_envs,
            demo_std=None,
        ).average_return

    def close(self) -> None:
        self._learner.close()


class Theirs:
    """The peer, in a process of its own that works only when it is told to."""

    def __init__(
        self, python: Path, demos: Path, logs: Path, kind: str, threads: int, seed: int
    ) -> None:
        command: list[Any] = [python, HERE / "peer_gail.py"]
        command += ["--demos", demos, "--logs", logs, "--kind", kind, "--batch", BATCH]
        command += ["--threads", threads, "--seed", seed, "--task", TASK]
        self._process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._answer()

    def round(self) -> float:
        return float(self._ask("round")["seconds"])

    def average_return(self) -> float:
        return float(self._ask("evaluate")["average_return"])

    def close(self) -> None:
        self._input.write("stop\n")
        self._input.close()
        self._process.wait()

    def _ask(self, command: str) -> dict[str, Any]:
        self._input.write(command + "\n")
        self._input.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                answer: dict[str, Any] = json.loads(line)
                return answer
        raise RuntimeError(f"the peer ended with {self._process.wait()}")

    @property
    def _input(self) -> IO[str]:
        assert self._process.stdin is not None
        return self._process.stdin


def export(demonstrations: Demonstrations, path: Path) -> None:
    """As peer_gail.py reads them: whole episodes, actions as executed."""
    arrays: dict[str, Any] = {}
    for i in range(demonstrations.num_episodes):
        episode = demonstrations.episode(i)
        arrays[f"observations_{i}"] = episode.observations.double().numpy()
        arrays[f"actions_{i}"] = episode.executed_actions.float().numpy()
    np.savez(path, **arrays)


@contextmanager
def both_sides(
    peer_python: Path,
    demonstrations: Demonstrations,
    kind: str,
    settings: dict[str, Any],
    threads: int,
    seed: int,
) -> Iterator[tuple[Ours, Theirs]]:
    with tempfile.TemporaryDirectory() as folder:
        demos = Path(folder) / "demos.npz"
        export(demonstrations, demos)
        theirs = Theirs(peer_python, demos, Path(folder) / "logs", kind, threads, seed)
        ours = Ours(demonstrations, settings, seed)
        try:
            yield ours, theirs
        finally:
            ours.close()
            theirs.close()


def compare_rates(ours: Ours, theirs: Theirs, rounds: int) -> dict[str, Any]:
    """Env steps/s of both, and the median of the ratios round by round."""
    times = [(ours.round(), theirs.round()) for _ in range(WARM_UP_ROUNDS + rounds)]
    times = times[WARM_UP_ROUNDS:]
    ratios = [their / our for our, their in times]
    return {
        "ours": BATCH / statistics.median(our for our, _ in times),
        "theirs": BATCH / statistics.median(their for _, their in times),
        "ratio": statistics.median(ratios),
        "ratios": ratios,
    }


def time_to(side: Ours | Theirs, wanted_return: float, max_rounds: int) -> dict[str, Any]:
    """Training seconds until an evaluation reaches the return; None when it never does."""
    spent = 0.0
    for number in range(1, max_rounds + 1):
        spent += side.round()
        if number % EVALUATION_ROUNDS == 0 and side.average_return() >= wanted_return:
            return {"seconds": spent, "rounds": number}
    return {"seconds": None, "rounds": max_rounds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--threads", type=int, default=num_cores())
    parser.add_argument("--fisher-share", type=float, default=1.0, help="of ours, of the states")
    parser.add_argument("--until", type=float, help="share of the demonstrator's return to reach")
    parser.add_argument("--max-rounds", type=int, default=250, help="on the way there")
    parser.add_argument("--python", default="python3.11", help="makes the peer's environment")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    peer_python = python_with(REQUIREMENTS, "venv", arguments.python)
    torch.set_num_threads(arguments.threads)
    settings = {
        "torch_threads": arguments.threads,
        "simulation_threads": arguments.threads,
        "fisher_state_fraction": arguments.fisher_share,
        "steps_per_iteration": BATCH,
    }
    demonstrations = load_demos(TASK).first(NUM_TRAJECTORIES)
    assert demonstrations.returns is not None
    demonstrated_return = float(demonstrations.returns.mean())
    rows: list[dict[str, Any]] = []
    for seed in arguments.seeds:
        for kind in arguments.kinds:
            names = {"kind": kind, "seed": seed, "fisher_share": arguments.fisher_share}
            sides = both_sides(peer_python, demonstrations, kind, settings, arguments.threads, seed)
            with sides as (ours, theirs):
                if arguments.until is None:
                    found = compare_rates(ours, theirs, arguments.rounds)
                else:
                    wanted = arguments.until * demonstrated_return
                    found = {
                        "ours": time_to(ours, wanted, arguments.max_rounds),
                        "theirs": time_to(theirs, wanted, arguments.max_rounds),
                    }
            rows.append({**names, **found})
            print(rows[-1], flush=True)
    record("peer" if arguments.until is None else "peer_time_to_return", rows, arguments.json)


if __name__ == "__main__":
    main()
