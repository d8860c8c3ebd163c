import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spacil.functional.sensitivity import maximize_in_ball, project_to_ball, random_offset


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), radius=st.floats(1e-3, 10), size=st.floats(1e-6, 1e3))
def test_projection_stays_in_the_ball_and_twice_is_once(
    seed: int, radius: float, size: float
) -> None:
    generator = torch.Generator().manual_seed(seed)
    offset = size * torch.randn(8, 5, generator=generator, dtype=torch.float64)
    projected = project_to_ball(offset, radius)
    assert (projected.norm(dim=-1) <= radius * (1 + 1e-12)).all()
    assert torch.allclose(project_to_ball(projected, radius), projected, rtol=1e-12)
    inside = offset.norm(dim=-1) <= radius
    assert torch.equal(projected[inside], offset[inside])


@pytest.mark.parametrize(("start", "low", "high"), [("sphere", 0.99, 1.01), ("ball", 0.0, 1.0)])
def test_starts_lie_where_they_say(start: str, low: float, high: float) -> None:
    generator = torch.Generator().manual_seed(0)
    offset = random_offset(torch.zeros(500, 4), 0.5, start, generator)  # type: ignore[arg-type]
    length = offset.norm(dim=-1) / 0.5
    assert (length >= low).all() and (length <= high + 1e-6).all()
    assert (length > 0).all()


def test_the_gauss_start_is_small_and_not_zero() -> None:
    offset = random_offset(torch.zeros(100, 4), 0.5, "gauss", torch.Generator().manual_seed(0))
    assert 0 < float(offset.norm(dim=-1).max()) < 1e-4


def test_the_power_rule_finds_the_top_singular_direction_of_a_linear_map() -> None:
    generator = torch.Generator().manual_seed(1)
    matrix = torch.randn(3, 6, generator=generator, dtype=torch.float64)
    states = torch.zeros(4, 6, dtype=torch.float64)
    start = random_offset(states, 0.01, "sphere", generator)
    offset = maximize_in_ball(
        lambda s: (s @ matrix.T).square().sum(-1), states, start, 0.01, 200, "power", 0.02
    )
    reached = (offset @ matrix.T).norm(dim=-1) / offset.norm(dim=-1)
    assert torch.allclose(reached, torch.linalg.svdvals(matrix)[0].expand(4), atol=1e-9)


@pytest.mark.parametrize("rule", ["raw", "normalized", "power"])
def test_a_flat_objective_keeps_the_offset(rule: str) -> None:
    start = random_offset(torch.zeros(3, 2), 0.01, "sphere", torch.Generator().manual_seed(0))
    offset = maximize_in_ball(
        lambda s: (s * 0).sum(-1),
        torch.zeros(3, 2),
        start,
        0.01,
        5,
        rule,
        0.02,  # type: ignore[arg-type]
    )
    assert torch.allclose(offset, start, rtol=1e-5)
