"""How close the simulator comes to the floor: MuJoCo's own time on every core, and nothing else.

The task's expert acts, with its spread, on the states it meets; what it does is written down once,
and both sides replay it.

Ours: env steps/s of `ThreadedMujocoEnv` with one thread per core, observations, rewards, checks
and resets included.
Floor: the summed rate of one process per core, each calling `mj_step` on MjData objects of the same
model: `frame_skip` substeps, `mj_rnePostConstraint` where the task reads contact forces, and resets
at the recorded steps to the recorded states. So both walk through the same states, falls included,
and the floor needs no observation, reward or check. Whenever a side comes to the end of the script,
its positions must be the recorded ones, bit for bit.

Beside it, with --others: what a user might take instead, see other_envs.py.

    python benchmarks/simulation.py --envs 8 16 32 64 --threads 1 2 --others sync async envpool
"""

import argparse
import itertools
import multiprocessing
import statistics
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import mujoco
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from measuring import num_cores, record
from other_envs import OTHERS, other_env
from spacil.envs.mujoco_model import model_path
from spacil.envs.mujoco_tasks import CFRC_EXT, MujocoTask
from spacil.envs.registry import PAPER_TASKS, TASKS
from spacil.envs.threaded_mujoco import ThreadedMujocoEnv
from spacil.envs.vector_env import ActionArray, FloatArray, ResetSeeds
from spacil.nets.policy import GaussianPolicy
from spacil.policies.open import load_expert
from steps_per_second import Rate, steps_per_second

DEFAULT_NUM_ENVS = 50
SCRIPT_STEPS = 250
"""Steps of every env after which both sides start again."""
WHOLE_STATE = int(mujoco.mjtState.mjSTATE_INTEGRATION)
SEEDS = ResetSeeds(root_seed=0, stream="benchmark")


@dataclass(frozen=True)
class Start:
    """An env that begins, within an episode or at its start, and where."""

    env: int
    state: FloatArray
    """mjSTATE_INTEGRATION: with the solver's warm start, without which the next step differs"""


@dataclass(frozen=True)
class Script:
    """What some envs do: actions [T, N, A], and who starts anew before and after each step."""

    actions: ActionArray
    first: list[Start]
    starts_after: list[list[Start]]
    last_qpos: FloatArray
    """[N, Q], after the last step and its starts"""

    @property
    def num_envs(self) -> int:
        return len(self.last_qpos)

    def of(self, rows: slice) -> "Script":
        """Some of the envs, renumbered."""
        envs = range(*rows.indices(self.num_envs))

        def mine(starts: list[Start]) -> list[Start]:
            return [
                Start(envs.index(start.env), start.state) for start in starts if start.env in envs
            ]

        return Script(
            self.actions[:, rows],
            mine(self.first),
            [mine(starts) for starts in self.starts_after],
            self.last_qpos[rows],
        )

    def require_same_end(self, qpos: FloatArray) -> None:
        if not np.array_equal(qpos, self.last_qpos):
            raise AssertionError("the replay has left the recorded states: its rate means nothing")


@dataclass(frozen=True)
class Measurement:
    """Env steps per second, one entry per repeat, all sides in turn."""

    task: str
    num_envs: int
    num_threads: int
    seconds: float
    ours: list[float]
    floor: list[float]
    others: dict[str, list[float]]
    """Of other people's vector envs, by name"""


def over_floor(rates: list[float], floor: list[float]) -> list[float]:
    """Repeat by repeat: what slows the machine meanwhile slows both sides of one."""
    return [rate / of_floor for rate, of_floor in zip(rates, floor, strict=True)]


def record_script(
    env: ThreadedMujocoEnv, policy: GaussianPolicy, states: Tensor, num_steps: int
) -> Script:
    """What the policy does from `states`, the env's current ones, and the resets it leads to."""
    generator = torch.Generator().manual_seed(0)
    first = _starts(env, np.arange(env.num_envs))
    actions, starts_after = [], []
    for _ in range(num_steps):
        actions.append(policy.predict(states, deterministic=False, generator=generator))
        result = env.step(torch.from_numpy(actions[-1]))
        states = result.observations
        starts_after.append(_starts(env, np.flatnonzero(result.terminated | result.truncated)))
    return Script(np.stack(actions), first, starts_after, env.positions_and_velocities()[0])


def _starts(env: ThreadedMujocoEnv, envs: NDArray[np.intp]) -> list[Start]:
    states = env.save_state()["physics"]
    return [Start(int(i), states[i].numpy()) for i in envs]


