"""Does it learn? Long runs on the paper's tasks, judged on fresh episodes."""

from typing import Any

import pytest

import spacil

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_trpo_learns_to_reach(seed: int) -> None:
    """Doing nothing gives about -12; the paper's expert, after 200 iterations, -4.18."""
    agent = spacil.TRPO("Reacher-v4", seed=seed, steps_per_iteration=5_000)
    agent.learn(60)
    assert agent.evaluate(episodes=100).average_return > -8


def test_gail_imitates_the_bundled_hopper_within_250_iterations() -> None:
    demonstrations = spacil.load_demos("Hopper-v4")
    wanted = 0.95 * float(demonstrations.returns.mean())
    agent = spacil.GAIL("Hopper-v4", demonstrations)

    def stop_when_good(agent: Any, metrics: dict[str, Any]) -> bool:
        return metrics.get("average_return", 0.0) < wanted

    agent.learn(250, callback=stop_when_good)
    result = agent.evaluate(episodes=100)
    assert result.average_return >= wanted
    assert result.smoothness_j is not None


def test_steps_use_the_trust_region_and_stay_inside() -> None:
    agent = spacil.GAIL("Hopper-v4")
    steps: list[float] = []

    def note(agent: Any, metrics: dict[str, Any]) -> None:
        if metrics["is_accepted"]:
            steps.append(metrics["kl"])

    agent.learn(40, callback=note)
    max_kl = agent.config.trust_region.max_kl
    assert len(steps) >= 38
    assert max(steps) <= max_kl * (1 + 1e-6)
    assert sum(steps) / len(steps) >= 0.85 * max_kl
