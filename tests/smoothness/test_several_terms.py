"""Several policy penalties at once, functions of one's own among them; masked dims in none."""

from pathlib import Path
from typing import Any

import pytest
import torch
from penalty_cases import make_config, make_policy, make_rows
from tiny_runs import tiny
from torch import Tensor

import spacil as library
from spacil.config.penalty_terms import POLICY_PENALTIES, parse_terms, register_penalty
from spacil.config.train_config import TrainConfig
from spacil.errors import ConfigError
from spacil.functional import sensitivity
from spacil.learning.policy_step import PenalizedLoss, total
from spacil.nets.discriminator import Discriminator
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams
from spacil.smoothness.cost import cost_penalty, draw_pairs
from spacil.smoothness.policy_terms import build_terms, draw_terms


def gradient(policy: GaussianPolicy, words: str, config: TrainConfig) -> Tensor:
    """Of the weighted sum of the penalties alone."""
    streams = Streams.from_seed(4)
    terms = parse_terms(tuple(words.split()))
    drawn = draw_terms(terms, lambda kind: make_rows(), policy, config, streams)
    loss = PenalizedLoss(
        lambda mean, log_std: {}, build_terms(policy, drawn, config), drawn.weights
    )
    summands = loss(torch.empty(0), policy.log_std)
    parameters = list(policy.mean_net.parameters())
    found = torch.autograd.grad(total(summands), parameters, materialize_grads=True)
    return torch.cat([part.flatten() for part in found])


def learn(agent: Any, num_iterations: int = 2) -> dict[str, Any]:
    """What its last iteration reports."""
    rows: list[dict[str, Any]] = []
    agent.learn(num_iterations, callback=lambda agent, metrics: rows.append(metrics))
    agent.close()
    return rows[-1]


def magnitude(mean_action: Any, states: Tensor) -> Tensor:
    return mean_action(states).square().mean()


def jerk(mean_action: Any, states: Tensor, next_states: Tensor) -> Tensor:
    return (mean_action(next_states) - mean_action(states)).abs().mean()


def slope(mean_action: Any, states: Tensor) -> Tensor:
    """Differentiates in the states, with the flag set on the very tensor it was given."""
    states.requires_grad_()
    (gradient,) = torch.autograd.grad(mean_action(states).sum(), states, create_graph=True)
    return gradient.square().sum(-1).mean()


def test_the_gradient_is_the_weighted_sum_of_the_single_ones() -> None:
    policy, config = make_policy(), make_config(penalty_state_fraction=1.0)
    names = ("exact", "frobenius", "lcp", "cats")  # those that draw nothing
    weights = (0.5, 0.25, 2.0, 3.0)
    together = gradient(policy, " ".join(map("{}={}".format, names, weights)), config)
    single = [gradient(policy, f"{name}=1", config) for name in names]
    expected = sum(w * part for w, part in zip(weights, single, strict=True))
    torch.testing.assert_close(together, expected, rtol=1e-4, atol=1e-6)
    assert all(float(part.norm()) > 1e-4 for part in single)


def test_each_term_draws_a_subset_and_a_start_of_its_own() -> None:
    config, streams = make_config(penalty_state_fraction=0.5), Streams.from_seed(4)
    terms = parse_terms(("pgd", "caps", "exact"))
    drawn = draw_terms(terms, lambda kind: make_rows(), make_policy(), config, streams)
    assert drawn.names == ("pgd", "caps", "exact")
    assert drawn.weights == (0.03, 1.0, 0.03)
    assert [len(rows.states) for rows in drawn.rows] == [30, 30, 30]
    assert [rows.num_meant for rows in drawn.rows] == [60, 60, 60]
    assert [rows.noise is None for rows in drawn.rows] == [False, False, True]
    assert not torch.equal(drawn.rows[0].states, drawn.rows[2].states)


@pytest.mark.parametrize("function", [magnitude, jerk, slope])
@pytest.mark.parametrize("algorithm", ["SPaCIL", "BC"])
def test_a_function_of_one_s_own_trains(function: Any, algorithm: str) -> None:
    read: dict[str, Any] = {"policy_hidden": (16, 8), "evaluation_steps": 100}
    if algorithm == "SPaCIL":
        read = {"preset": "plain", **tiny()}
    agent = getattr(library, algorithm)("Reacher-v4", **read, penalty={function: 0.5, "exact": 0.1})
    metrics = learn(agent)
    if algorithm == "BC":
        assert metrics["loss_policy_penalty"] > 0
    else:
        assert metrics[f"loss_penalty_{function.__name__}"] > 0
        assert metrics["loss_penalty_exact"] > 0
        assert metrics["is_accepted"]


def test_a_function_of_one_s_own_does_what_the_built_in_one_does() -> None:
    def twin(mean_action: Any, states: Tensor, next_states: Tensor) -> Tensor:
        return (mean_action(next_states) - mean_action(states)).square().sum(-1).mean()

    register_penalty(twin)
    policy, config = make_policy(), make_config(penalty_state_fraction=1.0)
    torch.testing.assert_close(
        gradient(policy, "twin=0.7", config), gradient(policy, "cats=0.7", config)
    )


