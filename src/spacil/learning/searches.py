"""The weight searches of one run: what each starts from, and when it listens to what.

    search         moves the weight of           listens to
    score_rule     the first penalty             evaluations                 --penalty-weight auto
    j_target       the first penalty             batches and evaluations     --smoothness-target
    change_target  the temporal penalty          batches and evaluations     --fluctuation-target
    smoothest      the first penalty             evaluations                 --smoothest ...

A search begins before the first iteration, and its weight is read before each one. While
--penalty-ramp-iterations withholds some of that weight, what is seen says nothing about it, and
no search moves. Where nothing is searched for, nothing is measured, drawn or logged. What a search
starts from is measured before a run, and draws from none of the run's streams.
"""

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch

from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import CommonFrame, recorded_evaluation
from spacil.demos.demonstrations import Demonstrations
from spacil.envs.vector_env import EnvSpec, VectorEnv
from spacil.errors import ConfigError
from spacil.learning.cloning import Cloner, clone, cloning_config
from spacil.learning.learner import Metrics
from spacil.learning.weight_search import (
    LABELS_J,
    LAWS,
    Constraint,
    ScoreSearch,
    SlowSearch,
    TargetSearch,
    WeightSearch,
    select,
)
from spacil.measuring.evaluate import Best, Evaluation, evaluate
from spacil.measuring.frames import mean_j
from spacil.measuring.imitation_score import threshold_of
from spacil.measuring.played import random_return
from spacil.nets.policy import GaussianPolicy
from spacil.runs.state import State
from spacil.smoothness.policy_penalty import rows_with_successor
from spacil.smoothness.policy_terms import FoundWeights, share_at
from spacil.types import RolloutBatch

