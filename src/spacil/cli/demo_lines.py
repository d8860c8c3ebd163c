"""What `spacil demos show` draws in the terminal: returns, lengths and actions."""

from typing import TYPE_CHECKING, Any

import numpy as np

from spacil.plain_text import shown

if TYPE_CHECKING:
    from torch import Tensor

    from spacil.demos.demonstrations import Demonstrations

MAX_ROWS = 20
"""Number of episodes that are listed one by one; more of them become a histogram."""
_BLOCKS = " ▁▂▃▄▅▆▇█"
_BAR_WIDTH = 40
_NUM_BINS = 32


def summary_of(values: "Tensor") -> dict[str, float | None]:
    """Summarise the finite values; None where there are none."""
    finite: Any = values[values.isfinite()].double().numpy()
    numbers = (finite.mean(), finite.std(), finite.min(), finite.max()) if len(finite) else ()
    names = ("mean", "std", "min", "max")
    return dict.fromkeys(names) | dict(zip(names, map(float, numbers), strict=False))


def summary_of_actions(actions: "Tensor") -> list[dict[str, float | None]]:
    """For each action dim its summary, and the share of steps on its outermost two values."""
    summaries = []
    for column in actions.T:
        summary, finite = summary_of(column), column[column.isfinite()]
        is_at_end = (finite == finite.min()) | (finite == finite.max()) if len(finite) else None
        at_ends = None if is_at_end is None else float(is_at_end.double().mean())
        summaries.append({**summary, "share_at_ends": at_ends})
    return summaries


def demo_lines(demos: "Demonstrations") -> list[str]:
    """The demonstrations as text with bars and histograms."""
    task = shown(demos.metadata.task or "an unnamed task")
    lines = [f"{demos.source}: {demos.num_episodes} episodes, {demos.num_steps} steps of {task}"]
    if demos.returns is not None:
        lines += ["", *_distribution("return", demos.returns.double().numpy())]
    lines += ["", *_distribution("length", demos.episode_lengths.double().numpy())]
    num_terminated = sum(episode.is_terminated for episode in demos.episodes)
    lines.append(f"  {num_terminated} ended by the task, {demos.num_episodes - num_terminated} cut")
    for title, actions in (
        ("executed actions", demos.executed_actions),
        ("raw actions", demos.actions),
    ):
        if actions is None:
            continue
        names = f"{'mean':>10}{'std':>10}{'min':>10}{'max':>10}  at ends"
        lines += ["", f"{title}: {'histogram':<{_NUM_BINS}} {names}"]
        for index, summary in enumerate(summary_of_actions(actions)):
            *numbers, at_ends = summary.values()
            if at_ends is None:
                lines.append(f"  a{index:<3} nothing finite")
                continue
            column = actions[:, index]
            counts, _ = np.histogram(column[column.isfinite()].double().numpy(), bins=_NUM_BINS)
            # A bin that is not empty never looks empty.
            heights = np.where(counts, np.maximum(1, np.round(8 * counts / counts.max())), 0)
            bars = "".join(_BLOCKS[int(height)] for height in heights)
            text = "".join(f"{number:>10.3f}" for number in numbers)
            lines.append(f"  a{index:<{len(title) - 2}} {bars}{text} {at_ends:>8.0%}")
    return lines


def _distribution(noun: str, values: Any) -> list[str]:
    """One bar per episode if there are few, otherwise a histogram."""
    low, high = values.min(), values.max()
    lines = [f"{noun}s: mean {values.mean():.2f}, std {values.std():.2f}, {low:.2f} to {high:.2f}"]
    if not np.isfinite(values).all() or low == high:
        return lines
    if len(values) <= MAX_ROWS:
        # Bars start at zero, so that their lengths compare like the numbers.
        bars = np.round(_BAR_WIDTH * np.abs(values) / np.abs(values).max()).astype(int)
        rows = zip(values, bars, strict=True)
        return lines + [
            f"  {i:>4} {value:>10.2f} {'█' * bar}" for i, (value, bar) in enumerate(rows)
        ]
    counts, edges = np.histogram(values, bins=10)
    return lines + [
        f"  {low:>10.2f} to {high:<10.2f} {count:>5} {'█' * (_BAR_WIDTH * count // counts.max())}"
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
