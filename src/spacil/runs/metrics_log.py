"""The record of a run: one JSON object per iteration in metrics.jsonl, TensorBoard beside it.

metrics.jsonl is the truth. Each line is on disk before `append` returns, so a loop that appends
first and checkpoints second has a line for every iteration that a checkpoint covers. A kill can
tear the last line only; it is dropped on opening. Damage elsewhere is an error, never skipped.
TensorBoard is derived: if it is missing or fails, one warning says so and the run continues.
"""

import contextlib
import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spacil import storage
from spacil.errors import StorageError

MAX_METRICS_BYTES = 2**30

BEFORE_THE_START = -1
"""The iteration before 0, whose row holds the evaluation of the untrained policy."""

_logger = logging.getLogger(__name__)

_GROUPS = ("cost", "disc", "loss", "seconds", "smoothest", "target", "train", "value")
"""First words of names that TensorBoard shows together; all others are under `run`"""


def read(path: Path) -> list[dict[str, Any]]:
    """All records, oldest first. A torn last line is left out, and a warning says so."""
    return [record for _, record in _whole_lines(path)]


class MetricsLog:
    """The open metrics.jsonl of a run. Iterations only grow, one record each.

    Records after the iteration `up_to`, at which the run resumes, are dropped.
    """

    def __init__(
        self, path: Path, tensorboard: Path | None = None, *, up_to: int | None = None
    ) -> None:
        self._path, self._tensorboard = path, tensorboard
        self._writer: Any = None
        with storage.os_errors_as(StorageError, "open", path):
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        try:
            # A line appended to a torn one would make damage in the middle of the file.
            end, self._last_iteration = 0, BEFORE_THE_START
            for line_end, record in _whole_lines(path):
                if up_to is None or record["iteration"] <= up_to:
                    end, self._last_iteration = line_end, record["iteration"]
            with storage.os_errors_as(StorageError, "cut back", path):
                os.ftruncate(self._descriptor, end)
                os.fsync(self._descriptor)
        except BaseException:
            self.close()
            raise
        if up_to is not None and self._last_iteration < up_to:
            _logger.warning(
                "%s ends at iteration %d, but the checkpoint is at %d: records are missing",
                *(path, max(self._last_iteration, 0), up_to),
            )

    def __enter__(self) -> "MetricsLog":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, metrics: Mapping[str, Any]) -> None:
        """Write one record, which holds its `iteration`; non-finite numbers become null."""
        iteration = metrics["iteration"]
        if iteration <= self._last_iteration:
            raise ValueError(f"iteration {iteration} after {self._last_iteration}: cut back first")
        record = storage.without_non_finite(dict(metrics))
        line = json.dumps(record, allow_nan=False).encode("ascii") + b"\n"
        with storage.os_errors_as(StorageError, "append to", self._path):
            while line:
                line = line[os.write(self._descriptor, line) :]
            os.fsync(self._descriptor)
        self._last_iteration = iteration
        if self._tensorboard is not None:
            try:
                self._draw(self._tensorboard, record)
            except Exception as error:  # a derived output must never end a run
                self._tensorboard = None
                _logger.warning("no TensorBoard output (metrics.jsonl has everything): %s", error)

    def close(self) -> None:
        os.close(self._descriptor)
        if self._writer is not None:
            with contextlib.suppress(Exception):
                self._writer.close()

    def _draw(self, folder: Path, record: Mapping[str, Any]) -> None:
        """Write the numbers of a record over env steps; over iterations where there are none."""
        step = int(record.get("env_steps") or record["iteration"])
        if self._writer is None:
            # Imported on first use: it is slow, and may be missing.
            from torch.utils.tensorboard import SummaryWriter

            # What an earlier process wrote from this step on is hidden.
            self._writer = SummaryWriter(str(folder), purge_step=step)
        for name, value in record.items():
            if isinstance(value, int | float) and name != "env_steps":
                group = name.partition("_")[0]
                tag = f"{group if group in _GROUPS else 'run'}/{name}"
                self._writer.add_scalar(tag, value, step)
        self._writer.flush()


def _whole_lines(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """List the records, each with the offset in the file of the byte after it."""
    content = storage.read_bytes(path, MAX_METRICS_BYTES)
    lines: list[tuple[int, dict[str, Any]]] = []
    end, last = 0, BEFORE_THE_START
    for number, text in enumerate(content.splitlines(keepends=True), start=1):
        end += len(text)
        source = f"{path}, line {number}"
        try:
            record = storage.parse_json(text, source)
            iteration = record.get("iteration") if isinstance(record, dict) else None
            if type(iteration) is not int or not text.endswith(b"\n"):
                raise storage.DamagedFileError(f"{source}: not a complete record with an iteration")
        except storage.DamagedFileError as damage:
            if end < len(content):
                raise
            _logger.warning("dropped the last line, which a kill cut short: %s", damage)
            return lines
        if iteration <= last:
            raise storage.DamagedFileError(
                f"{source}: iteration {iteration} after {last}; restore the file or start a new "
                "run folder"
            )
        last = iteration
        lines.append((end, record))
    return lines
