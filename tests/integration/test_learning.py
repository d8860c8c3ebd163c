"""Does it learn? Long runs on the paper's tasks, judged on fresh episodes."""

from typing import Any

import pytest

import spacil
from experts import evaluate_expert
from spacil import paper
from spacil.comparison.published import RETURNS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_trpo_learns_to_reach(seed: int) -> None:
    """Doing nothing gives about -12; the paper's expert, after 200 iterations, -4.18."""
    agent = spacil.TRPO("Reacher-v4", seed=seed, steps_per_iteration=5_000)
    agent.learn(60)
    assert agent.evaluate(episodes=100).average_return > -8


@pytest.mark.parametrize(
    ("task", "share", "iterations"), [("Hopper-v4", 0.95, 250), ("HalfCheetah-v4", 0.85, 500)]
)
def test_gail_imitates_the_bundled_demonstrator(task: str, share: float, iterations: int) -> None:
    demonstrations = spacil.load_demos(task)
    wanted = share * float(demonstrations.returns.mean())
    agent = spacil.GAIL(task, demonstrations)

    def stop_when_good(agent: Any, metrics: dict[str, Any]) -> bool:
        return metrics.get("average_return", 0.0) < wanted

    agent.learn(iterations, callback=stop_when_good)
    result = agent.evaluate(episodes=100)
    assert result.average_return >= wanted
    assert result.smoothness_j is not None


@pytest.mark.parametrize("task", paper.TASKS)
def test_the_bundled_experts_are_as_good_as_the_papers(task: str) -> None:
    found = evaluate_expert(task, seed=20_261_115)
    assert found.average_return >= RETURNS[task]["trpo"].mean


def test_reaching_is_learned_from_states_alone() -> None:
    """A clone of zeros stands still: about -12. A clone of the labels starts beyond it."""
    agent = spacil.SPaCIL("Reacher-v4", spacil.load_demos("Reacher-v4").without_actions(), seed=0)
    agent.learn(2)
    assert agent.evaluate(episodes=100).average_return > -8