MAX_FACTOR = 1000.0
"""Highest weight of the smoothest policy, in units of the first one."""
MIN_FACTOR_BY_RETURN, MIN_FACTOR_BY_SCORE = 0.1, 1.0
"""Its lowest weight: a score may ask for too much, and then the policy is as smooth as without."""
REFERENCE_EPISODE = 0
"""Episode of the untrained policy too; evaluations that count have later ones."""
J_AT_ONE_PAIR, J_DECAY = 0.6, 0.08
"""J* / J_ref = 0.6 M^-0.08 with M demonstrated pairs: scarce demonstrations allow less."""
J_OF_CONFIG_WEIGHT, LARGEST_SCALE = 1.8, 10.0
"""The J_ref down to which the config's weight is the first one; most it is multiplied by."""
NUM_REFERENCE_STATES = 1_000
REFERENCE_STEPS = 1_500
"""Adam steps of the unpenalised clone where the run itself starts untrained."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Quantity:
    """What a target is of: J or the action change."""

    name: str
    """Of its setting, NAME_target, and key of the metrics"""
    noun: str
    law: str
    evaluated: str
    """Field of an evaluation; with _batch, key of what a batch tells"""
    prefix: str
    """Of its other keys of the metrics"""
    gap: str


J = Quantity("smoothness", "J", "J", "smoothness_j", "", "target_gap")
CHANGE = Quantity(
    *("fluctuation", "the action change", "action change"),
    *("action_fluctuation", "fluctuation_", "fluctuation_gap"),
)

_KINDS: Mapping[str, type] = {
    "smoothness": TargetSearch,
    "fluctuation": TargetSearch,
    "change_limit": WeightSearch,
    "smoothest": WeightSearch,
    "constraint": Constraint,
    "chosen": Best,
}


class WeightSearches:
    """The searches of a run; each is None until it begins, or for good."""

    def __init__(self, config: TrainConfig, *, are_labels: bool = False) -> None:
        """`are_labels`: the actions of the demonstrations were not demonstrated, but found."""
        self.config, self.are_labels = config, are_labels
        self.is_slow = are_labels or config.conditions.is_on
        """Whether the clone that a run starts from is far from the demonstrations for long"""
        self.score_rule: ScoreSearch | None = None
        self.smoothness: TargetSearch | None = None
        """Towards a J that is at most so much"""
        self.fluctuation: TargetSearch | None = None
        """The same for the action change"""
        self.change_limit: WeightSearch | None = None
        """The most weight it may take, by the slack of what the smoothest policy must keep"""
        self.smoothest: WeightSearch | None = None
        """Towards a policy as smooth as the constraint allows"""
        self.constraint: Constraint | None = None
        self.chosen: Best | None = None
        """The smoothest evaluated policy that keeps it"""

    def register(self, state: State) -> None:
        """Keep the searches under way in checkpoints."""
        score_rule = SlowSearch if self.is_slow else ScoreSearch
        for name, kind in {"score_rule": score_rule, **_KINDS}.items():
            state.register_record(f"search.{name}", self, kind, name, optional=True)

    def begin(
        self,
        demos: Demonstrations | None,
        common_frame: CommonFrame | None,
        eval_env: VectorEnv,
    ) -> None:
        """Start the searches that are asked for and not under way.

        Whatever can be refused about one is refused here, and a new run asks before its folder
        changes.
        """
        config, wish, penalty = self.config, self.config.wish, self.config.policy_penalty
        known = (config, demos, common_frame, eval_env)
        first, temporal = penalty.first_weight, penalty.temporal_term.weight
        if wish.smoothness_target > 0 and self.smoothness is None:
            self.smoothness = TargetSearch.starting(wanted_value(J, *known), first)
        if wish.fluctuation_target > 0 and self.fluctuation is None:
            self.fluctuation = TargetSearch.starting(wanted_value(CHANGE, *known), temporal)
        if wish.wants_smoothest and self.smoothest is None:
            if demos is None or common_frame is None:
                raise ConfigError("--smoothest is by the demonstrations: pass --demos")
            factor = MIN_FACTOR_BY_RETURN if wish.keep_return else MIN_FACTOR_BY_SCORE
            self.smoothest = WeightSearch(first, factor * first, MAX_FACTOR * first)
            self.constraint = start_constraint(config, demos, eval_env)
            if self.fluctuation is not None:
                self.change_limit = WeightSearch(temporal, temporal, self.fluctuation.highest)
        if penalty.penalty_weight == "auto" and self.score_rule is None:
            assert demos is not None and common_frame is not None
            search = start_score_search(config, demos, common_frame, eval_env.spec)
            if self.is_slow:
                search = SlowSearch.of(search, LABELS_J if self.are_labels else 1.0)
            self.score_rule = search

    @property
    def weights(self) -> FoundWeights:
        """Weights of the next iteration; None where none is searched for."""
        spatial = temporal = None
        if self.score_rule is not None:
            spatial = self.score_rule.weight
        elif self.smoothness is not None:
            spatial = self.smoothness.applied(LAWS[J.law])
        elif self.smoothest is not None:
            spatial = self.smoothest.weight
        if self.fluctuation is not None:
            temporal = self.fluctuation.applied(LAWS[CHANGE.law])
            if self.change_limit is not None:
                temporal = min(temporal, self.change_limit.weight)
        return FoundWeights(spatial, temporal)

    @torch.no_grad()
    def after_batch(
        self,
        policy: GaussianPolicy,
        rollout: RolloutBatch,
        common_frame: CommonFrame | None,
        generator: torch.Generator,
        num_done: int,
    ) -> Metrics:
        """Measure the updated policy on its batch, where a target listens.

        `num_done` iterations came before this one.
        """
        metrics: Metrics = {}
        for quantity in (J, CHANGE):
            search: TargetSearch | None = getattr(self, quantity.name)
            if search is None or share_at(self.config.policy_penalty, num_done) < 1:
                continue
            size, value = self.config.wish.smoothness_target_states, None
            if quantity is CHANGE:
                value = measure_action_change(policy, rollout, size, generator)
            elif common_frame is not None:
                value = measure_j(policy, rollout.flat_states, common_frame, size, generator)
            if value is not None:
                search = search.after_batch(value, LAWS[quantity.law])
                if quantity is CHANGE and self.change_limit is not None:
                    # The integral term may not run away from its limit.
                    search = replace(search, weight=min(search.weight, self.change_limit.weight))
                setattr(self, quantity.name, search)
            metrics |= {
                f"{quantity.name}_target": search.target,
                f"{quantity.evaluated}_batch": value,
                quantity.gap: math.expm1(search.error),
            }
        return metrics

    def after_evaluation(self, evaluation: Evaluation, policy: Best, is_regular: bool) -> Metrics:
        """Let the searches hear how good and smooth the policy is that is handed out.

        `is_regular`: whether a longer run would have made this evaluation too, and the policy has
        moved; by others only the targets' biases are corrected, and policies chosen.
        """
        is_whole = share_at(self.config.policy_penalty, policy.iteration - 1) >= 1
        score, j = policy.imitation_score, policy.smoothness_j
        metrics: Metrics = {}
        if self.score_rule is not None:
            assert score is not None and j is not None
            if is_regular and is_whole:
                self.score_rule = self.score_rule.after_evaluation(score, j)
            metrics |= {
                "score_threshold": self.score_rule.threshold,
                "rule_target_j": self.score_rule.target_j,
                "next_lambda_policy": self.score_rule.weight,
            }
        for quantity in (J, CHANGE):
            search: TargetSearch | None = getattr(self, quantity.name)
            value = getattr(evaluation, quantity.evaluated)
            if search is None or value is None:
                continue
            if is_whole:
                search = search.after_evaluation(value)
                setattr(self, quantity.name, search)
            found = search.verdict(value, LAWS[quantity.law], quantity.noun)
            metrics |= {
                f"{quantity.name}_target": search.target,
                f"{quantity.gap}_evaluated": found.gap,
                f"is_{quantity.prefix}target_met": found.is_met,
                f"{quantity.prefix}target_verdict": found.words,
            }
            if quantity is CHANGE and not found.is_met:
                policy = replace(policy, excess_change=found.gap)
        if self.smoothest is not None:
            metrics |= self._smooth_further(policy, is_regular and is_whole)
        if self.fluctuation is not None:
            metrics["next_lambda_temporal"] = self.weights.temporal
        return metrics

    def _smooth_further(self, policy: Best, is_heard: bool) -> Metrics:
        """As smooth as what must be kept allows: first that, then the action change, then J."""
        assert self.smoothest is not None and self.constraint is not None
        constraint = self.constraint
        slack = constraint.slack(policy)
        if is_heard:
            is_waiting = policy.excess_change > 0
            self.smoothest = self.smoothest.after(slack, LAWS["waiting" if is_waiting else "slack"])
            if self.change_limit is not None:
                # What the target has not used of its limit is not too much.
                limit, used = self.change_limit, self.weights.temporal
                if slack < 0 and used is not None:
                    limit = replace(limit, weight=max(used, limit.lowest))
                self.change_limit = limit.after(slack, LAWS["limit"])
        is_chosen = select(policy, self.chosen, constraint.rank)
        self.chosen = chosen = policy if is_chosen or self.chosen is None else self.chosen
        of_return = constraint.keep and {
            "return_share": constraint.share(policy.average_return),
            "share_reference": constraint.reference_return,
            "random_return": constraint.random_return,
            "smoothest_return_share": constraint.share(chosen.average_return),
        }
        return {
            "score_threshold": constraint.threshold,
            **(of_return or {}),
            "constraint": constraint.words,
            "constraint_slack": slack,
            "is_constraint_met": slack >= 0,
            "next_lambda_policy": self.smoothest.weight,
            "smoothest_iteration": chosen.iteration,
            "smoothest_slack": constraint.slack(chosen),
            "is_smoothest": is_chosen,
        }


@torch.no_grad()
def measure_j(
    policy: GaussianPolicy,
    states: torch.Tensor,
    common_frame: CommonFrame,
    num_states: int,
    generator: torch.Generator,
) -> float:
    """J in the common frame, on a random choice of raw states [B, S]."""
    rows = torch.randperm(len(states), generator=generator)[:num_states]
    chosen = states[rows.to(states.device)].to(policy.log_std.device)
    return mean_j(policy, chosen, common_frame)


@torch.no_grad()
def measure_action_change(
    policy: GaussianPolicy, rollout: RolloutBatch, num_pairs: int, generator: torch.Generator
) -> float | None:
    """E |a(s_{t+1}) - a(s_t)| of executed mean actions, on a random choice of successive states.

    None for a batch without any: one step per env.
    """
    rows = rows_with_successor(rollout.terminated | rollout.truncated)
    rows = rows[torch.randperm(len(rows), generator=generator)[:num_pairs]]
    if not len(rows):
        return None
    num_envs = rollout.terminated.shape[1]
    states = rollout.flat_states[torch.cat([rows, rows + num_envs])].to(policy.log_std.device)
    before, after = policy.clip(policy.mean(states)).chunk(2)
    return float(torch.linalg.vector_norm(after - before, dim=-1).mean())


# --- what a search starts from


def wanted_value(
    quantity: Quantity,
    config: TrainConfig,
    demonstrations: Demonstrations | None,
    common_frame: CommonFrame | None,
    eval_env: VectorEnv,
) -> float:
    """J in the run's common frame, or the action change E |a_{t+1} - a_t|, to end at.

    A clone is measured on `eval_env` where the demonstrations do not tell their demonstrator's
    value: whole, and for J in this frame.
    """
    flag = f"--{quantity.name}-target"
    target: float = getattr(config.wish, f"{quantity.name}_target")
    is_absolute = getattr(config.wish, f"{quantity.name}_target_reference") == "none"
    if is_absolute and (quantity is CHANGE or demonstrations is not None):
        return target
    if demonstrations is None or common_frame is None:
        raise ConfigError(f"{flag} is by the demonstrations: pass --demos")
    value = demonstrations.action_change
    if quantity is J:
        recorded = recorded_evaluation(demonstrations, common_frame).get(quantity.evaluated)
        value = recorded if isinstance(recorded, float) and recorded > 0 else None
    if not value:
        _logger.warning("%s: the demonstrations do not tell their demonstrator's: clone it", flag)
        seeded = with_settings(default_config("bc", config.task), {"seed": config.run.seed})
        policy = clone(demonstrations, eval_env.spec, seeded)
        found = evaluate(policy, eval_env, REFERENCE_EPISODE, eval_env.num_envs, common_frame)
        value = getattr(found, quantity.evaluated)
    if not value:
        raise ConfigError(
            f"{flag}-reference: the clone does not react to the state or does not move, and there "
            "is no fraction of 0; give the value itself"
        )
    _logger.info("%s: %g of the demonstrator's %.4g", flag, target, value)
    return target * value


def start_score_search(
    config: TrainConfig, demonstrations: Demonstrations, common_frame: CommonFrame, spec: EnvSpec
) -> ScoreSearch:
    """The default's search before the first iteration.

    J_ref is the J of an unpenalised clone on demonstrated states, which comes out near GAIL's
    without running it; J* is 0.38 J_ref at 300 pairs, 0.3 at 6,000. The first weight is the
    config's times (1.8 / J_ref)^2, where that is above 1: the penalty is quadratic in J, and what
    J_ref a task has is its own. How the numbers were chosen: docs/results/recipe.md.

    Under a delay this clone does not see its past: one that repeats its commands has little J.
    """
    threshold = threshold_of(demonstrations, config.run.seed)
    unpenalized = with_settings(config, {"penalty": (), "penalty_weight": "fixed"})
    cloner = Cloner(cloning_config(unpenalized), spec, demonstrations)
    for policy in (cloner.student, cloner.policy):
        policy.normalizer.is_live[spec.num_sensors or spec.num_states :] = False
        policy.normalizer.refresh()
    cloned = cloner.run(config.warm_start.warm_start_steps or REFERENCE_STEPS)
    stride = -(-demonstrations.num_steps // NUM_REFERENCE_STATES)
    reference_j = mean_j(cloned, demonstrations.states.float()[::stride], common_frame)
    target_j = target_fraction(demonstrations.num_steps) * reference_j
    config_weight = config.policy_penalty.first_weight
    first = weight_scale(reference_j) * config_weight
    _logger.debug("weight search: score up to %.3f, J down to %.3f", threshold, target_j)
    return ScoreSearch.starting(threshold, target_j, config_weight, first)


def target_fraction(num_pairs: int) -> float:
    """J* / J_ref with so many demonstrated pairs."""
    return float(J_AT_ONE_PAIR * num_pairs**-J_DECAY)


def weight_scale(reference_j: float) -> float:
    """First weight / the config's, where an unpenalised clone has this J."""
    if reference_j >= J_OF_CONFIG_WEIGHT:
        return 1.0
    lowest_j = J_OF_CONFIG_WEIGHT / math.sqrt(LARGEST_SCALE)
    return (J_OF_CONFIG_WEIGHT / max(reference_j, lowest_j)) ** 2


def start_constraint(
    config: TrainConfig, demonstrations: Demonstrations, eval_env: VectorEnv
) -> Constraint:
    """What the smoothest policy must keep, before the first iteration."""
    keep, threshold = config.wish.keep_return, threshold_of(demonstrations, config.run.seed)
    if not keep:
        return Constraint(0.0, threshold)
    random, returns = random_return(eval_env, config.run.seed), demonstrations.returns
    reference = math.nan if returns is None else float(returns.mean())
    if not random < reference < math.inf:
        raise ConfigError(
            f"--keep-return {keep}: the demonstrations hold no rewards or not finite ones, or none "
            f"above those of random actions (returns: {reference:.4g}, random {random:.4g}), so "
            "there is no share to keep; leave it out, and --smoothest keeps to the demonstrated "
            "states"
        )
    return Constraint(keep, threshold, random, reference)
