"""Pictures of one thing: a run, a smoothness report, a smoothing, a file of demonstrations."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spacil.comparison.figures import (
    REFERENCE,
    finish_figure,
    plain_style,
    subplots,
)
from spacil.errors import ConfigError

if TYPE_CHECKING:
    from spacil.demos.demonstrations import Demonstrations
    from spacil.envs.episodes import Trajectory
    from spacil.learning.smoothing_comparison import Comparison

RETURN_COLOUR = "#1f6f8b"
SMOOTHNESS_COLOUR = "#c8553d"
SUFFIXES = (".png", ".pdf", ".svg")
"""Kinds of files that a figure of the user's own name may be"""
MAX_ACTIONS_DRAWN = 8
MAX_HISTOGRAMS = 12
_STEPS_DRAWN = 150
"""Steps from the middle of an episode: more would be a grey band"""
_COLUMNS = 3


@plain_style()
def draw_learning_curve(
    rows: Sequence[Mapping[str, Any]],
    path: Path,
    title: str,
    demonstrator: Mapping[str, float | None] = MappingProxyType({}),
) -> None:
    """Return, J and action change of a run against env steps, or epochs for cloning, as a PNG.

    `rows` are those of metrics.jsonl; with `average_return` they are evaluations. `demonstrator`
    holds the same keys for whom the run imitates; what is not known is not drawn.
    """
    evaluated = [row for row in rows if isinstance(row.get("average_return"), int | float)]
    if not any(row["iteration"] > 0 for row in evaluated):
        return

    def column(name: str) -> NDArray[np.float64]:
        """Numbers of the evaluations; a gap in the line where a row has none."""
        values = [row.get(name) for row in evaluated]
        return np.array([v if isinstance(v, int | float) else np.nan for v in values])

    has_env_steps = bool(evaluated[-1].get("env_steps"))
    steps = column("env_steps" if has_env_steps else "iteration")
    is_common = evaluated[-1].get("smoothness_j") is not None
    j, frame = ("smoothness_j", "common") if is_common else ("smoothness_j_own", "own")
    panels = {
        "average_return": "return G (higher is better)",
        j: f"J, {frame} frame\n(lower is smoother)",
        "action_fluctuation": "action change per step",
    }
    if np.isnan(column("action_fluctuation")).all():
        del panels["action_fluctuation"]
    size = (7, 2 + 2 * len(panels))
    figure, axes = subplots(len(panels), 1, figsize=size, sharex=True)
    for axis, (name, label) in zip(axes, panels.items(), strict=True):
        if name == "average_return":
            spreads = np.nan_to_num(column("return_std"))
            _draw_spread(axis, steps, column(name), spreads, "learned policy, mean", markersize=3)
        else:
            look = {"color": SMOOTHNESS_COLOUR, "marker": "o", "markersize": 3}
            axis.plot(steps, column(name), label="learned policy, mean over states", **look)
            axis.set_ylim(bottom=0)
        level = demonstrator.get(name)
        if level is not None and name != "smoothness_j_own":  # which compares with no other
            axis.axhline(level, **REFERENCE, label=f"demonstrator {level:.3g}")
        axis.set_ylabel(label)
    axes[0].set_title(title, parse_math=False)  # a dollar sign in a task's name is a dollar sign
    axes[-1].set_xlabel("env steps" if has_env_steps else "epochs")
    finish_figure(figure, path)


def _draw_spread(axis: Any, x: Any, mean: Any, spread: Any, label: str, **look: Any) -> None:
    axis.plot(x, mean, color=RETURN_COLOUR, marker="o", label=label, **look)
    shade = {"color": RETURN_COLOUR, "alpha": 0.15, "zorder": 1}
    axis.fill_between(x, mean - spread, mean + spread, label="± std over episodes", **shade)


@plain_style()
def draw_pictures(
    report: Mapping[str, Any], trace: Mapping[str, NDArray[Any]] | None, folder: Path
) -> list[Path]:
    """Every picture that a smoothness report has numbers for, as PNG; returns the files.

    `report` is the JSON of `spacil smoothness`. `trace` is one episode: `actions` [T, A], one
    array [T] per frame of J, named by frame, and `frequencies` [F], `amplitudes` [F, A].
    """
    name = f"{Path(str(report['source'])).name} on {report['task']}"
    drawn = []
    if trace is not None:
        figure, axis = subplots(figsize=(8, 3.5))
        frames = [frame for frame in ("common", "effective") if frame in trace] or ["own"]
        for frame, colour in zip(frames, (SMOOTHNESS_COLOUR, RETURN_COLOUR), strict=False):
            label = f"{frame}, mean {trace[frame].mean():.2f}"
            axis.plot(trace[frame], color=colour, linewidth=0.9, label=label)
        axis.set(ylim=(0, None), xlabel="step of the episode", ylabel="J (lower is smoother)")
        axis.set_title(name)
        drawn.append(finish_figure(figure, folder / "j_along_episode.png"))
        figure, (upper, lower) = subplots(2, 1, figsize=(8, 6))
        num_drawn = min(trace["actions"].shape[1], MAX_ACTIONS_DRAWN)
        for k in range(num_drawn):
            upper.plot(trace["actions"][:, k], linewidth=0.8, label=f"a{k}")
            _draw_spectrum(lower, trace["frequencies"], trace["amplitudes"][:, k])
        upper.set(xlabel="step of the episode", ylabel="executed action", title=name)
        upper.legend(frameon=False, ncols=num_drawn, fontsize="small")
        lower.axvline(0.125, **REFERENCE)
        lower.annotate(" 1/4 Nyquist", (0.125, lower.get_ylim()[1]), va="top", fontsize="small")
        drawn.append(finish_figure(figure, folder / "actions_and_spectrum.png"))
    if report["robustness"] is not None:
        figure, axis = subplots(figsize=(6, 4))
        points = report["robustness"]["observation_noise"]
        levels, means, spreads = (
            np.array([point[key] for point in points])
            for key in ("level", "average_return", "return_std")
        )
        _draw_spread(axis, levels, means, spreads, "policy")
        for reference, style in (("zero_action", "--"), ("random", ":")):
            level = report["references"][reference]["average_return"]
            look = REFERENCE | {"linestyle": style}
            axis.axhline(level, **look, label=reference.replace("_", " "))
        axis.set_xlabel("uniform observation noise, ± standard deviations of each feature")
        axis.set(ylabel="return G (higher is better)", title=name)
        drawn.append(finish_figure(figure, folder / "noise_curve.png"))
    return drawn


