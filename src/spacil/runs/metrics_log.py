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
from typing import Any, NamedTuple

from spacil import storage
from spacil.errors import StorageError

MAX_METRICS_BYTES = 2**30

BEFORE_THE_START = -1
"""The iteration before 0, whose row holds the evaluation of the untrained policy."""

_logger = logging.getLogger(__name__)

_GROUPS: Mapping[str, tuple[str, ...]] = {
    "evaluation": (
        *("average_return", "return_", "num_episodes", "mean_length"),
        *("smoothness_j", "action_fluctuation", "is_best"),
    ),
    "rollout": ("episodes_finished", "train_", "reward_mean"),
    "discriminator": ("disc_", "max_abs_logit", "is_saturated", "warn_saturated"),
    "cost": ("cost_",),
    "value": ("value_", "explained_variance"),
    "target": ("smoothness_target", "target_", "is_target_met", "fluctuation_", "is_fluctuation_"),
    "smoothest": ("constraint_", "is_constraint_met", "share_", "smoothest_", "is_smoothest"),
    "cloning": ("loss_imitation", "heldout_", "chosen_iteration"),
    "time": ("seconds_",),
}
"""Group -> how the names in it start; every other number is about the policy's step."""


def read(path: Path) -> list[dict[str, Any]]:
    """All records, oldest first. A torn last line is left out, and a warning says so."""
    return [line.record for line in _whole_lines(path)]


class MetricsLog:
    """The open metrics.jsonl of a run. Iterations only grow, one record each."""

    def __init__(self, path: Path, tensorboard_dir: Path | None = None) -> None:
        self._path = path
        self._end, self._last_iteration = 0, BEFORE_THE_START
        self._tensorboard = None if tensorboard_dir is None else TensorBoard(tensorboard_dir)
        with storage.os_errors_as(StorageError, "open", path):
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
            self._descriptor = storage.open_descriptor(path, flags)
        try:
            # A line appended to a torn one would make damage in the middle of the file.
            self._keep(_whole_lines(path))
        except BaseException:
            self.close()
            raise

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
        with storage.os_errors_as(StorageError, "append to", self._path, len(line)):
            try:
                _write_all(self._descriptor, line)
                os.fsync(self._descriptor)
            except OSError:
                with contextlib.suppress(OSError):  # leave no torn line, if the disk lets us
                    os.ftruncate(self._descriptor, self._end)
                raise
        self._end += len(line)
        self._last_iteration = iteration
        if self._tensorboard is not None:
            self._tensorboard.write(record)

    def cut_back_to(self, iteration: int) -> None:
        """Drop the records after `iteration`, at which the run resumes."""
        lines = _whole_lines(self._path)
        kept = [line for line in lines if line.record["iteration"] <= iteration]
        self._keep(kept)
        if self._last_iteration < iteration:
            _logger.warning(
                "%s ends at iteration %d, but the checkpoint is at %d: records are missing",
                *(self._path, max(self._last_iteration, 0), iteration),
            )
        if self._tensorboard is not None:
            self._tensorboard.forget_after(kept[-1].record if kept else None)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        if self._tensorboard is not None:
            self._tensorboard.close()

    def _keep(self, lines: list["_Line"]) -> None:
        self._end = lines[-1].end if lines else 0
        self._last_iteration = lines[-1].record["iteration"] if lines else BEFORE_THE_START
        with storage.os_errors_as(StorageError, "cut back", self._path):
            os.ftruncate(self._descriptor, self._end)
            os.fsync(self._descriptor)


class _Line(NamedTuple):
    end: int
    """Offset in the file of the byte after this line."""
    record: dict[str, Any]


def _whole_lines(path: Path) -> list[_Line]:
    content = storage.read_bytes(path, MAX_METRICS_BYTES, follow_symlinks=False)
    lines: list[_Line] = []
    end = 0
    for number, text in enumerate(content.splitlines(keepends=True), start=1):
        end += len(text)
        try:
            record = _parse_line(text, f"{path}, line {number}")
        except storage.DamagedFileError as damage:
            if end < len(content):
                raise
            _logger.warning("dropped the last line, which a kill cut short: %s", damage)
            return lines
        if lines and record["iteration"] <= lines[-1].record["iteration"]:
            raise storage.DamagedFileError(
                f"{path}, line {number}: iteration {record['iteration']} after "
                f"{lines[-1].record['iteration']}; restore the file or start a new run folder"
            )
        lines.append(_Line(end, record))
    return lines


def _parse_line(text: bytearray, source: str) -> dict[str, Any]:
    record = storage.parse_json(text, source)
    match record:
        case {"iteration": int()} if text.endswith(b"\n"):
            return dict(record)
    raise storage.DamagedFileError(f"{source}: not a complete record with an iteration")


def _write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def tag_of(name: str) -> str:
    """`group/name`, as TensorBoard folds tags."""
    for group, starts in _GROUPS.items():
        if name.startswith(starts):
            return f"{group}/{name}"
    return f"policy/{name}"


def step_of(record: Mapping[str, Any]) -> int:
    """Env steps, which runs of other batch sizes share; epochs of a run that takes no steps."""
    return int(record.get("env_steps") or record["iteration"])


class TensorBoard:
    """The numbers of each record as scalars, flushed every iteration; stops at the first error."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._first_step: int | None = None
        self._writer: Any = None
        self._has_failed = False

    def write(self, record: Mapping[str, Any]) -> None:
        if self._has_failed:
            return
        try:
            writer = self._open()
            for name, value in record.items():
                if isinstance(value, int | float) and name not in ("iteration", "env_steps"):
                    writer.add_scalar(tag_of(name), value, step_of(record))
            writer.add_scalar("time/iteration", record["iteration"], step_of(record))
            writer.flush()
        except Exception as error:  # a derived output must never end a run
            self._has_failed = True
            _logger.warning("no TensorBoard output (metrics.jsonl has everything): %s", error)

    def forget_after(self, last: Mapping[str, Any] | None) -> None:
        """Make TensorBoard hide what an earlier process wrote after the record `last`."""
        self.close()
        self._first_step = 0 if last is None else step_of(last) + 1

    def close(self) -> None:
        if self._writer is not None:
            with contextlib.suppress(Exception):
                self._writer.close()
            self._writer = None

    def _open(self) -> Any:
        if self._writer is None:
            # Imported on first use: it is slow, and may be missing.
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(str(self._folder), purge_step=self._first_step)
        return self._writer
