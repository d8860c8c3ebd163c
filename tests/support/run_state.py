"""What two equal runs have in common, whatever happened to them on the way."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spacil.runs import checkpoint, metrics_log


@dataclass(frozen=True)
class RunState:
    content_hash: str
    metrics: list[dict[str, Any]]
    best_hash: str


def state_of_run(run_dir: Path) -> RunState:
    """The last checkpoint's content, the best one's, and metrics without wall-clock time."""
    last = checkpoint.newest(run_dir / "checkpoints")
    best = checkpoint.best(run_dir / "checkpoints")
    assert last is not None and best is not None
    metrics = [
        {name: value for name, value in row.items() if not name.startswith("seconds")}
        for row in metrics_log.read(run_dir / "metrics.jsonl")
    ]
    return RunState(last.content_hash, metrics, best.content_hash)
