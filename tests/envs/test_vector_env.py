"""The promises and checks that all envs share."""

import json

import numpy as np
import pytest

from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import EnvSpec, ResetSeeds, dims_misfits, require_dims
from spacil.errors import DataError


def test_reset_seeds_differ_across_runs_streams_envs_and_episodes():
    seeds = {
        ResetSeeds(root_seed, stream)(env, episode)
        for root_seed in range(4)
        for stream in ("train", "eval")
        for env in range(50)
        for episode in range(25)
    }
    assert len(seeds) == 4 * 2 * 50 * 25
    assert all(0 <= seed < 2**63 for seed in seeds)


@pytest.mark.parametrize("name", ["Hopper-v4", "Reacher-v5"])
def test_runs_and_envs_share_no_start(name):
    """Gymnasium gives env i of run s the seed s + i, so runs 0 and 1 share all starts but one."""
    starts = []
    for root_seed in (0, 1):
        with make_vector_env(name, 20, ResetSeeds(root_seed, "train")) as env:
            starts += [*env.reset(), *env.reset(first_episode=1)]
    assert len(np.unique(np.round(starts, 12), axis=0)) == 2 * 20 * 2


def test_a_fingerprint_is_plain_json_even_with_open_bounds():
    low, high = np.array([-np.inf, -1], dtype="f4"), np.array([1, np.inf], dtype="f4")
    spec = EnvSpec("mine", 5, 2, low, high, None, None, "My-Env-v12", {"mass": 2.0})
    identity = spec.fingerprint
    assert json.loads(json.dumps(identity, allow_nan=False)) == identity
    assert identity["version"] == 12
    assert identity["action_low"] == [None, -1.0]
    assert identity["action_high"] == [1.0, None]


def test_sizes_that_differ_are_told_in_one_wording():
    found = dims_misfits((17, 6), (11, 3), "Hopper-v4")
    assert found == {
        "state": "17 state dims, Hopper-v4 has 11: wrong file or --task?",
        "action": "6 action dims, Hopper-v4 has 3: wrong file or --task?",
    }
    with pytest.raises(DataError, match=r"^demos\.npz: 17 state dims, Hopper-v4 has 11: wrong"):
        require_dims("demos.npz", (17, 3), (11, 3), "Hopper-v4")


def test_sizes_that_agree_or_are_not_known_are_no_misfit():
    assert dims_misfits((11, None), (11, 3), "Hopper-v4") == {}
    require_dims("states.npz", (None, None), (11, 3), "Hopper-v4")
