"""The Gaussian policy: normaliser, mean network and a state-independent spread."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from spacil.errors import DataError
from spacil.nets.mlp import MLP, Init

OWN_ROUNDING, ENVS_ROUNDING = 2.0**-20, 2.0**-40
"""What a dim may move by rounding alone: of its own size, as float32 keeps it, and of the size of
the largest dim, as an env computes one from others in float64."""
CLIP = 10.0


def varies(mean: Tensor, std: Tensor) -> Tensor:
    """[S] bool: which dims move by more than rounding, whatever unit they are in."""
    largest = ENVS_ROUNDING * torch.maximum(mean.abs(), std).amax()
    smallest = torch.finfo(torch.float32).tiny  # its inverse is a number in float32
    return std > torch.maximum(OWN_ROUNDING * mean.abs(), largest).clamp_min(smallest)


def moving_std(states: Tensor) -> Tensor:
    """Standard deviation of [B, S], [S] float64; zero on dims that do not vary."""
    states = states.double()
    std = states.std(0, correction=0)
    return std.where(varies(states.mean(0), std), 0.0)


class RunningNormalizer(nn.Module):
    """(s - mean) / std, clipped; dims that never moved are masked to zero.

    Statistics are merged between iterations only, in float64. Before the first merge it is the
    identity. A dim goes live when it has moved by more than rounding, and never back.
    """

    mean: Tensor
    squared_deviations: Tensor
    count: Tensor
    is_live: Tensor
    shift: Tensor
    scale: Tensor
    mask: Tensor

    def __init__(self, num_states: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(num_states, dtype=torch.float64))
        self.register_buffer("squared_deviations", torch.zeros(num_states, dtype=torch.float64))
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))
        self.register_buffer("is_live", torch.zeros(num_states, dtype=torch.bool))
        # Derived from the four above: what forward() reads, and the live dims as 0/1.
        self.register_buffer("shift", torch.zeros(num_states), persistent=False)
        self.register_buffer("scale", torch.ones(num_states), persistent=False)
        self.register_buffer("mask", torch.ones(num_states), persistent=False)

    def forward(self, states: Tensor) -> Tensor:
        return ((states - self.shift) * self.scale).clamp(-CLIP, CLIP)

    @property
    def std(self) -> Tensor:
        """Running standard deviation, [S] float64; ones before the first merge."""
        # Chosen on the device: asking the count here would wait for it.
        return torch.where(self.count == 0, 1.0, (self.squared_deviations / self.count).sqrt())

    @property
    def live_mask(self) -> Tensor:
        """[S] bool: which dims reach the network."""
        return self.is_live | (self.count == 0)

    @torch.no_grad()
    def merge(self, states: Tensor) -> None:
        """Fold a batch [..., S] into the statistics (Chan's pairwise update)."""
        batch = states.reshape(-1, states.shape[-1]).to(torch.float64)
        batch_mean = batch.mean(0)
        total = self.count + len(batch)
        difference = batch_mean - self.mean
        self.squared_deviations += (batch - batch_mean).square().sum(0)
        self.squared_deviations += difference.square() * (self.count * len(batch) / total)
        self.mean += difference * (len(batch) / total)
        self.count.copy_(total)
        self.is_live |= varies(self.mean, self.std)
        self.refresh()

    @torch.no_grad()
    def refresh(self) -> None:
        """Recompute what is derived; call after the statistics were loaded."""
        self.shift.copy_(self.mean)
        self.mask.copy_(self.live_mask)
        self.scale.copy_(torch.where(self.live_mask, 1 / self.std, 0.0))


_NOT_ASKED = object()
"""Default of `predict(state=...)`: None is what Stable-Baselines3 passes, and asks for its pair."""


class GaussianPolicy(nn.Module):
    """pi(a | s) = N(mu(s), exp(log_std)^2) (eq:stoc_pol). Raw observations in.

    Names: `mean` takes raw states, `mean_of_normalized` takes states the normaliser has seen;
    penalties and the smoothness J live on the latter.
    """

    action_low: Tensor
    action_high: Tensor

    def __init__(
        self,
        num_states: int,
        action_low: Sequence[float] | NDArray[np.float32],
        action_high: Sequence[float] | NDArray[np.float32],
        hidden: Sequence[int] = (400, 300),
        init: Init = "fan-in",
        initial_log_std: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        num_actions = len(action_low)
        self.normalizer = RunningNormalizer(num_states)
        self.mean_net = MLP([num_states, *hidden, num_actions], "tanh", init, generator)
        self.log_std = nn.Parameter(torch.full((num_actions,), initial_log_std))
        self.register_buffer("action_low", torch.as_tensor(action_low, dtype=torch.float32).clone())
        self.register_buffer(
            "action_high", torch.as_tensor(action_high, dtype=torch.float32).clone()
        )

    @property
    def num_states(self) -> int:
        return self.normalizer.mean.numel()

    @property
    def num_actions(self) -> int:
        return self.log_std.numel()

    @property
    def hidden(self) -> list[int]:
        return [weight.shape[0] for weight, _ in self.mean_net.weights_and_biases[:-1]]

    @property
    def sizes(self) -> dict[str, Any]:
        """What is needed to build the same networks, JSON-able."""
        return {name: getattr(self, name) for name in ("num_states", "hidden", "num_actions")}

    def normalize(self, states: Tensor) -> Tensor:
        """[B, S] raw -> [B, S] normalised, masked dims zero"""
        normalized: Tensor = self.normalizer(states)
        return normalized

    def mean_of_normalized(self, normalized_states: Tensor) -> Tensor:
        """mu, [B, A]. Masked dims do not reach the network, however they are perturbed."""
        mean: Tensor = self.mean_net(normalized_states * self.normalizer.mask)
        return mean

    def mean(self, states: Tensor) -> Tensor:
        """mu of raw states, [B, A], unclipped"""
        mean: Tensor = self.mean_net(self.normalize(states))
        return mean

    def clip(self, actions: Tensor) -> Tensor:
        """The action the env executes."""
        return actions.clamp(self.action_low, self.action_high)

    def update_parameters(self) -> list[Tensor]:
        """The parameters of the trust-region step, in the order of its flat vector."""
        layers = [tensor for pair in self.mean_net.weights_and_biases for tensor in pair]
        return [*layers, self.log_std]

    @torch.no_grad()
    def predict(
        self,
        observations: ArrayLike,
        deterministic: bool = True,
        generator: torch.Generator | None = None,
        *,
        state: object = _NOT_ASKED,
        episode_start: object = None,
    ) -> Any:
        """Actions within bounds for one raw observation [S] or a batch [B, S]: the array alone.

        With `state=None` the pair of Stable-Baselines3, (action, None), so that its helpers take
        our policies: `action, _ = policy.predict(obs, state=None)`, `evaluate_policy(policy, env)`.
        """
        try:
            array = np.asarray(observations)
        except (TypeError, ValueError) as error:  # ragged lists, tensors of another device
            raise DataError(f"observations are no array of numbers: {error}") from None
        is_real, is_batch = array.dtype.kind in "biuf", array.ndim in (1, 2)
        if not is_real or not is_batch or array.shape[-1] != self.num_states:
            raise DataError(
                f"observations are {array.dtype} of shape {array.shape}, this policy takes "
                f"({self.num_states},) or (batch, {self.num_states}) of real numbers"
            )
        array = array.astype(np.float32, copy=False)
        if not np.isfinite(array).all():
            raise DataError("observations hold NaN or infinity: no action follows from them")
        states = torch.from_numpy(np.atleast_2d(array)).to(self.log_std.device)
        actions = self.mean(states)
        if not deterministic:
            noise = torch.randn(actions.shape, generator=generator).to(actions.device)
            actions = actions + self.log_std.exp() * noise
        clipped: NDArray[np.float32] = self.clip(actions).cpu().numpy()
        clipped = clipped[0] if array.ndim == 1 else clipped
        if state is _NOT_ASKED:
            return clipped
        if state is not None:
            raise DataError("this policy has no memory: state must be None")
        return clipped, None


class EmaPolicy:
    """The mean of a policy's parameters over iterations, each under the normaliser of its time.

    It is evaluated and handed out. Near the edge of what the penalty allows, single policies fail
    on some episodes while their mean does not (docs/results/recipe.md). The mean never acts in
    training, so it changes nothing there.
    """

    def __init__(self, policy: GaussianPolicy, decay: float) -> None:
        self.policy = copy.deepcopy(policy).requires_grad_(False)
        self.policy.normalizer.refresh()
        self.decay = decay

    @torch.no_grad()
    def update(self, policy: GaussianPolicy, num_moves: int) -> None:
        """Follow the policy's move number `num_moves`, the first being 1.

        The mean keeps nothing of itself at first, then n / (n + 1) up to its decay: a policy that
        has not moved is its own mean. Where the normaliser moves, the mean is first written in
        terms of the newest one, as the same function.
        """
        old, new = self.policy.normalizer, policy.normalizer
        weight, bias = self.policy.mean_net.weights_and_biases[0]
        bias += weight @ (old.scale * (new.shift - old.shift))
        weight *= torch.where(new.scale > 0, old.scale / new.scale, 1.0)
        kept = 0.0 if num_moves <= 1 else min(self.decay, num_moves / (num_moves + 1))
        for mean, newest in zip(self.policy.parameters(), policy.parameters(), strict=True):
            mean.lerp_(newest.detach(), 1 - kept)
        old.load_state_dict(new.state_dict())
        old.refresh()
