"""What must have been done between two states: an inverse model, learned from own play.

Demonstrations without actions are labelled with what this model finds, a = f(s, s'). Where columns
of the states are not known, it finds them too; where successors are not, a forward model says which
states can follow each other. Labels are worth what own play says of them. Two things make a label
wrong: no own play near it, and physics that hides the action (a joint pushed against its stop does
not move). The model cannot tell an action that hardly varied, so what it is asked is not how large
its errors are, but how much of what the actor *added* to its mean action it finds again, on steps
it has not learned from:

    trust = 1 - E |a - f(s, s')|^2 / E |a - mu(s)|^2        near the demonstrations, per action dim

1 where the states tell the action, 0 where they tell no more than the actor's mean does.
"""

import itertools
import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from spacil.engine.device import one_torch_thread
from spacil.engine.mlp_passes import Adam
from spacil.nets.policy import moving_std

NUM_MEMBERS = 3
"""Networks side by side; each leaves out the steps of a third of the envs."""
HIDDEN = 256
MINIBATCH, LAST_RATE = 256, 0.05
LARGEST_INPUT = 10.0
SMALLEST_NOISE = 1e-6
NUM_NEAREST = 10
NUM_ASKED, NUM_ANSWERING = 500, 20_000
"""Most demonstrated transitions, and most own steps, that trust is measured on."""
MOST_ASKED, SHARPNESS = 64, 0.5
"""Successors that a single state is asked about, at most; how much a miss counts against one, in
misses of the best ones."""


@dataclass(frozen=True)
class OwnSteps:
    """Steps of own play, [B] each."""

    states: Tensor
    next_states: Tensor
    """The true successors"""
    actions: Tensor
    """As executed"""
    means: Tensor
    """What the actor would have executed without its noise"""
    envs: Tensor
    """Number of the env of each step"""
    rounds: Tensor

    def __len__(self) -> int:
        return len(self.states)

    def pick(self, rows: Tensor) -> "OwnSteps":
        return OwnSteps(**{name: tensor[rows] for name, tensor in vars(self).items()})

    def newest(self, most: int) -> "OwnSteps":
        return OwnSteps(**{name: tensor[-most:] for name, tensor in vars(self).items()})

    @staticmethod
    def none(num_states: int, num_actions: int) -> "OwnSteps":
        states, actions = torch.empty(0, num_states), torch.empty(0, num_actions)
        numbers = torch.empty(0, dtype=torch.int64)
        return OwnSteps(states, states, actions, actions, numbers, numbers)

    @staticmethod
    def together(parts: "list[OwnSteps]") -> "OwnSteps":
        names = vars(parts[0])
        return OwnSteps(**{n: torch.cat([getattr(part, n) for part in parts]) for n in names})


def in_units(values: Tensor, std: Tensor) -> Tensor:
    """values / std, clipped; dims without a unit are 0."""
    return (values / std).where(std > 0, 0.0).clamp(-LARGEST_INPUT, LARGEST_INPUT)


