"""What `--smoothest` must keep: a share of the return, or the likeness to the demonstrations.

Either is turned into one number, the *slack*: 1 for an imitation beyond doubt, 0 where it is just
good enough, below 0 where it is not.

    share of the return >= keep      slack = (share - keep) / (1 - keep)
    imitation score <= threshold     slack = (threshold - score) / threshold

with share = (G - random) / (reference - random). The reference is the demonstrator's return by the
rewards that its demonstrations hold, also where steps were left out; without rewards there it is
the best return of a regular evaluation so far, which moves with the run.
"""

import logging
import math
from dataclasses import dataclass, replace

from spacil.config.train_config import TrainConfig
from spacil.demos.demonstrations import Demonstrations
from spacil.envs.vector_env import VectorEnv
from spacil.errors import ConfigError
from spacil.learning.likeness import threshold_of
from spacil.measuring.played import random_return, share_of_return

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Constraint:
    """Plain numbers that a checkpoint keeps."""

    keep: float
    """Share of the return to keep; 0: the score decides and the return is not read"""
    threshold: float
    """tau, the score that still counts as like the demonstrations"""
    random_return: float = 0.0
    reference_return: float | None = None
    """What counts as a share of 1; None before anything was seen"""
    follows_best: bool = False
    """Whether the reference is the best return seen so far, and not the demonstrator's"""

    def share(self, average_return: float) -> float | None:
        """Of the return; None without a reference that earns more than random actions."""
        if self.reference_return is None:
            return None
        return share_of_return(average_return, self.random_return, self.reference_return)

    def slack(self, average_return: float, score: float) -> float | None:
        """See above; None where the share is not known yet."""
        if not self.keep:
            return (self.threshold - score) / self.threshold
        share = self.share(average_return)
        return None if share is None else (share - self.keep) / (1 - self.keep)

    def after_evaluation(self, average_return: float) -> "Constraint":
        """A return above all before it is the new reference, where there is no demonstrator's."""
        is_new = self.reference_return is None or average_return > self.reference_return
        if not (self.keep and self.follows_best and is_new):
            return self
        return replace(self, reference_return=average_return)

    def has_outgrown(self, former: "Constraint") -> bool:
        """Whether the best return has just risen by more than may be lost: the run still learns.

        Its newest policy then has a share of 1, however young it is.
        """
        if not (self.keep and self.follows_best):
            return False
        before = None if former.reference_return is None else self.share(former.reference_return)
        return before is None or before < self.keep

    @property
    def words(self) -> str:
        """What is asked for, in words."""
        if not self.keep:
            return f"imitation score up to {self.threshold:.3f}"
        whose = "best return seen" if self.follows_best else "demonstrator's return"
        return f"{self.keep:.1%} of the {whose}"


def starting_constraint(
    config: TrainConfig, demonstrations: Demonstrations, eval_env: VectorEnv
) -> Constraint:
    """The constraint before the first iteration; draws from none of the run's streams."""
    keep, threshold = config.wish.keep_return, threshold_of(demonstrations, config.run.seed)
    if not keep:
        return Constraint(0.0, threshold)
    random = random_return(eval_env, config.run.seed)
    returns = demonstrations.returns
    reference = math.nan if returns is None else float(returns.mean())
    if not math.isfinite(reference):
        _logger.warning(
            "the demonstrations hold no rewards, or some that are not finite: --keep-return %g is "
            "of the best return that the run has seen",
            keep,
        )
        return Constraint(keep, threshold, random, follows_best=True)
    if reference <= random:
        raise ConfigError(
            f"--keep-return {keep}: the demonstrator earns {reference:.4g}, no more than random "
            f"actions ({random:.4g}), so there is no share to keep; leave it out, and --smoothest "
            "keeps to the demonstrated states"
        )
    _logger.info(
        "--keep-return %g: of the demonstrator's return %.4g, from that of random actions %.4g",
        keep,
        reference,
        random,
    )
    return Constraint(keep, threshold, random, reference)
