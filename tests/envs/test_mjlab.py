"""A robot of mjlab on the CPU, with eight worlds: one to two minutes of compilation come first."""

import contextlib

import pytest
import torch

pytest.importorskip("mjlab")

import spacil
from spacil.envs.registry import make_vector_env
from spacil.envs.rsl_rl import RslRlEnv
from spacil.envs.vector_env import ResetSeeds
from spacil.errors import ConfigError

TASK = "mjlab:Mjlab-Velocity-Flat-Unitree-Go1"
SEEDS = ResetSeeds(0, "env")


@pytest.mark.slow
def test_a_quadruped_of_mjlab_steps_learns_and_tells_what_its_software_needs() -> None:
    with contextlib.closing(make_vector_env(TASK, 8, SEEDS)) as env:
        assert isinstance(env, RslRlEnv)
        spec, first = env.spec, env.reset(0).clone()
        assert (spec.num_states, spec.num_actions, spec.horizon, spec.dt) == (48, 12, 1_000, 0.02)
        step = env.step(torch.zeros(8, 12))
        assert step.observations.isfinite().all() and not step.terminated.any()
        facts = env.robot_facts()
        assert len(facts["joint_names"]) == len(facts["joint_stiffness"]) == 12
        assert facts["observation_names"][-1] == "command"
        assert torch.equal(env.reset(0), first)
        with contextlib.closing(
            spacil.TRPO(spacil.RslRlTask(env.env), num_envs=8, steps_per_iteration=80)
        ) as agent:
            metrics = agent._learner.iterate()
        assert metrics["env_steps"] == 80


@pytest.mark.slow
def test_a_task_that_mjlab_does_not_have_is_refused_with_those_that_are_close() -> None:
    with pytest.raises(ConfigError, match=r"no task .*did you mean .*Flat-Unitree-Go1"):
        make_vector_env(f"{TASK}2", 8, SEEDS)
