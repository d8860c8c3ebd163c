"""`spacil demos show SOURCE`: returns, lengths and actions, drawn in the terminal or a picture."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from spacil.cli.arguments import parse

if TYPE_CHECKING:
    from torch import Tensor

    from spacil.demos.demonstrations import Demonstrations

MAX_ROWS = 20
"""Episodes listed one by one; beyond, they are counted in as many bins as fit."""
_BLOCKS = " ▁▂▃▄▅▆▇█"
_BAR_WIDTH = 40
_NUM_BINS = 32


@dataclass(frozen=True)
class ShowArguments:
    source: Annotated[str, tyro.conf.Positional]
    """A file or folder of any format, minari:ID, or a task name for the bundled ones."""
    figure: Path | None = None
    """Draw a picture into this file too (.png, .pdf, .svg)."""


def run_show(arguments: list[str]) -> int:
    parsed = parse(
        ShowArguments, arguments, "spacil demos show", "Draw returns, lengths and actions."
    )
    from spacil.demos.file import load_demos

    demos = load_demos(parsed.source)
    print("\n".join(_lines(demos)))
    if parsed.figure is not None:
        from spacil.report.demo_picture import draw_demonstrations

        draw_demonstrations(demos, parsed.figure)
        print(f"\npicture: {parsed.figure}")
    return 0


def _lines(demos: "Demonstrations") -> list[str]:
    task = demos.metadata.task or "an unnamed task"
    lines = [f"{demos.source}: {demos.num_episodes} episodes, {demos.num_steps} steps of {task}"]
    if demos.returns is not None:
        lines += ["", *_distribution("return", demos.returns.tolist())]
    lines += ["", *_distribution("length", [float(x) for x in demos.episode_lengths.tolist()])]
    num_terminated = int(demos.terminations.sum())
    lines.append(f"  {num_terminated} ended by the task, {demos.num_episodes - num_terminated} cut")
    return [*lines, "", *_actions("executed actions", demos.executed_actions)] + (
        [] if demos.actions is None else ["", *_actions("raw actions", demos.actions)]
    )


def _distribution(noun: str, values: list[float]) -> list[str]:
    """One bar per episode where they are few, else a histogram."""
    import numpy as np

    mean, std = float(np.mean(values)), float(np.std(values))
    lines = [f"{noun}s: mean {mean:.2f}, std {std:.2f}, {min(values):.2f} to {max(values):.2f}"]
    if not np.isfinite(values).all() or min(values) == max(values):
        return lines
    if len(values) <= MAX_ROWS:
        # Bars from zero, so that their lengths compare as the numbers do.
        longest = max(abs(value) for value in values) or 1.0
        return lines + [
            f"  {index:>4} {value:>10.2f} {'█' * round(_BAR_WIDTH * abs(value) / longest)}"
            for index, value in enumerate(values)
        ]
    counts, edges = np.histogram(values, bins=10)
    return lines + [
        f"  {low:>10.2f} to {high:<10.2f} {count:>5} {'█' * length}"
        for low, high, count, length in zip(
            edges[:-1], edges[1:], counts, _BAR_WIDTH * counts // counts.max(), strict=True
        )
    ]


def _actions(title: str, actions: "Tensor") -> list[str]:
    """One histogram a line, and the share of steps on the outermost values."""
    import numpy as np

    rows: Any = actions.numpy()
    lines = [
        f"{title}: {'histogram':<{_NUM_BINS}}       mean       std       min       max  at ends"
    ]
    for column in range(rows.shape[1]):
        values = rows[:, column][np.isfinite(rows[:, column])].astype(np.float64)
        if len(values) == 0:
            lines.append(f"  a{column:<3} nothing finite")
            continue
        counts, _ = np.histogram(values, bins=_NUM_BINS)
        at_ends = float(np.mean((values == values.min()) | (values == values.max())))
        numbers = (values.mean(), values.std(), values.min(), values.max())
        lines.append(
            f"  a{column:<{len(title) - 2}} {_sparkline(counts.tolist())} "
            + " ".join(f"{number:>9.3f}" for number in numbers)
            + f" {at_ends:>8.0%}"
        )
    return lines


def _sparkline(counts: list[int]) -> str:
    """A column of text per bin; one that is not empty never looks empty."""
    most = max(counts) or 1
    heights = [0 if count == 0 else max(1, round(8 * count / most)) for count in counts]
    return "".join(_BLOCKS[height] for height in heights)
