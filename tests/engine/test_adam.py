"""Adam on one vector, against torch's."""

import subprocess
import sys

import torch

from spacil.engine.mlp_passes import Adam
from spacil.nets.mlp import MLP


def make_net() -> MLP:
    return MLP([3, 8, 2], generator=torch.Generator().manual_seed(0))


def test_it_takes_the_steps_of_torchs_own() -> None:
    net, twin = make_net().double(), make_net().double()
    ours = Adam(net, 1e-2)
    theirs = torch.optim.Adam(twin.parameters(), 1e-2)
    draws = torch.Generator().manual_seed(1)
    for _ in range(50):
        x = torch.randn(20, 3, generator=draws, dtype=torch.float64)
        for model, optimizer in ((net, ours), (twin, theirs)):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
    for a, b in zip(net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(a, b, rtol=1e-10, atol=1e-12)


def test_parameters_and_gradients_stay_views_of_its_vectors() -> None:
    net = make_net()
    optimizer = Adam(net, 1e-2)
    net.load_state_dict(make_net().state_dict())
    optimizer.zero_grad()
    net(torch.ones(4, 3)).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    assert torch.equal(torch.cat([p.grad.flatten() for p in net.parameters()]), optimizer.gradient)  # type: ignore[union-attr]
    optimizer.step()
    assert torch.equal(torch.cat([p.flatten() for p in net.parameters()]), optimizer.vector)


def test_its_first_step_loads_no_compiler() -> None:
    script = (
        "import sys, torch\n"
        "from spacil.engine.mlp_passes import Adam\n"
        "Adam(torch.nn.Linear(2, 2), 1e-3).step()\n"
        "print('torch._dynamo' in sys.modules)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == "False"
