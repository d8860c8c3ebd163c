"""Row 8 to 10, for ONNX policies: damaged and hostile files do no harm and none is believed.

ONNX has no checksum. A flip inside a weight reads back as another number, and nothing can tell;
only damage at random places may do that. So may a flip that leaves another valid graph, and an
infinite weight behind a tanh; they are counted apart. What else is wrong by structure is refused.
"""

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
from corrupted_files import TRACE, PlaceDamage, copy_of
from figures import record_figure
from spoiled_onnx import (
    CUTS,
    HOSTILE,
    INFINITE,
    MAY_CHANGE,
    MAY_STAY,
    NAME,
    NUM_ACTIONS,
    NUM_STATES,
    is_same_but_for_numbers,
    write_good,
)
from torch import Tensor

from spacil.errors import DataError
from spacil.policies.open import open_policy
from spacil.policies.source import check_is_function, check_widths
from spacil.sandbox import parent as importer

MAX_SECONDS = 1.0
REFUSED, UNCHANGED, CHANGED = "refused", "read as it was written", "other numbers"
REBUILT = "another graph"
"""Read, with other actions, and not only the numbers of its weights are others."""


@dataclass(frozen=True)
class Group:
    """Kinds of damage, their share of the files, and what may become of those."""

    kinds: dict[str, PlaceDamage]
    share: float
    allowed: tuple[str, ...]


GROUPS = (
    Group(MAY_CHANGE, 0.29, (REFUSED, UNCHANGED, CHANGED, REBUILT)),
    Group(INFINITE, 0.01, (REFUSED, CHANGED)),
    Group(MAY_STAY, 0.12, (REFUSED, UNCHANGED)),
    Group(CUTS, 0.1, (REFUSED,)),
    Group(HOSTILE, 0.48, (REFUSED,)),
)


@dataclass
class Outcomes:
    by_kind: dict[str, Counter[str]] = field(default_factory=dict)
    num_stopped: int = 0
    """Children ended for the time they took"""
    num_crashed: int = 0
    wall_seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def add(self, kind: str, path: Path, expected: Tensor) -> str:
        """Read one file and note what became of it.

        Bounded is processor time: of this process, and what the child may use at most. Starting
        a new child after one was ended is in the wall-clock time alone.
        """
        started, wall = time.process_time(), time.perf_counter()
        outcome, words = outcome_of(path, expected)
        seconds = time.process_time() - started
        self.wall_seconds.append(time.perf_counter() - wall)
        self.num_stopped += "was stopped" in words
        self.num_crashed += "its parser crashed" in words
        self.by_kind.setdefault(kind, Counter())[outcome] += 1
        assert seconds + importer.Limits().seconds < MAX_SECONDS, "slow"
        return outcome

    def total(self) -> Counter[str]:
        return sum(self.by_kind.values(), Counter())


def actions_of(path: Path) -> Tensor:
    """What is done with any policy before it is measured, then its actions."""
    source = open_policy(path)
    states = torch.randn(8, NUM_STATES, generator=torch.Generator().manual_seed(0))
    check_widths(source, NUM_STATES, NUM_ACTIONS, "the task")
    check_is_function(source, states)
    with torch.no_grad():
        actions = source.mean(states)
    assert actions.shape == (8, NUM_ACTIONS) and torch.isfinite(actions).all()
    return actions


def outcome_of(path: Path, expected: Tensor) -> tuple[str, str]:
    """What became of one file, and the words of a refusal."""
    try:
        actions = actions_of(path)
    except DataError as error:
        assert str(path) in str(error)
        return REFUSED, str(error)
    if torch.equal(actions, expected):
        return UNCHANGED, ""
    good = path.parents[1] / "good" / NAME
    return (CHANGED if is_same_but_for_numbers(path, good) else REBUILT), ""


def campaign(num_cases: int, folder: Path, seed: int) -> Outcomes:
    """So many spoilt files, the kinds of a group in turn."""
    good = folder / "good"
    good.mkdir()
    expected = actions_of(write_good(good))
    outcomes = Outcomes()
    for group in GROUPS:
        names = list(group.kinds)
        random.Random(seed).shuffle(names)
        for number in range(round(group.share * num_cases)):
            kind = names[number % len(names)]
            case = f"{kind}, seed {seed}, number {number}"
            path = copy_of(good, folder / "copy") / NAME
            group.kinds[kind](path, random.Random(case))
            try:
                outcome = outcomes.add(kind, path, expected)
            except Exception as error:
                outcomes.failures.append(f"{case}: {type(error).__name__}: {error}")
            else:
                if outcome not in group.allowed:
                    outcomes.failures.append(f"{case}: {outcome}")
    assert not outcomes.failures, "\n".join(outcomes.failures)
    assert not TRACE.exists()
    return outcomes


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a payload that ran would leave its trace."""
    monkeypatch.chdir(tmp_path)
    importer._shared.close()  # the next child has this working folder too
    return tmp_path


def test_110_spoilt_onnx_files_do_no_harm(in_folder: Path) -> None:
    outcomes = campaign(110, in_folder, seed=0)
    assert outcomes.total().total() == 110
    assert outcomes.by_kind.keys() == {kind for group in GROUPS for kind in group.kinds}


@pytest.mark.slow
def test_1000_spoilt_onnx_files_do_no_harm(in_folder: Path) -> None:
    outcomes = campaign(1000, in_folder, seed=1)
    assert outcomes.total().total() == 1000
    record_figure(
        "onnx_files",
        {
            "cases": 1000,
            "kinds_of_damage": len(outcomes.by_kind),
            "outcomes": dict(outcomes.total()),
            "outcomes_by_kind": {k: dict(c) for k, c in sorted(outcomes.by_kind.items())},
            "children_stopped_for_time": outcomes.num_stopped,
            "children_crashed": outcomes.num_crashed,
            "slowest_wall_seconds": round(max(outcomes.wall_seconds), 2),
            "over_a_second_of_wall": sum(s > MAX_SECONDS for s in outcomes.wall_seconds),
        },
    )
