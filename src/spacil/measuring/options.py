"""How a policy is measured: one place for a default, its help and its check."""

from dataclasses import dataclass

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
        for name in ("episodes", "max_states"):
            if getattr(self, name) < 1:
                raise ConfigError(
                    f"--{name.replace('_', '-')} is {getattr(self, name)}, expected 1 or more"
                )
        if self.seed < 0:
            raise ConfigError(f"--seed is {self.seed}, expected 0 or more")
        if self.attack_radius is not None and not self.attack_radius > 0:
            raise ConfigError(f"--attack-radius is {self.attack_radius}, expected above 0")
        if self.attack_radius is not None and not self.robustness:
            raise ConfigError("--attack-radius is read with --robustness only: add it")
