"""How close the simulator comes to the floor: MuJoCo's own time on every core, and nothing else.

Ours: env steps/s of `ThreadedMujocoEnv` with one thread per core, observations, rewards, checks
and resets included. Floor: the summed rate of one process per core, each calling `mj_step` on
MjData objects of the same model. The floor replays what ours does, bit for bit: the same actions,
`frame_skip` substeps, `mj_rnePostConstraint` where the task reads contact forces, and resets at the
recorded steps to the recorded states. So both walk through the same states, falls included, and
the floor needs no observation, reward or check.

Beside it, with --others: Gymnasium's own vector envs and EnvPool (where it is installed) with the
same actions, in env steps/s.

    python benchmarks/simulation.py --tasks Hopper-v4 Ant-v4 --envs 8 16 32 64 --threads 1 2
"""

import argparse
import functools
import importlib.util
import itertools
import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np
from numpy.typing import NDArray

from measuring import num_cores, record
from spacil.envs.mujoco_model import model_path
from spacil.envs.mujoco_tasks import CFRC_EXT, MujocoTask
from spacil.envs.registry import PAPER_TASKS, TASKS
from spacil.envs.threaded_mujoco import ThreadedMujocoEnv
from spacil.envs.vector_env import ActionArray, FloatArray, ResetSeeds

DEFAULT_NUM_ENVS = 50
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
    others: dict[str, float]
    """Env steps/s of other people's vector envs, by name"""

    @property
    def ratio(self) -> float:
        """Median over the repeats: what slows the machine meanwhile slows both sides of one."""
        return statistics.median(self.ratios)

    @property
    def ratios(self) -> list[float]:
        return [ours / floor for ours, floor in zip(self.ours, self.floor, strict=True)]


def write_script(task: MujocoTask, num_envs: int, num_threads: int) -> Script:
    """Random actions within bounds, and the resets they lead to."""
    with ThreadedMujocoEnv(task, num_envs, SEEDS, num_threads) as env:
        spec = env.spec
        shape = (SCRIPT_STEPS, num_envs, spec.num_actions)
        noise = np.random.default_rng(0).uniform(size=shape).astype(np.float32)
        actions = spec.action_low + noise * (spec.action_high - spec.action_low)
        actions = np.clip(actions, spec.action_low, spec.action_high)
        env.reset()
        first = _starts(env, np.arange(num_envs))
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


def measure(
    task: MujocoTask, num_envs: int, num_threads: int, seconds: float, repeats: int
) -> Measurement:
    script = write_script(task, num_envs, num_threads)
    ours: list[float] = []
    floor: list[float] = []
    with (
        floor_processes(task, script, num_threads) as pipes,
        ThreadedMujocoEnv(task, num_envs, SEEDS, num_threads) as env,
    ):
        play = our_play(env, script)
        next(play)
        for _ in range(repeats):
            floor.append(floor_rate(pipes, seconds))
            ours.append(timed_rate(play, seconds))
    return Measurement(task.name, num_envs, num_threads, seconds, ours, floor, {})


def other_rates(
    task: MujocoTask, num_envs: int, num_threads: int, seconds: float
) -> dict[str, float]:
    """Env steps/s of what a user might take instead. Gymnasium's choose their own processes."""
    actions = write_script(task, num_envs, num_threads).actions
    makers: dict[str, Callable[[], Any]] = {
        mode: functools.partial(_gymnasium, task, num_envs, mode) for mode in ("sync", "async")
    }
    if importlib.util.find_spec("envpool") is not None:
        makers["envpool"] = functools.partial(_envpool, task, num_envs, num_threads)
    rates = {}
    for name, make in makers.items():
        env = make()
        play = _play_gymnasium(env, actions)
        next(play)
        rates[name] = timed_rate(play, seconds)
        env.close()
    return rates


def _gymnasium(task: MujocoTask, num_envs: int, mode: str) -> Any:
    return gymnasium.make_vec(
        task.gymnasium_id, num_envs=num_envs, vectorization_mode=mode, **task.kwargs
    )


def _envpool(task: MujocoTask, num_envs: int, num_threads: int) -> Any:
    envpool = importlib.import_module("envpool")
    name = task.gymnasium_id
    return envpool.make_gymnasium(name, num_envs=num_envs, num_threads=num_threads)


def _play_gymnasium(env: Any, script: ActionArray) -> Iterator[int]:
    env.reset()
    while True:
        for actions in script:
            env.step(actions)
            yield len(actions)


def main() -> None:
    parser = argparse.ArgumentParser(description="Env steps/s against the floor of raw mj_step.")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(PAPER_TASKS))
    parser.add_argument("--envs", nargs="+", type=int, default=[DEFAULT_NUM_ENVS])
    parser.add_argument("--threads", nargs="+", type=int, default=[num_cores()])
    parser.add_argument("--seconds", type=float, default=1.0, help="per measurement")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--others", action="store_true", help="also Gymnasium's and EnvPool")
    parser.add_argument("--json", type=Path, help="put the results into this file")
    arguments = parser.parse_args()
    print(f"{'task':18} envs threads {'ours':>8} {'floor':>8} {'ratio':>6}   range")
    rows = []
    for name, num_envs, num_threads in itertools.product(
        arguments.tasks, arguments.envs, arguments.threads
    ):
        task = TASKS[name]
        result = measure(task, num_envs, num_threads, arguments.seconds, arguments.repeats)
        if arguments.others:
            others = other_rates(task, num_envs, num_threads, arguments.seconds)
            result = replace(result, others=others)
        rows.append({**asdict(result), "ratio": result.ratio})
        print(
            f"{name:18} {num_envs:4} {num_threads:7} {statistics.median(result.ours):8.0f} "
            f"{statistics.median(result.floor):8.0f} {result.ratio:6.2f}   "
            f"{min(result.ratios):.2f}-{max(result.ratios):.2f} "
            f"{ {other: round(rate) for other, rate in result.others.items()} or '' }",
            flush=True,
        )
    record("simulation", rows, arguments.json)


if __name__ == "__main__":
    main()
