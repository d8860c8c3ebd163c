"""Pictures of one thing: a run, a smoothness report, a smoothing, a file of demonstrations."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spacil import storage
from spacil.comparison.figures import Chart, Series, draw_charts

if TYPE_CHECKING:
    from spacil.demos.demonstrations import Demonstrations
    from spacil.envs.episodes import Trajectory
    from spacil.learning.smoothing_comparison import Comparison

SUFFIXES = (".png", ".pdf", ".svg")
"""Kinds of files that a figure of the user's own name may be"""
MAX_ACTIONS_DRAWN = 8
MAX_HISTOGRAMS = 12
_STEPS_DRAWN = 150
"""Steps from the middle of an episode: more would be a grey band"""
_FREQUENCY = "cycles per step (0.125: a quarter of Nyquist)"


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
    evaluated = [row for row in rows if row.get("average_return") is not None]
    if not any(row["iteration"] > 0 for row in evaluated):
        return

    def column(name: str) -> NDArray[np.float64]:
        """Numbers of the evaluations; a gap in the line where a row has none."""
        return np.array([row.get(name) for row in evaluated], np.float64)

    has_env_steps = bool(evaluated[-1].get("env_steps"))
    steps = column("env_steps" if has_env_steps else "iteration")
    spread = np.nan_to_num(column("return_std"))
    is_common = evaluated[-1].get("smoothness_j") is not None
    j, frame = ("smoothness_j", "common") if is_common else ("smoothness_j_own", "own")
    charts = []
    for name, label, least in (
        ("average_return", "return G (higher is better)", None),
        (j, f"J, {frame} frame\n(lower is smoother)", 0.0),
        ("action_fluctuation", "action change per step", 0.0),
    ):
        values, level = column(name), demonstrator.get(name)
        if np.isnan(values).all():
            continue
        band = (values - spread, values + spread) if name == "average_return" else ()
        # J in the policy's own frame compares with no other.
        known = {} if level is None or name == "smoothness_j_own" else {"demonstrator": level}
        series = {"learned policy, mean": Series(steps, values, *band)}
        charts.append(Chart("", "", label, series, known, least_y=least))
    charts[-1] = replace(charts[-1], x_label="env steps" if has_env_steps else "epochs")
    draw_charts(charts, path, title=title)


def draw_pictures(
    report: Mapping[str, Any], trace: Mapping[str, NDArray[Any]] | None, folder: Path
) -> list[Path]:
    """Every picture that a smoothness report has numbers for, as PNG; returns the files.

    `report` is the JSON of `spacil smoothness`. `trace` is one episode: `actions` [T, A], one
    array [T] per frame of J, named by frame, and `frequencies` [F], `amplitudes` [F, A].
    """
    title = f"{Path(str(report['source'])).name} on {report['task']}"
    step, charts = "step of the episode", dict[str, list[Chart]]()
    if trace is not None:
        times = np.arange(len(trace["actions"]))
        frames = [frame for frame in ("common", "effective") if frame in trace] or ["own"]
        j = {f"{f}, mean {trace[f].mean():.2f}": Series(times, trace[f]) for f in frames}
        charts["j_along_episode"] = [Chart("", step, "J (lower is smoother)", j, least_y=0.0)]
        columns = range(min(trace["actions"].shape[1], MAX_ACTIONS_DRAWN))
        actions = {f"a{k}": Series(times, trace["actions"][:, k]) for k in columns}
        # Without frequency 0, the mean, which would dwarf the rest.
        spectra = {
            f"a{k}": Series(trace["frequencies"][1:], trace["amplitudes"][1:, k]) for k in columns
        }
        charts["actions_and_spectrum"] = [
            Chart("", step, "executed action", actions),
            Chart("", _FREQUENCY, "amplitude", spectra, least_y=0.0),
        ]
    if report["robustness"] is not None:
        points = report["robustness"]["observation_noise"]
        levels, means, spread = (
            np.nan_to_num(np.array([point[key] for point in points], np.float64))
            for key in ("level", "average_return", "return_std")
        )
        known = {
            name.replace("_", " "): report["references"][name]["average_return"]
            for name in ("zero_action", "random")
        }
        series = {"policy": Series(levels, means, means - spread, means + spread)}
        label = "uniform observation noise, ± standard deviations of each feature"
        charts["noise_curve"] = [Chart("", label, "return G, ± std over episodes", series, known)]
    return [
        draw_charts(found, folder / f"{name}.png", size=(8, 3.5), title=title)
        for name, found in charts.items()
    ]


