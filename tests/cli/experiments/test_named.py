"""`spacil experiment NAME`: from runs to a page, with made-up runs, and (slow) with real ones."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from generated_arms import gathered_from
from generated_runs import write_run

from spacil.experiments.named.front import experiment as front
from spacil.experiments.named.paper import demonstrators, returns
from spacil.experiments.named.plan import Scope
from spacil.experiments.named.table import NAMED, named_experiment, page_of
from spacil.policies.file import load_expert, save_policy
from spacil.sweeps.folder import SweepFolder, open_sweep
from spacil.sweeps.plan import Grid, PlannedRun
from spacil.sweeps.runner import SweepOutcome

Spacil = Callable[..., Any]

TINY = {
    "iterations": 4,
    "evaluation_interval": 2,
    "evaluation_steps": 100,
    "num_envs": 10,
    "steps_per_iteration": 200,
    "policy_hidden": "16 8",
    "value_hidden": "16",
    "discriminator_hidden": "16",
    "warm_start_steps": 20,
    "warm_start_iterations": 1,
}
FLAGS = [word for name, value in TINY.items() for word in ("--set", f"{name}={value}")]


@pytest.fixture
def paper_runs(tmp_path: Path) -> Path:
    """A sweep folder with the runs of `returns` on Hopper, two seeds, made up; no bc."""
    scope = Scope(tasks=("Hopper-v4",), seeds=(0, 1))
    folder = tmp_path / "sweep"
    gathered_from(
        folder,
        returns.arms(scope, folder),
        lambda arm, run: None if arm.label == "bc" else (3000.0 + run.seed, 2.0),
    )
    return folder


def test_help_lists_every_experiment(spacil: Spacil) -> None:
    text = spacil("experiment").out
    assert all(f"  {name} " in text for name in NAMED)


def test_finished_runs_become_a_page_a_document_and_a_figure(
    spacil: Spacil, paper_runs: Path, tmp_path: Path
) -> None:
    flags = ("--tasks", "Hopper-v4", "--seeds", "0-1", "--no-train", "-o", paper_runs)
    done = spacil("experiment", "returns", *flags, "--results", tmp_path / "pages")
    assert done.code == 3  # the two runs of bc are missing, and named
    assert "Hopper-v4, bc: seeds 0, 1 waiting" in done.out
    document = json.loads((tmp_path / "pages" / "returns.json").read_text())
    assert document["experiment"] == "returns"
    assert document["command"].startswith("spacil experiment returns --tasks Hopper-v4")
    assert {row["setting"] for row in document["runs"]} == {
        "gail", "gail paper-mean", "spacil", "spacil paper-mean", "spacil paper-sum",
    }  # fmt: skip
    assert "![Returns" in (tmp_path / "pages" / "returns.md").read_text()
    assert (tmp_path / "pages" / "returns.png").read_bytes().startswith(b"\x89PNG")
    assert not (paper_runs / "sweep.json").exists()  # nothing was asked to run


def test_the_runs_of_an_experiment_can_be_listed(spacil: Spacil, paper_runs: Path) -> None:
    flags = ("--tasks", "Hopper-v4", "--seeds", "0-1", "-o", paper_runs, "--list", "--json")
    listed = spacil("experiment", "returns", *flags).result
    assert listed["states"] == {"finished": 10, "waiting": 2}


def test_the_folder_of_an_experiment_keeps_its_fresh_episodes(
    spacil: Spacil, tmp_path: Path
) -> None:
    folder = tmp_path / "sweep"
    flags = ("--tasks", "Hopper-v4", "-o", folder, "--list", "--json")

    def episodes(*more: object) -> int:
        return int(spacil("experiment", "returns", *flags, *more).result["fresh_episodes"])

    assert (episodes(), episodes("--quick"), episodes("--fresh-episodes", 7)) == (150, 20, 7)
    open_sweep(folder, [Grid(("bc",), ("Reacher-v4",), (0,))], 50)
    assert (episodes(), episodes("--quick"), episodes("--fresh-episodes", 7)) == (50, 50, 7)
    refused = spacil("experiment", "returns", *flags, "--fresh-episodes", -1)
    assert (refused.code, "expected 0 or more" in refused.err) == (2, True)


def test_a_list_holds_runs_that_wait_for_others(spacil: Spacil, tmp_path: Path) -> None:
    flags = ("--tasks", "Hopper-v4", "-o", tmp_path / "none", "--list", "--json")
    listed = spacil("experiment", "demonstrators", *flags).result
    assert listed["states"] == {"waiting": 1 + 2 * 2 * 3}
    assert {run["algorithm"] for run in listed["runs"]} == {"trpo", "gail", "spacil"}
    assert not (tmp_path / "none").exists()


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[PlannedRun]:
    """The runs that are asked for, in order; each is made up at once."""
    asked: list[PlannedRun] = []

    def run_sweep(sweep: SweepFolder, runs: list[PlannedRun], *_: object) -> SweepOutcome:
        for run in runs:
            if not sweep.run_dir(run).exists():
                asked.append(run)
                write_run(sweep.run_dir(run), run.algorithm, run.task, run.seed)
        return SweepOutcome(sweep.states(runs), 0)

    monkeypatch.setattr("spacil.sweeps.runner.run_sweep", run_sweep)
    return asked


def test_a_share_goes_on_where_the_demonstrator_is_there_and_says_what_waits(
    spacil: Spacil,
    tmp_path: Path,
    trained: list[PlannedRun],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    numbers = {"G": 1.0, "J": 1.0, "action_change": 1.0}
    experiment = replace(demonstrators.DEMONSTRATORS, measure=lambda record, scope: numbers)
    monkeypatch.setattr("spacil.cli.experiments.named.named_experiment", lambda name: experiment)
    monkeypatch.setattr(demonstrators, "_recorded", lambda run_dir, task: task)
    monkeypatch.setattr(demonstrators, "save_demos", lambda demos, path: path.write_text(demos))
    flags = ("--seeds", 0, "-o", tmp_path / "sweep", "--shard")
    shares = [spacil("experiment", "demonstrators", *flags, f"{i}/2") for i in (0, 1, 0)]
    assert [share.code for share in shares] == [3, 3, 0]
    awaited = "demonstrations/HalfCheetah-v4-smooth.safetensors"
    assert f"gail: seed 0 waiting (for {awaited})" in shares[0].out
    assert awaited not in shares[1].out  # its demonstrator is trained by then
    teachers = [run.task for run in trained if run.algorithm == "trpo"]
    assert teachers == ["Hopper-v4", "HalfCheetah-v4"]
    assert len(trained) == len(set(trained)) == 2 + 2 * 2 * 2


FRONT = ("experiment", "front", "--set", "evaluation_interval=2")


def test_a_front_is_extended_on_another_machine(
    spacil: Spacil, tmp_path: Path, trained: list[PlannedRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = replace(front.FRONT, stages=(front.ladders,), measure=None)
    monkeypatch.setattr("spacil.cli.experiments.named.named_experiment", lambda name: experiment)
    results = ("--results", tmp_path / "pages")
    narrowed = ("--groups", "whole", "--tasks", "Hopper-v4", "--seeds")
    spacil(*FRONT, *narrowed, 0, "-o", tmp_path / "here", *results)
    assert {(run.task, run.seed) for run in trained} == {("Hopper-v4", 0)}
    trained.clear()
    spacil(*FRONT, *narrowed, "0-1", "-o", tmp_path / "there", *results, "--extend")
    assert {(run.task, run.seed) for run in trained} == {("Hopper-v4", 1)}
    document = json.loads((tmp_path / "pages" / "front.json").read_text())
    assert {row["seed"] for row in document["runs"]} == {0, 1}
    assert document["num_runs"] == 2 * (6 + 8)
    page = (tmp_path / "pages" / "front.md").read_text()
    assert "14 of the runs are from the document that was extended" in page
    assert "HalfCheetah-v4, every-20th, exact: seeds 0, 1 waiting" in page
    # Nothing is left of it to run; what a call narrows to does not narrow the page.
    trained.clear()
    flags = ("-o", tmp_path / "new", *results, "--extend")
    spacil(*FRONT, *narrowed, "0-1", "--methods", "exact", *flags)
    assert not trained
    assert document["runs"] == json.loads((tmp_path / "pages" / "front.json").read_text())["runs"]


def test_what_cannot_be_extended_is_refused(spacil: Spacil, tmp_path: Path) -> None:
    def refused(*arguments: object) -> str:
        done = spacil(*arguments, "--extend", "--results", tmp_path, "-o", tmp_path / "runs")
        assert done.code in (2, 74)
        return str(done.err)

    assert "is made of run folders only" in refused("experiment", "curves")
    assert "leave it out the first time" in refused(*FRONT)
    (tmp_path / "front.json").write_text('{"experiment": "front", "methods": []}')
    assert "does not hold its runs" in refused(*FRONT)
    (tmp_path / "front.json").write_text('{"experiment": "front", "runs": [], "commits": []}')
    assert "'exactly': this experiment has 'gail-like'" in refused(*FRONT, "--methods", "exactly")


def test_without_any_finished_run_there_is_no_page(spacil: Spacil, tmp_path: Path) -> None:
    refused = spacil("experiment", "returns", "--no-train", "-o", tmp_path / "none")
    assert refused.code == 73
    assert "no finished run to report on" in refused.err
    assert not (tmp_path / "none").exists()


def test_a_page_that_is_not_its_own_is_never_overwritten(
    spacil: Spacil, paper_runs: Path, tmp_path: Path
) -> None:
    (tmp_path / "returns.md").write_text("by hand")
    refused = spacil("experiment", "returns", "-o", paper_runs, "--results", tmp_path)
    assert refused.code == 74
    assert "is no result of experiment returns" in refused.err
    assert (tmp_path / "returns.md").read_text() == "by hand"


def test_claims_may_come_before_the_first_run(spacil: Spacil, tmp_path: Path) -> None:
    done = spacil("experiment", "claims", "-o", tmp_path / "sweep")
    assert done.code == 0
    page = (tmp_path / "sweep" / "results" / "claims.md").read_text()
    assert page.count("not measured") == len(
        json.loads((tmp_path / "sweep" / "results" / "claims.json").read_text())["answers"]
    )
    open_sweep(tmp_path / "sweep", [Grid(("bc",), ("Reacher-v4",), (0,))], 0)


def test_the_noise_study_takes_policies_from_files(spacil: Spacil, tmp_path: Path) -> None:
    policy = tmp_path / "mine.policy.safetensors"
    save_policy(load_expert("Reacher-v4"), policy, provenance={"algorithm": "trpo", "seed": 0})
    flags = ("--policies", policy, "--quick", "-o", tmp_path / "sweep")
    done = spacil("experiment", "perturbation", *flags)
    assert done.code == 0, done.out + done.err
    results = tmp_path / "sweep" / "results"
    document = json.loads((results / "perturbation.json").read_text())
    assert [row["noise_std"] for row in document["levels"]] == [0.0, 0.01, 0.1]
    assert document["files"][0]["file"] == "mine.policy.safetensors"
    assert (results / "perturbation.svg").read_bytes().startswith(b"<?xml")
    refused = spacil("experiment", "mixing", *flags)
    assert (refused.code, "measures its own runs" in refused.err) == (2, True)


def test_several_values_of_a_setting_are_for_sweeps(spacil: Spacil) -> None:
    refused = spacil("experiment", "returns", "--set", "max_kl=0.01,0.02")
    assert refused.code == 2
    assert "takes one value" in refused.err


@pytest.mark.slow
@pytest.mark.timeout(3_000)
def test_every_experiment_runs_from_nothing_to_its_page(spacil: Spacil, tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    common = (*FLAGS, "--quick", "--seeds", "0", "--fresh-episodes", 4, "-o", folder)
    for name in NAMED:
        done = spacil("experiment", name, *common)
        assert (name, done.code) == (name, 0), done.out + done.err
        document = json.loads((folder / "results" / f"{page_of(name)}.json").read_text())
        assert document["problems"] == []
        assert (folder / "results" / f"{page_of(name)}.md").stat().st_size > 500
        if named_experiment(name).stages:
            assert any(panel["series"] for panel in document["panels"])
    # Again, nothing is computed: the runs and what was measured at them are there.
    stamps = {path: path.stat().st_mtime_ns for path in folder.rglob("metrics.jsonl")}
    measured = {path: path.stat().st_mtime_ns for path in folder.rglob("measured/**/*.json")}
    for name in NAMED:
        assert spacil("experiment", name, *common).code == 0
    assert stamps == {path: path.stat().st_mtime_ns for path in folder.rglob("metrics.jsonl")}
    assert measured == {p: p.stat().st_mtime_ns for p in folder.rglob("measured/**/*.json")}
