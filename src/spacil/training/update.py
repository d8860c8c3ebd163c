"""What an iteration learns from a batch: smooth policy step, value fit, smooth cost step.

Every piece goes through the learner's recorder, so that a GPU replays it from the second iteration
on. What is random is therefore drawn outside the pieces and handed in.
"""

from collections.abc import Hashable
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from spacil.engine.host_reads import read_together
from spacil.engine.torch_threads import one_torch_thread
from spacil.functional.returns import standardize
from spacil.penalties.cost_terms import DrawnPairs, Sides, cost_penalty, draw_pairs
from spacil.penalties.policy_terms import (
    TEMPORAL_ESTIMATORS,
    PenaltyRows,
    draw_share,
    penalty_rows,
    policy_penalty,
    ramp,
    ramped_weight,
    random_share,
)
from spacil.training.advantages import Advantages, estimate_advantages, values_outside
from spacil.training.iteration_metrics import (
    Metrics,
    Stopwatch,
    cost_metrics,
    policy_metrics,
)
from spacil.training.learner import Learner
from spacil.training.reward import env_reward, imitation_reward
from spacil.training.target import Dual, measure_j
from spacil.training.target_reference import wanted_j
from spacil.training.warm_start import NO_STEP, holds_policy, normalizer_is_fixed, settings_now
from spacil.types import RolloutBatch
from spacil.updates import discriminator_fit, trust_region, value_fit
from spacil.updates.discriminator_fit import (
    CostLoss,
    DiscriminatorReport,
    gail_loss,
    with_cost_penalty,
)
from spacil.updates.objectives import surrogate_loss, with_policy_penalty
from spacil.updates.trust_region import Direction, OldPolicy, TrustRegionReport


def update(learner: Learner, played: RolloutBatch, clock: Stopwatch) -> Metrics:
    """Everything an iteration learns from a batch it has played."""
    config, policy, recorder = settings_now(learner), learner.policy, learner.recorder
    penalty_weight = _penalty_weight(learner)
    recorder.begin_round(_kind_of_round(learner, played, penalty_weight))
    with clock("advantages"):
        judged = _judge(learner, played.to(learner.device))
    with clock("policy"):
        is_held = holds_policy(learner)
        policy_report = NO_STEP if is_held else _policy_step(learner, judged, penalty_weight)
    # Minibatches are small: a second thread would be waited for longer than it helps.
    with clock("value"), one_torch_thread():
        value_report = value_fit.step(
            learner.value,
            learner.value_optimizer,
            judged.states,
            judged.estimates.value_targets,
            judged.estimates.old_values,
            config.value,
            learner.streams.minibatch,
            recorder,
        )
    with clock("discriminator"):
        cost_report = _discriminator_step(learner, judged)
    with clock("normalizer"):
        if not normalizer_is_fixed(config):
            recorder("normalizer", lambda: policy.normalizer.merge(judged.rollout.states))
        reward_mean, policy_std = read_together(judged.rewards.mean(), policy.log_std.exp().mean())
    return {
        "reward_mean": reward_mean,
        "policy_std": policy_std,
        "lambda_policy": penalty_weight,
        **_follow_target(learner, judged.rollout),
        **policy_metrics(learner, policy_report),
        **asdict(value_report),
        **cost_metrics(learner, cost_report),
    }


@dataclass(frozen=True)
class _Judged:
    """A batch on the device, and how good what was played in it is held to be."""

    rollout: RolloutBatch
    states: Tensor
    """[B, S] normalised"""
    rewards: Tensor
    """[T, N]"""
    estimates: Advantages


def _kind_of_round(learner: Learner, played: RolloutBatch, penalty_weight: float) -> Hashable:
    """What decides the shapes and branches of an update. Pairs of states come in any number."""
    is_temporal = learner.config.policy_penalty.policy_penalty_estimator in TEMPORAL_ESTIMATORS
    if penalty_weight != 0 and is_temporal:
        return object()
    return (*played.actions.shape, penalty_weight != 0, holds_policy(learner))


def _judge(learner: Learner, rollout: RolloutBatch) -> _Judged:
    """Rewards by the adversary, or the env's own; advantages by the value network."""
    adversary = learner.discriminator
    reward_source = imitation_reward(adversary) if adversary is not None else env_reward

    def judge(rollout: RolloutBatch, outside: Tensor) -> _Judged:
        states = learner.policy.normalize(rollout.flat_states)
        rewards = reward_source(rollout, states)
        returns = learner.config.returns
        estimates = estimate_advantages(rollout, rewards, states, outside, learner.value, returns)
        return _Judged(rollout, states, rewards, estimates)

    outside = values_outside(rollout, learner.policy, learner.value)
    return learner.recorder("judge", judge, rollout.without_final_states(), outside)