class OwnModel(nn.Module):
    """An ensemble of networks that learn from own play, and read states in its units."""

    state_mean: Tensor
    state_std: Tensor
    change_std: Tensor

    def __init__(self, num_states: int, num_in: int, num_out: int, init: torch.Generator) -> None:
        super().__init__()
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for num_from, num_to in itertools.pairwise([num_in, HIDDEN, HIDDEN, num_out]):
            k = 1 / math.sqrt(num_from)
            shapes = (NUM_MEMBERS, num_from, num_to), (NUM_MEMBERS, 1, num_to)
            for kept, shape in zip((self.weights, self.biases), shapes, strict=True):
                kept.append(nn.Parameter(torch.empty(shape).uniform_(-k, k, generator=init)))
        for name in ("state_mean", "state_std", "change_std"):
            self.register_buffer(name, torch.ones(num_states))

    def forward(self, inputs: Tensor) -> Tensor:
        """Each member's answer [K, B, O], to inputs [B, I] or [K, B, I]."""
        x = inputs.expand(NUM_MEMBERS, *inputs.shape[-2:])
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = torch.baddbmm(bias, torch.relu(x) if layer else x, weight)
        return x

    def where(self, states: Tensor) -> Tensor:
        """States, in units of own play."""
        return in_units(states - self.state_mean, self.state_std)

    def change(self, states: Tensor, next_states: Tensor) -> Tensor:
        """How states changed, in units of own play."""
        return in_units(next_states - states, self.change_std)

    @torch.no_grad()
    def standardize(self, own: OwnSteps) -> None:
        """Read states and their changes in units of own play; what rests there is not read."""
        self.state_mean.copy_(own.states.mean(0))
        changes = own.next_states - own.states
        for kept, seen in ((self.state_std, own.states), (self.change_std, changes)):
            kept.copy_(moving_std(seen))

    def asked(self, own: OwnSteps) -> tuple[Tensor, Tensor]:
        """Inputs and what to answer to them."""
        raise NotImplementedError

    def fit(
        self,
        own: OwnSteps,
        weights: Tensor,
        num_steps: int,
        learning_rate: float,
        generator: torch.Generator,
    ) -> None:
        """Take Adam steps on own play, drawn by weight; their size falls along a half cosine."""
        (inputs, answers), optimizer = self.asked(own), Adam(self, learning_rate)
        rows = [torch.nonzero(own.envs % NUM_MEMBERS != k)[:, 0] for k in range(NUM_MEMBERS)]
        shares = [weights[chosen].cumsum(0) for chosen in rows]
        with one_torch_thread(), torch.enable_grad():
            for step in range(num_steps):
                height = (1 + math.cos(math.pi * step / num_steps)) / 2
                optimizer.learning_rate = learning_rate * (LAST_RATE + (1 - LAST_RATE) * height)
                drawn = torch.rand(NUM_MEMBERS, MINIBATCH, generator=generator)
                picked = torch.stack(
                    [
                        chosen[torch.searchsorted(share, u * share[-1]).clamp_max(len(chosen) - 1)]
                        for chosen, share, u in zip(rows, shares, drawn, strict=True)
                    ]
                )
                optimizer.zero_grad()
                errors = self(inputs[picked]) - answers[picked]
                errors.square().sum(-1).mean(1).sum().backward()
                optimizer.step()


