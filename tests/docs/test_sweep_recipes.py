"""The recipes of docs/sweeps.md: shells parse them, and they do what they say with stand-ins.

What stands in is the cluster (`scontrol`, `parallel`) and the hour-long sweep, not the recipe.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import tomllib
from pathlib import Path

import pytest
import yaml

from spacil.sweeps.plan import grids_of, planned_runs

PAGE = Path(__file__).parents[2] / "docs" / "sweeps.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


def slurm_script() -> str:
    (script,) = (block for block in blocks("bash") if "#SBATCH" in block)
    return script


def write_command(folder: Path, name: str, body: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/bash\n{body}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("block", blocks("bash"))
def test_a_shell_can_read_every_command(block: str) -> None:
    checked = subprocess.run(["bash", "-n"], input=block, text=True, capture_output=True)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_plan_file_is_a_plan() -> None:
    (plan,) = blocks("toml")
    assert len(planned_runs(grids_of(tomllib.loads(plan), "plan.toml"))) == 2 * 2 * 5 + 2 * 3


def test_the_papers_whole_sweep_has_the_runs_that_its_costs_are_for() -> None:
    page = (PAGE.parent / "results" / "scale.md").read_text()
    (plan,) = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    costs = json.loads((PAGE.parent / "results" / "sweep_cost.json").read_text())
    assert len(planned_runs(grids_of(tomllib.loads(plan), "scale.md"))) == costs["num_runs"] == 120
    assert f"{costs['core_hours']:.0f} core-hours" in page


@pytest.mark.parametrize(
    ("sweep", "sent", "code", "is_requeued"),
    [
        ("exit 0", None, 0, False),
        ("exit 3", None, 3, False),
        ("trap 'exit 75' USR1; touch ready; while true; do sleep 0.05; done", "USR1", 75, True),
        ("trap 'exit 143' TERM; touch ready; while true; do sleep 0.05; done", "TERM", 143, False),
    ],
)
def test_a_slurm_task_requeues_itself_after_a_notice_only(
    tmp_path: Path, sweep: str, sent: str | None, code: int, is_requeued: bool
) -> None:
    commands = tmp_path / "bin"
    write_command(commands, "spacil", f'echo "$@" > arguments; {sweep}')
    write_command(commands, "scontrol", 'echo "$@" > requeued')
    (tmp_path / "job.sh").write_text(slurm_script())
    environment = os.environ | {
        "PATH": f"{commands}:{os.environ['PATH']}",
        "SLURM_ARRAY_JOB_ID": "41",
        "SLURM_ARRAY_TASK_ID": "3",
        "SLURM_ARRAY_TASK_COUNT": "10",
        "SLURM_CPUS_PER_TASK": "4",
    }
    job = subprocess.Popen(["bash", "job.sh"], cwd=tmp_path, env=environment)
    if sent is not None:
        deadline = time.monotonic() + 30
        while not (tmp_path / "ready").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        job.send_signal(signal.Signals[f"SIG{sent}"])
    assert job.wait(60) == code
    assert "--shard 3/10 --jobs 4" in (tmp_path / "arguments").read_text()
    requeued = tmp_path / "requeued"
    assert requeued.exists() == is_requeued
    if is_requeued:
        assert requeued.read_text() == "requeue 41_3\n"


def test_the_kubernetes_job_has_one_index_per_shard() -> None:
    (text,) = blocks("yaml")
    job = yaml.safe_load(text)
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    spec = job["spec"]
    assert spec["completionMode"] == "Indexed"
    pod = spec["template"]["spec"]
    assert pod["restartPolicy"] == "Never"  # required by podFailurePolicy
    (container,) = pod["containers"]
    (line,) = container["args"]
    assert f'--shard "$JOB_COMPLETION_INDEX/{spec["completions"]}"' in line
    actions = {rule["action"]: rule for rule in spec["podFailurePolicy"]["rules"]}
    assert actions["FailIndex"]["onExitCodes"]["values"] == [2, 3]
    assert actions["FailIndex"]["onExitCodes"]["containerName"] == container["name"]
    assert "backoffLimitPerIndex" in spec  # required by FailIndex
    volumes = {volume["name"] for volume in pod["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} <= volumes


def test_the_container_passes_its_index_on_to_the_shard(tmp_path: Path) -> None:
    (container,) = yaml.safe_load(blocks("yaml")[0])["spec"]["template"]["spec"]["containers"]
    write_command(tmp_path, "spacil", 'echo "$@"')
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "JOB_COMPLETION_INDEX": "7"}
    shown = subprocess.run(
        [*container["command"], *container["args"]],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.startswith("sweep /sweeps/plan.toml -o /sweeps/paper --shard 7/10")


def test_gnu_parallel_gets_every_shard_once(tmp_path: Path) -> None:
    (line,) = (block for block in blocks("bash") if "| parallel" in block)
    if shutil.which("parallel") is None:
        # The part of it that the line needs: the last words are a command, {} is the input.
        body = 'while [ "$1" != spacil ]; do shift; done\nwhile read -r n; do ${@//\\{\\}/$n}; done'
        write_command(tmp_path, "parallel", body)
    write_command(tmp_path, "spacil", 'echo "$@"')
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    shown = subprocess.run(
        ["bash", "-c", line], env=environment, capture_output=True, text=True, check=True
    )
    shards = re.findall(r"--shard (\d)/8", shown.stdout)
    assert sorted(shards) == [str(i) for i in range(8)]
