"""Equal settings and seeds give equal bits; a feature without weight is no feature."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_runs import tiny

import spacil
from spacil.runs import checkpoint

ALGORITHMS = ("trpo", "gail", "spacil")


@pytest.fixture
def state_after(tmp_path: Path) -> Callable[..., Any]:
    """The saved state of an agent that learned on Reacher-v4 in this process."""

    def learn(agent_type: type[Any], name: str, iterations: int, **changes: Any) -> Any:
        agent = agent_type("Reacher-v4", **tiny(agent_type.algorithm, **changes))
        agent.learn(iterations)
        agent.save(tmp_path / name)
        agent.close()
        saved = checkpoint.best(tmp_path / name / "checkpoints")
        assert saved is not None
        return saved

    return learn


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_seed_repeats_in_another_process_with_any_number_of_simulation_threads(
    processes: Any,
    run_arguments: Callable[..., list[object]],
    state_of: Callable[[Path], Any],
    uninterrupted: Callable[[str], Any],
    tmp_path: Path,
    algorithm: str,
) -> None:
    again = processes.run(*run_arguments(algorithm, tmp_path / "again", simulation_threads=2))
    assert again.code == 0, again.err
    assert state_of(tmp_path / "again") == uninterrupted(algorithm)


@pytest.mark.parametrize("agent_type", [spacil.TRPO, spacil.GAIL, spacil.SPaCIL])
def test_another_seed_is_another_run_from_its_first_state_on(
    state_after: Callable[..., Any], agent_type: type[Any]
) -> None:
    first, again, other = (
        state_after(agent_type, f"{name}", 1, seed=seed)
        for name, seed in (("first", 5), ("again", 5), ("other", 6))
    )
    assert again.content_hash == first.content_hash
    assert other.content_hash != first.content_hash
    names = ["policy.mean_net.layers.0.weight", "env.physics"]
    if agent_type is not spacil.SPaCIL:  # it keeps the normaliser of its demonstrations
        names.append("policy.normalizer.mean")
    for name in names:
        assert not torch.equal(first.tensors[name], other.tensors[name])
