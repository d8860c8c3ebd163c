"""The paper's algorithm on one page (algo:Safe-FW). TRPO, GAIL and SPaCIL are settings of it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor

from spacil.config import ReturnsConfig
from spacil.data.rollout import collect, torch_threads
from spacil.errors import DivergedError
from spacil.functional.returns import gae, standardize
from spacil.nets.policy import GaussianPolicy
from spacil.nets.value import ValueNet
from spacil.smoothness.cost_metric import cost_constants
from spacil.training.algorithms import AnyLearner
from spacil.training.bc import run_epoch
from spacil.training.bc_learner import BCLearner
from spacil.training.cost_penalties import Sides, cost_penalty
from spacil.training.evaluate import evaluate
from spacil.training.learner import Best, Learner
from spacil.training.limits import divergence_located
from spacil.training.penalties import penalty_rows, policy_penalty, ramp, ramped_weight
from spacil.training.reward_source import env_reward, imitation_reward
from spacil.training.smoothness_reference import wanted_j
from spacil.training.smoothness_target import Dual, measure_j, verdict
from spacil.types import RolloutBatch
from spacil.updates import discriminator_fit, trust_region, value_fit
from spacil.updates.discriminator_fit import (
    CostLoss,
    DiscriminatorReport,
    gail_loss,
    with_cost_penalty,
)
from spacil.updates.objectives import PolicyLoss, surrogate_loss, with_policy_penalty

Metrics = dict[str, Any]
OnIteration = Callable[[Metrics], bool | None]
"""Called after each iteration; False ends the training."""

WARN_FAILED_STEPS = 20
MAX_FAILED_STEPS = 100
WARN_SATURATED = 20
NUM_COST_STATES = 1_000
"""Demonstrated states, evenly spaced, on which the cost's smoothness is logged."""


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
    config, policy, streams = learner.config, learner.policy, learner.streams
    penalty_weight = _penalty_weight(learner)
    clock = Stopwatch()

    with clock("simulation"):
        rollout, learner.env_states = collect(
            learner.env,
            learner.acting_policy,
            learner.env_states,
            config.run.steps_per_iteration,
            streams.action,
        )
    with clock("advantages"):
        states = policy.normalize(rollout.flat_states.to(learner.device))
        adversary = learner.discriminator
        reward_source = imitation_reward(adversary) if adversary is not None else env_reward
        rewards = reward_source(rollout, states)
        advantages, value_targets, old_values = estimate_advantages(
            rollout, rewards, states, policy, learner.value, config.returns
        )
    with clock("policy"):
        loss = _policy_loss(learner, rollout, states, standardize(advantages), penalty_weight)
        policy_report = trust_region.step(policy, loss, states, config.trust_region, streams.subset)
    with clock("value"):
        value_report = value_fit.step(
            learner.value,
            learner.value_optimizer,
            states,
            value_targets,
            old_values,
            config.value,
            streams.minibatch,
        )
    with clock("discriminator"):
        cost_report = _discriminator_step(learner, rollout, states)

    policy.normalizer.merge(rollout.states.to(learner.device))
    learner.sync_acting_policy()
    return _close_iteration(learner, rollout) | {
        "reward_mean": float(rewards.mean()),
        "policy_std": float(policy.log_std.detach().exp().mean()),
        "lambda_policy": penalty_weight,
        **_follow_target(learner, rollout),
        **_policy_metrics(learner, policy_report),
        **asdict(value_report),
        **_cost_metrics(learner, cost_report),
        **clock.seconds,
    }


def evaluate_if_due(learner: AnyLearner) -> Metrics:
    """Evaluate every few iterations and after the last; remember the best return."""
    done, config = learner.counters.iteration, learner.config
    if done % config.evaluation.evaluation_interval and not learner.is_done:
        return {}
    started = time.perf_counter()
    result = evaluate(
        learner.acting_policy,
        learner.eval_env,
        first_episode=done,
        num_episodes=learner.eval_env.num_envs,
        demo_std=learner.demo_std,
    )
    is_best = learner.best is None or result.average_return > learner.best.average_return
    if is_best:
        learner.best = Best(result.average_return, done)
    return {
        **asdict(result),
        **_judge_target(learner, result.smoothness_j),
        **_cost_smoothness(learner),
        "is_best": is_best,
        "seconds_evaluation": time.perf_counter() - started,
    }


