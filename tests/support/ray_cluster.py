"""A real Ray cluster of several nodes on one machine, whose processes can be killed and stopped."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

OBJECT_STORE_BYTES = 80_000_000


class Nodes:
    """The head has no CPU: it takes no runs, and stays while nodes come and go."""

    def __init__(self, num_nodes: int) -> None:
        os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 0, "include_dashboard": False}
        self._cluster = Cluster(
            initialize_head=True, head_node_args=head | {"object_store_memory": OBJECT_STORE_BYTES}
        )
        self.address: str = self._cluster.address
        self.nodes = [self.add() for _ in range(num_nodes)]

    def add(self) -> Any:
        return self._cluster.add_node(num_cpus=1, object_store_memory=OBJECT_STORE_BYTES)

    def remove(self, node: Any) -> None:
        self._cluster.remove_node(node)

    def close(self) -> None:
        self._cluster.shutdown()


@contextlib.contextmanager
def ray_nodes(num_nodes: int) -> Iterator[Nodes]:
    nodes = Nodes(num_nodes)
    numbers = [n for node in nodes.nodes for n in family(raylet_of(node))]
    try:
        yield nodes
    finally:
        for number in numbers:  # a stopped process takes no other signal
            send(number, signal.SIGCONT)
        nodes.close()


def raylet_of(node: Any) -> int:
    """The process that is the node, to Ray."""
    return int(node.all_processes["raylet"][0].process.pid)


def family(number: int) -> list[int]:
    """A process and everything below it."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The name in brackets may hold anything; the parent is the second word after it.
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(stat.parent.name))
    found, new = [], [number]
    while new:
        found += new
        new = [child for parent in new for child in children.get(parent, [])]
    return found


def job_in(numbers: list[int], run_dir: Path | None = None) -> int | None:
    """The process of a run, or of any, among some."""
    for number in numbers:
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
            is_wanted = run_dir is None or str(run_dir).encode() in words
            if b"spacil.cli.job" in words and is_wanted:
                return number
    return None


def parent_of(number: int) -> int:
    return int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])


def is_alive(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def send(number: int, signal_number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(number, signal_number)
