"""Pictures of a smoothing run: both action traces on top of each other, spectra, disturbances."""

from pathlib import Path
from typing import Any

import numpy as np

from spacil.comparison.figures import finish_figure, plain_style, subplots
from spacil.comparison.learning_curve import RETURN_COLOUR, SMOOTHNESS_COLOUR
from spacil.learning.smoothing_comparison import Comparison, Traces
from spacil.smoothness.action_signal import amplitude_spectrum

MAX_ACTIONS_DRAWN = 4
STEPS_DRAWN = 150
"""Of the middle of an episode: more would be a grey band."""

_COLOURS = {"teacher": SMOOTHNESS_COLOUR, "smooth policy": RETURN_COLOUR}


@plain_style()
def draw_smoothing(table: Comparison, traces: Traces, folder: Path) -> list[Path]:
    """Two PNG files: the traces with their spectrum, and the return of every row."""
    return [
        finish_figure(_draw_traces(table, traces), folder / "actions.png"),
        finish_figure(_draw_returns(table), folder / "returns.png"),
    ]


def _draw_traces(table: Comparison, traces: Traces) -> Any:
    episodes = {"teacher": traces.teacher, "smooth policy": traces.smooth}
    num_drawn = min(traces.teacher.actions.shape[1], MAX_ACTIONS_DRAWN)
    figure, axes = subplots(num_drawn + 1, 1, figsize=(9, 1.7 * num_drawn + 3), squeeze=False)
    *upper, lower = axes[:, 0]
    for name, episode in episodes.items():
        start = max(0, (len(episode) - STEPS_DRAWN) // 2)
        steps = np.arange(start, min(len(episode), start + STEPS_DRAWN))
        for k, axis in enumerate(upper):
            values = episode.actions[steps, k].numpy()
            axis.plot(steps, values, color=_COLOURS[name], linewidth=1.0, label=name)
            axis.set_ylabel(f"a{k}")
        frequencies, amplitudes = amplitude_spectrum(episode.actions)
        # Without frequency 0, the mean, which would dwarf the rest.
        lower.plot(
            frequencies[1:].numpy(),
            amplitudes[1:].mean(-1).numpy(),
            color=_COLOURS[name],
            linewidth=0.9,
        )
    upper[0].set_title(f"{table.task}: executed actions, one start")
    upper[0].legend(frameon=False, ncols=2, loc="upper right")
    upper[-1].set_xlabel("step of the episode")
    lower.set_xlabel("cycles per step (0.5: the fastest there is)")
    lower.set_ylabel("amplitude")
    lower.set_xlim(0, 0.5)
    lower.set_ylim(bottom=0)
    return figure


def _draw_returns(table: Comparison) -> Any:
    conditions = [("none", 0.0), *((c.disturbance, c.level) for c in table.teacher.disturbed)]
    figure, axis = subplots(figsize=(9, 0.5 * len(table.rows) * len(conditions) / 2 + 1.5))
    height = 0.8 / len(conditions)
    for i, (disturbance, level) in enumerate(conditions):
        label = "undisturbed" if disturbance == "none" else f"{disturbance} {level:g}"
        places, returns, spreads = [], [], []
        for j, row in enumerate(table.rows):
            found = row.played if disturbance == "none" else row.under(disturbance, level)
            if found is not None:
                places.append(j + i * height)
                returns.append(found.average_return)
                spreads.append(found.return_std)
        axis.barh(places, returns, height, xerr=spreads, label=label, error_kw={"linewidth": 0.7})
    axis.set_yticks(np.arange(len(table.rows)) + 0.4, [row.name for row in table.rows])
    axis.invert_yaxis()
    axis.set_xlabel("return G, ± standard deviation over episodes")
    axis.set_title(table.task)
    axis.legend(frameon=False, fontsize="small")
    return figure