def draw_smoothing(
    table: "Comparison", traces: "Mapping[str, Trajectory]", folder: Path
) -> list[Path]:
    """Two PNG files of `spacil smooth`: the traces with their spectrum, the return of every row."""
    from spacil.smoothness.action_signal import amplitude_spectrum

    charts = []
    for k in range(min(traces["teacher"].actions.shape[1], MAX_ACTIONS_DRAWN // 2)):
        series = {}
        for name, episode in traces.items():
            start = max(0, (len(episode) - _STEPS_DRAWN) // 2)
            steps = np.arange(start, min(len(episode), start + _STEPS_DRAWN))
            series[name] = Series(steps, episode.actions[steps, k].numpy())
        charts.append(Chart("", "step of the episode", f"a{k}", series))
    spectra = {}
    for name, episode in traces.items():
        frequencies, amplitudes = amplitude_spectrum(episode.actions)
        spectra[name] = Series(frequencies[1:].numpy(), amplitudes[1:].mean(-1).numpy())
    charts.append(Chart("", _FREQUENCY, "amplitude", spectra, least_y=0.0))
    title = f"{table.task}: executed actions, one start"
    actions = draw_charts(charts, folder / "actions.png", size=(9, 2), title=title)
    points: dict[str, list[tuple[str, float, float]]] = {"undisturbed": []}
    for row in table.rows:
        points["undisturbed"].append(
            (row.name, row.played.average_return, row.played.return_std or 0.0)
        )
        for one in row.disturbed:
            known = points.setdefault(f"{one.disturbance} {one.level:g}", [])
            known.append((row.name, one.average_return, one.return_std or 0.0))
    returns = {}
    for condition, of_rows in points.items():
        names, means, spread = zip(*of_rows, strict=True)
        returns[condition] = Series(names, means, np.subtract(means, spread), np.add(means, spread))
    label = "return G, ± std over episodes"
    chart = Chart(table.task, "", label, returns, is_joined=False)
    return [actions, draw_charts([chart], folder / "returns.png", size=(9, 5))]


def draw_demonstrations(demos: "Demonstrations", path: Path) -> None:
    """Returns, lengths and action changes over the episodes, then one histogram per action."""
    storage.require_free(path, overwrite=True, endings=SUFFIXES)
    episodes = np.arange(demos.num_episodes)
    changes = demos.num_actions and [
        episode.executed_actions.double().diff(dim=0).abs().mean() for episode in demos.episodes
    ]
    charts = [
        Chart("", "episode", label, {"": Series(episodes, np.asarray(values))}, is_joined=False)
        for label, values in (
            ("return", demos.returns),
            ("steps", demos.episode_lengths),
            ("mean action change per step", changes or None),
        )
        if values is not None
    ]
    for k in range(min(demos.num_actions, MAX_HISTOGRAMS)):
        series = {}
        for label, actions in (("raw", demos.actions), ("executed", demos.executed_actions)):
            if actions is not None:
                values = actions[:, k].double().numpy()
                counts, edges = np.histogram(values[np.isfinite(values)], bins=60)
                series[label] = Series((edges[1:] + edges[:-1]) / 2, counts)
        charts.append(Chart("", f"a{k}", "number of steps", series, is_log_y=True))
    task = demos.metadata.task or "an unnamed task"
    title = f"{demos.num_episodes} demonstrations of {task}"
    draw_charts(charts, path, columns=3, size=(3.7, 2.6), title=title)
