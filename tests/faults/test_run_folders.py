"""Run folders that exist, are taken, cannot be, or are resumed with something else."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from fixture_types import Spacil, TinyFlags, Train
from pictures import assert_drawn

from spacil.demos.file import load_demos, save_demos
from spacil.runs import checkpoint


def files_in(folder: Path) -> dict[str, bytes]:
    """Everything but who looked at it last."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "run.lock"
    }


def test_another_setting_demonstration_task_or_algorithm_is_refused_with_what_it_was(
    train: Train, finished_run: Path, tmp_path: Path
) -> None:
    before = files_in(finished_run)
    ten = tmp_path / "ten.demos.safetensors"
    save_demos(load_demos("Reacher-v4").first(10), ten)
    where = ("--run-dir", finished_run, "--resume")
    refusals = {
        "  seed: 0 -> 1\n": train("gail", *where, seed=1),
        "  policy_hidden: [16, 8] -> [16, 16]\n": train("gail", *where, policy_hidden=(16, 16)),
        "  cost_penalty_form: r1 -> gp\n": train("gail", *where, cost_penalty_form="gp"),
        "cannot resume with other demonstrations": train("gail", *where, "--demos", ten),
        "algorithm: gail -> spacil": train("spacil", *where),
        "task: Reacher-v4 -> Hopper-v4": train("gail", *where, task="Hopper-v4"),
    }
    for message, refusal in refusals.items():
        assert refusal.code == 2
        assert message in refusal.err
        # One line of a setting beside the heading.
        assert not message.endswith("\n") or refusal.err.count(" -> ") == 2
    assert files_in(finished_run) == before


def test_a_second_process_is_refused_at_once_and_takes_over_after_a_kill(
    train: Train, processes: Any, tiny_flags: TinyFlags, tmp_path: Path
) -> None:
    run_dir = tmp_path / "run"
    arguments = ["train", "gail", "--task", "Reacher-v4", *tiny_flags(iterations=10_000)]
    owner = processes.start(*arguments, "--run-dir", run_dir)
    while not (run_dir / "checkpoints" / "iter-000001.safetensors").exists():
        time.sleep(0.01)
    for flags in ([], ["--resume"], ["--overwrite"]):
        refusal = train("gail", "--run-dir", run_dir, *flags, iterations=10_000)
        assert refusal.code == 73
        assert f"is in use by process {owner.number} on" in refusal.err
    owner.send(signal.SIGKILL)
    assert owner.wait().code == -signal.SIGKILL
    last = checkpoint.newest(run_dir / "checkpoints")
    resumed = train("gail", "--run-dir", run_dir, "--resume", iterations=last.iteration + 1)
    assert resumed.code == 0
    assert f"process {owner.number} on" in resumed.err
    assert "exited without recording a status; resuming its run" in resumed.err


def test_an_existing_run_is_refused_or_goes_on_by_request(train: Train, finished_run: Path) -> None:
    before = files_in(finished_run)
    refusal = train("gail", "--run-dir", finished_run)
    assert refusal.code == 73
    assert "--resume continues it, --overwrite deletes it" in refusal.err
    assert files_in(finished_run) == before
    resumed = train("gail", "--run-dir", finished_run, "--resume")
    assert resumed.code == 0
    assert resumed.result["last"]["iteration"] == 3
    overwritten = train("gail", "--run-dir", finished_run, "--overwrite", iterations=1)
    assert overwritten.code == 0
    assert overwritten.err == ""  # nothing in the folder is a stranger's
    assert (finished_run / "metrics.jsonl").read_bytes().count(b"\n") == 2


def test_a_mistake_does_not_cost_the_run_to_overwrite(train: Train, finished_run: Path) -> None:
    before = files_in(finished_run)
    refusal = train("gail", "--run-dir", finished_run, "--overwrite", "--device", "cuda:99")
    assert refusal.code == 2
    assert files_in(finished_run) == before


def test_the_same_command_with_resume_starts_goes_on_and_is_done(train: Train, here: Path) -> None:
    nothing = train("trpo", "--resume")
    assert nothing.code == 73
    assert "no unfinished run with these settings" in nothing.err
    assert train("trpo").code == 0  # into runs/<algorithm>/<task>/seed<S>-<stamp>
    (run_dir,) = (here / "runs" / "trpo" / "Reacher-v4").iterdir()
    assert run_dir.name.startswith("seed0-")
    status = json.loads((run_dir / "run.json").read_text())
    (run_dir / "run.json").write_text(json.dumps(status | {"status": "interrupted"}))
    resumed = train("trpo", "--resume", iterations=4)
    assert resumed.code == 0
    assert resumed.result["run_dir"] == str(run_dir)
    assert resumed.result["last"]["iteration"] == 4


@pytest.mark.parametrize(
    "name",
    [
        "spaces in it",
        'it\'s "quoted"',
        "line\nbreak",
        "Läufer 走る",
        "$HOME `date` 100%",
        os.fsdecode(b"not-utf8-\xff"),
    ],
)
def test_odd_names_work_everywhere(train: Train, spacil: Spacil, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    trained = train("trpo", "--run-dir", folder, iterations=1)
    assert trained.code == 0
    assert trained.result["run_dir"] == str(folder)
    assert_drawn(folder / "learning_curve.png")
    assert spacil("evaluate", folder, "--episodes", 1).code == 0
    demos = folder / f"{name}.demos.safetensors"
    assert spacil("demos", "collect", folder, "--num", 3, "--out", demos).code == 0
    checked = spacil("demos", "check", demos)
    assert checked.code == 0
