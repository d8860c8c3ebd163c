"""Row 8 to 10, for ONNX policies: damaged and hostile files do no harm and none is believed.

ONNX has no checksum. A flip inside a weight reads back as another number, and nothing can tell;
only damage at random places may do that. What is wrong by its structure is refused.
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
    write_good,
)
from torch import Tensor

from spacil import importer
from spacil.errors import DataError
from spacil.training.open_policy import open_policy
from spacil.training.policy_source import check_is_function, check_widths

MAX_SECONDS = 1.0
REFUSED, UNCHANGED, CHANGED = "refused", "read as it was written", "other numbers, not detectable"


@dataclass(frozen=True)
class Group:
    """Kinds of damage, their share of the files, and what may become of those."""

    kinds: dict[str, PlaceDamage]
    share: float
    allowed: tuple[str, ...]


GROUPS = (
    Group(MAY_CHANGE, 0.29, (REFUSED, UNCHANGED, CHANGED)),
    Group(INFINITE, 0.01, (REFUSED, CHANGED)),
    Group(MAY_STAY, 0.12, (REFUSED, UNCHANGED)),
    Group(CUTS, 0.1, (REFUSED,)),
    Group(HOSTILE, 0.48, (REFUSED,)),
)


@dataclass
class Outcomes:
    by_kind: dict[str, Counter[str]] = field(default_factory=dict)
    num_dead_children: int = 0
    slowest: float = 0.0
    failures: list[str] = field(default_factory=list)

    def add(self, kind: str, path: Path, expected: Tensor) -> str:
        """Read one file and note what became of it."""
        child, started = importer._shared.process_id, time.perf_counter()
        outcome, seconds = outcome_of(path, expected)
        self.slowest = max(self.slowest, time.perf_counter() - started)
        self.num_dead_children += child is not None and child != importer._shared.process_id
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


def outcome_of(path: Path, expected: Tensor) -> tuple[str, float]:
    """What became of one file, and the processor time of this process.

    What the importer's child may use on it comes on top; the child is ended when it uses more.
    """
    started = time.process_time()
    try:
        actions = actions_of(path)
    except DataError as error:
        assert str(path) in str(error)
        outcome = REFUSED
    else:
        outcome = UNCHANGED if torch.equal(actions, expected) else CHANGED
    return outcome, time.process_time() - started


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
            "readers_ended": outcomes.num_dead_children,
            "slowest_wall_seconds": round(outcomes.slowest, 2),
        },
    )
