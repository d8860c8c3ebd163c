"""The bundled experts on fresh episodes, beside the paper's."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spacil import paper
from spacil.data.demo_file import load_demos
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import ResetSeeds
from spacil.training.evaluate import Evaluation, evaluate
from spacil.training.policy_file import load_expert

NUM_ENVS = 50
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
    env = make_vector_env(task, NUM_ENVS, ResetSeeds(seed, "evaluate"), num_threads)
    try:
        num_episodes = min(NUM_STEPS // column.trajectory_length, MOST_EPISODES)
        result = evaluate(expert.policy, env, 0, num_episodes, load_demos(task).state_std)
    finally:
        env.close()
    return ExpertEvaluation(task, seed, column.expert_return, result, dict(expert.provenance))
