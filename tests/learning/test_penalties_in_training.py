"""The penalties on real batches: what they change, what they leave alone, what they draw."""

from typing import Any

import pytest
import torch
from penalty_cases import POLICY_PENALTIES
from stream_positions import positions
from tiny_runs import plain_config, tiny
from torch import Tensor

from spacil.config.flat import with_user_settings
from spacil.demos.file import load_demos
from spacil.functional.sensitivity import batch_jacobian, top_singular
from spacil.learning.on_policy import OnPolicy
from spacil.seeding import Streams

REACHER_DEMOS = load_demos("Reacher-v4")


def run(
    iterations: int, algorithm: str = "spacil", **settings: Any
) -> tuple[OnPolicy, dict[str, Tensor]]:
    """A learner after some iterations, and everything it holds."""
    default = plain_config(algorithm, "Reacher-v4")
    config = with_user_settings(default, tiny(algorithm, steps_per_iteration=600) | settings)
    learner = OnPolicy(config, "Reacher-v4", REACHER_DEMOS)
    try:
        for _ in range(iterations):
            learner.iterate()
        return learner, learner.state.tensors()
    finally:
        learner.close()


def differing(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> list[str]:
    assert ours.keys() == theirs.keys()
    return [name for name in ours if not torch.equal(ours[name], theirs[name])]


def test_without_weights_spacil_is_gail_bit_for_bit_streams_included() -> None:
    _, gail = run(3, "gail")
    _, spacil = run(
        3, penalty={"caps:noise=0.3": 0.0, "exact": 0.0}, lambda_cost=0.0, cost_penalty_form="gp"
    )
    assert differing(gail, spacil) == []


@pytest.mark.parametrize(
    ("off", "untouched"),
    [
        ({"lambda_policy": 0.0, "lambda_cost": 0.0}, ["ball", "mixing", "subset", "target"]),
        ({"lambda_cost": 0.0}, ["ball", "mixing", "target"]),
        ({"cost_penalty_form": "response:mixing=none"}, ["ball", "mixing", "target"]),
        ({"penalty_state_fraction": 1.0}, ["ball", "subset", "target"]),
        ({"cost_penalty_form": "r1"}, ["ball", "mixing", "target"]),
    ],
)
def test_what_is_turned_off_draws_nothing(off: dict[str, Any], untouched: list[str]) -> None:
    fresh, used = positions(Streams.from_seed(0)), positions(run(1, **off)[0].streams)
    assert [name for name in fresh if torch.equal(fresh[name], used[name])] == untouched


@pytest.mark.parametrize("name", POLICY_PENALTIES)
def test_every_penalty_smooths_a_policy_in_training(name: str) -> None:
    settings = {"penalty": {name: 100.0}, "lambda_cost": 0.0}
    plain, _ = run(4, lambda_policy=0.0, lambda_cost=0.0)
    smoothed, _ = run(4, **settings)
    states = torch.randn(100, 11, generator=torch.Generator().manual_seed(0))
    slopes = [
        float(top_singular(batch_jacobian(learner.policy.mean_of_normalized, states)).mean())
        for learner in (plain, smoothed)
    ]
    assert slopes[1] < 0.8 * slopes[0]


@pytest.mark.parametrize("form", ["response", "both", "state", "gp", "r1"])
@pytest.mark.parametrize("mixing", ["interpolate", "bernoulli"])
def test_every_cost_form_changes_the_discriminator_and_only_it(form: str, mixing: str) -> None:
    settings: dict[str, Any] = {"lambda_policy": 0.0, "lambda_cost": 1.0}
    if form != "r1":  # which is measured on the demonstrations
        form = f"{form}:mixing={mixing}"
    _, plain = run(1, "gail")
    _, penalized = run(1, cost_penalty_form=form, **settings)
    changed = {name.split(".")[0] for name in differing(plain, penalized)}
    assert changed <= {"discriminator", "optimizer", "stream"} and "discriminator" in changed
