import pytest
import torch

from spacil.engine.device import in_threads, portions, torch_threads


def test_each_thread_gets_its_rows_and_splits_nothing_again() -> None:
    rows = torch.arange(3_000)
    with torch_threads(3):
        shares = portions(rows)
        seen = in_threads(lambda share: (share[0].item(), torch.get_num_threads()), shares)
        assert seen == [(0, 1), (1_000, 1), (2_000, 1)]
        assert torch.get_num_threads() == 3


def test_few_rows_stay_together_and_gradients_are_off() -> None:
    rows = torch.zeros(10, requires_grad=True)
    with torch_threads(3):
        (result,) = in_threads(lambda share: 2 * share, portions(rows))
    assert len(result) == 10 and not result.requires_grad


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    def fail(share: torch.Tensor) -> None:
        raise ValueError(f"row {share[0]}")

    with torch_threads(2), pytest.raises(ValueError, match=r"^row 0$"):
        in_threads(fail, portions(torch.arange(1_000)))
