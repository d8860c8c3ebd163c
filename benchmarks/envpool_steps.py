"""EnvPool's side of simulation.py, in an environment of its own: a rate for each duration it reads.

.peer/envpool/bin/python benchmarks/envpool_steps.py Hopper-v4 actions.npy 2
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import envpool  # type: ignore[import-not-found]  # installed beside, not with us
import numpy as np

from steps_per_second import steps_per_second


def play(env: Any, script: Any) -> Iterator[int]:
    """The actions again and again. A finished env is reset by the next step, which counts too."""
    env.reset()
    while True:
        for actions in script:
            env.step(actions)
            yield len(actions)


def main() -> None:
    parser = argparse.ArgumentParser(description="EnvPool's env steps/s.")
    parser.add_argument("task")
    parser.add_argument("actions", type=Path, help="[T, N, A]")
    parser.add_argument("threads", type=int)
    arguments = parser.parse_args()
    script = np.load(arguments.actions).astype(np.float64)
    # Its word for what Gymnasium calls use_contact_forces.
    options = {"use_contact_force": True} if arguments.task.startswith("Ant") else {}
    env = envpool.make_gymnasium(
        arguments.task, num_envs=script.shape[1], num_threads=arguments.threads, seed=0, **options
    )
    steps = play(env, script)
    next(steps)
    print("ready", flush=True)
    for line in sys.stdin:
        print(steps_per_second(steps, float(line)), flush=True)


if __name__ == "__main__":
    main()
