import pytest
import torch
from spacil.updates.discriminator_fit import DiscriminatorReport, gail_loss, with_cost_penalty
from torch.nn import functional as F

from spacil.engine.adam import Adam
from spacil.errors import DivergedError
from spacil.nets.discriminator import Discriminator
from spacil.updates import discriminator_fit


def _sides() -> tuple[tuple[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(0)
    agent = (torch.randn(60, 3, generator=generator), torch.randn(60, 2, generator=generator) + 1)
    expert = (torch.randn(40, 3, generator=generator), torch.randn(40, 2, generator=generator) - 1)
    return agent, expert


def _fit(net: Discriminator, optimizer: Adam, num_steps: int) -> DiscriminatorReport:
    agent, expert = _sides()
    measured = discriminator_fit.descend(net, optimizer, agent, expert, gail_loss, num_steps)
    return discriminator_fit.report(net, measured, len(agent[0]), len(expert[0]))


def test_the_loss_is_the_binary_cross_entropy_with_the_agent_labelled_one() -> None:
    agent_logits, expert_logits = torch.tensor([0.3, -2.0]), torch.tensor([1.5, -0.2, 4.0])
    summands = gail_loss(agent_logits, expert_logits)
    bce = F.binary_cross_entropy_with_logits
    assert torch.allclose(summands["agent"], bce(agent_logits, torch.ones(2)))
    assert torch.allclose(summands["expert"], bce(expert_logits, torch.zeros(3)))


def test_training_it_gives_the_agent_the_higher_cost_and_the_lower_reward() -> None:
    agent, expert = _sides()
    net = Discriminator(3, 2, (16,), generator=torch.Generator().manual_seed(0))
    optimizer = Adam(net, 0.01)
    first = _fit(net, optimizer, 1)
    last = _fit(net, optimizer, 200)
    last = _fit(net, optimizer, 0)
    assert last.disc_loss < first.disc_loss
    assert last.disc_acc > 0.9
    reward_on_agent = -net.cost(*agent).mean()
    reward_on_expert = -net.cost(*expert).mean()
    assert 0 < reward_on_agent < reward_on_expert


def test_zero_steps_leave_the_parameters_alone() -> None:
    net = Discriminator(3, 2, (16,), generator=torch.Generator().manual_seed(0))
    before = [p.detach().clone() for p in net.parameters()]
    _fit(net, Adam(net, 1e-3), 0)
    assert all(torch.equal(a, b) for a, b in zip(before, net.parameters(), strict=True))


def test_full_separation_is_reported_as_saturated() -> None:
    def report(largest: float, acc_agent: float) -> DiscriminatorReport:
        accuracies = {"acc_agent": acc_agent, "acc_expert": 1.0, "max_abs_logit": largest}
        return discriminator_fit._report({"agent": 0.0, "expert": 0.0, **accuracies}, 2, 1)

    assert report(3.0, 1.0).is_saturated and report(3.0, 1.0).disc_acc == 1
    assert report(60.0, 0.5).is_saturated and report(60.0, 0.5).disc_acc == pytest.approx(2 / 3)
    assert not report(3.0, 0.5).is_saturated


def test_weight_zero_hands_back_the_loss_itself() -> None:
    assert with_cost_penalty(gail_loss, lambda: torch.ones(()), 0.0) is gail_loss


def test_a_step_that_blows_up_is_refused() -> None:
    net = Discriminator(3, 2, (16,), generator=torch.Generator().manual_seed(0))
    optimizer = Adam(net, 1e30)
    with pytest.raises(DivergedError, match="discriminator step"):
        for _ in range(5):
            _fit(net, optimizer, 1)
