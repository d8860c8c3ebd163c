"""The two penalties as a config asks for them: estimator, scale, ramp and state subset."""

from collections.abc import Callable

import torch
from torch import Tensor

from spacil.config import BallConfig, PolicyPenaltyConfig, TrainConfig
from spacil.functional.ball import random_offset
from spacil.nets.discriminator import Discriminator
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams
from spacil.smoothness.cost_penalty import exact_cost_penalty, mix_states, pgd_cost_penalty
from spacil.smoothness.policy_penalty import Penalty, exact_policy_penalty, pgd_policy_penalty


def ramped_weight(config: PolicyPenaltyConfig, iteration: int) -> float:
    """lambda_policy, reached linearly from 0 over the ramp."""
    if iteration >= config.penalty_ramp_iterations:
        return config.lambda_policy
    return config.lambda_policy * iteration / config.penalty_ramp_iterations


def policy_penalty(
    policy: GaussianPolicy, normalized_states: Tensor, config: TrainConfig, streams: Streams
) -> Penalty:
    """R^pi on the batch's states, worst directions frozen at the current parameters."""
    settings = config.policy_penalty
    states = _subset(normalized_states, settings.penalty_state_fraction, streams.subset)
    if settings.policy_penalty_estimator == "exact":
        lipschitz = exact_policy_penalty(policy.mean_of_normalized, states)
        factor = _printed_units(
            settings.policy_penalty_scale, config.ball.ball_radius**2, len(normalized_states)
        )
        return lambda: factor * lipschitz()
    estimate = pgd_policy_penalty(
        policy.mean_of_normalized,
        states,
        _start(states, config.ball, streams),
        config.ball.ball_radius,
        config.ball.ball_num_steps,
        config.ball.ball_step_rule,
        config.ball.ball_step_size,
        settings.policy_penalty_scale,
    )
    factor = _sum_correction(settings.policy_penalty_scale, len(normalized_states), len(states))
    return lambda: factor * estimate()


def cost_penalty(
    discriminator: Discriminator,
    policy: GaussianPolicy,
    agent_states: Tensor,
    expert_states: Tensor,
    config: TrainConfig,
    streams: Streams,
) -> Callable[[], Tensor]:
    """R^c on states between the agent's and the demonstrations', all normalised."""
    settings = config.cost_penalty
    subset = _subset(agent_states, config.policy_penalty.penalty_state_fraction, streams.subset)
    states = mix_states(subset, expert_states, streams.mixing)
    scale, radius = settings.cost_penalty_scale, config.ball.ball_radius
    if settings.cost_penalty_estimator == "exact":
        factor = _printed_units(scale, radius, len(agent_states))
        return lambda: (
            factor * exact_cost_penalty(discriminator.cost, policy.mean_of_normalized, states)
        )
    offset = _start(states, config.ball, streams)
    factor = _sum_correction(scale, len(agent_states), len(states))
    return lambda: (
        factor
        * pgd_cost_penalty(
            discriminator.cost,
            policy.mean_of_normalized,
            states,
            offset,
            radius,
            config.ball.ball_num_steps,
            config.ball.ball_step_rule,
            config.ball.ball_step_size,
            scale,
        )
    )


def _printed_units(scale: str, mean_factor: float, num_states: int) -> float:
    """From Lipschitz units to printed ones: times epsilon or its square, times n if summed."""
    return {"lipschitz": 1.0, "paper-mean": mean_factor, "paper-sum": mean_factor * num_states}[
        scale
    ]


def _sum_correction(scale: str, num_states: int, num_used: int) -> float:
    """A sum over a subset estimates the sum over all states."""
    return num_states / num_used if scale == "paper-sum" else 1.0


def _start(states: Tensor, ball: BallConfig, streams: Streams) -> Tensor:
    return random_offset(states, ball.ball_radius, ball.ball_start, streams.ball)


def _subset(states: Tensor, fraction: float, generator: torch.Generator) -> Tensor:
    """A fresh random share of the states: its mean is an unbiased estimate of theirs."""
    if fraction == 1:
        return states
    size = max(1, round(fraction * len(states)))
    return states[torch.randperm(len(states), generator=generator)[:size].to(states.device)]
