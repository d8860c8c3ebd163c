"""Where training meets a limit: errors that say what was going on and what to do about it."""

import contextlib
import resource
import sys
from collections.abc import Iterator

import torch

from spacil.config.train_config import TrainConfig
from spacil.errors import DivergedError, RetryableError
from spacil.learning.learner import Learner


@contextlib.contextmanager
def divergence_located(learner: Learner) -> Iterator[None]:
    """Add iteration and batch to an error that names a tensor or a loss.

    Whatever cuts an iteration short, Ctrl-C too, leaves a learner that is in the middle of one.
    """
    where = learner.state.cut_short = learner.where()
    try:
        yield
    except DivergedError as error:
        raise DivergedError(f"in {where}: {error}") from error
    learner.state.cut_short = None


@contextlib.contextmanager
def memory_named(config: TrainConfig) -> Iterator[None]:
    """Turn an allocation that failed, on the host or on a GPU, into a `RetryableError`."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        run, sampling = config.run, config.sampling
        raise RetryableError(
            f"out of memory: {peak_memory_gb():.1f} GB were in use at most, with batches of "
            f"{sampling.steps_per_iteration:,} steps in {sampling.num_envs} envs on {run.device}. "
            "Close other programs, or choose a smaller --steps-per-iteration; what was saved is "
            f"intact ({_first_line(error)})"
        ) from error


def peak_memory_gb() -> float:
    """The most memory that this process has had so far."""
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes on Linux
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30


def _is_out_of_memory(error: Exception) -> bool:
    # torch's allocator on the host has no error class of its own.
    is_named = isinstance(error, MemoryError | torch.OutOfMemoryError)
    return is_named or "can't allocate memory" in str(error)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
