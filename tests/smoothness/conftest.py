from collections.abc import Iterator

import pytest

from spacil.engine.device import one_torch_thread


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Nets this small are faster on one thread, and far faster on a busy machine."""
    with one_torch_thread():
        yield
