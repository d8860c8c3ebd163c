"""Env steps/s of the vector envs a user might take instead: Gymnasium's own, and EnvPool.

They get the same actions, and Gymnasium's start from the same seeds, so that its first episodes are
ours. Later ones begin where the library likes, and EnvPool's all do: actions then meet other states
than those they were meant for, and an env may fall and start again more often. The tasks are the
same v4 ones with the same sizes. EnvPool has the MuJoCo it was built with and resets a finished env
at the step that follows, which counts as a step. It brings a gigabyte of files for other tasks, so
it lives in a virtual environment of its own, made when it is missing. Gymnasium's `async` has a
process for each env, whatever the number of threads; its `sync` steps one env after the other.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from own_environment import python_with
from spacil.envs.mujoco_tasks import MujocoTask
from spacil.envs.vector_env import ActionArray, ResetSeeds
from steps_per_second import Rate, steps_per_second

HERE = Path(__file__).parent
ENVPOOL = "envpool"
OTHERS = ("sync", "async", ENVPOOL)


def other_env(
    name: str, task: MujocoTask, script: ActionArray, seeds: ResetSeeds, num_threads: int
) -> AbstractContextManager[Rate]:
    """One of `OTHERS`, playing a script of actions [T, N, A]."""
    if name == ENVPOOL:
        return _envpool(task, script, num_threads)
    return _gymnasium(name, task, script, seeds)


@contextmanager
def _gymnasium(
    mode: str, task: MujocoTask, script: ActionArray, seeds: ResetSeeds
) -> Iterator[Rate]:
    gymnasium.logger.min_level = gymnasium.logger.ERROR  # it would call v4 "out of date"
    env = gymnasium.make_vec(
        task.gymnasium_id,
        num_envs=script.shape[1],
        vectorization_mode=mode,
        vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
        **task.kwargs,
    )
    play = _gymnasium_play(env, script, seeds)
    next(play)
    try:
        yield lambda seconds: steps_per_second(play, seconds)
    finally:
        env.close()


def _gymnasium_play(env: Any, script: ActionArray, seeds: ResetSeeds) -> Iterator[int]:
    while True:
        env.reset(seed=[seeds(i, 0) for i in range(env.num_envs)])
        for actions in script:
            env.step(actions)
            yield env.num_envs


@contextmanager
def _envpool(task: MujocoTask, script: ActionArray, num_threads: int) -> Iterator[Rate]:
    python = python_with(HERE / "envpool_requirements.txt", ENVPOOL, sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        actions = Path(folder) / "actions.npy"
        np.save(actions, script)
        process = subprocess.Popen(
            [python, HERE / "envpool_steps.py", task.gymnasium_id, actions, str(num_threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None and process.stdout is not None
        to_it, from_it = process.stdin, process.stdout

        def rate(seconds: float) -> float:
            print(seconds, file=to_it, flush=True)
            return float(from_it.readline())

        if from_it.readline().strip() != "ready":
            raise RuntimeError(f"EnvPool's process ended with {process.wait()}")
        try:
            yield rate
        finally:
            to_it.close()
            process.wait()
            from_it.close()
