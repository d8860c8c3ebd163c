import pytest
import torch

from spacil.nets.mlp import MLP
from spacil.smoothness.metric import (
    Frames,
    local_constants,
    local_lipschitz,
    summarize,
)


def _linear_frames(matrix: torch.Tensor, common: torch.Tensor | None) -> Frames:
    num_actions = matrix.shape[0]
    return Frames(
        own_scale=torch.tensor([2.0, 0.5, 0.0], dtype=torch.float64),
        common_std=common,
        action_low=-torch.ones(num_actions, dtype=torch.float64),
        action_high=torch.ones(num_actions, dtype=torch.float64),
        state_clip=10.0,
    )


def test_a_linear_policys_constant_is_its_spectral_norm_at_every_state() -> None:
    matrix = torch.randn(3, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    states = torch.randn(10, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    sigma = local_lipschitz(lambda s: s @ matrix.T, states)
    assert torch.allclose(sigma, torch.linalg.svdvals(matrix)[0].expand(10), atol=1e-12)


def test_chunks_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    net = MLP([4, 8, 2], generator=torch.Generator().manual_seed(0)).double()
    states = torch.randn(25, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    whole = local_lipschitz(net, states)
    monkeypatch.setattr("spacil.smoothness.metric.CHUNK", 7)
    monkeypatch.setattr("spacil.smoothness.metric.USUAL_ACTIONS", 1)  # 2 actions: 3 at a time
    assert torch.allclose(local_lipschitz(net, states), whole, atol=1e-14)


def test_each_frame_scales_the_columns_of_the_jacobian() -> None:
    matrix = torch.tensor([[3.0, 4.0, 100.0]], dtype=torch.float64)
    common = torch.tensor([0.5, 2.0, 9.0], dtype=torch.float64)
    states = torch.zeros(2, 3, dtype=torch.float64)
    constants = local_constants(lambda s: s @ matrix.T, states, _linear_frames(matrix, common))
    assert constants["raw"].tolist() == pytest.approx([(6**2 + 2**2) ** 0.5] * 2)
    assert constants["common"] is not None and constants["effective"] is not None
    assert constants["common"].tolist() == pytest.approx([(3**2 + 4**2) ** 0.5] * 2)
    assert torch.equal(constants["effective"], constants["common"])


def test_without_demonstrations_there_is_no_common_frame() -> None:
    matrix = torch.ones(1, 3, dtype=torch.float64)
    constants = local_constants(
        lambda s: s @ matrix.T, torch.zeros(1, 3, dtype=torch.float64), _linear_frames(matrix, None)
    )
    assert constants["common"] is None and constants["effective"] is None


def test_the_effective_constant_ignores_saturated_actions_and_cut_states() -> None:
    matrix = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], dtype=torch.float64)
    common = torch.ones(3, dtype=torch.float64)
    states = torch.tensor([[0.0, 0.0, 0.0], [5.0, 0.0, 0.0], [0.0, 10.0, 0.0]], dtype=torch.float64)
    frames = _linear_frames(matrix, common)
    constants = local_constants(lambda s: s @ matrix.T, states, frames)
    assert constants["effective"] is not None
    # Jacobian in the common frame is diag(2, 0.5): free, first action saturated, second saturated.
    assert constants["effective"].tolist() == pytest.approx([2.0, 0.5, 2.0])


def test_j_is_invariant_when_state_and_network_rotate_together() -> None:
    net = MLP([6, 20, 3], generator=torch.Generator().manual_seed(0)).double()
    generator = torch.Generator().manual_seed(1)
    states = torch.randn(30, 6, generator=generator, dtype=torch.float64)
    rotation, _ = torch.linalg.qr(torch.randn(6, 6, generator=generator, dtype=torch.float64))
    rotated = local_lipschitz(lambda s: net(s @ rotation), states @ rotation.T)
    assert torch.allclose(rotated, local_lipschitz(net, states), atol=1e-12)


def test_raw_j_scales_as_one_over_std_and_masked_dims_contribute_nothing() -> None:
    net = MLP([3, 12, 2], generator=torch.Generator().manual_seed(0)).double()
    states = torch.randn(8, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    states[:, 2] = 0.3

    def frames(std: float, live: list[float]) -> Frames:
        one = torch.ones((), dtype=torch.float64)
        scale = torch.tensor(live, dtype=torch.float64) / std
        return Frames(scale, None, -one, one, 10.0)

    unit = local_constants(net, states, frames(1.0, [1, 1, 1]))
    assert torch.allclose(unit["raw"], unit["own"])
    quarter = local_constants(net, states, frames(4.0, [1, 1, 1]))
    assert torch.allclose(quarter["raw"], unit["raw"] / 4)
    masked = local_constants(net, states, frames(1.0, [1, 1, 0]))
    held = torch.full((8, 1), 0.3, dtype=torch.float64)
    alone = local_lipschitz(lambda s: net(torch.cat([s, held[: len(s)]], -1)), states[:, :2])
    assert torch.allclose(masked["raw"], alone)


def test_a_summary_is_mean_median_p95_and_max() -> None:
    found = summarize(torch.arange(101.0))
    assert (found.mean, found.median, found.p95, found.max) == (50, 50, 95, 100)
