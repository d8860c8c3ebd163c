"""`rollout_workers`: the same bits as in this process, also when a worker is killed meanwhile."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from ray_cluster import OBJECT_STORE_BYTES, family
from tiny_runs import tiny

import spacil
from spacil.errors import ConfigError

pytest.importorskip("ray", reason="ray is not installed: pip install 'spacil[ray]'")
pytestmark = pytest.mark.timeout(300)

NUM_ITERATIONS = 5


@pytest.fixture(scope="module", autouse=True)
def a_cluster_of_this_machine() -> Iterator[None]:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray

    former = signal.getsignal(signal.SIGTERM)
    ray.init(
        address="local",
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=OBJECT_STORE_BYTES,
    )
    yield
    ray.shutdown()
    signal.signal(signal.SIGTERM, former)  # Ray's handler would end later tests


def workers() -> list[int]:
    """The processes of rollout workers, which Ray names after their class."""
    found = []
    for number in family(os.getpid()):
        with contextlib.suppress(OSError):
            if b"ray::_Worker" in Path(f"/proc/{number}/cmdline").read_bytes():
                found.append(number)
    return found


def trained(callback: Any = None, **settings: Any) -> dict[str, torch.Tensor]:
    """Every number of a run after five iterations; blocks of 5 envs."""
    agent = spacil.TRPO("Reacher-v4", seed=5, **tiny("trpo", rollout_blocks=2, **settings))
    agent.learn(NUM_ITERATIONS, callback=callback)
    tensors = agent._learner.tensors()
    agent.close()
    return tensors


def is_equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.fixture(scope="module")
def local() -> dict[str, torch.Tensor]:
    return trained()


def test_two_workers_compute_the_bits_of_one_process(local: dict[str, torch.Tensor]) -> None:
    assert is_equal(trained(rollout_workers=2), local)


def test_a_worker_that_is_killed_is_replaced_and_the_bits_stay(
    local: dict[str, torch.Tensor], caplog: pytest.LogCaptureFixture
) -> None:
    def kill(_: Any, metrics: dict[str, Any]) -> None:
        if metrics["iteration"] == 1:
            assert len(workers()) == 2
        if metrics["iteration"] == 2:
            os.kill(workers()[0], signal.SIGKILL)  # before it is asked for the next batch
        if metrics["iteration"] == 3:  # while it plays, or close to it
            threading.Timer(0.02, os.kill, (workers()[-1], signal.SIGKILL)).start()

    assert is_equal(trained(kill, rollout_workers=2), local)
    assert "is lost: another one takes its envs" in caplog.text


@pytest.mark.slow
def test_a_run_with_workers_goes_on_without_them(
    local: dict[str, torch.Tensor], tmp_path: Path
) -> None:
    settings = tiny("trpo", rollout_blocks=2)
    first = spacil.TRPO("Reacher-v4", seed=5, **settings, rollout_workers=1)
    first.learn(3, run_dir=tmp_path / "run")
    first.close()
    second = spacil.TRPO("Reacher-v4", seed=5, **settings)
    second.learn(NUM_ITERATIONS, run_dir=tmp_path / "run")
    assert is_equal(second._learner.tensors(), local)
    second.close()


def test_without_ray_workers_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install 'spacil\[ray\]'"):
        spacil.TRPO("Reacher-v4", **tiny("trpo", rollout_blocks=2, rollout_workers=1))


def test_what_workers_cannot_do_is_refused_in_words() -> None:
    with pytest.raises(ConfigError, match="rollout_workers 2: more than there are blocks"):
        spacil.TRPO("Reacher-v4", **tiny("trpo", rollout_workers=2))
    with pytest.raises(ConfigError, match="rollout_blocks 3 is no divisor of num_envs 10"):
        spacil.TRPO("Reacher-v4", **tiny("trpo", rollout_blocks=3))
    with pytest.raises(ConfigError, match="the Ray cluster has 2 CPUs"):
        spacil.TRPO("Reacher-v4", **tiny("trpo", rollout_blocks=5, rollout_workers=5))

    def make() -> Any:
        import gymnasium

        return gymnasium.make("Reacher-v5")

    with pytest.raises(ConfigError, match="a worker makes its envs by name"):
        spacil.TRPO(make, **tiny("trpo", rollout_blocks=2, rollout_workers=1))
