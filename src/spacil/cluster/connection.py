"""A connection to a Ray cluster, and the nodes that are in it now.

Ray Core only: tasks and actors. No usage statistics, no dashboard, no retries of Ray's own: a task
that Ray would start again behind our back could write beside the one we know of.
"""

import contextlib
import logging
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from spacil.errors import ConfigError, RetryableError

LOCAL = "local"
"""The address that starts a cluster of this machine alone, for as long as the connection lasts"""

_OBJECT_STORE_BYTES = 200_000_000
"""Of a cluster that is started here; blocks and checkpoints pass through it, a few at a time"""


@dataclass(frozen=True)
class Node:
    """A machine, as Ray lists it."""

    id: str
    host: str
    num_cpus: int
    num_gpus: int


def load_ray() -> Any:
    """The package, with its reports to its makers switched off before it is imported."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray
    except ImportError:
        raise ConfigError(
            "Ray is not installed: pip install 'spacil[ray]', on every machine of the cluster"
        ) from None
    return ray


@contextlib.contextmanager
def connected(address: str = LOCAL) -> Iterator[None]:
    """Join the cluster at an address (`host:6379`, or `auto` on one of its machines), or start one.

    Never joins one that it was not told of, which `ray.init()` alone would do.
    """
    ray = load_ray()
    if ray.is_initialized():  # by whoever called us
        yield
        return
    own = {"include_dashboard": False, "object_store_memory": _OBJECT_STORE_BYTES}
    with _own_signal_handlers():
        try:
            ray.init(
                address=address,
                log_to_driver=False,
                logging_level=logging.ERROR,
                **(own if address == LOCAL else {}),
            )
        except ConnectionError as error:
            raise ConfigError(
                f"--ray-address {address}: no cluster there: {error}. `ray start --head` starts one"
            ) from None
        except (OSError, ValueError, RuntimeError, TimeoutError) as error:
            raise RetryableError(f"--ray-address {address}: cannot connect: {error}") from error
    try:
        yield
    finally:
        ray.shutdown()


def living_nodes() -> list[Node]:
    """The nodes that the cluster takes for alive; a frozen one counts for about a minute more."""
    try:
        rows = load_ray().nodes()
    except Exception as error:  # of several kinds, by what broke; the connection is gone with each
        raise RetryableError(f"the Ray cluster no longer answers: {error}") from error
    return [
        Node(
            row["NodeID"],
            row["NodeManagerHostname"],
            int(row["Resources"].get("CPU", 0)),
            int(row["Resources"].get("GPU", 0)),
        )
        for row in rows
        if row["Alive"]
    ]


@contextlib.contextmanager
def _own_signal_handlers() -> Iterator[None]:
    """Undo what Ray does to SIGTERM: its handler would end the process before a sweep has saved."""
    former = signal.getsignal(signal.SIGTERM)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, former)
