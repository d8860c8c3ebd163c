"""Any rsl_rl VecEnv as an env of ours: what it tells, what it hides, and who plays it."""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("rsl_rl")
from toy_robots import HORIZON, ToyRobots, controller

import spacil
from spacil.demos.recording import record_demonstrations
from spacil.envs.registry import make_vector_env, task_name
from spacil.envs.rsl_rl import RslRlEnv
from spacil.envs.vector_env import ResetSeeds
from spacil.errors import ConfigError
from spacil.learning import on_policy
from spacil.nets.policy import GaussianPolicy

SEEDS = ResetSeeds(0, "env")
SMALL: dict[str, Any] = {
    "num_envs": 32,
    "steps_per_iteration": 32 * HORIZON,
    "policy_hidden": (16,),
}


def made(num_envs: int = 4, seeds: ResetSeeds = SEEDS, **how: Any) -> RslRlEnv:
    env = make_vector_env(ToyRobots(num_envs, **how), num_envs, seeds)
    assert isinstance(env, RslRlEnv)
    return env


def test_what_it_tells_of_itself() -> None:
    spec = made().spec
    assert (spec.task, spec.num_states, spec.num_actions) == ("ToyRobots", 4, 2)
    assert (spec.horizon, spec.dt, spec.restores_exactly) == (HORIZON, 0.1, False)
    assert not torch.tensor([*spec.action_low, *spec.action_high]).isfinite().any()
    robots = ToyRobots(4)
    robots.clip_actions = 5.0  # type: ignore[attr-defined]  # as the wrappers of simulators say it
    assert make_vector_env(robots, 4, SEEDS).spec.action_high.tolist() == [5.0, 5.0]


def test_the_policy_reads_the_groups_that_are_named_and_actor_or_policy_by_default() -> None:
    robots = ToyRobots(4)
    env = make_vector_env(spacil.RslRlTask(robots, ("critic", "actor"), "Toy"), 4, SEEDS)
    assert (env.spec.num_states, env.spec.task) == (9, "Toy")
    assert task_name(robots) == "ToyRobots"
    with pytest.raises(ConfigError, match="actor, critic, and the policy reads sensors: say"):
        make_vector_env(spacil.RslRlTask(robots, ("sensors",)), 4, SEEDS)
    robots._shown = lambda states: {"left": states, "right": states}  # type: ignore[assignment,return-value]
    with pytest.raises(
        ConfigError, match="groups are left, right, and the policy reads one of them: say which"
    ):
        make_vector_env(robots, 4, SEEDS)


def test_time_outs_are_truncations_and_falls_terminations() -> None:
    env = made(2, horizon=5)
    env.reset()
    env.env.states[0] = torch.tensor([2.9, 0.0, 2.0, 0.0])
    step = env.step(torch.zeros(2, 2))
    assert step.terminated.tolist() == [True, False] and not step.truncated.any()
    for _ in range(4):
        step = env.step(torch.zeros(2, 2))
    assert step.truncated.tolist() == [False, True] and not step.terminated.any()


@pytest.mark.parametrize("shows_final", [False, True])
def test_where_the_last_state_is_hidden_the_one_before_stands_for_it(shows_final: bool) -> None:
    env = made(2, horizon=1, shows_final=shows_final)
    before = env.reset().clone()
    step = env.step(torch.ones(2, 2))
    reached = before + torch.tensor([0.01, 0.01, 0.1, 0.1])
    assert torch.allclose(step.final_observations, reached if shows_final else before)
    assert step.truncated.all() and not torch.equal(step.observations, step.final_observations)


def test_an_episode_starts_alike_whenever_it_is_asked_for() -> None:
    env = made(8)
    first, second = env.reset(0).clone(), env.reset(1).clone()
    assert not torch.equal(first, second)
    assert torch.equal(env.reset(0), first)


def test_an_env_that_is_shared_goes_on_with_new_episodes() -> None:
    """Isaac Lab has one scene per process: an evaluation cuts the episodes of training."""
    robots = ToyRobots(4)
    training = make_vector_env(robots, 4, SEEDS)
    evaluation = make_vector_env(robots, 2, ResetSeeds(0, "eval"))
    seen = training.reset().clone()
    evaluation.reset()
    assert evaluation.step(torch.zeros(2, 2)).observations.shape == (2, 4)
    step = training.step(torch.zeros(4, 2))
    assert step.truncated.all() and torch.equal(step.final_observations, seen)
    assert not step.rewards.any() and not torch.equal(step.observations, seen)
    assert not training.step(torch.zeros(4, 2)).truncated.any()


def test_a_number_of_worlds_that_it_does_not_have_is_refused() -> None:
    for num_envs in (5, 3):
        with pytest.raises(ConfigError, match="simulates 4 worlds: pass num_envs=4"):
            make_vector_env(ToyRobots(4), num_envs, SEEDS)


