"""The weight searches of one run: which it needs, and when each of them listens to what.

    search         moves the weight of           listens to
    ScoreRule      the first penalty             evaluations                 --penalty-weight auto
    Target         the first or temporal one     batches and evaluations     --smoothness-target ...
    Smoothest      the first penalty             evaluations                 --smoothest ...

A search begins before the first iteration, and its weight is read before each one. While
--penalty-start or its ramp withholds some of that weight, what is seen says nothing about it, and
no search moves. Where nothing is searched for, nothing is measured, drawn or logged.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch

from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import CommonFrame
from spacil.demos.demonstrations import Demonstrations
from spacil.envs.vector_env import VectorEnv
from spacil.errors import ConfigError
from spacil.learning.learner import Metrics
from spacil.learning.search_start import (
    TargetName,
    start_constraint,
    start_score_search,
    wanted_value,
)
from spacil.learning.weight_search import (
    LAWS,
    Constraint,
    Law,
    ScoreSearch,
    TargetSearch,
    WeightSearch,
    select,
)
from spacil.measuring.evaluate import Best, Evaluation
from spacil.measuring.frames import mean_j
from spacil.nets.policy import GaussianPolicy
from spacil.runs.state import State
from spacil.smoothness.policy_penalty import rows_with_successor
from spacil.smoothness.policy_terms import FoundWeights, is_whole_at
from spacil.types import RolloutBatch

MAX_FACTOR = 30.0
"""Highest weight of the smoothest policy, in units of the first one."""
MIN_FACTOR_BY_RETURN, MIN_FACTOR_BY_SCORE = 0.1, 1.0
"""Its lowest weight: a score may ask for too much, and then the policy is as smooth as without."""


@dataclass(frozen=True)
class Heard:
    """One evaluation, as the searches hear of it."""

    policy: Best
    evaluation: Evaluation
    is_regular: bool
    """Whether a longer run would have made it too, and the policy has moved"""
    is_whole: bool
    """Whether the penalties have all of their weight"""


@dataclass
class ScoreRule:
    """The default: by imitation score and J (`ScoreSearch`)."""

    search: ScoreSearch

    def after_evaluation(self, heard: Heard) -> Metrics:
        score, j = heard.policy.imitation_score, heard.policy.smoothness_j
        assert score is not None and j is not None
        if heard.is_regular and heard.is_whole:
            self.search = self.search.after_evaluation(score, j)
        return {
            "score_threshold": self.search.threshold,
            "rule_target_j": self.search.target_j,
            "next_lambda_policy": self.search.weight,
        }


@dataclass
class Target:
    """J or the action change is to be at most so much (`TargetSearch`)."""

    search: TargetSearch
    limit: WeightSearch | None = None
    """The most weight it may take, by the slack of what the smoothest policy must keep"""

    name: ClassVar[TargetName]
    noun: ClassVar[str]
    law: ClassVar[Law]
    gap: ClassVar[str]
    """Key of the metrics, as are the next three"""
    measured: ClassVar[str]
    is_met: ClassVar[str]
    evaluated: ClassVar[str]

    @property
    def weight(self) -> float:
        """Weight of the next iteration."""
        weight = self.search.applied(self.law)
        return weight if self.limit is None else min(weight, self.limit.weight)

    def after_batch(self, value: float | None) -> Metrics:
        if value is not None:
            self.search = self.search.after_batch(value, self.law)
            if self.limit is not None:  # the integral term may not run away from its limit
                weight = min(self.search.weight, self.limit.weight)
                self.search = replace(self.search, weight=weight)
        return {
            f"{self.name}_target": self.search.target,
            self.measured: value,
            self.gap: math.expm1(self.search.error),
        }

    def after_evaluation(self, heard: Heard) -> Metrics:
        value = getattr(heard.evaluation, self.evaluated)
        if value is None:
            return {}
        if heard.is_whole:
            self.search = self.search.after_evaluation(value)
        found = self.search.verdict(value, self.law, self.noun)
        prefix = "" if self.name == "smoothness" else "fluctuation_"
        return {
            f"{self.name}_target": self.search.target,
            f"{self.gap}_evaluated": found.gap,
            self.is_met: found.is_met,
            f"{prefix}target_verdict": found.words,
        }


class TargetJ(Target):
    name, noun, law = "smoothness", "J", LAWS["J"]
    gap, measured, is_met = "target_gap", "smoothness_j_batch", "is_target_met"
    evaluated = "smoothness_j"


class TargetChange(Target):
    name, noun, law = "fluctuation", "the action change", LAWS["action change"]
    gap, measured = "fluctuation_gap", "action_fluctuation_batch"
    is_met, evaluated = "is_fluctuation_target_met", "action_fluctuation"


@dataclass
class Smoothest:
    """As smooth as what must be kept allows: first that, then the action change, then J."""

    search: WeightSearch
    constraint: Constraint
    chosen: Best | None = None
    """The evaluated policy that is handed out"""

    def after_evaluation(self, heard: Heard, change: TargetChange | None) -> Metrics:
        former, policy = self.constraint, heard.policy
        if heard.is_regular:
            self.constraint = former.after_evaluation(policy.average_return)
        slack = self.constraint.slack(policy)
        is_heard = heard.is_regular and heard.is_whole and not self.constraint.has_outgrown(former)
        if is_heard and slack is not None:
            is_waiting = policy.excess_change > 0
            self.search = self.search.after(slack, LAWS["waiting" if is_waiting else "slack"])
            if change is not None and change.limit is not None:
                # What the target has not used of its limit is not too much.
                used = change.weight if slack < 0 else change.limit.weight
                limit = replace(change.limit, weight=max(used, change.limit.lowest))
                change.limit = limit.after(slack, LAWS["limit"])
        is_chosen = select(policy, self.chosen, self.constraint.rank)
        self.chosen = chosen = policy if is_chosen or self.chosen is None else self.chosen
        share = self.constraint.share
        of_return = {
            "return_share": share(policy.average_return),
            "share_reference": self.constraint.reference_return,
            "random_return": self.constraint.random_return,
            "smoothest_return_share": share(chosen.average_return),
        }
        return {
            "score_threshold": self.constraint.threshold,
            **(of_return if self.constraint.keep else {}),
            "constraint": self.constraint.words,
            "constraint_slack": slack,
            "is_constraint_met": slack is not None and slack >= 0,
            "next_lambda_policy": self.search.weight,
            "smoothest_iteration": chosen.iteration,
            "smoothest_slack": self.constraint.slack(chosen),
            "is_smoothest": is_chosen,
        }


_KINDS: Mapping[str, type] = {
    "score_rule": ScoreRule,
    "j_target": TargetJ,
    "change_target": TargetChange,
    "smoothest": Smoothest,
}


class WeightSearches:
    """The searches of a run; each is None until it begins, or for good."""

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        self.score_rule: ScoreRule | None = None
        self.j_target: TargetJ | None = None
        self.change_target: TargetChange | None = None
        self.smoothest: Smoothest | None = None

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
        if wish.smoothness_target > 0 and self.j_target is None:
            target = wanted_value("smoothness", *known)
            self.j_target = TargetJ(TargetSearch.starting(target, penalty.first_weight))
        temporal = penalty.temporal_term.weight
        if wish.fluctuation_target > 0 and self.change_target is None:
            target = wanted_value("fluctuation", *known)
            self.change_target = TargetChange(TargetSearch.starting(target, temporal))
        if wish.wants_smoothest and self.smoothest is None:
            if demos is None or common_frame is None:
                raise ConfigError("--smoothest is by the demonstrations: pass --demos")
            first = penalty.first_weight
            factor = MIN_FACTOR_BY_RETURN if wish.keep_return else MIN_FACTOR_BY_SCORE
            search = WeightSearch(first, factor * first, MAX_FACTOR * first)
            self.smoothest = Smoothest(search, start_constraint(config, demos, eval_env))
            if self.change_target is not None:
                highest = self.change_target.search.highest
                self.change_target.limit = WeightSearch(temporal, temporal, highest)
        if penalty.penalty_weight == "auto" and self.score_rule is None:
            assert demos is not None and common_frame is not None
            start = start_score_search(config, demos, common_frame, eval_env.spec)
            self.score_rule = ScoreRule(start)

    @property
    def weights(self) -> FoundWeights:
        """Weights of the next iteration; None where none is searched for."""
        spatial = None
        if self.score_rule is not None:
            spatial = self.score_rule.search.weight
        elif self.j_target is not None:
            spatial = self.j_target.weight
        elif self.smoothest is not None:
            spatial = self.smoothest.search.weight
        return FoundWeights(
            spatial, None if self.change_target is None else self.change_target.weight
        )

    @property
    def chosen(self) -> Best | None:
        """The evaluated policy that `Smoothest` would hand out."""
        return None if self.smoothest is None else self.smoothest.chosen

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
        if not is_whole_at(self.config.policy_penalty, num_done):
            return {}
        metrics, size = dict[str, Any](), self.config.wish.smoothness_target_states
        if self.j_target is not None:
            assert common_frame is not None
            j = measure_j(policy, rollout.flat_states, common_frame, size, generator)
            metrics |= self.j_target.after_batch(j)
        if self.change_target is not None:
            change = measure_action_change(policy, rollout, size, generator)
            metrics |= self.change_target.after_batch(change)
        return metrics

    def after_evaluation(self, evaluation: Evaluation, policy: Best, is_regular: bool) -> Metrics:
        """Let the searches hear how good and smooth the policy is that is handed out.

        `is_regular`: whether a longer run would have made this evaluation too, and the policy has
        moved; by others only the targets' biases are corrected, and policies chosen.
        """
        is_whole = is_whole_at(self.config.policy_penalty, policy.iteration - 1)
        heard = Heard(policy, evaluation, is_regular, is_whole)
        score = policy.imitation_score
        metrics: Metrics = {} if score is None else {"imitation_score": score}
        for search in (self.score_rule, self.j_target, self.change_target):
            if search is not None:
                metrics |= search.after_evaluation(heard)
        if self.smoothest is not None:
            if metrics.get("is_fluctuation_target_met") is False:
                excess = metrics["fluctuation_gap_evaluated"]
                heard = replace(heard, policy=replace(policy, excess_change=excess))
            metrics |= self.smoothest.after_evaluation(heard, self.change_target)
        if self.change_target is not None:
            metrics["next_lambda_temporal"] = self.change_target.weight
        return metrics

    def register(self, state: State) -> None:
        """Keep the searches under way in checkpoints."""
        for name, kind in _KINDS.items():
            state.register_record(name, self, kind, optional=True)


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
