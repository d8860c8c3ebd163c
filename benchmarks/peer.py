"""Side by side with imitation's GAIL on sb3-contrib's TRPO: env steps/s, or time to a good policy.

Both train on Hopper from the same six demonstrations with the same networks, batch, conjugate
gradient, critic and discriminator steps; a round of each in turn, so that what slows the machine
slows both. The peer lives in a virtual environment of its own, made when it is missing (about
1 GB), and is measured with each of its vector envs; the faster one counts. Ours comes in variants:
all states in the Fisher products, a fifth of them, and `--preset fast`.

    python benchmarks/peer.py --rounds 10
    python benchmarks/peer.py --until 0.95 --seeds 0 1 2 3 4 --kinds dummy --variants default fast
"""

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch

from measuring import medians, num_cores, record
from own_environment import python_with
from spacil.config.algorithms import Preset
from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import load_demos
from spacil.learning.on_policy import OnPolicy
from spacil.measuring.evaluate import evaluate

HERE = Path(__file__).parent
REQUIREMENTS = HERE / "peer_requirements.txt"
TASK, BATCH, NUM_TRAJECTORIES = "Hopper-v4", 6_000, 6
KINDS = ("dummy", "subproc")
VARIANTS: dict[str, tuple[Preset, dict[str, Any]]] = {
    "default": ("none", {}),
    "fisher": ("none", {"fisher_state_fraction": 0.2}),
    "fast": ("fast", {}),
}
"""Of ours: preset and settings"""
PEER = "peer"
WARM_UP_ROUNDS = 1
EVALUATION_ROUNDS = 10
"""Rounds between evaluations on the way to a return; their time counts on neither side."""


class Ours:
    """spacil's GAIL."""

    def __init__(
        self, demonstrations: Demonstrations, variant: str, threads: int, seed: int
    ) -> None:
        preset, settings = VARIANTS[variant]
        common = {"torch_threads": threads, "simulation_threads": threads, "seed": seed}
        config = default_config("gail", TASK, preset)
        config = with_settings(config, {"steps_per_iteration": BATCH, **common, **settings})
        self._learner = OnPolicy(config, TASK, demonstrations)

    def round(self) -> float:
        """Seconds of one iteration."""
        began = time.perf_counter()
        self._learner.iterate()
        return time.perf_counter() - began

    def average_return(self) -> float:
        learner = self._learner
        return evaluate(
            learner.rollout_policy,
            learner.eval_env,
            first_episode=learner.counters.iteration,
            num_episodes=learner.eval_env.num_envs,
            common_frame=None,
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
    for i, episode in enumerate(demonstrations.episodes):
        arrays[f"observations_{i}"] = episode.observations.double().numpy()
        arrays[f"actions_{i}"] = episode.executed_actions.float().numpy()
    np.savez(path, **arrays)


Sides = dict[str, Ours | Theirs]
"""Variants of ours, and the peer"""


@contextmanager
def all_sides(
    peer_python: Path, variants: Sequence[str], kind: str, threads: int, seed: int
) -> Iterator[Sides]:
    demonstrations = load_demos(TASK).first(NUM_TRAJECTORIES)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        demos = Path(folder) / "demos.npz"
        export(demonstrations, demos)
        theirs = Theirs(peer_python, demos, Path(folder) / "logs", kind, threads, seed)
        sides: Sides = {name: Ours(demonstrations, name, threads, seed) for name in variants}
        sides[PEER] = theirs
        for side in sides.values():
            stack.callback(side.close)
        yield sides


def compare_rates(sides: Sides, rounds: int) -> list[dict[str, Any]]:
    """Env steps/s of each variant and the peer, and the median of the ratios round by round."""
    times: list[dict[str, float]] = [
        {name: side.round() for name, side in sides.items()} for _ in range(WARM_UP_ROUNDS + rounds)
    ][WARM_UP_ROUNDS:]
    rates = {name: BATCH / value for name, value in medians(times).items()}
    rows = []
    for name in sides:
        if name != PEER:
            ratios = [row[PEER] / row[name] for row in times]
            ratio = statistics.median(ratios)
            found = {"ours": rates[name], "theirs": rates[PEER], "ratio": ratio, "ratios": ratios}
            rows.append({"variant": name, **found})
    return rows


def race(sides: Sides, wanted_return: float, max_rounds: int) -> dict[str, dict[str, Any]]:
    """Training seconds of each side until an evaluation reaches the return, a round each in turn.

    A side that is not there after `max_rounds` has its seconds until then, and is not `reached`.
    """
    found: dict[str, dict[str, Any]] = {
        name: {"seconds": 0.0, "rounds": 0, "reached": False} for name in sides
    }
    for number in range(1, max_rounds + 1):
        for name, side in sides.items():
            if found[name]["reached"]:
                continue
            found[name]["seconds"] += side.round()
            found[name]["rounds"] = number
            if number % EVALUATION_ROUNDS == 0:
                found[name]["reached"] = side.average_return() >= wanted_return
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument(
        "--variants", nargs="+", choices=list(VARIANTS), default=["default", "fisher"]
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--threads", type=int, default=num_cores())
    parser.add_argument("--until", type=float, help="share of the demonstrator's return to reach")
    parser.add_argument("--max-rounds", type=int, default=250, help="on the way there")
    parser.add_argument("--python", default="python3.11", help="makes the peer's environment")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    peer_python = python_with(REQUIREMENTS, "venv", arguments.python)
    torch.set_num_threads(arguments.threads)
    rows: list[dict[str, Any]] = []
    for seed in arguments.seeds:
        for kind in arguments.kinds:
            names = {"kind": kind, "seed": seed}
            with all_sides(peer_python, arguments.variants, kind, arguments.threads, seed) as sides:
                if arguments.until is None:
                    rows += [{**names, **row} for row in compare_rates(sides, arguments.rounds)]
                else:
                    wanted = arguments.until * demonstrated_return()
                    rows.append({**names, "sides": race(sides, wanted, arguments.max_rounds)})
            print(rows[-1], flush=True)
            section = "peer" if arguments.until is None else "peer_time_to_return"
            record(section, rows, arguments.json)


def demonstrated_return() -> float:
    returns = load_demos(TASK).first(NUM_TRAJECTORIES).returns
    assert returns is not None
    return float(returns.mean())


if __name__ == "__main__":
    main()
