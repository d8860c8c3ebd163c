"""What surrounds a command: streams, signals, limits, matplotlib's settings, other processors."""

import contextlib
import copy
import json
import multiprocessing
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from fixture_types import Train
from kill_campaign import num_records, wait_for_records
from tiny_runs import as_flags, tiny

from spacil import GAIL, TRPO
from spacil.errors import EnvError, StorageError
from spacil.runs import checkpoint

RUN = "from spacil.cli.main import main; main()"


def command(run_dir: Path, *flags: object, **changes: Any) -> list[str]:
    settings = as_flags(tiny("trpo", **changes))
    words = ["train", "trpo", "--task", "Reacher-v4", "--run-dir", run_dir, "--quiet", *settings]
    return [sys.executable, "-c", RUN, *map(str, [*words, *flags])]


@pytest.mark.parametrize(
    "backend", ["module://matplotlib_inline.backend_inline", "no_such_backend", "TkAgg"]
)
def test_no_setting_of_matplotlib_changes_how_a_run_ends(tmp_path: Path, backend: str) -> None:
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\nbackend: QtAgg\n")
    finished = subprocess.run(
        command(tmp_path / "run", "--json", iterations=2),
        env=os.environ | {"MPLBACKEND": backend},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (finished.returncode, finished.stderr) == (0, "")
    assert json.loads(finished.stdout)["last"]["iteration"] == 2
    assert (tmp_path / "run" / "learning_curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_that_cannot_be_drawn_does_not_undo_a_finished_run(
    train: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "spacil.comparison.pictures", None)  # cannot be imported
    trained = train("trpo", "--run-dir", tmp_path / "run", iterations=1)
    assert trained.code == 0
    assert trained.result["last"]["iteration"] == 1
    assert "spacil: no learning curve: " in trained.err


def test_a_command_without_streams_writes_its_messages_into_no_file(tmp_path: Path) -> None:
    words = command(tmp_path / "run", iterations=10_000)
    # As `spacil train ... <&- >&- 2>&-` in a shell.
    run = subprocess.Popen(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *words])
    wait_for_records(tmp_path / "run", 2, seconds=100)
    run.send_signal(signal.SIGTERM)
    assert run.wait(60) == 143
    for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines():
        assert json.loads(line)["iteration"] >= 0
    done = num_records(tmp_path / "run")
    resumed = subprocess.run(
        command(tmp_path / "run", "--resume", iterations=done + 1), capture_output=True, timeout=120
    )
    assert resumed.returncode == 0, resumed.stderr


@pytest.mark.parametrize("is_buffered", [True, False])
def test_output_that_cannot_be_written_is_one_line_and_code_74(is_buffered: bool) -> None:
    with Path("/dev/full").open("wb") as full:
        finished = subprocess.run(
            [sys.executable, "-c", RUN, "tasks"],
            env=os.environ | {"PYTHONUNBUFFERED": "" if is_buffered else "1"},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
        )
    assert finished.returncode == 74
    assert finished.stderr.startswith("spacil: the system refused: [Errno 28] No space left")
    assert finished.stderr.count("\n") == 1


@pytest.mark.parametrize("num_files", [8, 12, 20])
def test_too_few_descriptors_are_one_line_and_a_fixed_code(tmp_path: Path, num_files: int) -> None:
    finished = subprocess.run(
        command(tmp_path / "run", iterations=1),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (num_files, num_files)),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "Traceback" not in finished.stderr
    assert finished.returncode in (0, 69, 73, 74)
    if finished.returncode:
        assert finished.stderr.startswith("spacil: ")


def test_control_c_ends_the_iteration_before_it_leaves_learn(tmp_path: Path) -> None:
    agent, calm = (TRPO("Reacher-v4", **tiny("trpo", iterations=10_000)) for _ in range(2))
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            agent.learn()
    finally:
        signal.signal(signal.SIGINT, former)
    agent.save(tmp_path / "agent")
    saved = checkpoint.best(tmp_path / "agent" / "checkpoints")
    assert saved is not None and saved.iteration >= 1
    calm.learn(iterations=saved.iteration)
    calm.save(tmp_path / "calm")
    expected = checkpoint.best(tmp_path / "calm" / "checkpoints")
    for name, tensor in expected.tensors.items():
        assert saved.tensors[name].equal(tensor), name
    agent.close()
    calm.close()


def test_half_an_iteration_is_not_saved_as_a_whole_one(tmp_path: Path) -> None:
    agent = TRPO("Reacher-v4", **tiny("trpo"))
    agent.learn(iterations=1)
    agent.save(tmp_path / "agent")
    learner: Any = agent._learner
    step, learner.sync_rollout_policy = learner.sync_rollout_policy, lambda: 1 / 0
    with pytest.raises(ZeroDivisionError, match="division"):
        agent.learn(iterations=1)
    with pytest.raises(StorageError, match=r"iteration 2 .*was cut short, and half an iteration"):
        agent.save(tmp_path / "agent")
    learner.sync_rollout_policy = step
    again = TRPO.load(tmp_path / "agent")
    again.learn(iterations=1)
    again.save(tmp_path / "agent")
    agent.close()
    again.close()


def test_an_agent_says_that_it_cannot_be_copied_or_pickled() -> None:
    with contextlib.closing(GAIL("Reacher-v4", **tiny())) as agent:
        for attempt in (copy.deepcopy, copy.copy, pickle.dumps):
            with pytest.raises(TypeError, match=r"cannot be copied or pickled. Agent.save\(folder"):
                attempt(agent)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_agent_in_a_forked_child_is_a_clear_error_and_no_hang() -> None:
    with contextlib.closing(TRPO("Reacher-v4", **tiny("trpo", simulation_threads=2))) as agent:
        agent.learn(iterations=1)
        said, answers = multiprocessing.Pipe(duplex=False)
        child = os.fork()
        if child == 0:
            for attempt in (lambda: agent.learn(iterations=1), lambda: agent.evaluate(episodes=1)):
                try:
                    attempt()
                    answers.send("nothing")
                except EnvError as error:
                    answers.send(str(error))
            os._exit(0)
        for _ in range(2):
            assert said.poll(30)
            assert f"were made in process {os.getpid()}, and this is process {child}" in said.recv()
        os.waitpid(child, 0)


def test_a_resume_under_another_instruction_set_is_told(finished_run: Path) -> None:
    words = ["train", "gail", "--task", "Reacher-v4", "--run-dir", str(finished_run), "--quiet"]
    words += ["--resume", *as_flags(tiny(iterations=4))]

    def resumed(**environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", RUN, *words],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=120,
        )

    other = resumed(ATEN_CPU_CAPABILITY="default")
    assert other.returncode == 0
    here = torch.backends.cpu.get_cpu_capability()
    if here == "DEFAULT":
        pytest.skip("torch knows one instruction set here")
    assert f"not bit for bit: instruction_set {here} -> DEFAULT" in other.stderr
    assert "not bit for bit" in resumed().stderr  # the checkpoint it left is of the other one
