"""Errors that say what was going on."""

import pytest

from spacil.config.defaults import default_config
from spacil.errors import RetryableError
from spacil.learning.run import memory_named


@pytest.mark.parametrize(
    "error", [MemoryError("no room"), RuntimeError("DefaultCPUAllocator: can't allocate memory")]
)
def test_running_out_of_memory_is_told_with_the_batch_that_did_it(error: Exception) -> None:
    config = default_config("gail", "Hopper-v4")
    batch = f"batches of {config.sampling.steps_per_iteration:,} steps in 50 envs on cpu"
    with pytest.raises(RetryableError, match=f"{batch}.*is intact"), memory_named(config):
        raise error


def test_other_errors_are_let_through() -> None:
    with (
        pytest.raises(RuntimeError, match="shapes"),
        memory_named(default_config("gail", "Hopper-v4")),
    ):
        raise RuntimeError("shapes do not match")