def our_play(env: ThreadedMujocoEnv, script: Script) -> Iterator[int]:
    """Steps of all envs, without end."""
    env.reset()
    beginning = env.save_state()
    while True:
        for actions in torch.from_numpy(script.actions):
            env.step(actions)
            yield env.num_envs
        script.require_same_end(env.positions_and_velocities()[0])
        env.load_state(beginning)


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
            mujoco.mj_setState(self.model, data, start.state, WHOLE_STATE)
            mujoco.mj_forward(self.model, data)  # no env can do without: it observes the start
            mujoco.mj_setState(self.model, data, start.state, WHOLE_STATE)

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
            self.script.require_same_end(np.stack([data.qpos for data in self.datas]))


def serve_floor(pipe: Connection, task_name: str, script: Script) -> None:
    """A floor process: for each duration it is sent, measure and answer; ends with the pipe."""
    mujoco.set_mju_user_warning(lambda message: None)
    play = RawSimulations(TASKS[task_name], script).play()
    next(play)
    pipe.send("ready")
    with suppress(EOFError):
        while True:
            pipe.send(steps_per_second(play, pipe.recv()))


@contextmanager
def floor_of(task: MujocoTask, script: Script, num_processes: int) -> Iterator[Rate]:
    """The summed rate of processes that share the envs of a script."""
    context = multiprocessing.get_context("spawn")
    pipes, processes = [], []
    for process in range(num_processes):
        ours, theirs = context.Pipe()
        share = script.of(slice(process, None, num_processes))
        processes.append(context.Process(target=serve_floor, args=(theirs, task.name, share)))
        processes[-1].start()
        theirs.close()
        pipes.append(ours)

    def rate(seconds: float) -> float:
        for pipe in pipes:
            pipe.send(seconds)
        return sum(float(pipe.recv()) for pipe in pipes)

    try:
        for pipe in pipes:
            pipe.recv()
        yield rate
    finally:
        for pipe, child in zip(pipes, processes, strict=True):
            pipe.close()
            child.join()


@contextmanager
def ours(task: MujocoTask, script: Script, num_threads: int) -> Iterator[Rate]:
    """All envs with one call per step."""
    with ThreadedMujocoEnv(task, script.num_envs, SEEDS, num_threads) as env:
        play = our_play(env, script)
        next(play)
        yield lambda seconds: steps_per_second(play, seconds)


def measure(
    task: MujocoTask,
    num_envs: int,
    num_threads: int,
    others: list[str],
    seconds: float,
    repeats: int,
) -> Measurement:
    with ThreadedMujocoEnv(task, num_envs, SEEDS, num_threads) as env:
        script = record_script(env, load_expert(task.name).policy, env.reset(), SCRIPT_STEPS)
    with ExitStack() as stack:
        sides: dict[str, Rate] = {
            name: stack.enter_context(other_env(name, task, script.actions, SEEDS, num_threads))
            for name in others
        }
        sides["floor"] = stack.enter_context(floor_of(task, script, num_threads))
        sides["ours"] = stack.enter_context(ours(task, script, num_threads))
        rates: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(repeats):
            for name, rate in sides.items():
                rates[name].append(rate(seconds))
    return Measurement(
        task.name,
        num_envs,
        num_threads,
        seconds,
        ours=rates.pop("ours"),
        floor=rates.pop("floor"),
        others=rates,
    )


def _show(result: Measurement) -> None:
    print(f"{result.task}, {result.num_envs} envs, {result.num_threads} threads")
    sides = {"ours": result.ours, "floor": result.floor}
    for name, rates in (sides | result.others).items():
        ratios = over_floor(rates, result.floor)
        print(
            f"  {name:9} {statistics.median(rates):8.0f} steps/s, over the floor "
            f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Env steps/s against the floor of raw mj_step.")
    parser.add_argument("--tasks", nargs="+", choices=PAPER_TASKS, default=list(PAPER_TASKS))
    parser.add_argument("--envs", nargs="+", type=int, default=[DEFAULT_NUM_ENVS])
    parser.add_argument("--threads", nargs="+", type=int, default=[num_cores()])
    parser.add_argument("--seconds", type=float, default=1.0, help="per measurement")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--others", nargs="+", choices=OTHERS, default=[], help="beside ours")
    parser.add_argument("--json", type=Path, help="put the results into this file")
    arguments = parser.parse_args()
    rows = []
    for name, num_envs, num_threads in itertools.product(
        arguments.tasks, arguments.envs, arguments.threads
    ):
        result = measure(
            TASKS[name],
            num_envs,
            num_threads,
            arguments.others,
            arguments.seconds,
            arguments.repeats,
        )
        rows.append(asdict(result))
        _show(result)
    record("simulation", rows, arguments.json)


if __name__ == "__main__":
    main()
