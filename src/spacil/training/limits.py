"""Where training meets a limit: told with what was going on, and what to do about it."""

import contextlib
import resource
import sys
from collections.abc import Iterator

import torch

from spacil.cloning.learner import BCLearner
from spacil.config.groups import TrainConfig
from spacil.errors import DivergedError, RetryableError
from spacil.training.algorithms import AnyLearner


@contextlib.contextmanager
def divergence_located(learner: AnyLearner) -> Iterator[None]:
    """Add iteration and batch to an error that names a tensor or a loss."""
    counters, num_steps = learner.counters, learner.config.run.steps_per_iteration
    iteration, first_step = counters.iteration + 1, counters.env_steps + 1
    try:
        yield
    except DivergedError as error:
        batch = f" (batch: env steps {first_step:,} to {first_step + num_steps - 1:,})"
        where = f"iteration {iteration}{'' if isinstance(learner, BCLearner) else batch}"
        raise DivergedError(f"in {where}: {error}") from error


@contextlib.contextmanager
def memory_named(config: TrainConfig) -> Iterator[None]:
    """Turn an allocation that failed, on the host or on a GPU, into a `RetryableError`."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        run = config.run
        raise RetryableError(
            f"out of memory: {peak_memory_gb():.1f} GB were in use at most, with batches of "
            f"{run.steps_per_iteration:,} steps in {run.num_envs} envs on {run.device}. Close "
            "other programs, or choose a smaller --steps-per-iteration; what was saved is intact "
            f"({_first_line(error)})"
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
