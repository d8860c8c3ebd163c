"""The bundled experts on fresh episodes, beside the paper's."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spacil import paper
from spacil.demos.common_frame import bundled_frame
from spacil.measuring.evaluate import Evaluation, evaluate_afresh
from spacil.policies.file import load_expert

NUM_STEPS = 100_000
"""Of an evaluation: 100 episodes of 1,000 steps"""
MOST_EPISODES = 1_000
"""Of Reacher, whose returns differ more by where the target is than by the policy"""


@dataclass(frozen=True)
class ExpertEvaluation:
    """One bundled expert."""

    task: str
    seed: int
    paper_return: float
    evaluation: Evaluation
    provenance: Mapping[str, Any]


def evaluate_expert(task: str, seed: int, num_threads: int = 1) -> ExpertEvaluation:
    """Return and J in every frame of a bundled expert, on start states that no training used."""
    expert, column = load_expert(task), paper.TASKS[task]
    num_episodes = min(NUM_STEPS // column.trajectory_length, MOST_EPISODES)
    result = evaluate_afresh(
        expert.policy, task, num_episodes, seed, num_threads, bundled_frame(task)
    )
    return ExpertEvaluation(task, seed, column.expert_return, result, dict(expert.provenance))
