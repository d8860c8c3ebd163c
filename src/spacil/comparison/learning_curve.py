"""One picture of a run: return, J and action change against env steps, or epochs for cloning."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from spacil.comparison.figures import finish_figure, plain_style, subplots

RETURN_COLOUR = "#1f6f8b"
SMOOTHNESS_COLOUR = "#c8553d"
DEMONSTRATOR_COLOUR = "#444444"


@plain_style()
def draw_learning_curve(
    rows: Sequence[Mapping[str, Any]],
    path: Path,
    title: str,
    demonstrator: Mapping[str, float | None] = MappingProxyType({}),
) -> None:
    """Evaluations of a run (rows of metrics.jsonl that hold `average_return`), as a PNG.

    `demonstrator` holds the same keys for whom the run imitates; what is not known is not drawn.
    """
    evaluated = [row for row in rows if isinstance(row.get("average_return"), int | float)]
    if not any(row["iteration"] > 0 for row in evaluated):
        return
    has_env_steps = bool(evaluated[-1].get("env_steps"))
    steps = [_number(row.get("env_steps" if has_env_steps else "iteration")) for row in evaluated]
    has_common = evaluated[-1].get("smoothness_j") is not None
    key = "smoothness_j" if has_common else "smoothness_j_own"
    has_changes = any(row.get("action_fluctuation") is not None for row in evaluated)
    num_panels = 3 if has_changes else 2
    figure, (upper, *lower) = subplots(num_panels, 1, figsize=(7, 2 + 2 * num_panels), sharex=True)
    means = [row["average_return"] for row in evaluated]
    spreads = [row.get("return_std") or 0.0 for row in evaluated]
    upper.plot(
        steps, means, color=RETURN_COLOUR, marker="o", markersize=3, label="learned policy, mean"
    )
    upper.fill_between(
        steps,
        [m - s for m, s in zip(means, spreads, strict=True)],
        [m + s for m, s in zip(means, spreads, strict=True)],
        color=RETURN_COLOUR,
        alpha=0.15,
        label="± std over episodes",
        zorder=1,
    )
    _demonstrated(upper, demonstrator.get("average_return"))
    upper.set_ylabel("return G (higher is better)")
    upper.set_title(title, parse_math=False)  # a dollar sign in a task's name is a dollar sign
    frame = "common frame" if has_common else "own frame"
    panels = [
        (key, f"J, {frame}\n(lower is smoother)", has_common),
        ("action_fluctuation", "action change per step", True),
    ]
    for axis, (name, label, is_comparable) in zip(lower, panels, strict=False):
        values = [_number(row.get(name)) for row in evaluated]
        axis.plot(
            steps,
            values,
            color=SMOOTHNESS_COLOUR,
            marker="o",
            markersize=3,
            label="learned policy, mean over states",
        )
        _demonstrated(axis, demonstrator.get(name) if is_comparable else None)
        axis.set_ylabel(label)
        axis.set_ylim(bottom=0)
    lower[-1].set_xlabel("env steps" if has_env_steps else "epochs")
    for axis in (upper, *lower):
        axis.legend(frameon=False)
    finish_figure(figure, path)


def _number(value: Any) -> float:
    """A gap in the line where a row has no number."""
    return value if isinstance(value, int | float) else math.nan


def _demonstrated(axis: Any, value: float | None) -> None:
    if value is not None:
        axis.axhline(
            value, color=DEMONSTRATOR_COLOUR, linestyle="--", label=f"demonstrator {value:.3g}"
        )
