"""`spacil demos show SOURCE`: returns, lengths and actions, drawn in the terminal or a picture."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from spacil.cli.arguments import parse
from spacil.cli.output import JsonTarget, show
from spacil.plain_text import shown

if TYPE_CHECKING:
    from torch import Tensor

    from spacil.demos.demonstrations import Demonstrations

MAX_ROWS = 20
"""Episodes listed one by one; more of them become a histogram."""
_BLOCKS = " ▁▂▃▄▅▆▇█"
_BAR_WIDTH = 40
_NUM_BINS = 32


@dataclass(frozen=True)
class ShowArguments:
    source: Annotated[str, tyro.conf.Positional]
    """A file or folder of any format, minari:ID, or a task name for the bundled ones."""
    figure: Path | None = None
    """Draw a picture into this file too (.png, .pdf, .svg)."""
    json: JsonTarget = None


def run_show(arguments: list[str]) -> int:
    parsed = parse(
        ShowArguments, arguments, "spacil demos show", "Draw returns, lengths and actions."
    )
    from spacil.demos.file import load_demos

    demos = load_demos(parsed.source)
    lines = _lines(demos)
    if parsed.figure is not None:
        from spacil.comparison.pictures import draw_demonstrations

        draw_demonstrations(demos, parsed.figure)
        lines += ["", f"picture: {parsed.figure}"]
    show(_document(demos), parsed.json, lambda: print("\n".join(lines)))
    return 0


def _document(demos: "Demonstrations") -> dict[str, Any]:
    from spacil.cli.demos.check import identity_of

    returns, actions = demos.returns, demos.actions
    return identity_of(demos) | {
        "source": demos.source,
        "num_episodes": demos.num_episodes,
        "num_steps": demos.num_steps,
        "num_terminated": sum(episode.is_terminated for episode in demos.episodes),
        "returns": None if returns is None else _summary(returns),
        "lengths": _summary(demos.episode_lengths),
        "executed_actions": _per_action(demos.executed_actions),
        "raw_actions": None if actions is None else _per_action(actions),
    }


def _per_action(actions: "Tensor") -> list[dict[str, float | None]]:
    """For each action dim its summary, and the share of steps on its outermost two values."""
    summaries = []
    for column in actions.T:
        finite = column[column.isfinite()]
        is_at_end = (finite == finite.min()) | (finite == finite.max()) if len(finite) else None
        at_ends = None if is_at_end is None else float(is_at_end.double().mean())
        summaries.append({**_summary(column), "share_at_ends": at_ends})
    return summaries


def _summary(values: "Tensor") -> dict[str, float | None]:
    """Of the finite values; None where there are none."""
    finite: Any = values[values.isfinite()].double().numpy()
    if len(finite) == 0:
        return dict.fromkeys(("mean", "std", "min", "max"))
    numbers = (finite.mean(), finite.std(), finite.min(), finite.max())
    return dict(zip(("mean", "std", "min", "max"), map(float, numbers), strict=True))


def _lines(demos: "Demonstrations") -> list[str]:
    task = shown(demos.metadata.task or "an unnamed task")
    lines = [f"{demos.source}: {demos.num_episodes} episodes, {demos.num_steps} steps of {task}"]
    if demos.returns is not None:
        lines += ["", *_distribution("return", demos.returns.tolist())]
    lines += ["", *_distribution("length", [float(x) for x in demos.episode_lengths.tolist()])]
    num_terminated = sum(episode.is_terminated for episode in demos.episodes)
    lines.append(f"  {num_terminated} ended by the task, {demos.num_episodes - num_terminated} cut")
    return [*lines, "", *_actions("executed actions", demos.executed_actions)] + (
        [] if demos.actions is None else ["", *_actions("raw actions", demos.actions)]
    )


def _distribution(noun: str, values: list[float]) -> list[str]:
    """One bar per episode if there are few, otherwise a histogram."""
    import numpy as np

    mean, std = float(np.mean(values)), float(np.std(values))
    lines = [f"{noun}s: mean {mean:.2f}, std {std:.2f}, {min(values):.2f} to {max(values):.2f}"]
    if not np.isfinite(values).all() or min(values) == max(values):
        return lines
    if len(values) <= MAX_ROWS:
        # Bars start at zero, so that their lengths compare like the numbers.
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
    """One histogram per line, and the share of steps on the outermost values."""
    import numpy as np

    lines = [
        f"{title}: {'histogram':<{_NUM_BINS}}       mean       std       min       max  at ends"
    ]
    for index, (column, summary) in enumerate(zip(actions.T, _per_action(actions), strict=True)):
        *numbers, at_ends = summary.values()
        if at_ends is None:
            lines.append(f"  a{index:<3} nothing finite")
            continue
        counts, _ = np.histogram(column[column.isfinite()].double().numpy(), bins=_NUM_BINS)
        lines.append(
            f"  a{index:<{len(title) - 2}} {_sparkline(counts.tolist())} "
            + " ".join(f"{number:>9.3f}" for number in numbers)
            + f" {at_ends:>8.0%}"
        )
    return lines


def _sparkline(counts: list[int]) -> str:
    """One character per bin; a bin that is not empty never looks empty."""
    most = max(counts) or 1
    heights = [0 if count == 0 else max(1, round(8 * count / most)) for count in counts]
    return "".join(_BLOCKS[height] for height in heights)