def _policy_step(learner: Learner, judged: _Judged, weight: float) -> TrustRegionReport:
    """On the surrogate, with the smoothness penalty composed onto it when it has weight."""
    policy, config, streams = learner.policy, learner.config, learner.streams
    region, states = config.trust_region, judged.states

    def find_direction(
        fisher_rows: Tensor | None, share: PenaltyRows | None, weight: Tensor
    ) -> Direction:
        old = OldPolicy(policy, states, region, fisher_rows)
        advantages = standardize(judged.estimates.advantages)
        loss = surrogate_loss(judged.rollout.flat_actions, advantages, old.mean, old.log_std)
        if share is not None:
            loss = with_policy_penalty(loss, policy_penalty(policy, share, config), weight)
        return trust_region.find_direction(policy, loss, old, region)

    fisher_rows = random_share(len(states), region.fisher_state_fraction, streams.subset)
    if fisher_rows is not None:
        fisher_rows = fisher_rows.to(learner.device)
    share = None
    if weight != 0:
        open_lengths = torch.from_numpy(learner.open_lengths)
        share = draw_share(
            penalty_rows(judged.rollout, states, open_lengths, config), config, streams
        )
    weight_there = torch.full((), weight, device=learner.device)
    direction = learner.recorder("direction", find_direction, fisher_rows, share, weight_there)
    return trust_region.follow(policy, direction, region, learner.recorder)


def _discriminator_step(learner: Learner, judged: _Judged) -> DiscriminatorReport | None:
    """The adversary's step, with the cost penalty composed onto its loss when it has weight."""
    discriminator, expert = learner.discriminator, learner.expert
    optimizer = learner.discriminator_optimizer
    if discriminator is None or optimizer is None or expert is None:
        return None
    policy, config = learner.policy, settings_now(learner)
    weight = config.cost_penalty.lambda_cost
    agent = (judged.states, judged.rollout.flat_actions)

    def descend(expert_states: Tensor, drawn: DrawnPairs | None) -> dict[str, Tensor]:
        loss: CostLoss = gail_loss
        if drawn is not None:
            penalty = cost_penalty(discriminator, policy, drawn, config)
            loss = with_cost_penalty(gail_loss, penalty, weight)
        num_steps = config.discriminator.discriminator_steps
        pairs = (expert_states, expert.actions)
        return discriminator_fit.descend(discriminator, optimizer, agent, pairs, loss, num_steps)

    expert_states, drawn = policy.normalize(expert.states), None
    if weight > 0:
        sides = Sides(discriminator, policy, agent, (expert_states, expert.actions))
        drawn = draw_pairs(sides, config, learner.streams)
    measured = learner.recorder("discriminator", descend, expert_states, drawn)
    return discriminator_fit.report(discriminator, measured, len(agent[0]), len(expert.states))


def _penalty_weight(learner: Learner) -> float:
    """lambda_policy of this iteration: the config's, or the one the dual variable has found."""
    config, iteration = learner.config, learner.counters.iteration
    if config.target.smoothness_target == 0:
        return ramped_weight(config.policy_penalty, iteration)
    if learner.dual is None:
        wanted = wanted_j(config, learner.demonstrations, learner.common_frame, learner.eval_env)
        learner.dual = Dual.starting(wanted, config.policy_penalty.lambda_policy)
    return learner.dual.weight * ramp(config.policy_penalty, iteration)


def _follow_target(learner: Learner, rollout: RolloutBatch) -> Metrics:
    """Measure J of the updated policy on the batch, and move the dual variable."""
    if learner.dual is None or holds_policy(learner):
        return {}
    assert learner.common_frame is not None
    batch_j = measure_j(
        learner.policy,
        rollout.flat_states,
        learner.common_frame,
        learner.config.target.smoothness_target_states,
        learner.streams.target,
    )
    learner.dual = learner.dual.after_batch(batch_j)
    return {
        "smoothness_target": learner.dual.target,
        "smoothness_j_batch": batch_j,
        "target_gap": learner.dual.gap,
    }
