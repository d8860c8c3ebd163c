"""The penalties as settings ask for them: units, subsets, spread, discount; and on real batches."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from spacil.config.defaults import default_config
from spacil.config.flat import flat_settings, with_settings
from spacil.config.train_config import TrainConfig
from spacil.demos.file import load_demos
from spacil.engine.torch_threads import one_torch_thread
from spacil.errors import ConfigError
from spacil.functional.spectral import batch_jacobian, top_singular
from spacil.nets.discriminator import Discriminator
from spacil.nets.policy import GaussianPolicy
from spacil.penalties.cost_terms import Sides, cost_penalty, draw_pairs
from spacil.penalties.policy_terms import (
    PenaltyRows,
    draw_share,
    penalty_rows,
    policy_penalty,
    ramped_weight,
)
from spacil.seeding import Streams
from spacil.smoothness.policy_penalty import Penalty
from spacil.training.learner import Learner
from spacil.training.loop import run_iteration
from spacil.types import RolloutBatch

TINY = {
    "num_envs": 10,
    "steps_per_iteration": 600,
    "simulation_threads": 1,
    "torch_threads": 1,
    "policy_hidden": (16, 8),
    "value_hidden": (16,),
    "discriminator_hidden": (16,),
    "evaluation_steps": 100,
    "penalty_ramp_iterations": 0,
}


@pytest.fixture(autouse=True)
def _one_torch_thread() -> Iterator[None]:
    with one_torch_thread():
        yield


def make_config(algorithm: str = "spacil", **settings: Any) -> TrainConfig:
    return with_settings(default_config(algorithm, "Reacher-v4"), {**TINY, **settings})  # type: ignore[arg-type]


def make_policy(initial_log_std: float = 0.0) -> GaussianPolicy:
    generator = torch.Generator().manual_seed(0)
    policy = GaussianPolicy(
        4, [-1.0] * 2, [1.0] * 2, (16, 8), "fan-in", initial_log_std, generator
    ).double()
    with torch.no_grad():
        policy.mean_net.weights_and_biases[-1][0].mul_(30)
    return policy


def make_rows(size: int = 60) -> PenaltyRows:
    generator = torch.Generator().manual_seed(1)
    states = torch.randn(size, 4, generator=generator, dtype=torch.float64)
    actions = torch.randn(size, 2, generator=generator, dtype=torch.float64)
    return PenaltyRows(states, actions, states.roll(-1, 0))


def drawn_penalty(
    policy: GaussianPolicy, rows: PenaltyRows, config: TrainConfig, seed: int = 0
) -> Penalty:
    return policy_penalty(policy, draw_share(rows, config, Streams.from_seed(seed)), config)


def drawn_cost_penalty(sides: Sides, config: TrainConfig, seed: int = 0) -> Penalty:
    drawn = draw_pairs(sides, config, Streams.from_seed(seed))
    return cost_penalty(sides.discriminator, sides.policy, drawn, config)


def value_of(penalty: Penalty) -> float:
    return float(penalty().detach())


def policy_values(num_seeds: int, rows: PenaltyRows | None = None, **settings: Any) -> Tensor:
    """The penalty under as many seeds; on all states unless asked otherwise."""
    config = make_config(**{"penalty_state_fraction": 1.0, **settings})
    policy, rows = make_policy(), rows or make_rows()
    penalties = [drawn_penalty(policy, rows, config, seed) for seed in range(num_seeds)]
    return torch.tensor([value_of(penalty) for penalty in penalties], dtype=torch.float64)


def policy_value(rows: PenaltyRows | None = None, **settings: Any) -> float:
    return float(policy_values(1, rows, **settings))


def assert_unbiased(shares: Tensor, truth: float) -> None:
    standard_error = float(shares.std()) / len(shares) ** 0.5
    assert 0 < standard_error < 0.1 * truth
    assert abs(float(shares.mean()) - truth) < 3 * standard_error


# --- weight and units


def test_the_weight_grows_linearly_over_the_ramp() -> None:
    settings = make_config(lambda_policy=0.5, penalty_ramp_iterations=4).policy_penalty
    assert [ramped_weight(settings, i) for i in range(6)] == [0, 0.125, 0.25, 0.375, 0.5, 0.5]
    no_ramp = make_config(lambda_policy=0.5, penalty_ramp_iterations=0).policy_penalty
    assert ramped_weight(no_ramp, 0) == 0.5


@pytest.mark.parametrize("scale", ["paper-mean", "paper-sum"])
def test_a_preset_equals_lipschitz_units_times_the_radius_squared_to_first_order(
    scale: str,
) -> None:
    # lambda_L = lambda_1 eps^2, and n times that when summed (app:projection_implementation).
    factor = 60 if scale == "paper-sum" else 1
    lipschitz = policy_value()
    errors = []
    for radius in (1e-2, 1e-3):
        printed = policy_value(
            policy_penalty_scale=scale,
            policy_penalty_estimator="pgd",
            ball_radius=radius,
            ball_num_steps=60,
        )
        errors.append(abs(printed / (factor * radius**2) / lipschitz - 1))
    assert errors[0] < 0.05
    assert errors[1] < max(0.2 * errors[0], 1e-3)
    exact = policy_value(policy_penalty_scale=scale)
    assert exact == pytest.approx(factor * 0.01**2 * lipschitz, rel=1e-9)


@pytest.mark.parametrize("preset", ["paper-mean", "paper-sum"])
def test_a_preset_sets_what_the_paper_prints_and_nothing_else(preset: Any) -> None:
    plain, printed = (
        flat_settings(default_config("spacil", "Hopper-v4", name)) for name in ("none", preset)
    )
    as_printed = {
        "lambda_policy": 0.001,
        "lambda_cost": 0.001,
        "policy_penalty_scale": preset,
        "cost_penalty_scale": preset,
        "policy_penalty_estimator": "pgd",
        "cost_penalty_estimator": "pgd",
        "penalty_ramp_iterations": 0,
        "ball_step_rule": "raw",
        "discriminator_activation": "tanh",
        "discriminator_learning_rate": 0.01,
        "discriminator_actions": "raw",
        "standardize_actions": False,
    }
    assert printed == plain | as_printed


@pytest.mark.parametrize(
    "settings",
    [
        {"policy_penalty_scale": "paper-mean", "policy_penalty_estimator": "cats"},
        {"policy_penalty_scale": "paper-sum", "policy_penalty_estimator": "lcp"},
        {"cost_penalty_scale": "paper-mean", "cost_penalty_form": "gp"},
        {"caps_noise_std": 0.0},
        {"caps_spatial_weight": -1.0},
        {"penalty_state_fraction": 0.0},
        {"policy_penalty_estimator": "spectral"},
        {"cost_penalty_mixing": "half"},
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        make_config(**settings)


# --- the state subset


@pytest.mark.parametrize("estimator", ["exact", "pgd", "frobenius", "lcp", "cats", "caps"])
def test_a_share_of_the_states_is_an_unbiased_estimate_of_them_all(estimator: str) -> None:
    rows = make_rows()
    weights = torch.linspace(0.2, 1.8, 60, dtype=torch.float64)
    rows = PenaltyRows(rows.states, rows.actions, rows.successors, weights)
    settings = {"policy_penalty_estimator": estimator, "caps_spatial_weight": 0.0}
    truth = policy_value(rows, **settings)
    shares = policy_values(100, rows, penalty_state_fraction=0.25, **settings)
    assert_unbiased(shares, truth)


@pytest.mark.parametrize("estimator", ["exact", "pgd"])
def test_a_share_of_a_printed_sum_stands_for_the_whole_sum(estimator: str) -> None:
    settings = {"policy_penalty_scale": "paper-sum", "policy_penalty_estimator": estimator}
    truth = policy_value(**settings)
    assert_unbiased(policy_values(100, penalty_state_fraction=0.25, **settings), truth)


# --- spread, discount, time


@pytest.mark.parametrize("estimator", ["exact", "pgd", "frobenius", "cats"])
def test_a_spread_of_two_divides_the_penalty_by_four(estimator: str) -> None:
    config = make_config(
        penalty_state_fraction=1.0, penalty_sigma="policy", policy_penalty_estimator=estimator
    )
    policy = make_policy(initial_log_std=float(torch.tensor(2.0).log()))
    value = value_of(drawn_penalty(policy, make_rows(), config))
    assert value == pytest.approx(policy_value(policy_penalty_estimator=estimator) / 4, rel=1e-4)


@pytest.mark.parametrize("sigma", ["fixed", "policy"])
def test_lcp_on_sampled_actions_is_the_frobenius_penalty_under_either_spread(sigma: str) -> None:
    policy = make_policy(initial_log_std=-0.7)
    states = make_rows().states.repeat(300, 1)
    noise = torch.randn(len(states), 2, generator=torch.Generator().manual_seed(2)).double()
    actions = (policy.mean_of_normalized(states) + policy.log_std.exp() * noise).detach()
    rows = PenaltyRows(states, actions)
    values = [
        value_of(
            drawn_penalty(
                policy,
                rows,
                make_config(
                    penalty_state_fraction=1.0,
                    penalty_sigma=sigma,
                    policy_penalty_estimator=estimator,
                ),
            )
        )
        for estimator in ("lcp", "frobenius")
    ]
    assert values[0] == pytest.approx(values[1], rel=0.03)


def make_rollout() -> RolloutBatch:
    """Two envs, three steps; env 0 falls after its first step, env 1 is cut after its second."""
    states = torch.arange(24, dtype=torch.float32).view(3, 2, 4)
    terminated = torch.tensor([[True, False], [False, False], [False, False]])
    truncated = torch.tensor([[False, False], [False, True], [False, False]])
    return RolloutBatch(
        states=states,
        actions=torch.zeros(3, 2, 2),
        env_rewards=torch.zeros(3, 2, dtype=torch.float64),
        terminated=terminated,
        truncated=truncated,
        final_states=torch.zeros(1, 4),
        last_states=torch.zeros(2, 4),
    )


def test_temporal_rows_are_paired_with_the_next_state_of_their_env() -> None:
    rollout = make_rollout()
    states = rollout.flat_states
    config = make_config(policy_penalty_estimator="cats")
    rows = penalty_rows(rollout, states, torch.tensor([0, 0]), config)
    assert torch.equal(rows.states, states[[1, 2]])
    assert rows.successors is not None and torch.equal(rows.successors, states[[3, 4]])


def test_discounting_knows_how_old_each_episode_was_before_the_batch() -> None:
    rollout = make_rollout()
    config = make_config(penalty_discount=True, gamma=0.5)
    rows = penalty_rows(rollout, rollout.flat_states, torch.tensor([2, 0]), config)
    assert rows.weights is not None
    raw = torch.tensor([0.25, 1.0, 1.0, 0.5, 0.5, 1.0])  # ages 2, 0, 0, 1, 1, 0
    assert torch.allclose(rows.weights, raw / raw.mean())


def test_an_estimator_without_what_it_reads_says_so() -> None:
    for estimator in ("lcp", "cats", "caps"):
        config = make_config(policy_penalty_estimator=estimator)
        with pytest.raises(ConfigError, match=f"{estimator} reads"):
            rows = PenaltyRows(make_rows().states)
            drawn_penalty(make_policy(), rows, config)


# --- the cost's penalty


def make_sides() -> Sides:
    generator = torch.Generator().manual_seed(0)
    discriminator = Discriminator(4, 2, (16,), "tanh", generator=generator).double()
    discriminator.read_actions_clipped(-torch.ones(2), torch.ones(2))
    rows = make_rows()
    assert rows.actions is not None
    expert = make_rows(40)
    return Sides(
        discriminator,
        make_policy(),
        (rows.states, 2 * rows.actions),
        (expert.states + 1, make_rows(40).states[:, :2].clamp(-1, 1)),
    )


def cost_values(num_seeds: int, **settings: Any) -> Tensor:
    config, sides = make_config(**settings), make_sides()
    penalties = [drawn_cost_penalty(sides, config, seed) for seed in range(num_seeds)]
    return torch.tensor([value_of(penalty) for penalty in penalties], dtype=torch.float64)


def cost_value(**settings: Any) -> float:
    return float(cost_values(1, **settings))


@pytest.mark.parametrize("form", ["response", "both", "state", "gp", "r1"])
def test_a_share_of_the_cost_penalty_is_unbiased(form: str) -> None:
    settings = {"cost_penalty_form": form, "cost_penalty_mixing": "none"}
    truth = cost_value(penalty_state_fraction=1.0, **settings)
    assert_unbiased(cost_values(100, penalty_state_fraction=0.25, **settings), truth)


@pytest.mark.parametrize("form", ["response", "both", "state"])
def test_ascent_and_gradient_norm_agree_in_every_form_and_scale(form: str) -> None:
    common = {"cost_penalty_form": form, "penalty_state_fraction": 0.5, "ball_num_steps": 30}
    lipschitz = cost_value(**common)
    for scale, factor in (("lipschitz", 1.0), ("paper-mean", 0.01), ("paper-sum", 0.01 * 60)):
        exact = cost_value(cost_penalty_scale=scale, **common)
        ascent = cost_value(cost_penalty_scale=scale, cost_penalty_estimator="pgd", **common)
        assert exact == pytest.approx(factor * lipschitz, rel=1e-9)
        assert ascent == pytest.approx(exact, rel=0.05)


def test_gradient_penalties_see_actions_as_the_discriminator_reads_them() -> None:
    # Beyond the bounds it reads a constant; on the bound it still has a slope.
    sides = make_sides()
    config = make_config(cost_penalty_form="gp", cost_penalty_mixing="none")
    inside = drawn_cost_penalty(sides, config)()
    clipped = (sides.agent[0], sides.agent[1].clamp(-1, 1))
    again = drawn_cost_penalty(
        Sides(sides.discriminator, sides.policy, clipped, sides.expert), config
    )()
    assert torch.equal(inside, again)


# --- on real batches


REACHER_DEMOS = load_demos("Reacher-v4")


def run(
    iterations: int, algorithm: str = "spacil", **settings: Any
) -> tuple[Learner, dict[str, Tensor]]:
    """A learner after some iterations, and everything it holds."""
    learner = Learner(make_config(algorithm, **settings), "Reacher-v4", REACHER_DEMOS)
    try:
        for _ in range(iterations):
            run_iteration(learner)
        return learner, learner.tensors()
    finally:
        learner.close()


def differing(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> list[str]:
    assert ours.keys() == theirs.keys()
    return [name for name in ours if not torch.equal(ours[name], theirs[name])]


def test_without_weights_spacil_is_gail_bit_for_bit_streams_included() -> None:
    _, gail = run(3, "gail")
    _, spacil = run(
        3,
        lambda_policy=0.0,
        lambda_cost=0.0,
        policy_penalty_estimator="caps",
        cost_penalty_form="gp",
        penalty_discount=True,
        penalty_sigma="policy",
    )
    assert differing(gail, spacil) == []


@pytest.mark.parametrize(
    ("off", "untouched"),
    [
        ({"lambda_policy": 0.0, "lambda_cost": 0.0}, ["ball", "mixing", "subset", "target"]),
        ({"lambda_cost": 0.0}, ["ball", "mixing", "target"]),
        ({"cost_penalty_mixing": "none"}, ["ball", "mixing", "target"]),
        ({"penalty_state_fraction": 1.0}, ["ball", "subset", "target"]),
        ({"cost_penalty_form": "r1"}, ["ball", "mixing", "target"]),
    ],
)
def test_what_is_turned_off_draws_nothing(off: dict[str, Any], untouched: list[str]) -> None:
    fresh, used = Streams.from_seed(0).state(), run(1, **off)[0].streams.state()
    assert [name for name in fresh if torch.equal(fresh[name], used[name])] == untouched


@pytest.mark.parametrize("estimator", ["exact", "pgd", "frobenius", "lcp", "cats", "caps"])
def test_every_estimator_smooths_a_policy_in_training(estimator: str) -> None:
    settings = {
        "policy_penalty_estimator": estimator,
        "penalty_discount": True,
        "lambda_policy": 100.0,
        "lambda_cost": 0.0,
    }
    plain, _ = run(4, lambda_policy=0.0, lambda_cost=0.0)
    smoothed, _ = run(4, **settings)
    states = torch.randn(100, 11, generator=torch.Generator().manual_seed(0))
    slopes = [
        float(top_singular(batch_jacobian(learner.policy.mean_of_normalized, states)).sigma.mean())
        for learner in (plain, smoothed)
    ]
    assert slopes[1] < 0.8 * slopes[0]


@pytest.mark.parametrize("form", ["response", "both", "state", "gp", "r1"])
@pytest.mark.parametrize("mixing", ["interpolate", "bernoulli"])
def test_every_cost_form_changes_the_discriminator_and_only_it(form: str, mixing: str) -> None:
    settings = {"lambda_policy": 0.0, "lambda_cost": 1.0}
    _, plain = run(1, "gail")
    _, penalized = run(1, cost_penalty_form=form, cost_penalty_mixing=mixing, **settings)
    changed = {name.split(".")[0] for name in differing(plain, penalized)}
    assert changed <= {"discriminator", "optimizer", "stream"} and "discriminator" in changed
