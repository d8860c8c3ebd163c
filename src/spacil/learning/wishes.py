"""The wishes of one run: which searches it needs, and when each of them hears of what.

A search begins with the first iteration, hears of every batch or of every evaluation, and its
weight is read before the next iteration. While --penalty-start or its ramp withholds some of that
weight, what is seen says nothing about it, and no search hears of it. Without a wish nothing is
measured, drawn or logged.
"""

from collections.abc import Mapping
from typing import Any

from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import CommonFrame
from spacil.demos.demonstrations import Demonstrations
from spacil.envs.vector_env import VectorEnv
from spacil.errors import ConfigError
from spacil.learning.batch_measures import measure_action_change, measure_j
from spacil.learning.constraint import Constraint, starting_constraint
from spacil.learning.metrics import Metrics
from spacil.learning.smoothest import (
    MIN_FACTOR_BY_RETURN,
    MIN_FACTOR_BY_SCORE,
    Candidate,
    ChangeLimit,
    Smoothest,
    is_preferred,
)
from spacil.learning.target import ChangeDual, Dual, verdict
from spacil.learning.target_reference import target_fluctuation, target_j
from spacil.learning.weight_rule import WeightRule, starting_rule
from spacil.measuring.evaluate import Evaluation
from spacil.nets.policy import GaussianPolicy
from spacil.runs.checkpoints.saved_state import optional_record_from
from spacil.seeding import Streams
from spacil.smoothness.weights import FoundWeights, is_whole_at
from spacil.types import RolloutBatch

_RECORDS: Mapping[str, tuple[str, type]] = {
    "dual": ("smoothness", Dual),
    "weight_rule": ("rule", WeightRule),
    "fluctuation_dual": ("fluctuation", ChangeDual),
    "smoothest": ("smoothest", Smoothest),
    "change_limit": ("change_limit", ChangeLimit),
    "constraint": ("constraint", Constraint),
    "candidate": ("chosen", Candidate),
}
"""Name in a checkpoint -> attribute and record."""


