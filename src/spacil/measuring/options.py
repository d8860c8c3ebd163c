"""How a policy is measured: one place for a default, its help and its check."""

from dataclasses import dataclass

from spacil.config.checks import whole_number
from spacil.errors import ConfigError


@dataclass(frozen=True)
class SmoothnessOptions:
    """How to measure; the defaults take seconds."""

    episodes: int = 20
    """Whole episodes of the policy, and of each reference."""
    seed: int = 0
    """Of the start states and of every draw; no training run uses them."""
    sampled: bool = False
    """Act with samples of the policy's Gaussian; J is that of its mean at the states visited."""
    robustness: bool = False
    """Also play under observation noise, attack and delay: about 13 times the episodes."""
    attack_radius: float | None = None
    """Of the attack, in standard deviations of each feature; by default the task's usual one."""
    max_states: int = 20_000
    """Measure at most so many states, a random choice of them, on trajectories and fixed ones."""

    def __post_init__(self) -> None:
        for name, least in (("episodes", 1), ("max_states", 1), ("seed", 0)):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), least))
        if self.attack_radius is not None and not self.attack_radius > 0:
            raise ConfigError(f"--attack-radius is {self.attack_radius}, expected above 0")
        if self.attack_radius is not None and not self.robustness:
            raise ConfigError("--attack-radius is read with --robustness only: add it")
