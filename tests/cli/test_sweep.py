"""`spacil sweep` with real processes: killed, continued, failing, shared."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fixture_types import Spacil
from generated_runs import write_run
from tiny_runs import as_choices, tiny, wait_until

from spacil.runs.facts import read_run
from spacil.runs.lock import FolderLock
from spacil.sweeps.folder import SweepFolder, open_sweep, read_sweep
from spacil.sweeps.plan import Grid, assignment

EPISODES = 4
BC = ("--algorithms", "bc", "--tasks", "Reacher-v4")

pytestmark = pytest.mark.timeout(900)  # real processes, each with a start of its own


def start(*arguments: object) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "spacil", "sweep", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def states_of(sweep: SweepFolder) -> list[str]:
    return [state.state for state in sweep.states(sweep.runs()).values()]


def test_a_killed_sweep_goes_on_and_computes_nothing_twice(spacil: Spacil, tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    flags = [
        *("--algorithms", "gail", "spacil", "--tasks", "Reacher-v4", "--seeds", "0-1"),
        *as_choices(tiny(iterations=20, checkpoint_interval=2)),
        *("--jobs", 2, "--fresh-episodes", EPISODES, "-o", folder),
    ]
    first = start(*flags)
    wait_until(lambda: (folder / "sweep.json").is_file())
    sweep = read_sweep(folder)
    wait_until(lambda: "finished" in states_of(sweep))
    first.send_signal(signal.SIGKILL)
    first.wait()
    done = [run for run, s in sweep.states(sweep.runs()).items() if s.state == "finished"]
    assert 1 <= len(done) < 4
    before = {run: (sweep.run_dir(run) / "run.json").stat().st_mtime_ns for run in done}

    # What the killed sweep had started saves and ends by itself; this one waits and takes over.
    assert spacil("sweep", *flags).code == 0
    assert states_of(sweep) == ["finished"] * 4
    for run in sweep.runs():
        run_dir = sweep.run_dir(run)
        assert len((run_dir / "metrics.jsonl").read_text().splitlines()) == 1 + 20
        fresh = read_run(run_dir).fresh
        assert fresh.num_episodes == EPISODES
        assert fresh.last["iteration"] == 20
        for name in ("smoothness_j_demo_states", "smoothness_j_ball", "spectrum_score"):
            assert fresh.best[name] > 0
        assert fresh.best["random_return"] < 0
    assert before == {r: (sweep.run_dir(r) / "run.json").stat().st_mtime_ns for r in done}


def test_a_failed_run_is_listed_with_its_reason(spacil: Spacil, tmp_path: Path) -> None:
    flags = ("--algorithms", "bc", "--tasks", "Reacher-v4", "--set", "iterations=1")
    demos = ("--set", "demos=Reacher-v4,{sweep}/missing.npz", "--set", "policy_hidden=8")
    steps = ("--set", "evaluation_steps=50", "--fresh-episodes", 0, "-o", tmp_path / "sweep")
    ended = spacil("sweep", *flags, *demos, *steps)
    assert ended.code == 3
    assert "1 finished, 1 failed" in ended.out
    assert "missing.npz" in ended.out
    status = spacil("sweep", "status", tmp_path / "sweep", "--json").result
    assert status["states"] == {"finished": 1, "failed": 1}
    (failed,) = (run for run in status["runs"] if run["state"] == "failed")
    assert "exit code 65" in failed["reason"]
    assert "missing.npz" in failed["command"]


def test_a_run_that_another_process_holds_is_waited_for(spacil: Spacil, tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    flags = [
        *("--algorithms", "bc", "--tasks", "Reacher-v4", "--fresh-episodes", 0, "-o", folder),
        *("--set", "iterations=1", "--set", "evaluation_steps=50", "--set", "policy_hidden=8"),
    ]
    listed = spacil("sweep", *flags, "--list", "--json").result
    run_dir = Path(listed["runs"][0]["run_dir"])
    run_dir.mkdir(parents=True)
    lock = FolderLock(run_dir)
    # The folder holds no sweep yet: this is what a sweep on another machine had begun.
    spacil_plan = {"grids": [{"algorithms": ["bc"], "tasks": ["Reacher-v4"], "seeds": [0]}]}
    document = {"format": "spacil-sweep", "format_version": 1, "fresh_episodes": 0}
    (folder / "sweep.json").write_text(json.dumps(document | spacil_plan))
    sweep = start(*flags)
    try:
        wait_until(lambda: len(read_sweep(folder).grids) == 2)
        time.sleep(1)
        assert not (run_dir / "metrics.jsonl").exists()
        lock.release()
        assert sweep.wait(300) == 0
    finally:
        sweep.kill()
        sweep.wait()
    assert (run_dir / "run.json").is_file()


def test_two_sweeps_of_one_folder_share_it(tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    flags = [
        *("--algorithms", "bc", "--tasks", "Reacher-v4", "--seeds", "0-2", "--jobs", 1),
        *("--set", "iterations=2", "--set", "evaluation_steps=50", "--set", "policy_hidden=8"),
        *("--fresh-episodes", EPISODES, "-o", folder),
    ]
    first, second = start(*flags), start(*flags)
    assert (first.wait(400), second.wait(400)) == (0, 0)
    sweep = read_sweep(folder)
    assert states_of(sweep) == ["finished"] * 3
    for run in sweep.runs():
        # Started from nothing once; whoever comes after the end finds it finished.
        assert sweep.log(run).read_text().count("nothing to resume in") == 1
        assert len((sweep.run_dir(run) / "metrics.jsonl").read_text().splitlines()) == 1 + 2


def test_a_sweep_that_is_interrupted_says_so_and_keeps_its_runs(tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    flags = ("--algorithms", "gail", "--tasks", "Reacher-v4", "--jobs", 1, "-o", folder)
    sweep = start(*flags, *as_choices(tiny(iterations=100_000, evaluation_interval=100_000)))
    wait_until(lambda: (folder / "sweep.json").is_file())
    found = read_sweep(folder)
    wait_until(lambda: found.state(found.runs()[0]).iteration > 0)
    assert states_of(found) == ["running"]
    sweep.send_signal(signal.SIGUSR1)
    assert sweep.wait(180) == 75
    assert states_of(found) == ["interrupted"]


def test_the_list_of_a_shard_is_its_share_not_written(spacil: Spacil, tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    flags = ("--algorithms", "gail", "bc", "--tasks", "Reacher-v4", "--seeds", "0-2", "-o", folder)

    def names(*more: object) -> list[str]:
        shown = spacil("sweep", *flags, "--list", "--json", *more).result
        return [run["run_dir"] for run in shown["runs"]]

    parts = [names("--shard", f"{i}/4") for i in range(4)]
    assert sorted(name for part in parts for name in part) == sorted(names())
    assert not folder.exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--algorithms", "gail", "--tasks", "Hopper-v4"), "needs a folder: -o DIR"),
        (("-o", "nowhere"), "holds no sweep"),
        (("--algorithms", "gail", "-o", "x"), "needs --tasks"),
        (("--algorithms", "gail", "--tasks", "a", "--jobs", "-1", "-o", "x"), "--jobs is -1"),
        (("plan.json", "--tasks", "Hopper-v4", "-o", "x"), "leave out --tasks"),
        (("--set", "gamma=1", "max_kl=2", "-o", "x"), "several settings are --set A=1 --set B=2"),
        (("status", "nowhere"), "holds no sweep"),
        (("--algorithms", "bc", "--tasks", "Reecher-v4", "-o", "x"), "did you mean Reacher-v4"),
        (("--algorithms", "trpo", "--tasks", "Reecher-v4", "-o", "x", "--list"), "unknown task"),
        (("--algorithms", "bc", "--tasks", "Pendulum-v1", "-o", "x"), "no demonstrations are"),
        ((*BC, "--set", "demos=missing.npz", "-o", "x"), "no demonstrations 'missing.npz'"),
        ((*BC, "--set", "demos=Hopper-v4", "-o", "x"), "Hopper-v4"),
        (("plan.json", "--seeds", "0-4", "-o", "x"), "leave out --seeds"),
        (("--seeds", "0-4", "-o", "x"), "a sweep needs --algorithms"),
        ((*BC, "--set", "gamma=1", "--set", "gamma=2", "-o", "x"), "names a setting twice"),
        ((".", "-o", "x"), "-o alone goes on with the sweep in a folder"),
        ((*BC, "--device", "gpu", "-o", "x"), "--device gpu: expected cpu, cuda"),
        ((*BC, "--engine", "ray", "--lost-after", "nan", "-o", "x"), "expected seconds, above 0"),
    ],
)
def test_a_sweep_that_cannot_start_says_why(
    spacil: Spacil, flags: tuple[str, ...], message: str, here: Path
) -> None:
    refusal = spacil("sweep", *flags)
    assert refusal.code in (2, 65, 73, 74)
    assert message in refusal.err
    assert list(here.iterdir()) == []


def test_a_finished_run_needs_its_demonstrations_no_more(spacil: Spacil, tmp_path: Path) -> None:
    gone = f"demos={tmp_path / 'gone.npz'}"
    grid = Grid(("bc",), ("Reacher-v4",), (0,), (assignment(gone),))
    sweep = open_sweep(tmp_path / "sweep", [grid], 0)
    write_run(sweep.run_dir(sweep.runs()[0]))
    assert spacil("sweep", *BC, "--set", gone, "-o", sweep.path).code == 0


def test_a_plan_may_be_a_toml_file(spacil: Spacil, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'algorithms = ["gail", "spacil"]\ntasks = ["Hopper-v4"]\nseeds = "0-2"\n'
        "[set]\nlambda_policy = [0.01, 0.03]\n"
    )
    shown = spacil("sweep", plan, "-o", tmp_path / "sweep", "--list", "--json").result
    assert shown["states"] == {"waiting": 9}


def test_a_folder_of_other_things_is_not_taken(spacil: Spacil, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    flags = ("--algorithms", "gail", "--tasks", "Hopper-v4", "-o", tmp_path)
    refusal = spacil("sweep", *flags)
    assert refusal.code == 73
    assert "is not empty and holds no sweep" in refusal.err