def _draw_spectrum(axis: Any, frequencies: Any, amplitudes: Any, **look: Any) -> None:
    # Without frequency 0, the mean, which would dwarf the rest.
    axis.plot(frequencies[1:], amplitudes[1:], linewidth=0.8, **look)
    axis.set(xlim=(0, 0.5), ylim=(0, None), ylabel="amplitude")
    axis.set_xlabel("cycles per step (0.5: the fastest there is)")


@plain_style()
def draw_smoothing(
    table: "Comparison", traces: "Mapping[str, Trajectory]", folder: Path
) -> list[Path]:
    """Two PNG files of `spacil smooth`: the traces with their spectrum, the return of every row."""
    from spacil.smoothness.action_signal import amplitude_spectrum

    num_drawn = min(traces["teacher"].actions.shape[1], MAX_ACTIONS_DRAWN // 2)
    figure, axes = subplots(num_drawn + 1, 1, figsize=(9, 1.7 * num_drawn + 3), squeeze=False)
    *upper, lower = axes[:, 0]
    for name, colour in (("teacher", SMOOTHNESS_COLOUR), ("smooth policy", RETURN_COLOUR)):
        episode = traces[name]
        start = max(0, (len(episode) - _STEPS_DRAWN) // 2)
        steps = np.arange(start, min(len(episode), start + _STEPS_DRAWN))
        for k, axis in enumerate(upper):
            look: Any = {"color": colour, "linewidth": 1.0, "label": None if k else name}
            axis.plot(steps, episode.actions[steps, k].numpy(), **look)
            axis.set_ylabel(f"a{k}")
        frequencies, amplitudes = amplitude_spectrum(episode.actions)
        _draw_spectrum(lower, frequencies.numpy(), amplitudes.mean(-1).numpy(), color=colour)
    upper[0].set_title(f"{table.task}: executed actions, one start")
    upper[0].legend(frameon=False, ncols=2, loc="upper right")
    upper[-1].set_xlabel("step of the episode")
    actions = finish_figure(figure, folder / "actions.png")

    conditions = [("none", 0.0), *((c.disturbance, c.level) for c in table.teacher.disturbed)]
    figure, axis = subplots(figsize=(9, 0.5 * len(table.rows) * len(conditions) / 2 + 1.5))
    height = 0.8 / len(conditions)
    for i, (disturbance, level) in enumerate(conditions):
        is_calm = disturbance == "none"
        played = [row.played if is_calm else row.under(disturbance, level) for row in table.rows]
        known = [(j + i * height, one) for j, one in enumerate(played) if one is not None]
        axis.barh(
            [place for place, _ in known],
            [one.average_return for _, one in known],
            height,
            xerr=[one.return_std for _, one in known],
            label="undisturbed" if is_calm else f"{disturbance} {level:g}",
            error_kw={"linewidth": 0.7},
        )
    axis.set_yticks(np.arange(len(table.rows)) + 0.4, [row.name for row in table.rows])
    axis.invert_yaxis()
    axis.set(xlabel="return G, ± standard deviation over episodes", title=table.task)
    return [actions, finish_figure(figure, folder / "returns.png")]


@plain_style()
def draw_demonstrations(demos: "Demonstrations", path: Path) -> None:
    """Returns, lengths and action changes over the episodes, then one histogram per action."""
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"{path}: expected a file name that ends in {', '.join(SUFFIXES)}")
    num_drawn = min(demos.num_actions, MAX_HISTOGRAMS)
    num_rows = 1 + -(-num_drawn // _COLUMNS)
    figure, axes = subplots(num_rows, _COLUMNS, figsize=(11, 2.6 * num_rows), squeeze=False)
    changes = [
        episode.executed_actions.double().diff(dim=0).abs().mean() for episode in demos.episodes
    ]
    for axis, title, values, colour in zip(
        axes[0],
        ("return", "steps", "mean action change per step"),
        (demos.returns, demos.episode_lengths, np.nan_to_num(np.array(changes))),
        (RETURN_COLOUR, RETURN_COLOUR, SMOOTHNESS_COLOUR),
        strict=True,
    ):
        if values is not None:
            axis.bar(np.arange(demos.num_episodes), np.asarray(values), color=colour)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("episode")
    for k, axis in enumerate(axes[1:].flat):
        axis.set_visible(k < num_drawn)
        for label, actions, colour in (
            ("raw", demos.actions, SMOOTHNESS_COLOUR),
            ("executed", demos.executed_actions, RETURN_COLOUR),
        ):
            if actions is not None and k < num_drawn:
                values = actions[:, k].double().numpy()
                look: Any = {"color": colour, "alpha": 0.6, "label": None if k else label}
                axis.hist(values[np.isfinite(values)], bins=60, **look)
        axis.set_title(f"a{k}", fontsize=10)
        axis.set_yscale("log")
    task = demos.metadata.task or "an unnamed task"
    figure.suptitle(f"{demos.num_episodes} demonstrations of {task}")
    finish_figure(figure, path, dpi=130)
