"""Which runs a sweep has: combinations, names, shares, and what it refuses before it starts."""

from pathlib import Path

import pytest

from spacil.errors import ConfigError
from spacil.sweeps.plan import (
    Grid,
    PlannedRun,
    assignment,
    document_of,
    grids_of,
    planned_runs,
    seeds_of,
    share,
)


def grid(*words: str, algorithms: tuple[str, ...] = ("gail", "spacil"), seeds: str = "0-1") -> Grid:
    return Grid(algorithms, ("Hopper-v4",), seeds_of([seeds]), tuple(map(assignment, words)))


def test_every_combination_is_planned_once() -> None:
    runs = planned_runs([grid("max_kl=0.01,0.02", "gamma=0.9,0.99,0.995")])
    assert len(runs) == len(set(runs)) == 2 * 2 * 3 * 2
    assert len({run.name for run in runs}) == len(runs)


def test_an_algorithm_is_not_multiplied_by_what_it_does_not_read() -> None:
    runs = planned_runs([grid("lambda_policy=0.01,0.03,0.1")])
    assert [run.algorithm for run in runs] == ["gail"] * 2 + ["spacil"] * 6
    assert {run.variant for run in runs if run.algorithm == "gail"} == {"default"}


def test_grids_that_overlap_share_their_runs() -> None:
    wide, narrow = grid(seeds="0-4"), grid(seeds="0-2", algorithms=("gail",))
    assert planned_runs([wide, narrow]) == planned_runs([wide])


def test_shards_are_disjoint_and_together_everything() -> None:
    runs = planned_runs([grid("max_kl=0.01,0.02,0.03")])
    shares = [share(runs, f"{i}/5") for i in range(5)]
    assert sorted(run.name for part in shares for run in part) == sorted(run.name for run in runs)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize("shard", ["5/5", "1", "-1/3", "a/b", "0/0"])
def test_a_shard_outside_its_range_is_refused(shard: str) -> None:
    with pytest.raises(ConfigError, match=r"expected i/n with i from 0"):
        share([], shard)


def test_quotes_keep_commas_and_spaces_together() -> None:
    name, values = assignment("penalty='exact=0.03 temporal=0.1',lcp=0.1")
    assert (name, values) == ("penalty", (("exact=0.03", "temporal=0.1"), ("lcp=0.1",)))
    assert assignment("policy_hidden=64 64,32") == ("policy_hidden", ((64, 64), (32,)))
    assert assignment("demos='a,b.npz'") == ("demos", (("a,b.npz",),))


def test_seeds_are_numbers_and_ranges_each_once() -> None:
    assert seeds_of(["3", "0-2", "1"]) == (3, 0, 1, 2)


@pytest.mark.parametrize("seeds", ["0-9999999999", f"0-{10**30}", "9" * 5000, "0-10000"])
def test_a_plan_without_end_is_refused_at_once(seeds: str) -> None:
    with pytest.raises(ConfigError, match=r"--seeds .*: expected numbers, or ranges"):
        seeds_of([seeds])
    choices = (assignment("max_kl=" + ",".join(map(str, range(1, 200)))),)
    with pytest.raises(ConfigError, match="19,900 runs in one sweep, expected 10,000 at most"):
        Grid(("gail",), ("Hopper-v4",), seeds_of(["0-99"]), choices)


def test_a_plan_in_a_document_is_the_same_plan() -> None:
    given = [grid("warm_start_epochs=0,40", "policy_hidden=64 64"), grid("demo_every=20")]
    assert grids_of(document_of(given), "sweep.json") == given


def test_the_order_of_the_flags_does_not_change_the_runs() -> None:
    one, other = grid("max_kl=0.01", "gamma=0.9"), grid("gamma=0.9", "max_kl=0.01")
    assert planned_runs([one]) == planned_runs([other])


def test_equal_numbers_are_the_same_run() -> None:
    assert grid("max_kl=0.030").runs() == grid("max_kl=3e-2").runs()


def test_a_run_is_a_train_command_that_resumes(tmp_path: Path) -> None:
    run = PlannedRun(
        "spacil", "Hopper-v4", 3, (("drop_nonfinite", True), ("policy_hidden", (64, 64)))
    )
    words = run.train_words(tmp_path)
    start = "train spacil --task Hopper-v4 --seed 3 --drop-nonfinite --policy-hidden 64 64"
    assert " ".join(words) == f"{start} --run-dir {tmp_path / run.name} --resume"


def test_a_file_in_the_folder_of_the_sweep_moves_with_it() -> None:
    (run,) = grid("demos={sweep}/mine.h5", algorithms=("gail",), seeds="0").runs()
    for folder in ("here", "there"):
        words = " ".join(run.train_words(Path(folder)))
        assert f"--demos {folder}/mine.h5 --run-dir {folder}/{run.name}" in words


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("max_lk=0.1",), "did you mean max_kl"),
        (("seed=1",), "a sweep takes --seeds"),
        (("torch_threads=2",), "--threads-per-job"),
        (("max_kl=large",), "expected a number"),
        (("max_kl=-1",), "--max-kl is -1.0"),
        (("max_kl",), "expected NAME=VALUE"),
        (("drop_nonfinite=maybe",), "expected true or false"),
        (("preset=slow",), "--preset slow"),
        (("penalty='exact=1",), "No closing quotation"),
    ],
)
def test_a_mistake_in_a_setting_shows_at_once(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        planned_runs([grid(*words)])


def test_a_setting_that_nobody_reads_is_refused() -> None:
    with pytest.raises(ConfigError, match="no algorithm of this sweep reads it; it is for spacil"):
        grid("lambda_policy=0.1", algorithms=("gail",))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "expected algorithms, tasks"),
        ({"algorithms": ["gail"], "tasks": "a", "seeds": 0, "x": 1}, "expected algorithms, tasks"),
        ({"algorithms": ["gail"], "seeds": 0}, "expected algorithms, tasks"),
        ({"algorithms": ["sac"], "tasks": "Hopper-v4", "seeds": 0}, "--algorithms sac"),
        ({"algorithms": ["smooth"], "tasks": "Hopper-v4", "seeds": 0}, "--algorithms smooth"),
        (
            {"algorithms": ["gail"], "tasks": "a", "seeds": 0, "set": 3},
            "expected algorithms, tasks",
        ),
    ],
)
def test_a_plan_file_says_what_is_wrong_with_it(document: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        grids_of(document, "plan.json")
