"""How close the simulator comes to the floor: MuJoCo's own time on every core, and nothing else.

Ours: env steps/s of `ThreadedMujocoEnv` with one thread per core, observations, rewards, checks
and resets included. Floor: the summed rate of one process per core, each calling `mj_step` on
MjData objects of the same model. The floor replays what ours does, bit for bit: the same actions,
`frame_skip` substeps, `mj_rnePostConstraint` where the task reads contact forces, and resets at the
recorded steps to the recorded states. So both walk through the same states, falls included, and
the floor needs no observation, reward or check.

    python benchmarks/simulation.py --tasks Hopper-v4 Ant-v4 --seconds 2 --json simulation.json
"""

import argparse
import json
import multiprocessing
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from spacil.envs.mujoco_model import model_path
from spacil.envs.mujoco_tasks import CFRC_EXT, MujocoTask
from spacil.envs.registry import PAPER_TASKS, TASKS
from spacil.envs.threaded_mujoco import ThreadedMujocoEnv
from spacil.envs.vector_env import ActionArray, FloatArray, ResetSeeds

NUM_ENVS = 50
SCRIPT_STEPS = 500
"""Steps of every env after which both sides start again."""
SEEDS = ResetSeeds(root_seed=0, stream="benchmark")


@dataclass(frozen=True)
class Start:
    """An env that begins an episode, and where."""

    env: int
    qpos: FloatArray
    qvel: FloatArray


