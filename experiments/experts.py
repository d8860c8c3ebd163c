"""The bundled experts on fresh episodes, beside the paper's.

python experiments/experts.py --seed 1 --json docs/results/experts.json
"""

from dataclasses import asdict, dataclass
from pathlib import Path

import tyro

import spacil
from spacil import paper
from spacil.cli.output import identity, print_table, show
from spacil.comparison.published import RETURNS
from spacil.config.settings import RunConfig
from spacil.demos.common_frame import bundled_frame
from spacil.measuring.evaluate import Evaluation, evaluate_afresh

NUM_STEPS = 100_000
"""Steps of an evaluation: 100 episodes of 1,000"""
MOST_EPISODES = 1_000
"""Most episodes, on Reacher: its returns differ more by where the target is than by the policy"""


@dataclass(frozen=True)
class Arguments:
    tasks: tuple[str, ...] = tuple(paper.TASKS)
    """Tasks whose experts are evaluated."""
    seed: int = 0
    """Seed of the start states; no training run uses the same ones."""
    json: Path | None = None
    """File for the numbers."""


def evaluate_expert(task: str, seed: int) -> Evaluation:
    """Return and J in every frame of a bundled expert, on start states that no training used."""
    num_episodes = min(NUM_STEPS // paper.TASKS[task].trajectory_length, MOST_EPISODES)
    policy, threads = spacil.load_expert(task).policy, RunConfig().simulation_threads
    return evaluate_afresh(policy, task, num_episodes, seed, threads, bundled_frame(task))


def main(tasks: tuple[str, ...], seed: int, json: Path | None) -> None:
    found = {task: evaluate_expert(task, seed) for task in tasks}
    documents = [
        {
            "task": task,
            "seed": seed,
            "paper_return": RETURNS[task]["trpo"].mean,
            "evaluation": asdict(evaluation),
            "provenance": dict(spacil.load_expert(task).provenance),
        }
        for task, evaluation in found.items()
    ]
    rows = [
        [
            task,
            one.num_episodes,
            one.average_return,
            one.return_std,
            RETURNS[task]["trpo"].mean,
            one.smoothness_j_common,
            one.smoothness_j_own,
            one.smoothness_j_raw,
        ]
        for task, one in found.items()
    ]
    header = ["expert", "episodes", "return G", "± std", "paper", "J common", "J own", "J raw"]
    document = identity(seed=seed) | {"experts": documents}
    show(document, json, lambda: print_table(header, rows))


if __name__ == "__main__":
    arguments = tyro.cli(Arguments, description=__doc__)
    main(arguments.tasks, arguments.seed, arguments.json)