def test_a_function_of_one_s_own_cannot_change_the_batch() -> None:
    register_penalty(slope)
    policy, config, rows = make_policy(), make_config(penalty_state_fraction=1.0), make_rows()
    terms = parse_terms(("slope",))
    drawn = draw_terms(terms, lambda kind: rows, policy, config, Streams.from_seed(0))
    penalty = build_terms(policy, drawn, config)["slope"]
    with torch.no_grad():
        assert float(penalty().detach()) > 0
    assert not rows.states.requires_grad


@pytest.mark.parametrize("answer", [1.0, None, torch.ones(3)])
def test_a_function_that_returns_no_number_is_refused(answer: Any) -> None:
    register_penalty(lambda mean_action, states: answer, "mine")
    policy, config = make_policy(), make_config()
    with pytest.raises(ConfigError, match="expected one number"):
        gradient(policy, "mine=1", config)


def test_a_process_that_does_not_know_it_says_what_to_do(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    agent = library.SPaCIL("Reacher-v4", preset="plain", **tiny(penalty={magnitude: 0.5}))
    agent.save(folder)
    agent.close()
    del POLICY_PENALTIES["magnitude"]
    assert library.load_policy(folder).task == "Reacher-v4"  # a policy needs no penalty
    assert library.measure_smoothness(folder, episodes=1).cost is not None
    with pytest.raises(
        ConfigError, match=r"no penalty 'magnitude'.*register_penalty\(my_function\)"
    ):
        library.SPaCIL.load(folder)
    library.register_penalty(magnitude)
    again = library.SPaCIL.load(folder)
    assert again.config.policy_penalty.penalty == ("magnitude=0.5",)
    assert learn(again, 1)["loss_penalty_magnitude"] > 0


def masked_policy() -> GaussianPolicy:
    """The third of four state dims is constant."""
    policy = make_policy()
    states = torch.randn(50, 4, generator=torch.Generator().manual_seed(2))
    states[:, 2] = 3.0
    policy.normalizer.merge(states)
    return policy


@pytest.mark.parametrize("start", ["sphere", "ball", "gauss"])
def test_masked_dims_take_no_part_in_the_ball(start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = masked_policy()
    config = make_config(penalty_state_fraction=1.0)
    terms = parse_terms((f"pgd=1:start={start}:radius=0.5",))
    drawn = draw_terms(terms, lambda kind: make_rows(), policy, config, Streams.from_seed(0))
    noise = drawn.rows[0].noise
    assert noise is not None
    assert float(noise[:, 2].abs().max()) == 0
    found: list[Tensor] = []

    def ascend(*arguments: Any) -> Tensor:
        found.append(sensitivity.maximize_in_ball(*arguments))
        return found[-1]

    monkeypatch.setattr("spacil.smoothness.policy_penalty.maximize_in_ball", ascend)
    build_terms(policy, drawn, config)
    (offset,) = found
    assert float(offset[:, 2].abs().max()) == 0
    lengths = offset.norm(dim=-1)  # the power rule jumps to the sphere
    torch.testing.assert_close(lengths, torch.full_like(lengths, 0.5))


def test_a_start_inside_the_ball_is_uniform_in_the_dims_that_are_read() -> None:
    like, mask = torch.zeros(20_000, 5), torch.tensor([1.0, 0, 0, 1, 0])
    generator = torch.Generator().manual_seed(0)
    offset = sensitivity.random_offset(like, 2.0, "ball", generator, mask)
    # In a disc a quarter of the area is within half the radius.
    assert float((offset.norm(dim=-1) < 1.0).float().mean()) == pytest.approx(0.25, abs=0.02)


FORMS = ["response", "both", "state", "gp", "r1"]


@pytest.mark.parametrize("form", FORMS + [f"{form}:estimator=pgd" for form in FORMS[:3]])
def test_masked_dims_have_no_slope_in_the_cost_penalty(form: str) -> None:
    policy = masked_policy()
    generator = torch.Generator().manual_seed(6)
    discriminator = Discriminator(4, 2, (16,), "tanh", "fan-in", generator).double()
    config = make_config(cost_penalty_form=form, penalty_state_fraction=1.0)
    states, actions = make_rows().states, torch.full((60, 2), 0.3, dtype=torch.float64)

    def value() -> float:
        pairs = (states, actions)
        drawn = draw_pairs(discriminator, policy, pairs, pairs, config, Streams.from_seed(0))
        return float(cost_penalty(discriminator, policy, drawn, config).detach())

    before = value()
    assert before > 0
    with torch.no_grad():
        discriminator.net.layers[0].weight[:, 2] += 50.0  # a slope nothing may see
    assert value() == pytest.approx(before, rel=1e-5)


def test_masked_dims_have_no_slope_in_the_cost_of_a_saved_run(tmp_path: Path) -> None:
    agent = library.GAIL("Reacher-v4", **tiny())
    agent.learn(1)
    learner = agent._learner
    mask = learner.policy.normalizer.mask
    assert mask.tolist().count(0) == 1  # the height of Reacher's finger
    constant = mask.tolist().index(0)
    with torch.no_grad():
        learner.adversary.network.net.layers[0].weight[:, constant] += 1e4  # type: ignore[attr-defined]
    agent.save(tmp_path / "saved")
    agent.close()
    cost = library.measure_smoothness(tmp_path / "saved", episodes=1).cost
    assert cost is not None
    assert cost["in_state"].max < 10
