"""What a user sees during a run: a line redrawn in place on a terminal, else plain lines."""

import contextlib
import sys
import time
from datetime import timedelta
from typing import Any, TextIO

_FIGURES = (
    ({"average_return": "return", "train_return": "training return"}, ".2f"),
    ({"smoothness_j": "J", "smoothness_j_own": "J own"}, ".3f"),
    ({"action_fluctuation": "action change"}, ".3f"),
    ({"disc_acc": "discriminator accuracy"}, ".2f"),
    ({"kl": "KL"}, ".4f"),
    ({"loss_imitation": "cloning loss"}, ".5f"),
    ({"heldout_loss": "held out"}, ".5f"),
)
"""Keys of a metrics row with their names, of which the first that is there is shown; format"""


class Progress:
    """A line per evaluation and at most one per second in between; on a terminal one live line."""

    def __init__(
        self, num_iterations: int, *, is_shown: bool = True, out: TextIO | None = None
    ) -> None:
        self._num_iterations, self._is_shown = num_iterations, is_shown
        self._out = out or sys.stderr
        self._live: Any = None
        self._evaluated: dict[str, Any] = {}
        self._start: tuple[float, int] | None = None
        """(seconds, iterations) after the first iteration of this process"""
        self._last = -1e9

    def update(self, metrics: dict[str, Any]) -> None:
        if not self._is_shown:
            return
        now, done = time.monotonic(), metrics["iteration"]
        self._start = start, first = self._start or (now, done)
        is_live, is_evaluated = self._out.isatty(), metrics.get("average_return") is not None
        if not (is_live or is_evaluated or now - self._last >= 1):
            return
        self._last = now
        if is_live and is_evaluated:
            self._evaluated = metrics
        cells = _cells(self._evaluated | {k: v for k, v in metrics.items() if v is not None})
        if done > first:
            left = (self._num_iterations - done) * (now - start) / (done - first)
            cells["left"] = str(timedelta(seconds=round(left)))
        line = "  ".join([f"[{done}/{self._num_iterations}]", *map(" ".join, cells.items())])
        # The reader may be gone (`... | head`); the run does not need one.
        with contextlib.suppress(OSError):
            if not is_live:
                print(line, file=self._out, flush=True)
                return
            from rich.console import Console, Group
            from rich.live import Live
            from rich.progress_bar import ProgressBar
            from rich.text import Text

            if self._live is None:  # not earlier: it takes over the terminal
                self._live = Live(console=Console(file=self._out), refresh_per_second=8)
                self._live.start()
            bar = ProgressBar(total=self._num_iterations, completed=done, width=48)
            self._live.update(Group(Text(line), bar))

    def close(self) -> None:
        if self._live is not None:
            with contextlib.suppress(OSError):
                self._live.stop()


def _cells(row: dict[str, Any]) -> dict[str, str]:
    cells = {}
    for names, form in _FIGURES:
        key = next((key for key in names if row.get(key) is not None), None)
        if key is not None:
            cells[names[key]] = format(row[key], form)
    if row.get("warn_saturated"):
        cells["discriminator"] = "saturated: the reward carries little signal"
    if row.get("warn_line_search"):
        cells["line search"] = f"failing: {row['line_search_reason']}"
    return cells
