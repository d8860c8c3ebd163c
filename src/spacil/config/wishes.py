"""Settings of the weight search: targets to end at, instead of the weights that lead there."""

from dataclasses import dataclass

from spacil.config.checks import require, require_ranges


@dataclass(frozen=True)
class WishConfig:
    """Targets instead of weights: the paper's constrained problem (eq:main_problem).

    The weights of the policy penalties are then found during training.
    """

    keep_return: float = 0.0
    """--smoothest with this share of the return kept, e.g. 0.98. A share counts from what random
    actions earn. In training it is of the demonstrator's return, or of the best one seen where
    demonstrations have no rewards; in smooth of the teacher's. 0: the return is not read (smooth:
    98 % is kept)."""
    smoothness_target: float = 0.0
    """J to end at, at most (epsilon' of eq:main_problem). In the common frame: per standard
    deviation of the demonstrations' states. With a reference, a fraction of its J. 0: none."""
    fluctuation_target: float = 0.0
    """Action change per step to end at, at most. In units of the actions, E |a_{t+1} - a_t|; found
    by the weight of a temporal penalty (cats, or the one that --penalty names) beside the spatial
    one. With --smoothest or --keep-return, only as far as what they keep allows, and before J. With
    a reference, a fraction of its change. 0: none."""
    smoothest = False
    smoothness_target_reference = "none"
    fluctuation_target_reference = "none"
    smoothness_target_states = 500

    def __post_init__(self) -> None:
        targets = "smoothness_target fluctuation_target"
        require_ranges(self, {"in [0, 1)": "keep_return", "0 or more": targets})

    @property
    def wants_smoothest(self) -> bool:
        """Whether a constraint is what holds the weight back."""
        return self.smoothest or (self.keep_return > 0 and self.smoothness_target == 0)


@dataclass(frozen=True)
class TrainingWishConfig(WishConfig):
    __doc__ = WishConfig.__doc__

    smoothest: bool = False
    """As smooth as the imitation allows. The weight rises while it is good and falls back when it
    is not. Good: --keep-return where given, else the states that the policy visits are like the
    demonstrated ones, for which no reward is read. Handed out is the smoothest good policy."""
    smoothness_target_reference: str = "none"
    """none: the target is J itself. demonstrator: a fraction of the J of whoever gave the
    demonstrations, as recorded with them or else as cloned from them. Or a fraction of the J of a
    policy: a run folder (its last policy) or a policy file."""
    fluctuation_target_reference: str = "none"
    """none: the target is the change itself. demonstrator: a fraction of the change in whole
    demonstrations, or of a clone's where steps were left out. Or a fraction of a policy's change: a
    run folder (its last policy) or a policy file."""
    smoothness_target_states: int = 500
    """States of each batch on which J and the action change are measured, drawn anew each
    iteration."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_ranges(self, {"1 or more": "smoothness_target_states"})
        for name in ("smoothness_target", "fluctuation_target"):
            flag = f"--{name.replace('_', '-')}-reference"
            is_read = getattr(self, name) > 0 or getattr(self, f"{name}_reference") == "none"
            require(is_read, name, getattr(self, name), f"above 0 when {flag} is given")
