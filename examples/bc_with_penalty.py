"""Plain PyTorch behaviour cloning with spacil's smoothness penalty: two lines in any loop.

python examples/bc_with_penalty.py          about a minute on two cores
python examples/bc_with_penalty.py --quick  a few seconds
"""

import argparse

import torch
from torch import Tensor, nn

import spacil
from spacil.smoothness.metric import local_lipschitz
from spacil.smoothness.policy_penalty import exact_policy_penalty


def clone(states: Tensor, actions: Tensor, weight: float, num_epochs: int) -> nn.Sequential:
    """Regress the actions on the states; `weight` is in Lipschitz units, on E[sigma_max^2]."""
    torch.manual_seed(0)
    net = nn.Sequential(
        *(nn.Linear(states.shape[1], 256), nn.Tanh()),
        *(nn.Linear(256, 256), nn.Tanh()),
        nn.Linear(256, actions.shape[1]),
    )
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(num_epochs):
        for rows in torch.randperm(len(states)).split(128):
            loss = (net(states[rows]) - actions[rows]).square().sum(-1).mean()
            if weight > 0:
                penalty = exact_policy_penalty(net, states[rows])
                loss = loss + weight * penalty()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return net


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few epochs on part of the data")
    parser.add_argument("--weight", type=float, default=0.01, help="of the penalty")
    options = parser.parse_args()
    torch.set_num_threads(1)  # batches this small do not pay for a second one
    demos = spacil.load_demos("Hopper-v4")
    if options.quick:
        demos = demos.subsample(4)
    # J is in action per standard deviation of the demonstrated states: spacil's common frame.
    states = ((demos.states - demos.state_mean) / demos.state_std.clamp_min(1e-2)).float()
    actions = demos.expert_batch("executed").actions
    num_taught = int(demos.episode_lengths[:-1].sum())  # the last episode is held out
    for weight in (0.0, options.weight):
        net = clone(states[:num_taught], actions[:num_taught], weight, 8 if options.quick else 20)
        with torch.no_grad():
            errors = net(states[num_taught:]) - actions[num_taught:]
        j = local_lipschitz(net, states[num_taught:]).mean()
        loss = errors.square().sum(-1).mean()
        print(f"weight {weight:<6g} held-out loss {loss:.4f}   J {j:.3f}")


if __name__ == "__main__":
    main()
