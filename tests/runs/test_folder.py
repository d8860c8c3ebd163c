"""A run folder is made, held, refused and resumed without ever hurting what is in it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from run_folders import finish, names_in, open_run, some_config

from spacil import storage
from spacil.config.flat import flat_settings
from spacil.errors import ConfigError, RunDirError
from spacil.runs import folder, resuming

# --- making a folder


def test_a_run_gets_a_folder_of_its_own_with_its_settings(tmp_path: Path) -> None:
    config = some_config()
    with open_run(config, root=tmp_path / "runs") as run:
        assert run.path.parent == tmp_path / "runs" / "spacil" / "Hopper-v4"
        assert run.path.name.startswith("seed3-20")
        assert names_in(run.path) == ["config.json", "owner.json", "run.lock", "status.json"]
        assert resuming.config_of_run(run.path) == config
        assert resuming.status_of_run(run.path) == "running"
        content = (run.path / "config.json").read_bytes()
        assert content == storage.canonical_json(flat_settings(config))
        owner = json.loads((run.path / "owner.json").read_text())
        assert owner.keys() == {"host", "pid", "boot_id", "started", "token"}
        assert owner["pid"] == os.getpid()


def test_runs_that_start_within_one_second_get_different_folders(tmp_path: Path) -> None:
    runs = [open_run(some_config(), root=tmp_path) for _ in range(4)]
    paths = [run.path for run in runs]
    assert len(set(paths)) == 4
    assert sorted(paths) == paths
    for run in runs:
        run.close()


@pytest.mark.parametrize(
    "name",
    ["spaces in it", "it's \"quoted\"", "line\nbreak", "Läufer 走る 🏃", "-rf", "$HOME;*?", "~",
     "n" * 255, "é" * 127, os.fsdecode(b"not-utf8-\xff")],
)  # fmt: skip
def test_odd_folder_names_work(tmp_path: Path, name: str) -> None:
    finish(tmp_path / name / "run")
    finish(tmp_path / name / "run", resume=True)
    assert resuming.status_of_run(tmp_path / name / "run") == "finished"


@pytest.mark.parametrize("stopped_after", ["owner.json", "config.json", "status.json"])
def test_a_signal_between_the_first_files_leaves_no_folder_or_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped_after: str
) -> None:
    write_json = storage.write_json

    def write_and_be_stopped(path: Path, document: object) -> None:
        write_json(path, document)
        if path.name == stopped_after:
            monkeypatch.setattr(storage, "write_json", write_json)
            raise KeyboardInterrupt

    monkeypatch.setattr(storage, "write_json", write_and_be_stopped)
    with (
        pytest.raises(KeyboardInterrupt),
        folder.open_run(some_config(), run_dir=tmp_path / "run", resume=True) as run,
    ):
        run.begin()
    assert (tmp_path / "run").exists() == (stopped_after == "status.json")
    finish(tmp_path / "run", resume=True)


def test_a_refused_run_is_left_whole_whatever_name_it_has(tmp_path: Path) -> None:
    run = finish(tmp_path / "run")
    before = {name: (run / name).read_bytes() for name in names_in(run)}
    for name in ("run", "missing/../run", "./run/."):
        with pytest.raises(RunDirError, match="already holds a run"):
            folder.open_run(some_config(), run_dir=tmp_path / name)
    assert {name: (run / name).read_bytes() for name in names_in(run)} == before


def test_a_linked_folder_works_and_is_held_under_both_names(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with open_run(some_config(), run_dir=tmp_path / "link" / "run"):
        assert (tmp_path / "real" / "run" / "config.json").exists()
        with pytest.raises(RunDirError, match="in use"):
            open_run(some_config(), run_dir=tmp_path / "real" / "run", resume=True)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("n" * 256, "255 bytes"),
        ("é" * 128, "255 bytes"),
        ("null\0character", "null"),
        ("half a pair \ud800", "surrogates"),
        ("file/run", "a file, not a folder"),
        ("file", "already exists"),
        ("dangling", "already exists"),
        ("/dev/null/run", "a file, not a folder"),
        ("/proc/spacil-run", "no such file"),
    ],
)
def test_a_folder_that_cannot_be_is_refused_with_the_reason_within_a_second(
    tmp_path: Path, name: str, reason: str
) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "dangling").symlink_to("nowhere")
    started = time.monotonic()
    with pytest.raises(RunDirError, match=reason):
        open_run(some_config(), run_dir=tmp_path / name)
    assert time.monotonic() - started < 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_write_permission_is_refused(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o555)
    with pytest.raises(RunDirError, match="permission denied"):
        open_run(some_config(), run_dir=tmp_path / "locked" / "run")
    with pytest.raises(RunDirError, match="permission denied"):
        open_run(some_config(), run_dir=tmp_path / "locked")


# --- an existing folder


def test_an_existing_run_is_neither_continued_nor_deleted_unless_asked(tmp_path: Path) -> None:
    path = finish(tmp_path / "run")
    before = {name: (path / name).read_bytes() for name in names_in(path)}
    with pytest.raises(RunDirError, match=r"--resume.*--overwrite"):
        open_run(some_config(), run_dir=path)
    assert {name: (path / name).read_bytes() for name in names_in(path)} == before


def test_overwriting_deletes_the_run_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, elsewhere = finish(tmp_path / "run"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_bytes(b"")
    (path / "metrics.jsonl").write_bytes(b'{"iteration": 1}\n')
    (path / "tensorboard").mkdir()
    (path / "checkpoints").symlink_to(elsewhere)
    (path / "thesis.tex").write_text("mine")
    with open_run(some_config(max_kl=0.5), run_dir=path, overwrite=True) as run:
        assert names_in(path) == [
            *("config.json", "owner.json", "run.lock", "status.json", "thesis.tex")
        ]
        assert resuming.config_of_run(run.path) == some_config(max_kl=0.5)
    assert "thesis.tex" in caplog.text
    assert names_in(elsewhere) == ["precious"]


@pytest.mark.parametrize("options", [{}, {"resume": True}, {"overwrite": True}], ids=repr)
@pytest.mark.parametrize(
    "files",
    [
        {"thesis.tex": b"mine"},
        {"config.json": b'{"algorithm": "spacil", "task": "Hopper-v4", "seed": 1}'},
        {"config.json": b'{"model": "of another program"}', "run.lock": b""},
        {"config.json": b"not json", "run.lock": b"", "metrics.jsonl": b""},
    ],
    ids=lambda files: "+".join(files),
)
def test_a_folder_of_somebody_else_is_left_untouched(
    tmp_path: Path, files: dict[str, bytes], options: dict[str, Any]
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(RunDirError, match="not a spacil run folder"):
        open_run(some_config(), run_dir=tmp_path, **options)
    assert {name: (tmp_path / name).read_bytes() for name in names_in(tmp_path)} == files


def test_what_a_process_killed_in_its_first_moments_left_is_no_obstacle(tmp_path: Path) -> None:
    dead = "0123456789abcdef" * 2
    for name in ("run.lock", "owner.json", f".tmp-{dead}", f".trash-checkpoints-{dead}"):
        (tmp_path / name).write_bytes(b"")
    finish(tmp_path)
    assert names_in(tmp_path) == ["config.json", "owner.json", "run.lock", "status.json"]


@pytest.mark.parametrize("options", [{"resume": True, "run_dir": Path("x")}, {}], ids=repr)
def test_overwrite_without_a_folder_or_with_resume_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="--overwrite"):
        open_run(some_config(), overwrite=True, **options)


# --- two processes

OWNER = """
import sys, time
from pathlib import Path
from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.runs.folder import open_run
config = with_settings(default_config("spacil", "Hopper-v4"), {"seed": 3})
run = open_run(config, run_dir=Path(sys.argv[1]))
run.begin()
print("held", flush=True)
time.sleep(60)
"""


def test_a_second_process_is_refused_at_once_and_takes_over_after_a_kill(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "Läufer"
    # In the plain C locale every text file would be ASCII, were its encoding left to chance.
    locale = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(path)],
        stdout=subprocess.PIPE,
        env=os.environ | locale,
    )
    try:
        assert owner.stdout is not None and owner.stdout.readline() == b"held\n"
        ways: list[dict[str, Any]] = [{}, {"resume": True}, {"overwrite": True}]
        for options in ways:
            started = time.monotonic()
            with pytest.raises(RunDirError, match=f"in use by process {owner.pid} on"):
                open_run(some_config(), run_dir=path, **options)
            assert time.monotonic() - started < 1
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        with open_run(some_config(), run_dir=path, resume=True):
            assert f"process {owner.pid}" in caplog.text
            assert json.loads((path / "owner.json").read_text())["pid"] == os.getpid()
    finally:
        owner.kill()
        owner.communicate()


def test_a_refused_start_gives_the_lock_back(tmp_path: Path) -> None:
    path = finish(tmp_path / "run")
    for _ in range(2):
        with pytest.raises(RunDirError, match="already holds a run"):
            open_run(some_config(), run_dir=path)
    with pytest.raises(ConfigError, match="max_kl"):
        open_run(some_config(max_kl=0.5), run_dir=path, resume=True)
    finish(path, resume=True)


# --- status


def test_an_error_that_leaves_the_run_is_its_status_and_goes_on_its_way(tmp_path: Path) -> None:
    with (
        pytest.raises(ZeroDivisionError, match="division by zero"),
        open_run(some_config(), run_dir=tmp_path / "run"),
    ):
        _ = 1 / 0
    status = json.loads((tmp_path / "run" / "status.json").read_text())
    assert (status["status"], status["reason"]) == ("failed", "ZeroDivisionError: division by zero")


def test_a_status_given_before_the_error_stays(tmp_path: Path) -> None:
    with (
        pytest.raises(SystemExit, match="143"),
        open_run(some_config(), run_dir=tmp_path / "run") as run,
    ):
        run.mark("interrupted", "SIGTERM")
        raise SystemExit(143)
    assert json.loads((tmp_path / "run" / "status.json").read_text())["reason"] == "SIGTERM"
