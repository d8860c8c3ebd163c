"""What a setting needs beside it to be read by anything.

A user who gives one that nothing reads is told what would read it. Groups that belong to a policy
step are in `algorithms.READ_WITH`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from spacil.config.train_config import TrainConfig

_CHANGES_IN_A_BALL = ("response", "both", "state")
"""Forms of the cost penalty that have an estimator"""


@dataclass(frozen=True)
class Reader:
    """What reads a setting."""

    is_there: Callable[[TrainConfig], bool]
    words: str
    """What a user would give"""


def _has_cost_penalty(config: TrainConfig) -> bool:
    return config.cost_penalty.lambda_cost > 0


def _mixes_pairs(config: TrainConfig) -> bool:
    return _has_cost_penalty(config) and config.cost_penalty.cost_penalty_form != "r1"


def _has_estimator(config: TrainConfig) -> bool:
    form = config.cost_penalty.cost_penalty_form
    return _has_cost_penalty(config) and form in _CHANGES_IN_A_BALL


def _ascends(config: TrainConfig) -> bool:
    terms = config.policy_penalty.terms
    is_cost = _has_estimator(config) and config.cost_penalty.cost_penalty_estimator == "pgd"
    return is_cost or any(term.kind.draws == "ball_start" for term in terms)


def _has_radius(config: TrainConfig) -> bool:
    """The printed scales are of a change inside the ball, also where it is found exactly."""
    penalty, cost = config.policy_penalty, config.cost_penalty
    is_printed = bool(penalty.terms) and penalty.policy_penalty_scale != "lipschitz"
    is_cost = _has_estimator(config) and cost.cost_penalty_scale != "lipschitz"
    return _ascends(config) or is_printed or is_cost


def _has_penalties(config: TrainConfig) -> bool:
    moves_temporal = config.wish.fluctuation_target > 0
    return bool(config.policy_penalty.terms) or moves_temporal or _has_cost_penalty(config)


_COST = Reader(_has_cost_penalty, "--lambda-cost above 0")
_ASCENT = Reader(_ascends, "--penalty pgd or --cost-penalty-estimator pgd")
_CAPS = Reader(
    lambda config: any(term.name == "caps" for term in config.policy_penalty.terms),
    "--penalty caps",
)

READERS: Mapping[str, Reader] = {
    "cost_weight": _COST,
    "cost_penalty_mixing": Reader(
        _mixes_pairs, "--lambda-cost above 0 and a --cost-penalty-form other than r1"
    ),
    "cost_penalty_estimator": Reader(
        _has_estimator,
        f"--lambda-cost above 0 and --cost-penalty-form {', '.join(_CHANGES_IN_A_BALL)}",
    ),
    "penalty_state_fraction": Reader(_has_penalties, "--penalty or --lambda-cost above 0"),
    "ball_radius": Reader(_has_radius, f"{_ASCENT.words}, or a printed scale"),
    **dict.fromkeys(("ball_num_steps", "ball_step_size", "ball_step_rule", "ball_start"), _ASCENT),
    **dict.fromkeys(("caps_noise_std", "caps_temporal_weight", "caps_spatial_weight"), _CAPS),
    "smoothness_target_states": Reader(
        lambda config: config.wish.smoothness_target > 0 or config.wish.fluctuation_target > 0,
        "--smoothness-target or --fluctuation-target",
    ),
    "warm_start_iterations": Reader(
        lambda config: config.warm_start.is_on, "--warm-start-steps or --warm-start-epochs"
    ),
    "gamma": Reader(
        lambda config: config.algorithm != "bc" or config.policy_penalty.penalty_discount,
        "--penalty-discount by bc",
    ),
    "select": Reader(lambda config: config.algorithm != "smooth", "spacil train"),
}
"""Setting -> what it is read with"""