def test_without_mjlab_it_is_named_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mjlab", None)
    with pytest.raises(ConfigError, match=r"mjlab cannot be imported .* MuJoCo 3.11"):
        make_vector_env("mjlab:Mjlab-Velocity-Flat-Unitree-Go1", 4, SEEDS)
    with pytest.raises(ConfigError, match="has no name; pass it from Python"):
        make_vector_env("rsl_rl/Go1", 4, SEEDS)


def test_training_never_leaves_the_device(
    reads: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    robots, in_collecting = ToyRobots(1_024), []
    agent = spacil.TRPO(robots, num_envs=1_024, steps_per_iteration=2 * 1_024, policy_hidden=(8,))
    collect = on_policy.collect

    def counted(*arguments: Any) -> Any:
        before = reads.total()
        found = collect(*arguments)
        in_collecting.append(reads.total() - before)
        return found

    monkeypatch.setattr(on_policy, "collect", counted)
    agent.learn(iterations=2)
    assert in_collecting == [0, 0]
    agent.close()


def test_it_learns_is_evaluated_and_goes_on_with_new_episodes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    agent = spacil.TRPO(ToyRobots(32), evaluation_interval=5, initial_log_std=-1.0, **SMALL)
    before = agent.evaluate(episodes=20)
    agent.learn(iterations=10, run_dir=tmp_path / "run")
    after = agent.evaluate(episodes=20)
    assert after.average_return > before.average_return + 1
    assert after.mean_length == HORIZON
    agent.close()
    resumed = spacil.TRPO(
        ToyRobots(32), evaluation_interval=5, initial_log_std=-1.0, iterations=11, **SMALL
    )
    resumed.learn(run_dir=tmp_path / "run")
    assert "cannot be saved within an episode" in caplog.text
    resumed.close()


def test_imitation_smoothing_and_measuring_take_it_as_it_is() -> None:
    demos = record_demonstrations(made(8), controller, 8, {})
    robots = ToyRobots(32)
    agent = spacil.SPaCIL(robots, demos.without_actions(), iterations=2, **SMALL)
    agent.learn()
    assert agent.evaluate(episodes=4).smoothness_j is not None
    agent.close()
    found = spacil.diagnose(agent.policy, robots, episodes=2)
    assert found.findings


def test_a_policy_is_smoothed_where_its_worlds_are() -> None:
    robots = ToyRobots(32)
    result = spacil.smooth(
        lambda states: controller(torch.from_numpy(states)).numpy(),
        robots,
        num_envs=32,
        steps_per_iteration=32 * HORIZON,
        iterations=3,
        fit_steps=100,
        policy_hidden=(32,),
        episodes=8,
        keep_return=0.97,
    )
    table = result.comparison
    assert table.smooth.return_share is not None and table.smooth.return_share > 0.8
    assert table.task == "ToyRobots" and result.policy.predict([0.1, 0, 0, 0]).shape == (2,)
    with pytest.raises(ConfigError, match="no such CUDA device"):
        spacil.smooth(result.policy, robots, num_envs=32, device="cuda")


def test_a_policy_is_exported_with_what_the_robots_software_needs(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    facts = {"joint_names": ["hip", "knee"], "joint_stiffness": [20.0, 17.5]}
    robots = spacil.RslRlTask(ToyRobots(4, horizon=5), name="Toy", facts=facts)
    policy = GaussianPolicy(4, [-torch.inf] * 2, [torch.inf] * 2, (8,))
    spacil.save_policy(policy, tmp_path / "toy.policy.safetensors", "Toy")
    made = spacil.export_policy(tmp_path / "toy.policy.safetensors", tmp_path / "robot", robots)
    assert made.facts["joint_names"] == ["hip", "knee"] and made.facts["control_rate_hz"] == 10.0
    model = onnx.load(tmp_path / "robot" / "policy.onnx")
    kept = {entry.key: entry.value for entry in model.metadata_props}
    assert (kept["joint_names"], kept["joint_stiffness"]) == ("hip,knee", "20,17.5")


def test_an_env_that_draws_itself_is_filmed() -> None:
    robots: Any = ToyRobots(4, horizon=5)
    assert make_vector_env(robots, 4, SEEDS).scene() is None  # type: ignore[attr-defined]
    robots.render_mode, robots.unwrapped = "rgb_array", robots
    robots.render = lambda: np.zeros((8, 8, 3), dtype=np.uint8)
    scene = make_vector_env(robots, 4, SEEDS).scene()  # type: ignore[attr-defined]
    assert scene.model is None and scene.pose().startswith(b"\x89PNG")
