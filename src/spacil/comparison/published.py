"""The paper's published results, as data, to print beside ours.

"Smooth Imitation Learning via Smooth Costs and Smooth Policies", Chaudhary and Ravindran,
arXiv 2111.02354. Tables are named by their LaTeX labels, numbers are as printed; what does not fit
together in them is listed in docs/paper_notes.md. The tasks were the v2 ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Printed:
    """A mean and one standard deviation."""

    mean: float
    std: float


_TASKS = ("Reacher-v4", "Hopper-v4", "Walker2d-v4", "HalfCheetah-v4", "Ant-v4")


def _table(
    rows: Mapping[str, tuple[tuple[float, float], ...]],
) -> Mapping[str, Mapping[str, Printed]]:
    return {
        task: {name: Printed(*row[column]) for name, row in rows.items()}
        for column, task in enumerate(_TASKS)
    }


RETURNS = _table(
    {
        "trpo": (
            (-4.18, 1.79), (3562.04, 26.61), (4224.34, 18.79), (4022.09, 79.72), (4872.84, 568.69),
        ),
        "gail": (
            (-5.27, 2.72), (3326.43, 872.42), (4275.00, 14.69), (4064.12, 120.30),
            (4587.81, 117.84),
        ),
        "spacil": (
            (-4.39, 1.61), (3662.71, 39.27), (4397.58, 6.92), (4141.10, 93.84), (4788.73, 75.18),
        ),
    }
)  # fmt: skip
"""tab:eval_reward: task -> algorithm -> return over 100 trajectories of five best models"""

SMOOTHNESS = _table(
    {
        "trpo": (
            (1.77e-5, 3.34e-6), (12.34, 0.089), (56.61, 0.031), (23.88, 11.70), (6.4, 3.81e-3),
        ),
        "gail": ((5.86e-5, 9.79e-5), (12.91, 0.85), (117.31, 6.65), (24.25, 0.77), (1.543, 0.62)),
        "spacil": ((2.69e-5, 2.02e-5), (7.77, 0.067), (35.61, 0.47), (17.73, 0.12), (0.93, 0.09)),
    }
)  # fmt: skip
"""tab:smoothness_metric: task -> algorithm -> J over 150 trajectories of five best models. Its
units are not stated, so it compares within a task of the paper, not with a J of ours."""


def published_return(task: str, algorithm: str) -> Printed | None:
    """tab:eval_reward for a task (v4 or v5) and an algorithm of ours; None where it has none."""
    return RETURNS.get(task.replace("-v5", "-v4"), {}).get(algorithm)


def published_smoothness(task: str, algorithm: str) -> Printed | None:
    """tab:smoothness_metric, likewise."""
    return SMOOTHNESS.get(task.replace("-v5", "-v4"), {}).get(algorithm)
