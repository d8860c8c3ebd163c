"""Noise on a policy's parameters: does J rise, and does the return hold? (fig:perturbation)

    python experiments/perturbation.py SWEEP     # the best run of spacil's default on each task
    python experiments/perturbation.py RUN... FILE.policy.safetensors...     # one policy per task

Gaussian noise of one standard deviation goes onto every weight and bias of the mean network; the
normaliser and the spread, which no mean action feels, stay. J is measured where the disturbed
policy goes, and at fixed states as well: a fallen robot visits quiet places, where J is low.
"""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

import spacil
from pages import Document, Page, Panel, Series, Table, main
from published import NOISE, PERTURBATIONS
from rows import TASKS, number, plan_named, runs_of, spread
from spacil.demos.common_frame import CommonFrame
from spacil.errors import DataError
from spacil.measuring.evaluate import evaluate_afresh
from spacil.measuring.frames import mean_j
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import derived_seed
from spacil.sweeps.folder import PLAN

LEVELS = (0.001, 0.005, 0.009, 0.01, 0.05, 0.09, 0.1)
"""Standard deviations: those of the paper's text and of its table together"""
DRAWS, EPISODES = 10, 20
MOST_STATES = 5_000
"""Number of demonstrated states at which J is measured whatever the policy does"""
NUMBERS = {"G": "average_return", "J": "smoothness_j", "J_fixed": "smoothness_j_fixed"}
TEXT = (
    "Gaussian noise of the given standard deviation on every weight and bias of the mean network, "
    f"{DRAWS} draws, {EPISODES} episodes each from the same starts; ± is over draws, and one "
    "policy per task, the best of runs of different lengths, so that it says nothing of seeds. J "
    "on own states is measured where the disturbed policy goes, J on fixed states at demonstrated "
    "ones; both in the common frame. Scaled numbers are divided by those of the undisturbed "
    "policy (where returns are negative, above 1 is worse). The paper's ± is as printed, its J "
    "in units it does not state."
)
HEADER = [
    "noise", "draws", "G", "J, own states", "J, fixed states", "G scaled", "J own scaled",
    "J fixed scaled", "paper G", "paper J",
]  # fmt: skip


def with_noise(policy: GaussianPolicy, noise_std: float, seed: int) -> GaussianPolicy:
    """A copy with noise on the mean network; one seed is one direction, at any level."""
    disturbed = copy.deepcopy(policy)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for pair in disturbed.mean_net.weights_and_biases:
            for parameter in pair:
                noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
                parameter.add_(noise.to(parameter.device), alpha=noise_std)
    return disturbed


def disturbed(
    policy: GaussianPolicy,
    task: str,
    levels: Sequence[float] = LEVELS,
    draws: int = DRAWS,
    episodes: int = EPISODES,
) -> list[dict[str, Any]]:
    """The policy itself, then every level with the same draws, only wider; same starts for all."""
    demos = spacil.load_demos(task)
    frame, states = CommonFrame.of(demos), demos.states.float()
    fixed = states[:: -(-len(states) // MOST_STATES)]
    found = []
    for level in (0.0, *levels):
        for draw in range(draws if level else 1):
            noisy = with_noise(policy, level, derived_seed(0, "parameter-noise", draw))
            played = evaluate_afresh(noisy, task, episodes, 0, 1, frame)
            numbers = {
                "average_return": played.average_return,
                "return_std": played.return_std,
                "smoothness_j": played.smoothness_j_common,
                "smoothness_j_fixed": mean_j(noisy, fixed, frame),
            }
            found.append({"noise_std": level, "draw": draw, **numbers})
    return found


def collect(sources: Sequence[Path]) -> Document:
    problems: Sequence[str] = ()
    if (sources[0] / PLAN).is_file():
        plan = [run for run in plan_named("returns") if run.algorithm == "spacil"]
        runs = runs_of([run for run in plan if "preset" not in dict(run.choices)], sources[0])
        ranked = sorted(runs.records, key=lambda pair: pair[1].best["average_return"])
        sources = list({run.task: record.path for run, record in ranked}.values())
        problems = runs.problems
    draws, notes, commits = {}, [], set()
    for source in sources:
        saved = (
            spacil.load_policy(source, "best") if source.is_dir() else spacil.load_policy(source)
        )
        if saved.task not in TASKS:
            raise DataError(f"{source}: task {saved.task}, expected one of {', '.join(TASKS)}")
        draws[saved.task] = {"episodes": EPISODES, "draws": disturbed(saved.policy, saved.task)}
        notes.append(f"{saved.task}: {source}")
        commits.add(str(saved.provenance.get("commit", "not recorded")))
    about = {"num_runs": len(draws), "commits": sorted(commits), "problems": list(problems)}
    return about | {"draws": draws, "notes": notes}


def page_of(document: Document) -> Page:
    tasks = [task for task in TASKS if task in document["draws"]]
    levels = {task: levels_of(document["draws"][task]["draws"]) for task in tasks}
    tables = [
        Table(task, HEADER, [cells_of(task, noise, levels[task]) for noise in levels[task]])
        for task in tasks
    ]
    panels = [panel_of(task, levels[task]) for task in tasks]
    title = "Noise on the parameters of a policy"
    return Page(title, TEXT, tables, panels, notes=document["notes"])


Levels = dict[float, dict[str, list[float]]]
"""Noise -> name of a number -> its values over draws"""


def levels_of(draws: Sequence[Document]) -> Levels:
    return {
        level: {
            name: [draw[key] for draw in draws if draw["noise_std"] == level]
            for name, key in NUMBERS.items()
        }
        for level in sorted({draw["noise_std"] for draw in draws})
    }


def scaled(levels: Levels, noise: float, name: str) -> float | None:
    """The mean over draws, relative to the undisturbed policy."""
    values, (undisturbed,) = levels[noise][name], levels[0.0][name]
    return sum(values) / len(values) / undisturbed if undisturbed else None


def cells_of(task: str, noise: float, levels: Levels) -> list[str]:
    ratios = [scaled(levels, noise, name) for name in NUMBERS]
    printed = ["-", "-"]
    if noise in NOISE and task in PERTURBATIONS:
        pairs = [column[NOISE.index(noise)] for column in PERTURBATIONS[task]]
        printed = [f"{number(mean)} ± {number(std)}" for mean, std in pairs]
    return [
        f"{noise:g}",
        str(len(levels[noise]["G"])),
        *(spread(values) for values in levels[noise].values()),
        *("-" if value is None else f"{value:.2f}" for value in ratios),
        *printed,
    ]


def panel_of(task: str, levels: Levels) -> Panel:
    is_negative = any(sum(row["G"]) < 0 for row in levels.values())
    g = "return G where it is negative (higher is worse)" if is_negative else "return G"
    noises, series = [noise for noise in levels if noise > 0], []
    for name, label in {"G": g, "J": "J, own states", "J_fixed": "J, fixed states"}.items():
        ratios = [scaled(levels, noise, name) for noise in noises]
        series.append(Series(label, noises, [value for value in ratios if value is not None]))
    x_label, y_label = "standard deviation of the noise", "relative to no noise"
    return Panel(task, x_label, y_label, series, 1.0, is_log_x=True, reference_label="no noise")


if __name__ == "__main__":
    main("perturbation", page_of, collect)
