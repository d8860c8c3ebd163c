"""Running out of memory: an error that says what was going on and what to do about it."""

import contextlib
import resource
import sys
from collections.abc import Iterator

import torch

from spacil.config.train_config import TrainConfig
from spacil.errors import RetryableError


@contextlib.contextmanager
def memory_named(config: TrainConfig) -> Iterator[None]:
    """Turn an allocation that failed, on the host or on a GPU, into a `RetryableError`."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        # torch's allocator on the host has no error class of its own.
        is_named = isinstance(error, MemoryError | torch.OutOfMemoryError)
        if not is_named and "can't allocate memory" not in str(error):
            raise
        first_line = (str(error).splitlines() or [type(error).__name__])[0]
        run, sampling = config.run, config.sampling
        raise RetryableError(
            f"out of memory: {peak_memory_gb():.1f} GB were in use at most, with batches of "
            f"{sampling.steps_per_iteration:,} steps in {sampling.num_envs} envs on {run.device}. "
            "Close other programs, or choose a smaller --steps-per-iteration; what was saved is "
            f"intact ({first_line})"
        ) from error


def peak_memory_gb() -> float:
    """The most memory that this process has had so far."""
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes on Linux
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30
