"""`spacil sweep --engine ray` on a real cluster of several nodes, on one machine.

Faults are real: a worker and a node's process get SIGKILL, a node is removed, a node is stopped and
continued. What comes out has to be what one machine computes.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from fixture_types import Spacil
from ray_cluster import Nodes, family, is_alive, job_in, parent_of, ray_nodes, raylet_of, send
from tiny_runs import as_choices, as_flags, tiny, wait_until

from spacil.runs import checkpoint
from spacil.runs.facts import read_run
from spacil.sweeps.folder import SweepFolder, read_sweep
from spacil.sweeps.plan import PlannedRun

pytest.importorskip("ray", reason="ray is not installed: pip install 'spacil[ray]'")
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def two_nodes() -> Iterator[Nodes]:
    with ray_nodes(2) as nodes:
        yield nodes


def flags(folder: Path, num_seeds: int, iterations: int, *more: object) -> list[str]:
    """Of a sweep over gail with that many seeds, whose runs take seconds."""
    words: list[object] = ["--algorithms", "gail", "--tasks", "Reacher-v4"]
    words += ["--seeds", f"0-{num_seeds - 1}", "--fresh-episodes", 4, "-o", folder]
    settings = tiny("gail", iterations=iterations, evaluation_interval=iterations)
    return [str(word) for word in [*words, *as_choices(settings), *more]]


class Start(Protocol):
    def __call__(self, *arguments: str, log: Path) -> "subprocess.Popen[bytes]": ...


@pytest.fixture
def start() -> Iterator[Start]:
    """Begins sweeps in processes of their own, which do not outlive the test."""
    begun: list[subprocess.Popen[bytes]] = []

    def begin(*arguments: str, log: Path) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "spacil", "sweep", *arguments]
        with log.open("ab") as output:
            begun.append(subprocess.Popen(command, stdout=output, stderr=output))
        return begun[-1]

    yield begin
    for process in begun:
        process.kill()
        process.wait()


def results(sweep: SweepFolder) -> dict[str, Any]:
    """Content hash of the last checkpoint, and the fresh episodes, of every run."""
    found: dict[str, Any] = {}
    for run in sweep.runs():
        run_dir = sweep.run_dir(run)
        last = checkpoint.newest(run_dir / "checkpoints")
        fresh = read_run(run_dir).fresh
        found[run.name] = (last.iteration, last.content_hash, fresh)
    return found


def require_computed_once(sweep: SweepFolder, iterations: int) -> None:
    for run in sweep.runs():
        run_dir = sweep.run_dir(run)
        lines = (run_dir / "metrics.jsonl").read_text().splitlines()
        assert [json.loads(line)["iteration"] for line in lines] == list(range(iterations + 1))
        log = (run_dir / "run.log").read_text()
        assert log.count(f"finished after iteration {iterations}") == 1
        assert log.count("INFO    started:") == 1


def test_a_run_on_a_node_equals_one_of_ours(spacil: Spacil, start: Start, tmp_path: Path) -> None:
    settings = ["--task", "Reacher-v4", *as_flags(tiny("bc", iterations=2)), "--seed", "0"]
    assert spacil("train", "bc", *settings, "--run-dir", tmp_path / "local").code == 0
    local = checkpoint.newest(tmp_path / "local" / "checkpoints")
    grid = ["--algorithms", "bc", "--tasks", "Reacher-v4", "--fresh-episodes", 0]
    grid += as_choices(tiny("bc", iterations=2))
    with ray_nodes(1) as nodes:
        address = ("--engine", "ray", "--ray-address", nodes.address)
        words = [str(word) for word in (*grid, "-o", tmp_path / "ray", *address)]
        assert start(*words, log=tmp_path / "log").wait(300) == 0, (tmp_path / "log").read_text()
    sweep = read_sweep(tmp_path / "ray")
    (run,) = sweep.runs()
    assert sweep.state(run).state == "finished"
    last = checkpoint.newest(sweep.run_dir(run) / "checkpoints")
    assert (last.iteration, last.content_hash) == (2, local.content_hash)
    names = {path.name for path in (tmp_path / "ray").iterdir()}
    assert names == {"sweep.json", "logs", "bc"}


@pytest.mark.slow
def test_a_worker_is_killed_and_the_sweep_equals_that_of_one_machine(
    two_nodes: Nodes, spacil: Spacil, start: Start, tmp_path: Path
) -> None:
    iterations = 60
    assert spacil("sweep", *flags(tmp_path / "local", 2, iterations, "--jobs", 2)).code == 0
    folder = tmp_path / "ray"
    words = flags(folder, 2, iterations, "--engine", "ray", "--ray-address", two_nodes.address)
    sweep_process = start(*words, log=tmp_path / "log")
    wait_until(lambda: (folder / "sweep.json").is_file())
    sweep = read_sweep(folder)
    run = sweep.runs()[0]
    wait_until(lambda: sweep.state(run).iteration > 0)
    jobs = family(sweep_process.pid) + [n for x in two_nodes.nodes for n in family(raylet_of(x))]
    number = job_in(jobs, sweep.run_dir(run))
    assert number is not None
    send(parent_of(number), signal.SIGKILL)
    assert sweep_process.wait(200) == 0, (tmp_path / "log").read_text()
    assert results(sweep) == results(read_sweep(tmp_path / "local"))
    require_computed_once(sweep, iterations)
    assert "seed0: resumed" in (tmp_path / "log").read_text()


def test_without_ray_the_extra_is_named_and_nothing_is_written(
    spacil: Spacil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    refusal = spacil("sweep", *flags(tmp_path / "sweep", 1, 1, "--engine", "ray"))
    assert refusal.code == 2
    assert refusal.err.count("\n") == 1
    assert "pip install 'spacil[ray]'" in refusal.err
    assert not (tmp_path / "sweep").exists()


@pytest.mark.parametrize(
    ("address", "code", "told"),
    [
        ("127.0.0.1:1", 75, "cannot connect: Connection refused. `ray start --head` starts"),
        ("127.0.0.1", 2, "expected local, auto or HOST:PORT"),
        ("127.0.0.1:99999", 2, "expected local, auto or HOST:PORT"),
    ],
)
def test_an_address_without_a_cluster_is_told_at_once(
    spacil: Spacil, tmp_path: Path, address: str, code: int, told: str
) -> None:
    words = flags(tmp_path / "sweep", 1, 1, "--engine", "ray", "--ray-address", address)
    refused = spacil("sweep", *words)
    assert refused.code == code
    assert f"--ray-address {address}" in refused.err or f"--ray-address is {address}" in refused.err
    assert told in refused.err


@pytest.mark.slow
def test_eight_runs_survive_three_lost_nodes(spacil: Spacil, start: Start, tmp_path: Path) -> None:
    iterations = 150
    folder = tmp_path / "ray"
    with ray_nodes(4) as nodes:
        address = ("--engine", "ray", "--ray-address", nodes.address, "--lost-after", 15)
        sweep_process = start(*flags(folder, 8, iterations, *address), log=tmp_path / "log")
        wait_until(lambda: (folder / "sweep.json").is_file())
        sweep = read_sweep(folder)

        def run_on(node: Any) -> tuple[PlannedRun, int]:
            """A run that has begun on a node, and its process."""
            found: list[tuple[PlannedRun, int]] = []

            def look() -> bool:
                numbers = family(raylet_of(node))
                for run in sweep.runs():
                    number = job_in(numbers, sweep.run_dir(run))
                    if number is not None and sweep.state(run).iteration > 5:
                        found.append((run, number))
                return bool(found)

            wait_until(look)
            return found[0]

        stopped, removed, killed, kept = nodes.nodes
        _, worker_job = run_on(kept)
        send(parent_of(worker_job), signal.SIGKILL)
        slept, sleeper = run_on(stopped)
        frozen = family(raylet_of(stopped))
        for number in frozen:
            send(number, signal.SIGSTOP)
        run_on(killed)
        send(raylet_of(killed), signal.SIGKILL)
        run_on(removed)
        nodes.remove(removed)
        nodes.add()
        # The stopped node's run goes on elsewhere; then the sleeper wakes up.
        wait_until(lambda: "taking the run over" in (tmp_path / "log").read_text())
        wait_until(lambda: sweep.state(slept).reason.split()[1:2] != [str(sleeper)])
        send(sleeper, signal.SIGCONT)
        wait_until(lambda: not is_alive(sleeper))
        for number in frozen:
            send(number, signal.SIGCONT)
        assert sweep_process.wait(600) == 0, (tmp_path / "log").read_text()
        require_computed_once(sweep, iterations)
        assert "was taken over by process" in sweep.log(slept).read_text()
    assert spacil("sweep", *flags(tmp_path / "local", 8, iterations, "--jobs", 2)).code == 0
    assert results(sweep) == results(read_sweep(tmp_path / "local"))


@pytest.mark.slow
def test_two_drivers_on_one_folder_share_it(two_nodes: Nodes, start: Start, tmp_path: Path) -> None:
    iterations = 60
    words = flags(tmp_path / "sweep", 4, iterations, "--engine", "ray")
    words += ["--ray-address", two_nodes.address]
    first = start(*words, log=tmp_path / "first")
    second = start(*words, log=tmp_path / "second")
    assert (first.wait(400), second.wait(400)) == (0, 0), (tmp_path / "second").read_text()
    sweep = read_sweep(tmp_path / "sweep")
    require_computed_once(sweep, iterations)
    assert len(results(sweep)) == 4


@pytest.mark.slow
def test_an_interrupted_sweep_saves_runs(two_nodes: Nodes, start: Start, tmp_path: Path) -> None:
    words = flags(tmp_path / "sweep", 2, 100_000, "--engine", "ray")
    process = start(*words, "--ray-address", two_nodes.address, log=tmp_path / "log")
    wait_until(lambda: (tmp_path / "sweep" / "sweep.json").is_file())
    sweep = read_sweep(tmp_path / "sweep")
    wait_until(lambda: all(sweep.state(run).iteration > 0 for run in sweep.runs()))
    process.send_signal(signal.SIGTERM)
    assert process.wait(120) == 143, (tmp_path / "log").read_text()
    assert {sweep.state(run).state for run in sweep.runs()} == {"interrupted"}
    for run in sweep.runs():
        last = checkpoint.newest(sweep.run_dir(run) / "checkpoints")
        assert last.iteration == sweep.state(run).iteration


@pytest.mark.slow
def test_after_the_driver_is_killed_and_the_cluster_is_lost_a_sweep_goes_on(
    spacil: Spacil, start: Start, tmp_path: Path
) -> None:
    iterations = 150
    with ray_nodes(1) as nodes:
        words = flags(tmp_path / "sweep", 2, iterations, "--engine", "ray")
        words += ["--ray-address", nodes.address]
        killed = start(*words, log=tmp_path / "log")
        wait_until(lambda: (tmp_path / "sweep" / "sweep.json").is_file())
        sweep = read_sweep(tmp_path / "sweep")
        first, second = sweep.runs()
        wait_until(lambda: sweep.state(first).iteration > 5)
        killed.kill()
        killed.wait()
        bereft = start(*words, log=tmp_path / "log")
        wait_until(lambda: sweep.state(first).state == "finished")
        wait_until(lambda: sweep.state(second).iteration > 5)
    assert bereft.wait(180) not in (0, 3), (tmp_path / "log").read_text()
    # Without any cluster, by the engine of one machine: what is finished stays.
    assert spacil("sweep", *flags(tmp_path / "sweep", 2, iterations, "--jobs", 1)).code == 0
    require_computed_once(sweep, iterations)
