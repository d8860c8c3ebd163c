"""The paper's algorithm on one page (algo:Safe-FW). TRPO, GAIL and SPaCIL are settings of it."""

from collections.abc import Callable
from dataclasses import asdict

import torch
from torch import Tensor

from spacil.data.rollout import collect
from spacil.functional.host_reads import read_together
from spacil.functional.returns import standardize
from spacil.functional.torch_threads import one_torch_thread, torch_threads
from spacil.training.advantages import estimate_advantages
from spacil.training.algorithms import AnyLearner
from spacil.training.bc import run_epoch
from spacil.training.bc_learner import BCLearner
from spacil.training.cost_penalties import Sides, cost_penalty
from spacil.training.iteration_metrics import (
    Metrics,
    Stopwatch,
    cost_metrics,
    count_iteration,
    policy_metrics,
)
from spacil.training.learner import Learner
from spacil.training.limits import divergence_located
from spacil.training.penalties import penalty_rows, policy_penalty, ramp, ramped_weight
from spacil.training.periodic_evaluation import evaluate_if_due
from spacil.training.reward_source import env_reward, imitation_reward
from spacil.training.smoothness_reference import wanted_j
from spacil.training.smoothness_target import Dual, measure_j
from spacil.training.warm_start import (
    NO_STEP,
    holds_policy,
    normalizer_is_fixed,
    settings_now,
    start_from_clone,
    warm_start_is_due,
)
from spacil.types import RolloutBatch
from spacil.updates import discriminator_fit, trust_region, value_fit
from spacil.updates.discriminator_fit import (
    CostLoss,
    DiscriminatorReport,
    gail_loss,
    with_cost_penalty,
)
from spacil.updates.objectives import surrogate_loss, with_policy_penalty
from spacil.updates.trust_region import OldPolicy, TrustRegionReport

OnIteration = Callable[[Metrics], bool | None]
"""Called after each iteration; False ends the training."""


def train(learner: AnyLearner, on_iteration: OnIteration) -> None:
    """Iterate until the learner is done, evaluating on the way."""
    with torch_threads(learner.config.run.torch_threads):
        while not learner.is_done:
            with divergence_located(learner):
                metrics = (
                    run_epoch(learner) if isinstance(learner, BCLearner) else run_iteration(learner)
                )
                metrics |= evaluate_if_due(learner)
            if on_iteration(metrics) is False:
                return


def run_iteration(learner: Learner) -> Metrics:
    """Sample, smooth policy update, value fit, smooth cost update."""
    clock = Stopwatch()
    if warm_start_is_due(learner):
        with clock("warm_start"):
            start_from_clone(learner)
    with clock("simulation"):
        rollout, learner.env_states = collect(
            learner.env,
            learner.acting_policy,
            learner.env_states,
            learner.config.run.steps_per_iteration,
            learner.streams.action,
        )
    updates = update(learner, rollout, clock)
    learner.sync_acting_policy()
    return count_iteration(learner, rollout) | updates | clock.seconds


def update(learner: Learner, played: RolloutBatch, clock: Stopwatch) -> Metrics:
    """Everything an iteration learns from a batch it has played."""
    config, policy, streams = settings_now(learner), learner.policy, learner.streams
    penalty_weight = _penalty_weight(learner)
    with clock("advantages"):
        rollout = played.to(learner.device)
        states = policy.normalize(rollout.flat_states)
        adversary = learner.discriminator
        reward_source = imitation_reward(adversary) if adversary is not None else env_reward
        rewards = reward_source(rollout, states)
        estimates = estimate_advantages(
            rollout, rewards, states, policy, learner.value, config.returns
        )
    with clock("policy"):
        advantages = standardize(estimates.advantages)
        policy_report = _policy_step(learner, rollout, states, advantages, penalty_weight)
    # Minibatches are small: a second thread would be waited for longer than it helps.
    with clock("value"), one_torch_thread():
        value_report = value_fit.step(
            learner.value,
            learner.value_optimizer,
            states,
            estimates.value_targets,
            estimates.old_values,
            config.value,
            streams.minibatch,
        )
    with clock("discriminator"):
        cost_report = _discriminator_step(learner, rollout, states)
    with clock("normalizer"):
        if not normalizer_is_fixed(config):
            policy.normalizer.merge(rollout.states)
        reward_mean, policy_std = read_together(rewards.mean(), policy.log_std.exp().mean())
    return {
        "reward_mean": reward_mean,
        "policy_std": policy_std,
        "lambda_policy": penalty_weight,
        **_follow_target(learner, rollout),
        **policy_metrics(learner, policy_report),
        **asdict(value_report),
        **cost_metrics(learner, cost_report),
    }


