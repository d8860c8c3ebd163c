"""Running observation normaliser, kept inside the policy so that it is never lost."""

import torch
from torch import Tensor, nn

STD_FLOOR = 1e-2
CLIP = 10.0


class RunningNormalizer(nn.Module):
    """(s - mean) / std, clipped; dims that never moved are masked to zero.

    Statistics are merged between iterations only, in float64. Before the first merge it is the
    identity. A dim goes live when its running std exceeds the floor, and never back: dividing a
    constant by its tiny std would make the smallest perturbation of it look enormous.
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
        """Running standard deviation with its floor, [S] float64; ones before the first merge."""
        # Chosen on the device: asking the count here would wait for it.
        spread = (self.squared_deviations / self.count).sqrt().clamp_min(STD_FLOOR)
        return torch.where(self.count == 0, 1.0, spread)

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
        self.is_live |= (self.squared_deviations / self.count).sqrt() > STD_FLOOR
        self.refresh()

    @torch.no_grad()
    def refresh(self) -> None:
        """Recompute what is derived; call after the statistics were loaded."""
        self.shift.copy_(self.mean)
        self.mask.copy_(self.live_mask)
        self.scale.copy_(self.live_mask / self.std)
