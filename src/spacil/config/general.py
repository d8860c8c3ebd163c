"""Settings that do not depend on what is learned: the run, its sampling, nets and evaluation."""

import math
import os
import re
from dataclasses import dataclass, field
from typing import Literal

from spacil.config.checks import require_ranges, require_widths
from spacil.errors import ConfigError


@dataclass(frozen=True)
class RunConfig:
    """How long, on what machine."""

    seed: int = 0
    """Root of every random stream of the run."""
    iterations: int = 500
    """Number of policy updates (K); of bc, epochs."""
    device: str = "cpu"
    """Where updates run: cpu, cuda, or auto (cuda if there is one). Simulation is on the CPU."""
    simulation_threads: int = field(default_factory=lambda: num_cores())
    """Threads that step the simulator. Any number gives the same bits."""
    torch_threads: int = field(default_factory=lambda: num_cores())
    """Threads of the matrix products. Results repeat bit for bit at one number only."""
    checkpoint_interval: int = 1
    """Iterations between checkpoints: at most this much is lost when a run is killed."""
    env_timeout: float = 300.0
    """Seconds that one step of all envs of your own may take; then the run ends as hung."""

    def __post_init__(self) -> None:
        counts = "iterations simulation_threads torch_threads checkpoint_interval"
        require_ranges(self, {"0 or more": "seed", "1 or more": counts, "above 0": "env_timeout"})
        if not re.fullmatch("auto|(cpu|cuda)(:[0-9]{1,3})?", self.device):
            raise ConfigError(f"--device {self.device}: expected cpu, cuda, cuda:N or auto")


@dataclass(frozen=True)
class SamplingConfig:
    """The batch that each iteration plays."""

    steps_per_iteration: int = 6_000
    """Env steps per update, over all envs; a multiple of num_envs."""
    num_envs: int = 50
    """Envs stepped side by side. Part of the result: another number is another run."""

    def __post_init__(self) -> None:
        require_ranges(self, {"1 or more": "steps_per_iteration num_envs"})
        if self.steps_per_iteration % self.num_envs:
            next_multiple = math.ceil(self.steps_per_iteration / self.num_envs) * self.num_envs
            raise ConfigError(
                f"--steps-per-iteration {self.steps_per_iteration} is not a multiple of "
                f"--num-envs {self.num_envs}: try --steps-per-iteration {next_multiple} or "
                f"--num-envs {math.gcd(self.steps_per_iteration, self.num_envs)}"
            )


@dataclass(frozen=True)
class NetsConfig:
    """The policy's network (the paper's sizes, app:exp_setup_hyper_params) and the start of all."""

    policy_hidden: tuple[int, ...] = (400, 300)
    """Hidden widths of the policy's mean network."""
    init: Literal["fan-in", "paper-numel"] = "fan-in"
    """Uniform start with k = 1/sqrt(fan in), or the literal reading 1/sqrt(number of weights)."""

    initial_log_std = 0.0

    def __post_init__(self) -> None:
        require_ranges(self, {})
        require_widths("policy_hidden", self.policy_hidden)


@dataclass(frozen=True)
class ExploringNetsConfig(NetsConfig):
    __doc__ = NetsConfig.__doc__

    initial_log_std: float = 0.0
    """Start of the policy's learned log standard deviation (r)."""


@dataclass(frozen=True)
class EvaluationConfig:
    """Evaluation on a separate env, with mean actions and a frozen normaliser."""

    evaluation_interval: int = 10
    """Iterations between evaluations; the last iteration is always evaluated."""
    evaluation_steps: int = 20_000
    """State-action pairs per evaluation (app:deep_rl_tricks), in whole episodes."""

    def __post_init__(self) -> None:
        require_ranges(self, {"1 or more": "evaluation_interval evaluation_steps"})


@dataclass(frozen=True)
class DemoChoice:
    """The part of the given demonstrations that a run learns from."""

    num_demos: int | None = None
    """Number of trajectories; all by default."""
    first_demo: int = 0
    """The trajectory to begin with, counted from 0."""
    demo_every: int = 1
    """Use every n-th step of each trajectory; the GAIL paper uses every 20th."""
    demo_offset: int = 0
    """The step of each trajectory to begin with, below --demo-every."""
    demo_noise: float = 0.0
    """Add Gaussian noise to the demonstrated states, in units of their standard deviation."""
    drop_nonfinite: bool = False
    """Leave out demonstrated episodes that hold NaN or infinity instead of refusing the file."""
    allow_env_mismatch: bool = False
    """Use demonstrations recorded in another env or version of the same sizes."""


def num_cores() -> int:
    """Cores this process may use, at most 8: small nets gain nothing from more."""
    return min(len(os.sched_getaffinity(0)), 8)
