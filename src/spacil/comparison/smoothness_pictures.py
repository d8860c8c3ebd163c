"""Pictures of a smoothness report: J along an episode, the actions, and the noise curve."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacil.comparison.figures import finish_figure, plain_style, subplots
from spacil.comparison.learning_curve import RETURN_COLOUR, SMOOTHNESS_COLOUR

MAX_ACTIONS_DRAWN = 8


@plain_style()
def draw_pictures(
    report: Mapping[str, Any], trace: Mapping[str, NDArray[Any]] | None, folder: Path
) -> list[Path]:
    """Every picture that the report has numbers for, as PNG; returns the files.

    `report` is the JSON of `spacil smoothness`. `trace` is one episode: `actions` [T, A], one
    array [T] per frame of J, named by frame, and `frequencies` [F], `amplitudes` [F, A].
    """
    name = f"{Path(str(report['source'])).name} on {report['task']}"
    drawn = []
    if trace is not None:
        drawn.append(finish_figure(_draw_constants(trace, name), folder / "j_along_episode.png"))
        drawn.append(finish_figure(_draw_actions(trace, name), folder / "actions_and_spectrum.png"))
    if report["robustness"] is not None:
        drawn.append(finish_figure(_draw_noise(report, name), folder / "noise_curve.png"))
    return drawn


def _draw_constants(trace: Mapping[str, NDArray[Any]], name: str) -> Any:
    figure, axis = subplots(figsize=(8, 3.5))
    frames = [frame for frame in ("common", "effective") if frame in trace] or ["own"]
    colours = (SMOOTHNESS_COLOUR, RETURN_COLOUR)
    for frame, colour in zip(frames, colours, strict=False):
        values = trace[frame]
        axis.plot(values, color=colour, linewidth=0.9, label=f"{frame}, mean {values.mean():.2f}")
    axis.set_ylim(bottom=0)
    axis.set_xlabel("step of the episode")
    axis.set_ylabel("J (lower is smoother)")
    axis.set_title(name)
    axis.legend(frameon=False)
    return figure


def _draw_actions(trace: Mapping[str, NDArray[Any]], name: str) -> Any:
    figure, (upper, lower) = subplots(2, 1, figsize=(8, 6))
    num_drawn = min(trace["actions"].shape[1], MAX_ACTIONS_DRAWN)
    for k in range(num_drawn):
        upper.plot(trace["actions"][:, k], linewidth=0.8, label=f"a{k}")
        # Without frequency 0, the mean, which would dwarf the rest.
        lower.plot(trace["frequencies"][1:], trace["amplitudes"][1:, k], linewidth=0.8)
    upper.set_xlabel("step of the episode")
    upper.set_ylabel("executed action")
    upper.set_title(name)
    upper.legend(frameon=False, ncols=num_drawn, fontsize="small")
    lower.axvline(0.125, color="#444", linestyle="--", linewidth=0.8)
    lower.annotate(" 1/4 Nyquist", (0.125, lower.get_ylim()[1]), va="top", fontsize="small")
    lower.set_xlim(0, 0.5)
    lower.set_ylim(bottom=0)
    lower.set_xlabel("cycles per step")
    lower.set_ylabel("amplitude")
    return figure


def _draw_noise(report: Mapping[str, Any], name: str) -> Any:
    figure, axis = subplots(figsize=(6, 4))
    points = report["robustness"]["observation_noise"]
    levels, means, spreads = (
        np.array([point[key] for point in points])
        for key in ("level", "average_return", "return_std")
    )
    axis.plot(levels, means, color=RETURN_COLOUR, marker="o", label="policy")
    axis.fill_between(
        levels,
        means - spreads,
        means + spreads,
        color=RETURN_COLOUR,
        alpha=0.15,
        label="± std over episodes",
    )
    for reference, style in (("zero_action", "--"), ("random", ":")):
        value = report["references"][reference]["average_return"]
        label = reference.replace("_", " ")
        axis.axhline(value, color="#444", linestyle=style, linewidth=0.9, label=label)
    axis.set_xlabel("uniform observation noise, ± standard deviations of each feature")
    axis.set_ylabel("return G (higher is better)")
    axis.set_title(name)
    axis.legend(frameon=False)
    return figure
