"""An env in kilometres is learned, smoothed and diagnosed like the same env in metres."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import point_mass
import pytest
from gymnasium.wrappers import TransformObservation
from numpy.typing import NDArray
from tiny_runs import TINY_SMOOTHING, tiny

import spacil

KM = 2.0**-10
"""Nearly a thousandth; floating-point numbers scale by it without rounding."""
UNITS = [(KM, KM), (1.0, KM), (KM, 2.0**12)]
"""Of position and of speed"""


def env_in(units: tuple[float, float]) -> Callable[[], gymnasium.Env[Any, Any]]:
    def make() -> gymnasium.Env[Any, Any]:
        metres = point_mass.make_point_mass()
        factors = np.float32(units)
        return TransformObservation(metres, lambda x: x * factors, metres.observation_space)

    return make


def teacher_in(units: tuple[float, float]) -> Callable[[NDArray[Any]], NDArray[Any]]:
    return lambda states: point_mass.jerky_teacher(states / np.float32(units))


def demos_in(units: tuple[float, float]) -> spacil.Demonstrations:
    generator, episodes = np.random.default_rng(0), ([], [])
    for _ in range(4):
        env, rows, actions = point_mass.PointMass(), [], []
        row = env.reset(seed=int(generator.integers(1000)))[0]
        for _ in range(point_mass.HORIZON):
            actions.append(np.clip(point_mass.jerky_teacher(row[None])[0], -1, 1))
            rows.append(row * np.float32(units))
            row = env.step(actions[-1])[0]
        episodes[0].append(np.stack([*rows, row * np.float32(units)]))
        episodes[1].append(np.stack(actions))
    return spacil.Demonstrations.from_arrays(*episodes)


def progress(algorithm: type[Any], units: tuple[float, float]) -> list[dict[str, Any]]:
    seen: list[dict[str, Any]] = []
    name = algorithm.algorithm
    settings = tiny(name) | ({"warm_start_epochs": 5} if name == "spacil" else {})
    agent = algorithm(env_in(units), demos_in(units), **settings)
    agent.learn(callback=lambda agent, metrics: seen.append(dict(metrics)))
    in_units = ("seconds", "smoothness_j_raw")
    return [
        {key: value for key, value in row.items() if not key.startswith(in_units)} for row in seen
    ]


@pytest.mark.parametrize("algorithm", [spacil.SPaCIL, spacil.BC])
@pytest.mark.parametrize("units", UNITS)
def test_learning_reads_no_unit(algorithm: type[Any], units: tuple[float, float]) -> None:
    assert progress(algorithm, units) == progress(algorithm, (1.0, 1.0))


@pytest.mark.parametrize("units", UNITS)
def test_smooth_reads_no_unit(units: tuple[float, float]) -> None:
    settings = TINY_SMOOTHING | {"iterations": 3}
    documents = []
    for unit in (units, (1.0, 1.0)):
        found = spacil.smooth(teacher_in(unit), env_in(unit), episodes=5, **settings)
        documents.append(found.as_document())
    assert documents[0] == documents[1]


@pytest.mark.parametrize("units", UNITS)
def test_diagnose_reads_no_unit(units: tuple[float, float]) -> None:
    found = [
        spacil.diagnose(teacher_in(unit), env_in(unit), episodes=4) for unit in (units, (1.0, 1.0))
    ]
    for ours, theirs in zip(found[0].findings, found[1].findings, strict=True):
        assert ours == theirs or ours.check in ("inputs", "raw inputs")  # says the unit is poor
