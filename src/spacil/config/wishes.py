"""Settings of wishes: what to end at, instead of the weights that lead there."""

from dataclasses import dataclass
from typing import Literal

from spacil.config.checks import require


@dataclass(frozen=True)
class WishConfig:
    """A wish instead of a weight: the paper's constrained problem (eq:main_problem).

    The weights of the policy penalties are then found during training.
    """

    smoothest: bool = False
    """As smooth as the imitation allows. The weight rises while it is good and falls back when it
    is not. Good: --keep-return where given, else the states that the policy visits are like the
    demonstrated ones, for which no reward is read. Handed out is the smoothest good policy."""
    keep_return: float = 0.0
    """--smoothest with this share of the return kept, e.g. 0.98. A share counts from what random
    actions earn. In training it is of the demonstrator's return, or of the best one seen where
    demonstrations have no rewards; in smooth of the teacher's. 0: the return is not read (smooth:
    98 % is kept)."""
    smoothness_target: float = 0.0
    """J to end at, at most (epsilon' of eq:main_problem). In the common frame: per standard
    deviation of the demonstrations' states. With a reference, a fraction of its J. 0: none."""
    smoothness_target_reference: str = "none"
    """none: the target is J itself. demonstrator: a fraction of the J of whoever gave the
    demonstrations, as recorded with them or else as cloned from them. Or a fraction of the J of a
    policy: a run folder (its last policy) or a policy file."""
    fluctuation_target: float = 0.0
    """Action change per step to end at, at most. In units of the actions, E |a_{t+1} - a_t|; found
    by the weight of a temporal penalty (cats, or the one that --penalty names) beside the spatial
    one. With --smoothest or --keep-return, only as far as what they keep allows, and before J. With
    a reference, a fraction of its change. 0: none."""
    fluctuation_target_reference: str = "none"
    """none: the target is the change itself. demonstrator: a fraction of the change in whole
    demonstrations, or of a clone's where steps were left out. Or a fraction of a policy's change: a
    run folder (its last policy) or a policy file."""
    smoothness_target_states: int = 500
    """States of each batch on which J and the action change are measured, drawn anew each
    iteration."""
    penalty_weight: Literal["fixed", "auto"] = "fixed"
    """fixed: the weight that --penalty says, or that a wish finds. auto: it starts there, or up to
    ten times as high where an unpenalised clone has a J below 1.8, and rises to at most five times
    its start while the states that the policy visits stay like the demonstrated ones and J is above
    a share of the clone's (0.38 of it with 300 demonstrated pairs, 0.3 with 6,000); it falls when
    they do not. The env's reward is not read."""

    def __post_init__(self) -> None:
        require(0 <= self.keep_return < 1, "keep_return", self.keep_return, "0 to below 1")
        spatial = self.smoothness_target
        require(
            spatial == 0 or self.penalty_weight == "fixed",
            "smoothness_target",
            spatial,
            "0 with --penalty-weight auto: one of the two finds the weight",
        )
        require(
            not self.smoothest or (spatial == 0 and self.penalty_weight == "fixed"),
            "smoothest",
            self.smoothest,
            "alone, without --smoothness-target and --penalty-weight auto: one of them finds the "
            "weight",
        )
        for name in ("smoothness_target", "fluctuation_target"):
            target, reference = getattr(self, name), getattr(self, f"{name}_reference")
            require(target >= 0, name, target, "above 0, or 0 for none")
            require(
                target > 0 or reference == "none",
                name,
                target,
                f"above 0 when --{name.replace('_', '-')}-reference is given",
            )
        states = self.smoothness_target_states
        require(states >= 1, "smoothness_target_states", states, "1 or more")

    @property
    def wants_smoothest(self) -> bool:
        """Whether a constraint is what holds the weight back."""
        return self.smoothest or (self.keep_return > 0 and self.smoothness_target == 0)

    @property
    def moves_spatial_weight(self) -> bool:
        """Whether a search starts from the weight of the first term."""
        is_auto = self.penalty_weight == "auto"
        return is_auto or self.smoothness_target > 0 or self.wants_smoothest

    @property
    def moves_a_weight(self) -> bool:
        """Whether anything searches for one."""
        return self.moves_spatial_weight or self.fluctuation_target > 0