def _cost_smoothness(learner: AnyLearner) -> Metrics:
    """How smooth the learned cost is on demonstrated states, in the policy's own frame."""
    if isinstance(learner, BCLearner) or learner.discriminator is None:
        return {}
    assert learner.expert is not None
    stride = max(1, len(learner.expert.states) // NUM_COST_STATES)
    states = learner.policy.normalize(learner.expert.states[::stride])
    cost, mean_action = learner.discriminator.cost, learner.policy.mean_of_normalized
    return asdict(cost_constants(cost, mean_action, states))


@torch.no_grad()
def estimate_advantages(
    rollout: RolloutBatch,
    rewards: Tensor,
    normalized_states: Tensor,
    policy: GaussianPolicy,
    value: ValueNet,
    config: ReturnsConfig,
) -> tuple[Tensor, Tensor, Tensor]:
    """Advantages [T, N], flat value targets [B] and the old values [B] they were made from.

    A terminated step does not bootstrap; a truncated one does, from its final state; the end of
    the batch does, from the state each env is in. All three cut the sum.
    """
    device = normalized_states.device
    values = value(normalized_states).view(rewards.shape)
    next_values = torch.empty_like(values)
    next_values[:-1] = values[1:]
    next_values[-1] = value(policy.normalize(rollout.last_states.to(device)))
    truncated, terminated = rollout.truncated.to(device), rollout.terminated.to(device)
    if len(rollout.final_states):
        final = policy.normalize(rollout.final_states.to(device))
        next_values[truncated] = value(final)
    next_values[terminated] = 0
    is_cut = terminated | truncated
    advantages = gae(rewards, values, next_values, is_cut, config.gamma, config.gae_lambda)
    return advantages, (advantages + values).flatten(), values.flatten()


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
    if learner.dual is None:
        return {}
    assert learner.demo_std is not None
    batch_j = measure_j(
        learner.policy,
        rollout.flat_states.to(learner.device),
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


def _judge_target(learner: AnyLearner, evaluated_j: float | None) -> Metrics:
    """Tell the dual variable what J really is, and say whether that is what was asked for."""
    if isinstance(learner, BCLearner) or learner.dual is None:
        return {}
    assert evaluated_j is not None
    learner.dual = learner.dual.after_evaluation(evaluated_j)
    return asdict(verdict(learner.dual, evaluated_j))


def _policy_loss(
    learner: Learner, rollout: RolloutBatch, states: Tensor, advantages: Tensor, weight: float
) -> PolicyLoss:
    """The surrogate, with the smoothness penalty composed onto it when it has weight."""
    policy, config = learner.policy, learner.config
    actions = rollout.flat_actions.to(states.device)
    with torch.no_grad():
        old_mean = policy.mean_of_normalized(states)
    loss = surrogate_loss(actions, advantages.flatten(), old_mean, policy.log_std.detach().clone())
    if weight == 0:
        return loss
    rows = penalty_rows(rollout, states, torch.from_numpy(learner.open_lengths), config)
    penalty = policy_penalty(policy, rows, config, learner.streams)
    return with_policy_penalty(loss, penalty, weight)


def _discriminator_step(
    learner: Learner, rollout: RolloutBatch, states: Tensor
) -> DiscriminatorReport | None:
    """The adversary's step, with the cost penalty composed onto its loss when it has weight."""
    discriminator, expert = learner.discriminator, learner.expert
    if discriminator is None:
        return None
    assert expert is not None and learner.discriminator_optimizer is not None
    config = learner.config
    expert_states = learner.policy.normalize(expert.states)
    loss: CostLoss = gail_loss
    agent_pairs = (states, rollout.flat_actions.to(states.device))
    expert_pairs = (expert_states, expert.actions)
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


def _close_iteration(learner: Learner, rollout: RolloutBatch) -> Metrics:
    """Count, and gather the returns of the episodes that ended in this batch."""
    learner.counters.iteration += 1
    learner.counters.env_steps += rollout.num_steps
    finished_returns: list[float] = []
    finished_lengths: list[int] = []
    is_cut = (rollout.terminated | rollout.truncated).numpy()
    for rewards, cut in zip(rollout.env_rewards.numpy(), is_cut, strict=True):
        learner.open_returns += rewards
        learner.open_lengths += 1
        if cut.any():
            finished_returns += learner.open_returns[cut].tolist()
            finished_lengths += learner.open_lengths[cut].tolist()
            learner.open_returns[cut] = 0
            learner.open_lengths[cut] = 0
    return {
        "iteration": learner.counters.iteration,
        "env_steps": learner.counters.env_steps,
        "episodes_finished": len(finished_returns),
        "train_return": float(np.mean(finished_returns)) if finished_returns else None,
        "train_length": float(np.mean(finished_lengths)) if finished_lengths else None,
    }


def _policy_metrics(learner: Learner, report: trust_region.TrustRegionReport) -> Metrics:
    counters = learner.counters
    counters.failed_steps_in_row = 0 if report.is_accepted else counters.failed_steps_in_row + 1
    if counters.failed_steps_in_row > MAX_FAILED_STEPS:
        raise DivergedError(
            f"the line search failed {counters.failed_steps_in_row} times in a row "
            f"(last reason: {report.line_search_reason}); the policy no longer learns"
        )
    metrics = asdict(report)
    metrics |= {f"loss_{name}": value for name, value in metrics.pop("summands").items()}
    metrics["warn_line_search"] = counters.failed_steps_in_row > WARN_FAILED_STEPS
    return metrics


def _cost_metrics(learner: Learner, report: DiscriminatorReport | None) -> Metrics:
    if report is None:
        return {}
    counters = learner.counters
    counters.saturated_in_row = counters.saturated_in_row + 1 if report.is_saturated else 0
    return {**asdict(report), "warn_saturated": counters.saturated_in_row > WARN_SATURATED}


class Stopwatch:
    """Wall-clock seconds of each stage; keys `seconds_<stage>` are left out of run hashes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds[f"seconds_{stage}"] = time.perf_counter() - started
