"""Generated sequences of what people and machines do to a run: train, kill, edit, copy, evaluate.

Hypothesis draws the sequences and shortens one that fails. Every command is a process of its own,
forked from one that has imported everything. What has to hold after each:

- no traceback, and an exit code of the documented ones (`Process.wait` looks for the first);
- what a command says it has done is there: after code 0 the run holds all its iterations;
- a checkpoint that was valid stays until a newer one is, unless the sequence itself damaged it, so
  no kill costs more than the checkpoint interval (here one iteration);
- a run that nothing but kills and signals happened to ends in the bits of one left alone.

    python tests/support/sequences.py --sequences 2000
"""

import argparse
import json
import os
import random
import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

from command_processes import Finished, Processes
from corrupted_files import BYTE_DAMAGE, PLACE_DAMAGE
from figures import record_figure
from hypothesis import HealthCheck, settings
from hypothesis import seed as with_seed
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from kill_campaign import LABELS, num_records
from run_state import RunState, state_of_run
from tiny_runs import as_flags, tiny

from spacil.runs import checkpoint

MAX_ITERATIONS = 6
CODES = {0, 2, 65, 69, 70, 73, 74, 75, 129, 130, 143}
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
FILES = ("run.json", "metrics.jsonl", "run.lock", "checkpoints/best.safetensors")
EDITS = (*BYTE_DAMAGE, "missing", "a folder", "a link to itself")

_tally = {"sequences": 0, "steps": 0, "commands": 0, "refusals": 0, "kills": 0, "calm_ends": 0}


