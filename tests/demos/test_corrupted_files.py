"""A thousand damaged and hostile files: no crash, no hang, no payload, no error of another kind.

A native file is refused, by its hash; npz has the checksums of zip. HDF5 and Arrow have none over
their numbers: a flip in there loads as other numbers. `docs/demonstrations.md` says so.
"""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from spoiled_demos import Case, Spoiler, all_cases

from spacil.demos.check import check_demonstrations
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import load_demos
from spacil.envs.vector_env import EnvSpec
from spacil.errors import DataError

MakeDemos = Callable[..., Demonstrations]

MAX_SECONDS = 5.0
"""Processor time, of the child too: what starts a reader of Arrow takes one of them."""
QUICK_STRIDE = 20
WITHOUT_CHECKSUM = ("d4rl", "minari", "imitation")
MUST_BE_REFUSED = ("cut", "pickle")


@pytest.fixture
def spoiler(make_demos: MakeDemos, tmp_path: Path) -> Spoiler:
    return Spoiler(tmp_path, make_demos(lengths=(30, 35, 20)))


def _loaded(case: Case, spoiler: Spoiler) -> tuple[Demonstrations | None, float]:
    """The record of a spoiled file, None for a refusal, and the processor time it took."""
    source = spoiler.spoiled(case)
    started = sum(os.times()[:4])
    try:
        loaded = load_demos(source)
    except DataError as error:
        assert str(source) in str(error)
        loaded = None
    return loaded, sum(os.times()[:4]) - started


def _outcome(case: Case, spoiler: Spoiler, spec: EnvSpec) -> str:
    """refused, unchanged, or changed: noticed by the check or not."""
    loaded, seconds = _loaded(case, spoiler)
    assert seconds <= MAX_SECONDS, case
    if loaded is None:
        return "refused"
    good = spoiler.good[case.format]
    if _same_numbers(loaded, good):
        return "unchanged"
    # A NaN or a huge number is found by the check; a digit that is a little off is not.
    before, after = check_demonstrations(good, spec), check_demonstrations(loaded, spec)
    is_noticed = {f.check for f in after.findings} - {f.check for f in before.findings}
    return "changed, noticed by check" if is_noticed else "changed"


def _same_numbers(ours: Demonstrations, theirs: Demonstrations) -> bool:
    left, right = ours.tensors(), theirs.tensors()
    return left.keys() == right.keys() and all(
        torch.equal(tensor, right[name]) for name, tensor in left.items()
    )


def _campaign(cases: list[Case], spoiler: Spoiler, spec: EnvSpec) -> Counter[tuple[str, ...]]:
    counts: Counter[tuple[str, ...]] = Counter()
    for case in cases:
        outcome = _outcome(case, spoiler, spec)
        counts[case.format, case.kind, outcome] += 1
        if case.kind in MUST_BE_REFUSED:
            assert outcome == "refused", case
        elif outcome.startswith("changed"):
            assert case.format in WITHOUT_CHECKSUM, case
    assert not spoiler.payload_ran.exists()
    return counts


def test_fifty_spoiled_files_are_refused(spoiler: Spoiler, toy_spec: EnvSpec) -> None:
    counts = _campaign(all_cases()[::QUICK_STRIDE], spoiler, toy_spec)
    assert counts.total() == 50


@pytest.mark.slow
def test_a_thousand_spoiled_files_are_refused(
    spoiler: Spoiler, toy_spec: EnvSpec, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = _campaign(all_cases(), spoiler, toy_spec)
    assert counts.total() == 1000
    with capsys.disabled():
        print()
        for key, count in sorted(counts.items()):
            print(f"{key[0]:<10} {key[1]:<8} {key[2]:<28} {count:>4}")