class Wishes:
    """The searches of a run; each is None until it begins, or for good."""

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        self.smoothness: Dual | None = None
        """The dual variable of a smoothness target"""
        self.fluctuation: ChangeDual | None = None
        """That of a fluctuation target"""
        self.rule: WeightRule | None = None
        """What moves the weight with --penalty-weight auto"""
        self.smoothest: Smoothest | None = None
        """What moves it with --smoothest, by the slack of `constraint`"""
        self.change_limit: ChangeLimit | None = None
        """What that slack leaves for a fluctuation target"""
        self.constraint: Constraint | None = None
        self.chosen: Candidate | None = None
        """The evaluated policy that --smoothest would hand out"""

    def begin(
        self,
        demos: Demonstrations | None,
        common_frame: CommonFrame | None,
        eval_env: VectorEnv,
    ) -> None:
        """Start the searches that are asked for and not under way."""
        self.begin_by_references(demos, common_frame, eval_env)
        if self.config.wish.penalty_weight == "auto" and self.rule is None:
            assert demos is not None and common_frame is not None
            self.rule = starting_rule(self.config, demos, common_frame, eval_env.spec)

    def begin_by_references(
        self,
        demos: Demonstrations | None,
        common_frame: CommonFrame | None,
        eval_env: VectorEnv,
    ) -> None:
        """Start those that go by what somebody else reaches, which is measured here.

        Whatever can be refused about a wish is refused here, and a new run asks before its folder
        changes.
        """
        config, wish, penalty = self.config, self.config.wish, self.config.policy_penalty
        if wish.smoothness_target > 0 and self.smoothness is None:
            j = target_j(config, demos, common_frame, eval_env)
            self.smoothness = Dual.starting(j, penalty.first_weight)
        if wish.fluctuation_target > 0 and self.fluctuation is None:
            change = target_fluctuation(config, demos, common_frame, eval_env)
            self.fluctuation = ChangeDual.starting(change, penalty.temporal_term.weight)
        if wish.wants_smoothest and self.smoothest is None:
            if demos is None or common_frame is None:
                raise ConfigError("--smoothest is by the demonstrations: pass --demos")
            self.constraint = starting_constraint(config, demos, eval_env)
            factor = MIN_FACTOR_BY_RETURN if wish.keep_return else MIN_FACTOR_BY_SCORE
            self.smoothest = Smoothest.starting(penalty.first_weight, factor)
            if self.fluctuation is not None:
                self.change_limit = ChangeLimit.starting(penalty.temporal_term.weight)

    @property
    def weights(self) -> FoundWeights:
        """For the next iteration."""
        spatial = self.rule or self.smoothness or self.smoothest
        temporal = None if self.fluctuation is None else self.fluctuation.weight
        if temporal is not None and self.change_limit is not None:
            temporal = min(temporal, self.change_limit.weight)
        return FoundWeights(None if spatial is None else spatial.weight, temporal)

    # --- what the searches hear

    def after_batch(
        self,
        policy: GaussianPolicy,
        rollout: RolloutBatch,
        common_frame: CommonFrame | None,
        streams: Streams,
        num_done: int,
    ) -> Metrics:
        """Measure the updated policy on the batch, and move the dual variables.

        `num_done` iterations came before this one.
        """
        if not is_whole_at(self.config.policy_penalty, num_done):
            return {}
        num_states, metrics = self.config.wish.smoothness_target_states, dict[str, Any]()
        if self.smoothness is not None:
            assert common_frame is not None
            batch_j = measure_j(
                policy, rollout.flat_states, common_frame, num_states, streams.target
            )
            self.smoothness = self.smoothness.after_batch(batch_j)
            metrics |= {
                "smoothness_target": self.smoothness.target,
                "smoothness_j_batch": batch_j,
                "target_gap": self.smoothness.gap,
            }
        if self.fluctuation is not None:
            change = measure_action_change(policy, rollout, num_states, streams.target)
            if change is not None:
                self.fluctuation = self.fluctuation.after_batch(change)
                if self.change_limit is not None:
                    self.fluctuation = self.fluctuation.at_most(self.change_limit.log_weight)
            metrics |= {
                "fluctuation_target": self.fluctuation.target,
                "action_fluctuation_batch": change,
                "fluctuation_gap": self.fluctuation.gap,
            }
        return metrics

    def after_evaluation(
        self, evaluation: Evaluation, score: float | None, iteration: int, *, moves_weight: bool
    ) -> Metrics:
        """Hear how good and smooth the policy that is handed out is.

        `moves_weight`: whether a longer run would have made this evaluation too, and the policy
        has moved; by others only the targets' biases are corrected, and policies chosen.
        """
        is_heard = is_whole_at(self.config.policy_penalty, iteration - 1)
        metrics: Metrics = {}
        if score is not None:
            metrics["imitation_score"] = score
        if self.rule is not None:
            assert score is not None and evaluation.smoothness_j is not None
            if moves_weight and is_heard:
                self.rule = self.rule.after_evaluation(score, evaluation.smoothness_j)
            metrics |= {
                "score_threshold": self.rule.threshold,
                "rule_target_j": self.rule.target_j,
                "next_lambda_policy": self.rule.weight,
            }
        metrics |= self._targets_after(evaluation, is_heard=is_heard)
        if self.smoothest is not None:
            assert score is not None
            metrics |= self._smoothest_after(
                evaluation, score, iteration, is_regular=moves_weight, is_heard=is_heard
            )
        if self.fluctuation is not None:
            metrics["next_lambda_temporal"] = self.weights.temporal
        return metrics

    def _targets_after(self, evaluation: Evaluation, *, is_heard: bool) -> Metrics:
        metrics: Metrics = {}
        if self.smoothness is not None:
            assert evaluation.smoothness_j is not None
            if is_heard:
                self.smoothness = self.smoothness.after_evaluation(evaluation.smoothness_j)
            found = verdict(self.smoothness, evaluation.smoothness_j)
            metrics |= {
                "smoothness_target": self.smoothness.target,
                "target_gap_evaluated": found.gap,
                "is_target_met": found.is_met,
                "target_verdict": found.words,
            }
        change = evaluation.action_fluctuation
        if self.fluctuation is not None and change is not None:
            if is_heard:
                self.fluctuation = self.fluctuation.after_evaluation(change)
            found = verdict(self.fluctuation, change, "the action change")
            metrics |= {
                "fluctuation_target": self.fluctuation.target,
                "fluctuation_gap_evaluated": found.gap,
                "is_fluctuation_target_met": found.is_met,
                "fluctuation_target_verdict": found.words,
            }
        return metrics

    def _smoothest_after(
        self,
        evaluation: Evaluation,
        score: float,
        iteration: int,
        *,
        is_regular: bool,
        is_heard: bool,
    ) -> Metrics:
        assert self.smoothest is not None and self.constraint is not None
        average_return, j = evaluation.average_return, evaluation.smoothness_j
        assert j is not None
        former = self.constraint
        if is_regular:
            self.constraint = former.after_evaluation(average_return)
        slack = self.constraint.slack(average_return, score)
        excess = self._excess(evaluation.action_fluctuation)
        if is_regular and is_heard and not self.constraint.has_outgrown(former):
            self._heed(slack, is_calm=excess == 0)
        is_chosen = self._choose(Candidate(iteration, average_return, score, j, excess))
        assert self.chosen is not None
        of_return = {
            "return_share": self.constraint.share(average_return),
            "share_reference": self.constraint.reference_return,
            "random_return": self.constraint.random_return,
            "smoothest_return_share": self.constraint.share(self.chosen.average_return),
        }
        return {
            "score_threshold": self.constraint.threshold,
            **(of_return if self.constraint.keep else {}),
            "constraint": self.constraint.words,
            "constraint_slack": slack,
            "is_constraint_met": slack is not None and slack >= 0,
            "next_lambda_policy": self.smoothest.weight,
            "smoothest_iteration": self.chosen.iteration,
            "smoothest_slack": self.constraint.slack(self.chosen.average_return, self.chosen.score),
            "is_smoothest": is_chosen,
        }

    def _heed(self, slack: float | None, *, is_calm: bool) -> None:
        """Move the weights by what the constraint leaves: the action change comes before J."""
        assert self.smoothest is not None
        limit, temporal, spatial = self.change_limit, self.weights.temporal, self.smoothest
        self.smoothest = spatial.after_evaluation(slack) if is_calm else spatial.yielded(slack)
        if limit is not None and temporal is not None:
            self.change_limit = limit.after_evaluation_with(temporal, slack)

    def _excess(self, change: float | None) -> float:
        if self.fluctuation is None or change is None:
            return 0.0
        found = verdict(self.fluctuation, change)
        return 0.0 if found.is_met else found.gap

    def _choose(self, found: Candidate) -> bool:
        """Whether the policy just evaluated is the one to hand out from now on."""
        assert self.constraint is not None
        old, constraint = self.chosen, self.constraint
        is_better = old is None or is_preferred(
            found,
            constraint.slack(found.average_return, found.score),
            old,
            constraint.slack(old.average_return, old.score),
        )
        if is_better:
            self.chosen = found
        return is_better

    # --- taken apart, and put together again

    def document(self) -> dict[str, Any]:
        """The searches under way, as a checkpoint keeps them."""
        found = {name: getattr(self, attribute) for name, (attribute, _) in _RECORDS.items()}
        return {"dual": None} | {
            name: vars(record).copy() for name, record in found.items() if record is not None
        }

    @classmethod
    def restored(cls, config: TrainConfig, document: Mapping[str, Any]) -> "Wishes":
        """Go on exactly where `document` was taken."""
        wishes = cls(config)
        for name, (attribute, kind) in _RECORDS.items():
            words = name.replace("_", " ") if name != "dual" else "dual variable"
            setattr(wishes, attribute, optional_record_from(kind, document.get(name), words))
        return wishes
