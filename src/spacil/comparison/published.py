"""The paper's published results, as data, to print beside ours.

"Smooth Imitation Learning via Smooth Costs and Smooth Policies", Chaudhary and Ravindran,
arXiv 2111.02354. Tables are named by their LaTeX labels, numbers are as printed; what does not fit
together in them is listed in docs/paper_notes.md. The tasks were the v2 ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Printed:
    """A mean and one standard deviation."""

    mean: float
    std: float


@dataclass(frozen=True)
class Perturbed:
    """Return and J of a policy whose parameters got noise of this standard deviation."""

    noise_std: float
    average_return: Printed
    smoothness_j: Printed


@dataclass(frozen=True)
class Weighted:
    """One point of the regularisation analysis."""

    lambda_policy: float
    lambda_cost: float
    average_return: float
    smoothness_j: float


_TASKS = ("Reacher-v4", "Hopper-v4", "Walker2d-v4", "HalfCheetah-v4", "Ant-v4")

Row = tuple[tuple[float, float], ...]


def _table(rows: Mapping[str, Row]) -> Mapping[str, Mapping[str, Printed]]:
    return MappingProxyType(
        {
            task: MappingProxyType({name: Printed(*row[column]) for name, row in rows.items()})
            for column, task in enumerate(_TASKS)
        }
    )


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

_NOISE = (0.0, 0.1, 0.09, 0.05, 0.01, 0.001)


def _perturbations(returns: Row, smoothness: Row) -> tuple[Perturbed, ...]:
    columns = zip(_NOISE, returns, smoothness, strict=True)
    rows = (Perturbed(std, Printed(*g), Printed(*j)) for std, g, j in columns)
    return tuple(sorted(rows, key=lambda row: row.noise_std))


PERTURBATIONS: Mapping[str, tuple[Perturbed, ...]] = MappingProxyType(
    {
        "Reacher-v4": _perturbations(
            ((-4.18, 1.79), (-163.44, 43.95), (-47.07, 11.08), (-30.12, 10.25), (-11.67, 2.18),
             (-12.35, 2.14)),
            ((2.69e-5, 2.02e-5), (14.42, 2.06), (1.02, 0.12), (0.29, 0.05), (8.67e-4, 1.79e-4),
             (3.72e-4, 7.85e-5)),
        ),
        "Hopper-v4": _perturbations(
            ((3662.71, 39.27), (79.73, 73.48), (4.69, 0.033), (383.59, 313.75),
             (2644.44, 1207.97), (3667.35, 9.72)),
            ((7.77, 0.067), (18.24, 3.01), (18.34, 0.0162), (5.43, 0.13), (6.732, 0.27),
             (7.86, 0.19)),
        ),
        "Walker2d-v4": _perturbations(
            ((4397.58, 6.92), (3.21, 2.81), (61.92, 53.04), (245.21, 119.8), (4199.56, 17.19),
             (4329.44, 10.69)),
            ((35.61, 0.067), (85.91, 1.06), (125.97, 6.06), (37.56, 1.60), (39.37, 1.1),
             (38.53, 0.12)),
        ),
        "HalfCheetah-v4": _perturbations(
            ((4141.10, 93.84), (-743.56, 60.59), (-729.94, 242.07), (128.97, 141.52),
             (3642.23, 75.71), (4061.67, 75.59)),
            ((17.73, 0.11), (61.63, 6.72), (88.67, 33.76), (4.47, 2.03), (17.72, 0.19),
             (18.51, 0.21)),
        ),
        "Ant-v4": _perturbations(
            ((4788.73, 75.18), (-4880.08, 1719.81), (-1454.50, 961.96), (1685.58, 482.09),
             (4561.18, 617.04), (4628.54, 893.13)),
            ((0.93, 0.09), (186.91, 74.77), (43.58, 27.72), (1.64, 2.27), (0.91, 0.07),
             (0.97, 0.04)),
        ),
    }
)  # fmt: skip
"""tab:perturbation: task -> levels of parameter noise on the best SPaCIL model, 0 first"""

REGULARIZATION: Mapping[str, tuple[Weighted, ...]] = MappingProxyType(
    {"Hopper-v4": (Weighted(0.001, 1.0, 3642.76, 9.556), Weighted(0.0, 1.0, 3715.08, 68.67))}
)
"""subsec:policy_vs_cost_regularization: the two points whose numbers are in the text"""


def published_return(task: str, algorithm: str) -> Printed | None:
    """tab:eval_reward for a task (v4 or v5) and an algorithm of ours; None where it has none."""
    return RETURNS.get(task.replace("-v5", "-v4"), {}).get(algorithm)


def published_smoothness(task: str, algorithm: str) -> Printed | None:
    """tab:smoothness_metric, likewise."""
    return SMOOTHNESS.get(task.replace("-v5", "-v4"), {}).get(algorithm)
