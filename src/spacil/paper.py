"""The paper's settings, as data; its results are in comparison/published.py.

"Smooth Imitation Learning via Smooth Costs and Smooth Policies", Chaudhary and Ravindran,
arXiv 2111.02354. Sections are named by the paper's LaTeX labels. Nothing here is our choice;
where the paper is silent or contradicts itself, docs/paper_notes.md says what we do.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

PENALTY_RADIUS = 0.01
"""epsilon, app:algo_hyper_params"""
PENALTY_STEP_SIZE = 0.02
"""nu (eta_delta in algo:reg_maximization), app:algo_hyper_params"""
DISCRIMINATOR_LEARNING_RATE = 0.01


@dataclass(frozen=True)
class PaperTask:
    """One column of the paper's tables, on the v4 task that keeps its sizes and rewards."""

    gamma: float
    gae_lambda: float
    expert_steps_per_iteration: int
    expert_iterations: int
    num_trajectories: int
    """Demonstrated trajectories; the agent samples as many per iteration (tbl:spacil_params)."""
    trajectory_length: int
    lambda_policy: float
    """lambda_1 as printed"""
    lambda_cost: float
    """lambda_2 as printed"""
    imitation_iterations: int = 500
    """The paper says 400 to 500 for all tasks (app:exp_setup_hyper_params)."""

    @property
    def imitation_steps_per_iteration(self) -> int:
        return self.num_trajectories * self.trajectory_length


TASKS: Mapping[str, PaperTask] = MappingProxyType(
    {
        "Reacher-v4": PaperTask(0.99, 0.95, 5_000, 200, 50, 50, 0.01, 0.001, 400),
        "Hopper-v4": PaperTask(0.995, 0.99, 50_000, 500, 6, 1_000, 0.001, 0.001),
        "Walker2d-v4": PaperTask(0.995, 0.99, 50_000, 500, 10, 1_000, 0.001, 0.001),
        "HalfCheetah-v4": PaperTask(0.995, 0.97, 50_000, 500, 6, 1_000, 0.01, 0.001),
        "Ant-v4": PaperTask(0.995, 0.97, 50_000, 500, 15, 1_000, 0.001, 0.001),
    }
)


def settings_for(task: str) -> PaperTask | None:
    """The paper's column for a task; the v5 form of a task shares its v4 column."""
    return TASKS.get(task) or TASKS.get(task.replace("-v5", "-v4"))