class Meddling(RuleBasedStateMachine):
    """One run folder, and everything that may happen to it."""

    processes: Processes
    calm: dict[int, RunState]

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="sequence-"))
        self.run_dir = self.folder / "run"
        self.is_meddled_with = False
        """Whether a file was edited: then refusals are right, and only silence is wrong."""
        self.saved = 0
        """The newest checkpoint that was seen valid."""
        _tally["sequences"] += 1

    # --- commands

    @rule(total=st.integers(1, MAX_ITERATIONS))
    def train(self, total: int) -> None:
        self.check_trained(self.start(total).wait(), total)

    @rule(total=st.integers(2, MAX_ITERATIONS), point=st.sampled_from(LABELS))
    def train_and_die(self, total: int, point: str) -> None:
        process = self.start(total, failpoint=point)
        self.check_ended(process.wait(), total, [-signal.SIGKILL])

    @rule(
        total=st.integers(3, MAX_ITERATIONS),
        wait=st.floats(0, 0.3),
        number=st.sampled_from((signal.SIGKILL, *SIGNALS)),
    )
    def train_and_be_signalled(self, total: int, wait: float, number: int) -> None:
        process = self.start(total)
        time.sleep(wait)
        process.send(number)
        self.check_ended(process.wait(), total, [-number, 128 + number, 75])

    @rule()
    def overwrite(self) -> None:
        ended = self.start(1, flag="--overwrite").wait()
        if ended.code == 0:
            self.is_meddled_with, self.saved = False, 0
        self.check_trained(ended, 1)

    @rule(which=st.sampled_from(["best", "last"]))
    def evaluate(self, which: str) -> None:
        words = ["evaluate", self.run_dir, "--which", which, "--episodes", 1, "--json"]
        ended = self.processes.run(*words)
        self.count(ended)
        if ended.code == 0:
            assert json.loads(ended.out)["num_episodes"] == 1
        elif self.saved and not self.is_meddled_with:
            raise AssertionError(f"a sound run cannot be evaluated: {ended}")

    # --- what happens to the folder. Rules without preconditions: what is there after a kill at a
    # random moment differs from time to time, and Hypothesis wants the same rules every time.

    @rule()
    def copy(self) -> None:
        if not self.run_dir.exists():
            return
        shutil.copytree(self.run_dir, self.folder / "copy", symlinks=True)
        shutil.rmtree(self.run_dir)
        (self.folder / "copy").rename(self.run_dir)

    @rule(name=st.sampled_from(FILES), kind=st.sampled_from(EDITS), seed=st.integers(0, 99))
    def edit_a_file(self, name: str, kind: str, seed: int) -> None:
        if spoil(self.run_dir / name, kind, random.Random(seed)):
            self.is_meddled_with = True

    @rule(which=st.integers(0, 2), kind=st.sampled_from(EDITS), seed=st.integers(0, 99))
    def edit_a_checkpoint(self, which: int, kind: str, seed: int) -> None:
        found = sorted((self.run_dir / "checkpoints").glob("iter-*"))
        if found and spoil(found[which % len(found)], kind, random.Random(seed)):
            self.is_meddled_with = True

    # --- what has to hold

    def start(self, total: int, *, flag: str = "--resume", failpoint: str = "") -> Any:
        _tally["commands"] += 1
        words = ["train", "gail", "--task", "Reacher-v4", "--run-dir", self.run_dir, "--quiet"]
        environment = {"SPACIL_FAILPOINT": failpoint} if failpoint else {}
        return self.processes.start(
            *words, "--json", flag, *settings_of(total), environment=environment
        )

    def check_ended(self, ended: Finished, total: int, killed: list[int]) -> None:
        """Killed or signalled on its way, or done before that."""
        if ended.code not in killed:
            self.check_trained(ended, total)
            return
        _tally["kills"] += 1
        self.check_saved()

    def check_trained(self, ended: Finished, total: int) -> None:
        self.count(ended)
        if ended.code == 0:
            last = json.loads(ended.out)["last"]
            found = checkpoint.newest(self.run_dir / "checkpoints")
            assert found is not None and found.iteration >= total, (found, ended)
            assert last is None or last["iteration"] <= found.iteration
            if not self.is_meddled_with:
                assert found.iteration == max(total, self.saved), (found.iteration, total)
                assert state_of_run(self.run_dir) == self.calm_state(found.iteration)
                _tally["calm_ends"] += 1
        elif not self.is_meddled_with:
            raise AssertionError(f"a sound run was refused: {ended}")
        else:
            assert ended.err.count("spacil: ") >= 1, "refused without a word"
        self.check_saved()

    def check_saved(self) -> None:
        """No checkpoint is lost, and what metrics record is at most one iteration ahead of it."""
        folder = self.run_dir / "checkpoints"
        found = checkpoint.newest(folder) if folder.is_dir() else None
        iteration = 0 if found is None else found.iteration
        if not self.is_meddled_with:
            assert iteration >= self.saved, f"went back from {self.saved} to {iteration}"
            recorded = num_records(self.run_dir)
            assert recorded - iteration <= 1, (recorded, iteration)
        self.saved = iteration

    def calm_state(self, total: int) -> RunState:
        if total not in self.calm:
            run_dir = Path(tempfile.mkdtemp(prefix="calm-")) / "run"
            words = ["train", "gail", "--task", "Reacher-v4", "--run-dir", run_dir, "--quiet"]
            assert self.processes.run(*words, *settings_of(total)).code == 0
            self.calm[total] = state_of_run(run_dir)
            shutil.rmtree(run_dir.parent)
        return self.calm[total]

    def count(self, ended: Finished) -> None:
        _tally["steps"] += 1
        _tally["refusals"] += ended.code in (2, 65, 73, 74)
        assert ended.code in CODES, ended

    def teardown(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def settings_of(total: int) -> list[str]:
    # Every iteration is evaluated, so that a run of 3 is the beginning of a run of 6.
    small = {"num_envs": 5, "steps_per_iteration": 50, "evaluation_steps": 50}
    return as_flags(tiny(iterations=total, evaluation_interval=1, seed=5, **small))


def spoil(path: Path, kind: str, rng: random.Random) -> bool:
    """Damage a file in one way; False if there is nothing to damage."""
    if path.is_symlink() or not path.is_file():
        return False
    if kind in PLACE_DAMAGE:
        PLACE_DAMAGE[kind](path, rng)
    elif path.stat().st_size:
        path.write_bytes(BYTE_DAMAGE[kind](path.read_bytes(), rng))
    return True


def run_sequences(number: int, seed: int, num_steps: int = 6) -> dict[str, int]:
    """So many sequences of so many steps; an assertion names the shortest one that fails."""
    _tally.update(dict.fromkeys(_tally, 0))
    with tempfile.TemporaryDirectory(prefix="sequences-") as folder:
        Meddling.processes, Meddling.calm = Processes(Path(folder), draws_pictures=False), {}
        run_state_machine_as_test(  # type: ignore[no-untyped-call]
            with_seed(seed)(type("Meddling", (Meddling,), {})),
            settings=settings(
                max_examples=number,
                stateful_step_count=num_steps,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
    return dict(_tally)


def main() -> None:
    parser = argparse.ArgumentParser(description="Generated sequences of what happens to runs.")
    parser.add_argument("--sequences", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    figures = run_sequences(arguments.sequences, arguments.seed)
    record_figure("sequences", figures)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
