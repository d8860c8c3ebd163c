"""Stable-Baselines3 policies for `spacil smooth` and `diagnose`: trained with its defaults, named.

    python experiments/sb3_teachers.py --algorithm sac --task Hopper-v5 --seconds 450
    PYTHONPATH=experiments spacil smooth sb3_teachers:sac_Hopper_v5 --task Hopper-v5

The model is `teachers/sac_Hopper_v5.zip`, which Stable-Baselines3 itself opens; the folder is
`SB3_TEACHERS` where that is set.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import stable_baselines3
import tyro
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.evaluation import evaluate_policy

FOLDER = Path(os.environ.get("SB3_TEACHERS", "teachers"))
EPISODES = 20


@dataclass(frozen=True)
class Arguments:
    algorithm: Literal["ppo", "sac"]
    task: str
    """Any Gymnasium id."""
    steps: int = 1_000_000
    """Most env steps."""
    seconds: float = float("inf")
    """Time after which training ends with fewer."""
    seed: int = 0
    device: str = "cpu"


class UntilLate(BaseCallback):
    """Ends training at a time."""

    def __init__(self, at: float) -> None:
        super().__init__()
        self.at = at

    def _on_step(self) -> bool:
        return time.monotonic() < self.at


def __getattr__(name: str) -> BaseAlgorithm:
    """Open the model of a name, e.g. `ppo_Hopper_v5`."""
    path = FOLDER / f"{name}.zip"
    if name.startswith("_") or not path.exists():
        raise AttributeError(f"{path}: no such model")
    kind: Any = getattr(stable_baselines3, name.partition("_")[0].upper())
    opened: BaseAlgorithm = kind.load(path, device="cpu")
    return opened


def main(wanted: Arguments) -> None:
    kind = getattr(stable_baselines3, wanted.algorithm.upper())
    model = kind("MlpPolicy", wanted.task, seed=wanted.seed, device=wanted.device)
    model.learn(wanted.steps, UntilLate(time.monotonic() + wanted.seconds))
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{wanted.algorithm}_{wanted.task.replace('-', '_')}.zip"
    model.save(path)
    mean, std = evaluate_policy(model, model.get_env(), EPISODES)
    print(f"{path}: {model.num_timesteps:,} steps, {mean:.0f} ± {std:.0f} in {EPISODES} episodes")


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
