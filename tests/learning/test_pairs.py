"""Demonstrations as cloning reads them."""

import numpy as np
import torch

from spacil.config.defaults import default_config
from spacil.demos.demonstrations import Demonstrations
from spacil.learning.pairs import demonstrated_pairs
from spacil.nets.policy import GaussianPolicy


def test_temporal_penalties_read_the_true_next_states_of_thinned_steps() -> None:
    rng = np.random.default_rng(0)
    demos = Demonstrations.from_arrays(
        [rng.normal(size=(13, 4)), rng.normal(size=(8, 4))],
        [rng.normal(size=(12, 2)), rng.normal(size=(7, 2))],
    )
    bounds = np.ones(2, np.float32)
    generator = torch.Generator().manual_seed(0)
    policy = GaussianPolicy(4, -bounds, bounds, (8,), "fan-in", 0.0, generator)
    config = default_config("bc", "Line-v0")
    whole = demonstrated_pairs(policy, demos, config)
    thin = demonstrated_pairs(policy, demos.subsample(5), config)
    kept = torch.tensor([0, 5, 10, 12, 17])
    assert torch.equal(thin.rows.states, whole.rows.states[kept])
    assert thin.rows.successors is not None and whole.rows.successors is not None
    assert torch.equal(thin.rows.successors, whole.rows.successors[kept])
    assert torch.equal(whole.rows.successors[:11], whole.rows.states[1:12])