class InverseModel(OwnModel):
    """From a state and its successor to the executed action.

    Where some columns of the two are known alone, it reads these and finds the others, too.
    """

    def __init__(
        self,
        is_known: Tensor,
        action_low: Tensor,
        action_high: Tensor,
        init: torch.Generator,
    ) -> None:
        """`is_known` [S] bool."""
        self.num_actions, num_known = len(action_low), int(is_known.sum())
        num_hidden = len(is_known) - num_known
        super().__init__(len(is_known), 2 * num_known, self.num_actions + 2 * num_hidden, init)
        self.is_known, self.action_low, self.action_high = is_known, action_low, action_high

    def inputs(self, states: Tensor, next_states: Tensor) -> Tensor:
        """[B, 2 S], of the known columns"""
        read = self.where(states), self.change(states, next_states)
        return torch.cat([part[:, self.is_known] for part in read], dim=-1)

    def asked(self, own: OwnSteps) -> tuple[Tensor, Tensor]:
        hidden = [self.where(states)[:, ~self.is_known] for states in (own.states, own.next_states)]
        answers = torch.cat([own.actions, *hidden], dim=-1)
        return self.inputs(own.states, own.next_states), answers

    @torch.no_grad()
    def actions(self, states: Tensor, next_states: Tensor) -> Tensor:
        """f(s, s') within the bounds, [B, A]: the members' mean."""
        found = self(self.inputs(states, next_states))[..., : self.num_actions]
        mean: Tensor = found.clamp(self.action_low, self.action_high).mean(0)
        return mean

    @torch.no_grad()
    def completed(self, states: Tensor, next_states: Tensor) -> tuple[Tensor, Tensor]:
        """Both with their other columns found, the members' mean."""
        found = self(self.inputs(states, next_states))[..., self.num_actions :].mean(0).chunk(2, -1)
        whole = states.clone(), next_states.clone()
        for part, hidden in zip(whole, found, strict=True):
            mean, std = self.state_mean[~self.is_known], self.state_std[~self.is_known]
            part[:, ~self.is_known] = mean + std * hidden
        return whole

    @torch.no_grad()
    def held_out_actions(self, own: OwnSteps) -> Tensor:
        """What the member that has not learned from a step finds for it, [B, A]."""
        found = self(self.inputs(own.states, own.next_states))[..., : self.num_actions]
        members = (own.envs % NUM_MEMBERS).expand(1, -1).unsqueeze(-1).expand(1, *found.shape[1:])
        held_out: Tensor = found.gather(0, members)[0].clamp(self.action_low, self.action_high)
        return held_out

    @torch.no_grad()
    def quality(
        self, own: OwnSteps, states: Tensor, next_states: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Held-out error near demonstrated transitions, a number, and the trust, [A].

        Steps of an actor without noise say nothing about how much of it is found again.
        """
        own = own.pick(torch.nonzero((own.actions != own.means).any(-1))[:, 0])
        own = own.pick(torch.randperm(len(own), generator=generator)[:NUM_ANSWERING])
        stride = -(-len(states) // NUM_ASKED)
        asked = self.inputs(states[::stride], next_states[::stride])
        distances = torch.cdist(asked, self.inputs(own.states, own.next_states))
        nearest = distances.topk(NUM_NEAREST, largest=False).indices.flatten()
        near = own.pick(nearest)
        missed = (near.actions - self.held_out_actions(near)).square().mean(0)
        added = (near.actions - near.means).square().mean(0).clamp_min(SMALLEST_NOISE)
        return missed.mean().sqrt(), (1 - missed / added).clamp(0, 1)


class ForwardModel(OwnModel):
    """From a state and an action to the successor."""

    def __init__(self, num_states: int, num_actions: int, init: torch.Generator) -> None:
        super().__init__(num_states, num_states + num_actions, num_states, init)

    def asked(self, own: OwnSteps) -> tuple[Tensor, Tensor]:
        inputs = torch.cat([self.where(own.states), own.actions], dim=-1)
        return inputs, self.change(own.states, own.next_states)

    @torch.no_grad()
    def next_states(self, states: Tensor, actions: Tensor) -> Tensor:
        """[B, S]: the members' mean."""
        inputs = torch.cat([self.where(states), actions], dim=-1)
        following: Tensor = states + self.change_std * self(inputs).mean(0)
        return following


@torch.no_grad()
def towards_each_other(
    inverse: InverseModel, forward: ForwardModel, states: Tensor, actions: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Actions that lead from each of these states [M, S] to another one of them.

    Which one follows is not known. So those nearest to where `actions` lead are all asked about,
    and an answer f(s, s') counts the more, the less it misses its s'. Returns the mean answers
    [M, A], the successors that are missed least [M, S], and the share of the answers' variance
    that does not hang on which successor it is [A].
    """
    std = moving_std(states).to(states)
    unit = torch.where(std > 0, std, torch.inf)
    num_asked = min(
        len(states) - 1, max(NUM_NEAREST, min(MOST_ASKED, NUM_ANSWERING // len(states)))
    )
    led_to, nearest = forward.next_states(states, actions) / unit, list[Tensor]()
    for rows in torch.arange(len(states)).split(NUM_ASKED):  # all at once may be too large
        distances = torch.cdist(led_to[rows], states / unit)
        distances[torch.arange(len(rows)), rows] = math.inf
        nearest.append(distances.topk(num_asked, largest=False).indices)
    candidates = torch.cat(nearest)
    here, there = states.repeat_interleave(num_asked, 0), states[candidates.flatten()]
    answers = inverse.actions(here, there)
    missed = ((forward.next_states(here, answers) - there) / unit).square().sum(-1)
    missed, answers = missed.view(candidates.shape), answers.view(*candidates.shape, -1)
    likely = torch.softmax(-missed / (SHARPNESS * missed.min(1).values.median()), 1).unsqueeze(-1)
    mean = (likely * answers).sum(1)
    spread = (likely * (answers - mean.unsqueeze(1)).square()).sum(1).mean(0)
    certainty = 1 - spread / (spread + mean.var(0, correction=0)).clamp_min(SMALLEST_NOISE)
    best = candidates.gather(1, missed.argmin(1, keepdim=True))[:, 0]
    return mean, states[best], certainty
