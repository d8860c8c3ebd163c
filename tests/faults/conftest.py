"""Material for accidents: envs that misbehave, and good demonstrations to be spoilt."""

from collections.abc import Callable
from pathlib import Path

import pytest

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import load_demos


@pytest.fixture
def odd_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """The task name of an env of odd_envs.py; the working folder is a temporary one."""
    monkeypatch.chdir(tmp_path)
    return lambda name: f"odd_envs:{name}-v0"


@pytest.fixture(scope="session")
def good_demos() -> Demonstrations:
    """Five real demonstrations of Reacher-v4: 50 steps each, 11 states, 2 actions."""
    return load_demos("Reacher-v4").first(5)
