"""What a user sees during a run: a live table on a terminal or in a notebook, else plain lines."""

import contextlib
import html
import sys
import time
from collections import deque
from typing import Any, Protocol, TextIO

Metrics = dict[str, Any]

_NUM_RECENT = 20
"""Iterations that pace and time left are measured over: some evaluations are always among them."""


class Progress(Protocol):
    def update(self, metrics: Metrics) -> None: ...

    def close(self) -> None: ...


class Silent:
    """No output at all."""

    def update(self, metrics: Metrics) -> None: ...

    def close(self) -> None: ...


class _Pace:
    """Steps per second and time left, over recent iterations: the first ones are seldom typical."""

    def __init__(self, num_iterations: int) -> None:
        self._num_iterations = num_iterations
        self._recent: deque[tuple[float, int, int]] = deque(maxlen=_NUM_RECENT + 1)
        """(monotonic seconds, iterations done, env steps done) after each of them"""

    def summary(self, metrics: Metrics) -> tuple[float | None, float | None]:
        """(env steps per second, seconds left); None until an iteration was timed as a whole."""
        now = time.monotonic()
        self._recent.append((now, metrics["iteration"], metrics["env_steps"]))
        then, first, first_steps = self._recent[0]
        num_done, seconds = metrics["iteration"] - first, max(now - then, 1e-9)
        if num_done == 0:
            return None, None
        left = (self._num_iterations - metrics["iteration"]) * seconds / num_done
        return (metrics["env_steps"] - first_steps) / seconds, left


class PlainProgress:
    """One line per evaluation and at most one per second in between."""

    def __init__(self, num_iterations: int, out: TextIO | None = None) -> None:
        self._num_iterations = num_iterations
        self._out = out or sys.stderr
        self._pace = _Pace(num_iterations)
        self._last = -1e9

    def update(self, metrics: Metrics) -> None:
        now = time.monotonic()
        rate, left = self._pace.summary(metrics)
        if now - self._last < 1 and metrics.get("average_return") is None:
            return
        self._last = now
        cells = [f"{name} {text}" for name, text in _cells(metrics, rate, left)]
        line = f"[{metrics['iteration']}/{self._num_iterations}] " + "  ".join(cells)
        # The reader may be gone (`... | head`); the run does not need one.
        with contextlib.suppress(OSError):
            print(line, file=self._out, flush=True)

    def close(self) -> None: ...


class RedrawnProgress:
    """The newest figures, redrawn in place: a live table on a terminal, a cell in a notebook."""

    def __init__(self, num_iterations: int) -> None:
        self._num_iterations = num_iterations
        self._pace = _Pace(num_iterations)
        self._evaluated: Metrics = {}

    def update(self, metrics: Metrics) -> None:
        if metrics.get("average_return") is not None:
            self._evaluated = metrics
        shown = {**self._evaluated, **{k: v for k, v in metrics.items() if v is not None}}
        self._draw(metrics["iteration"], _cells(shown, *self._pace.summary(metrics)))

    def _draw(self, num_done: int, cells: list[tuple[str, str]]) -> None:
        raise NotImplementedError

    def close(self) -> None: ...


class LiveProgress(RedrawnProgress):
    """A bar and a table on a terminal."""

    def __init__(self, num_iterations: int) -> None:
        from rich.console import Console
        from rich.live import Live

        super().__init__(num_iterations)
        self._live = Live(console=Console(stderr=True), refresh_per_second=8, transient=False)

    def _draw(self, num_done: int, cells: list[tuple[str, str]]) -> None:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        table = Table.grid(padding=(0, 3))
        for name, text in cells:
            table.add_row(f"[dim]{name}[/dim]", text)
        bar = ProgressBar(total=self._num_iterations, completed=num_done, width=48)
        header = f"iteration {num_done} of {self._num_iterations}"
        # The terminal may be gone, and the run does not need one.
        with contextlib.suppress(OSError):
            # Not earlier: it takes over the terminal, and a run may still be refused.
            self._live.start()
            self._live.update(Group(header, bar, table))

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._live.stop()


class NotebookProgress(RedrawnProgress):
    """One output cell of a notebook."""

    _cell: Any = None

    def _draw(self, num_done: int, cells: list[tuple[str, str]]) -> None:
        from IPython.display import HTML, display

        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{html.escape(text)}</td></tr>"
            for name, text in cells
        )
        total = self._num_iterations
        picture = HTML(
            f"<progress value={num_done} max={total}></progress> iteration {num_done} of {total}"
            f"<table>{rows}</table>"
        )
        if self._cell is None:
            self._cell = display(picture, display_id=True)
        else:
            self._cell.update(picture)


def is_notebook() -> bool:
    """Whether a Jupyter kernel runs this process; asks only what is imported already."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def progress_for(num_iterations: int, stream: TextIO | None = None) -> Progress:
    """Live on a terminal and in a notebook; plain lines into a file or a pipe."""
    if stream is None and is_notebook():
        return NotebookProgress(num_iterations)
    stream = stream or sys.stderr
    if stream.isatty():
        return LiveProgress(num_iterations)
    return PlainProgress(num_iterations, stream)


def _cells(metrics: Metrics, rate: float | None, left: float | None) -> list[tuple[str, str]]:
    cells = []
    if metrics["iteration"] == 0:
        cells.append(("policy", "untrained"))
    if metrics.get("average_return") is not None:
        cells.append(("return", f"{metrics['average_return']:.2f}"))
    elif metrics.get("train_return") is not None:
        cells.append(("training return", f"{metrics['train_return']:.2f}"))
    for name, key in (("J", "smoothness_j"), ("J own", "smoothness_j_own")):
        if metrics.get(key) is not None:
            cells.append((name, f"{metrics[key]:.3f}"))
            break
    if metrics.get("action_fluctuation") is not None:
        cells.append(("action change", f"{metrics['action_fluctuation']:.3f}"))
    if metrics.get("disc_acc") is not None:
        warning = (
            "  saturated: the reward carries little signal" if metrics["warn_saturated"] else ""
        )
        cells.append(("discriminator accuracy", f"{metrics['disc_acc']:.2f}{warning}"))
    if metrics.get("kl") is not None:
        cells.append(("KL", f"{metrics['kl']:.4f}"))
    if metrics.get("loss_imitation") is not None:
        cells.append(("cloning loss", f"{metrics['loss_imitation']:.5f}"))
    if metrics.get("heldout_loss") is not None:
        cells.append(("held out", f"{metrics['heldout_loss']:.5f}"))
    if metrics.get("warn_line_search"):
        cells.append(("line search", f"failing: {metrics['line_search_reason']}"))
    if metrics["env_steps"] and rate is not None:
        cells.append(("steps/s", f"{rate:,.0f}"))
    return cells if left is None else [*cells, ("left", duration(left))]


def duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
