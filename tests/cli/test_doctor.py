"""`spacil doctor` tells what a machine is and whether it is fit, and breaks on none of it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from fixture_types import Spacil

from spacil.cli import doctor
from spacil.film import draw

CHECKS = ["step-exactness", "determinism", "checkpoint round trip"]


def test_this_machine_is_fit_and_the_whole_takes_seconds(spacil: Spacil, here: Path) -> None:
    seen = spacil("doctor", "--json")
    assert seen.code == 0, seen.out
    result = seen.result
    assert result["is_fit"] and result["verdict"].startswith(
        "fit to train on: 3 of 3 checks passed"
    )
    assert [check["name"] for check in result["checks"]] == CHECKS
    assert result["facts"]["versions"].keys() >= {"python", "spacil", "torch", "mujoco"}
    assert result["facts"]["cores"] == len(os.sched_getaffinity(0))
    assert list(here.iterdir()) == []


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Checks that take no time; one may be the real one, or fail."""

    def replace(**checks: Callable[..., str]) -> None:
        for name in ("steps_equal_gymnasium", "one_seed_gives_one_run", "a_saved_run_resumes"):
            monkeypatch.setattr(doctor, name, checks.get(name, lambda *_: "not looked at"))
        monkeypatch.setattr(doctor, "rendering", lambda: "not looked at")

    return replace


def test_a_check_that_fails_makes_it_unfit(spacil: Spacil, quick: Callable[..., None]) -> None:
    def missing() -> str:
        raise ImportError("No module named 'mujoco'")

    quick(steps_equal_gymnasium=missing)
    seen = spacil("doctor")
    assert seen.code == 69
    assert "FAILED  ImportError: No module named 'mujoco'" in seen.out
    last = seen.out.splitlines()[-1]
    assert last.startswith("not fit to train on: 2 of 3 checks passed; failed: step-exactness (")


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder nobody may write to")
def test_a_folder_that_cannot_be_written_to_is_found(
    spacil: Spacil, quick: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    quick(a_saved_run_resumes=doctor.a_saved_run_resumes)
    monkeypatch.chdir("/proc/self")
    seen = spacil("doctor", "--json")
    assert seen.code == 69
    (check,) = (check for check in seen.result["checks"] if not check["is_passed"])
    assert check["name"] == "checkpoint round trip"


def test_a_simulator_that_is_another_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from spacil.envs import threaded_mujoco

    monkeypatch.setattr(
        threaded_mujoco, "difference_from_gymnasium", lambda *_: "Ant-v4: step 7 differs"
    )
    with pytest.raises(doctor.CheckFailedError, match="Ant-v4: step 7 differs"):
        doctor.steps_equal_gymnasium()


def test_rendering_that_does_not_work_is_told_and_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "no-such-backend")
    monkeypatch.setattr(draw, "BACKENDS", ())
    told = doctor.rendering()
    assert told.startswith("no ") and "MUJOCO_GL no-such-backend" in told
    assert told.endswith("only pictures need it")
