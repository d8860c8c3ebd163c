"""The adversary's step: whom it pays, what it reports, and that a step too far is refused."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from spacil.engine.mlp_passes import Adam
from spacil.errors import DivergedError
from spacil.learning import adversary
from spacil.learning.adversary import DiscriminatorReport
from spacil.nets.discriminator import Discriminator


def _sides() -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(0)
    agent = (torch.randn(60, 3, generator=generator), torch.randn(60, 2, generator=generator) + 1)
    expert = (torch.randn(40, 3, generator=generator), torch.randn(40, 2, generator=generator) - 1)
    return agent, expert


def _fit(
    net: Discriminator, optimizer: Adam, num_steps: int, penalty: Callable[[], Tensor] | None = None
) -> DiscriminatorReport:
    agent, expert = _sides()

    def logits() -> tuple[Tensor, Tensor]:
        return net.logits_agent_is_high(*agent), net.logits_agent_is_high(*expert)

    measured = adversary.descend(net, optimizer, logits, penalty, num_steps)
    return adversary.report(measured, len(agent[0]), len(expert[0]))


def test_the_loss_is_the_binary_cross_entropy_with_the_agent_labelled_one() -> None:
    agent_logits, expert_logits = torch.tensor([0.3, -2.0]), torch.tensor([1.5, -0.2, 4.0])
    net = Discriminator(3, 2, (4,))
    logits = agent_logits, expert_logits
    summands = adversary.descend(net, Adam(net, 0.1), lambda: logits, None, 0)
    bce = F.binary_cross_entropy_with_logits
    assert torch.allclose(summands["agent"], bce(agent_logits, torch.ones(2)))
    assert torch.allclose(summands["expert"], bce(expert_logits, torch.zeros(3)))


@pytest.mark.parametrize(
    ("agent", "expert", "largest"),
    [([-4.0, 1.0], [2.0, -3.0], 4.0), ([1.0, 2.0], [-5.0, 0.5, 1.0], 5.0)],
)
def test_the_largest_logit_of_either_side_and_sign_is_reported(
    agent: list[float], expert: list[float], largest: float
) -> None:
    logits = torch.tensor(agent), torch.tensor(expert)
    net = Discriminator(3, 2, (4,))
    measured = adversary.descend(net, Adam(net, 0.1), lambda: logits, None, 0)
    assert float(measured["max_abs_logit"]) == largest
    assert float(measured["acc_agent"]) == sum(x > 0 for x in agent) / len(agent)
    assert float(measured["acc_expert"]) == pytest.approx(
        sum(x < 0 for x in expert) / len(expert), rel=1e-6
    )


@pytest.mark.parametrize(
    ("largest", "acc_agent", "agent_loss", "num_agent", "is_saturated"),
    [
        (3.0, 1.0, 0.5, 2, True),
        (60.0, 0.5, 0.5, 2, True),
        (3.0, 0.5, 0.5, 2, False),
        (12.0, 0.5, 0.008, 2, True),  # one pair is wrong by next to nothing: as little is left
        (12.0, 0.5, 0.04, 2, False),
        (3.0, 1 - 2**-24, 0.1, 50_000, True),  # a mean that was rounded
        (3.0, 1 - 1 / 50_000, 0.1, 50_000, False),
    ],
)
def test_full_separation_is_reported_as_saturated(
    largest: float, acc_agent: float, agent_loss: float, num_agent: int, is_saturated: bool
) -> None:
    numbers = {"agent": agent_loss, "expert": 0.001, "acc_agent": acc_agent, "acc_expert": 1.0}
    measured = {k: torch.tensor(v) for k, v in (numbers | {"max_abs_logit": largest}).items()}
    measured["is_finite"] = torch.tensor(True)
    report = adversary.report(measured, num_agent, 1)
    assert report.is_saturated == is_saturated
    right = acc_agent * num_agent + 1
    assert report.disc_acc == pytest.approx(right / (num_agent + 1))


def test_a_penalty_is_a_summand_of_its_own_and_none_without_one() -> None:
    nets = [Discriminator(3, 2, (16,), generator=torch.Generator().manual_seed(0)) for _ in "12"]
    plain = _fit(nets[0], Adam(nets[0], 1e-3), 1)
    bias = nets[1].net.layers[-1].bias
    penalized = _fit(nets[1], Adam(nets[1], 1e-3), 1, lambda: 0.5 + 1e3 * bias.sum())
    assert plain.cost_penalty is None and penalized.cost_penalty == 0.5
    assert plain.disc_loss == penalized.disc_loss
    # The penalty's slope decides where the bias goes; nothing else of the step has changed.
    assert nets[0].net.layers[-1].bias.item() > 0 > bias.item()


def test_a_step_that_blows_up_is_refused() -> None:
    net = Discriminator(3, 2, (16,), generator=torch.Generator().manual_seed(0))
    optimizer = Adam(net, 1e30)
    with pytest.raises(DivergedError, match="discriminator step"):
        for _ in range(5):
            _fit(net, optimizer, 1)