@dataclass(frozen=True)
class Script:
    """What some envs do: actions [T, N, A], and who starts anew before and after each step."""

    actions: ActionArray
    first: list[Start]
    starts_after: list[list[Start]]

    def share(self, process: int, num_processes: int) -> "Script":
        """Every `num_processes`-th env, renumbered."""

        def mine(starts: list[Start]) -> list[Start]:
            return [
                Start(start.env // num_processes, start.qpos, start.qvel)
                for start in starts
                if start.env % num_processes == process
            ]

        return Script(
            self.actions[:, process::num_processes],
            mine(self.first),
            [mine(starts) for starts in self.starts_after],
        )


@dataclass(frozen=True)
class Measurement:
    """Env steps per second, one entry per repeat, ours and the floor in turn."""

    task: str
    num_envs: int
    num_threads: int
    seconds: float
    ours: list[float]
    floor: list[float]

    @property
    def ratio(self) -> float:
        """Median over the repeats: what slows the machine meanwhile slows both sides of one."""
        return statistics.median(self.ratios)

    @property
    def ratios(self) -> list[float]:
        return [ours / floor for ours, floor in zip(self.ours, self.floor, strict=True)]


def record(task: MujocoTask, num_threads: int) -> Script:
    """Random actions within bounds, and the resets they lead to."""
    with ThreadedMujocoEnv(task, NUM_ENVS, SEEDS, num_threads) as env:
        spec = env.spec
        shape = (SCRIPT_STEPS, NUM_ENVS, spec.num_actions)
        noise = np.random.default_rng(0).uniform(size=shape).astype(np.float32)
        actions = spec.action_low + noise * (spec.action_high - spec.action_low)
        actions = np.clip(actions, spec.action_low, spec.action_high)
        env.reset()
        first = _starts(env, np.arange(NUM_ENVS))
        starts_after = []
        for step_actions in actions:
            result = env.step(step_actions)
            ended = np.flatnonzero(result.terminated | result.truncated)
            starts_after.append(_starts(env, ended))
    return Script(actions, first, starts_after)


def _starts(env: ThreadedMujocoEnv, envs: NDArray[np.intp]) -> list[Start]:
    qpos, qvel = env.positions_and_velocities()
    return [Start(int(i), qpos[i], qvel[i]) for i in envs]


def timed_rate(env_steps: Iterator[int], seconds: float) -> float:
    """Env steps/s of a play that goes on where it stopped last time."""
    num_steps, began = 0, time.perf_counter()
    for count in env_steps:
        num_steps += count
        elapsed = time.perf_counter() - began
        if elapsed >= seconds:
            return num_steps / elapsed
    raise AssertionError("a play has no end")


def our_play(env: ThreadedMujocoEnv, script: Script) -> Iterator[int]:
    while True:
        env.reset()
        for actions in script.actions:
            env.step(actions)
            yield env.num_envs


class RawSimulations:
    """MjData objects in one process, and the bare loop over them."""

    def __init__(self, task: MujocoTask, script: Script) -> None:
        self.model = mujoco.MjModel.from_xml_path(str(model_path(task)))
        self.datas = [mujoco.MjData(self.model) for _ in range(script.actions.shape[1])]
        self.controls = [data.ctrl for data in self.datas]
        self.frame_skip = task.frame_skip
        self.needs_contact_forces = CFRC_EXT in task.derived_fields
        self.script = script
        self.actions = script.actions.astype(np.float64)

    def begin(self, starts: list[Start]) -> None:
        for start in starts:
            data = self.datas[start.env]
            mujoco.mj_resetData(self.model, data)
            data.qpos[:], data.qvel[:] = start.qpos, start.qvel
            mujoco.mj_forward(self.model, data)

    def step(self, actions: FloatArray) -> None:
        model, frame_skip, mj_step = self.model, self.frame_skip, mujoco.mj_step
        for control, data, action in zip(self.controls, self.datas, actions, strict=True):
            control[:] = action
            mj_step(model, data, frame_skip)
        if self.needs_contact_forces:
            for data in self.datas:
                mujoco.mj_rnePostConstraint(model, data)

    def play(self) -> Iterator[int]:
        while True:
            self.begin(self.script.first)
            for actions, starts in zip(self.actions, self.script.starts_after, strict=True):
                self.step(actions)
                self.begin(starts)
                yield len(self.datas)


def serve_floor(pipe: Connection, task_name: str, script: Script) -> None:
    """A floor process: for each duration it is sent, measure and answer."""
    mujoco.set_mju_user_warning(lambda message: None)
    play = RawSimulations(TASKS[task_name], script).play()
    next(play)
    pipe.send("ready")
    while (seconds := pipe.recv()) is not None:
        pipe.send(timed_rate(play, seconds))


@contextmanager
def floor_processes(task: MujocoTask, script: Script, count: int) -> Iterator[list[Connection]]:
    context = multiprocessing.get_context("spawn")
    pipes, processes = [], []
    for process in range(count):
        ours, theirs = context.Pipe()
        share = script.share(process, count)
        processes.append(context.Process(target=serve_floor, args=(theirs, task.name, share)))
        processes[-1].start()
        pipes.append(ours)
    try:
        for pipe in pipes:
            pipe.recv()
        yield pipes
    finally:
        for pipe, child in zip(pipes, processes, strict=True):
            pipe.send(None)
            child.join()


def floor_rate(pipes: Sequence[Connection], seconds: float) -> float:
    for pipe in pipes:
        pipe.send(seconds)
    return sum(float(pipe.recv()) for pipe in pipes)


def measure(task: MujocoTask, seconds: float, repeats: int, cores: int) -> Measurement:
    script = record(task, cores)
    ours: list[float] = []
    floor: list[float] = []
    with (
        floor_processes(task, script, cores) as pipes,
        ThreadedMujocoEnv(task, NUM_ENVS, SEEDS, cores) as env,
    ):
        play = our_play(env, script)
        next(play)
        for _ in range(repeats):
            floor.append(floor_rate(pipes, seconds))
            ours.append(timed_rate(play, seconds))
    return Measurement(task.name, NUM_ENVS, cores, seconds, ours, floor)


def main() -> None:
    parser = argparse.ArgumentParser(description="Env steps/s against the floor of raw mj_step.")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(PAPER_TASKS))
    parser.add_argument("--seconds", type=float, default=1.0, help="per measurement")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write every measurement to this file")
    arguments = parser.parse_args()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    measurements = []
    print(f"{NUM_ENVS} envs, {cores} threads, floor of {cores} processes, env steps/s")
    print(
        f"{'task':18} {'ours':>8} {'floor':>8} {'ratio':>6}   range of {arguments.repeats} repeats"
    )
    for name in arguments.tasks:
        result = measure(TASKS[name], arguments.seconds, arguments.repeats, cores or 1)
        measurements.append(result)
        print(
            f"{name:18} {statistics.median(result.ours):8.0f} "
            f"{statistics.median(result.floor):8.0f} {result.ratio:6.2f}   "
            f"{min(result.ratios):.2f}-{max(result.ratios):.2f}",
            flush=True,
        )
    if arguments.json:
        rows = [{**asdict(result), "ratio": result.ratio} for result in measurements]
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
