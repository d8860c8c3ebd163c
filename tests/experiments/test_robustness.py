"""Disturbances of the page that says what J buys."""

from pathlib import Path

import pytest

import robustness
import spacil

pytestmark = pytest.mark.filterwarnings("ignore:.*is out of date:DeprecationWarning")


def test_masses_and_friction_are_scaled_and_a_factor_of_one_is_the_task() -> None:
    plain = robustness.disturbed("Hopper-v4", "masses", 1.0)().unwrapped.model
    heavy = robustness.disturbed("Hopper-v4", "masses", 1.3)().unwrapped.model
    slippery = robustness.disturbed("Hopper-v4", "friction", 0.7)().unwrapped.model
    assert heavy.body_mass == pytest.approx(1.3 * plain.body_mass)
    assert heavy.body_inertia == pytest.approx(1.3 * plain.body_inertia)
    assert slippery.geom_friction == pytest.approx(0.7 * plain.geom_friction)
    assert slippery.body_mass == pytest.approx(plain.body_mass)


def test_a_policy_is_played_under_each_disturbance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(robustness, "EPISODES", 1)
    levels = {"sensor noise, std": (0.0, 0.3), "delay, steps": (0, 3), "masses": (1.0, 1.3)}
    monkeypatch.setattr(robustness, "LEVELS", levels)
    path = tmp_path / "expert.policy.safetensors"
    spacil.save_policy(spacil.load_expert("Reacher-v4"), path)
    rows = list(robustness.played(path, "Reacher-v4"))
    found = {(row["axis"], row["level"]): row["average_return"] for row in rows}
    same = [found[axis, levels[axis][0]] for axis in levels]
    assert same == pytest.approx([same[0]] * 3)  # from the same start
    assert all(found[axis, levels[axis][1]] != same[0] for axis in levels)
    runs = [
        row | {"task": "Reacher-v4", "setting": name, "seed": 0}
        for name in ("bc", "spacil")
        for row in rows
    ]
    page = robustness.page_of({"rows": runs})
    assert [line[:2] for line in page.tables[0].rows] == [["bc", "1"], ["spacil", "1"]]
    assert len(page.panels) == 2 * len(levels)
