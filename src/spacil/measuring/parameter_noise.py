"""Return and J of a policy whose parameters are disturbed: the test of J in tab:perturbation.

Gaussian noise of one standard deviation goes onto every weight and bias of the mean network; the
normaliser and the spread, which no mean action feels, stay. J is measured where the disturbed
policy goes, and at fixed states as well: a fallen robot visits quiet places, where J is low.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from spacil.demos.common_frame import CommonFrame
from spacil.envs.vector_env import VectorEnv
from spacil.measuring.evaluate import evaluate
from spacil.measuring.frames import mean_j
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import derived_seed

LEVELS = (0.001, 0.005, 0.009, 0.01, 0.05, 0.09, 0.1)
"""Standard deviations: those of the paper's text and of its table together"""


@dataclass(frozen=True)
class DisturbedPolicy:
    """One draw of the noise; keys are stable."""

    noise_std: float
    draw: int
    average_return: float
    return_std: float
    smoothness_j: float | None
    """On the states it visits, common frame"""
    smoothness_j_fixed: float
    """On the same states for every policy, common frame"""


def with_parameter_noise(policy: GaussianPolicy, noise_std: float, seed: int) -> GaussianPolicy:
    """A copy with noise on the mean network; one seed means one direction, at any level."""
    disturbed = copy.deepcopy(policy)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for pair in disturbed.mean_net.weights_and_biases:
            for parameter in pair:
                noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
                parameter.add_(noise.to(parameter.device), alpha=noise_std)
    return disturbed


def measure_parameter_noise(
    policy: GaussianPolicy,
    env: VectorEnv,
    fixed_states: Tensor,
    frame: CommonFrame,
    levels: Sequence[float],
    num_draws: int,
    num_episodes: int,
    seed: int,
) -> list[DisturbedPolicy]:
    """The policy itself (level 0, one draw), then every level with the same draws, only wider.

    All play the same episodes. `fixed_states` [B, S] are raw.
    """
    found = []
    for level in (0.0, *levels):
        for draw in range(num_draws if level else 1):
            direction = derived_seed(seed, "parameter-noise", draw)
            disturbed = with_parameter_noise(policy, level, direction)
            evaluation = evaluate(disturbed, env, 0, num_episodes, frame)
            found.append(
                DisturbedPolicy(
                    level,
                    draw,
                    evaluation.average_return,
                    evaluation.return_std,
                    evaluation.smoothness_j_common,
                    mean_j(disturbed, fixed_states, frame),
                )
            )
    return found