def _policy_step(
    learner: Learner, rollout: RolloutBatch, states: Tensor, advantages: Tensor, weight: float
) -> TrustRegionReport:
    """On the surrogate, with the smoothness penalty composed onto it when it has weight."""
    policy, config, streams = learner.policy, learner.config, learner.streams
    if holds_policy(learner):
        return NO_STEP
    old = OldPolicy(policy, states, config.trust_region, streams.subset)
    loss = surrogate_loss(rollout.flat_actions, advantages, old.mean, old.log_std)
    if weight != 0:
        rows = penalty_rows(rollout, states, torch.from_numpy(learner.open_lengths), config)
        penalty = policy_penalty(policy, rows, config, streams)
        loss = with_policy_penalty(loss, penalty, weight)
    return trust_region.step(policy, loss, old, config.trust_region)


def _discriminator_step(
    learner: Learner, rollout: RolloutBatch, states: Tensor
) -> DiscriminatorReport | None:
    """The adversary's step, with the cost penalty composed onto its loss when it has weight."""
    discriminator, expert = learner.discriminator, learner.expert
    if discriminator is None:
        return None
    assert expert is not None and learner.discriminator_optimizer is not None
    config = settings_now(learner)
    loss: CostLoss = gail_loss
    agent_pairs = (states, rollout.flat_actions)
    expert_pairs = (learner.policy.normalize(expert.states), expert.actions)
    if config.cost_penalty.lambda_cost > 0:
        sides = Sides(discriminator, learner.policy, agent_pairs, expert_pairs)
        penalty = cost_penalty(sides, config, learner.streams)
        loss = with_cost_penalty(gail_loss, penalty, config.cost_penalty.lambda_cost)
    return discriminator_fit.step(
        discriminator,
        learner.discriminator_optimizer,
        agent_pairs,
        expert_pairs,
        loss,
        config.discriminator.discriminator_steps,
    )


def _penalty_weight(learner: Learner) -> float:
    """lambda_policy of this iteration: the config's, or the one the dual variable has found."""
    config, iteration = learner.config, learner.counters.iteration
    if config.target.smoothness_target == 0:
        return ramped_weight(config.policy_penalty, iteration)
    if learner.dual is None:
        wanted = wanted_j(config, learner.demonstrations, learner.eval_env)
        learner.dual = Dual.starting(wanted, config.policy_penalty.lambda_policy)
    return learner.dual.weight * ramp(config.policy_penalty, iteration)


def _follow_target(learner: Learner, rollout: RolloutBatch) -> Metrics:
    """Measure J of the updated policy on the batch, and move the dual variable."""
    if learner.dual is None or holds_policy(learner):
        return {}
    assert learner.demo_std is not None
    batch_j = measure_j(
        learner.policy,
        rollout.flat_states,
        learner.demo_std,
        learner.config.target.smoothness_target_states,
        learner.streams.target,
    )
    learner.dual = learner.dual.after_batch(batch_j)
    return {
        "smoothness_target": learner.dual.target,
        "smoothness_j_batch": batch_j,
        "target_gap": learner.dual.gap,
    }
