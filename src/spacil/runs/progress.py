"""What a user sees during a run: a table redrawn in place on a terminal, else plain lines."""

import contextlib
import sys
import time
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
    """A line per evaluation and at most one per second in between; on a terminal one live table."""

    def __init__(
        self, num_iterations: int, *, is_shown: bool = True, out: TextIO | None = None
    ) -> None:
        self._num_iterations, self._is_shown = num_iterations, is_shown
        self._out = out or sys.stderr
        self._live: Any = None
        self._evaluated: dict[str, Any] = {}
        self._start: tuple[float, int, int] | None = None
        """(seconds, iterations, env steps) after the first iteration of this process"""
        self._last = -1e9

    def update(self, metrics: dict[str, Any]) -> None:
        if not self._is_shown:
            return
        now, done, num_steps = time.monotonic(), metrics["iteration"], metrics["env_steps"]
        self._start = start, first, first_steps = self._start or (now, done, num_steps)
        is_live, is_evaluated = self._out.isatty(), metrics.get("average_return") is not None
        if not (is_live or is_evaluated or now - self._last >= 1):
            return
        self._last = now
        if is_live and is_evaluated:
            self._evaluated = metrics
        cells = _cells(self._evaluated | {k: v for k, v in metrics.items() if v is not None})
        if done > first and now > start:
            if num_steps > first_steps:
                cells["steps/s"] = f"{(num_steps - first_steps) / (now - start):,.0f}"
            left = (self._num_iterations - done) * (now - start) / (done - first)
            cells["left"] = duration(left)
        # The reader may be gone (`... | head`); the run does not need one.
        with contextlib.suppress(OSError):
            if is_live:
                self._redraw(done, cells)
                return
            line = "  ".join(f"{name} {text}" for name, text in cells.items())
            print(f"[{done}/{self._num_iterations}] {line}", file=self._out, flush=True)

    def _redraw(self, done: int, cells: dict[str, str]) -> None:
        from rich.console import Console, Group
        from rich.live import Live
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 3))
        for name, text in cells.items():
            table.add_row(Text(name, "dim"), Text(text))
        bar = ProgressBar(total=self._num_iterations, completed=done, width=48)
        if self._live is None:  # not earlier: it takes over the terminal
            self._live = Live(console=Console(file=self._out), refresh_per_second=8)
            self._live.start()
        header = f"iteration {done} of {self._num_iterations}"
        self._live.update(Group(header, bar, table))

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


def duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
