"""A run folder is made, held, refused and resumed without ever hurting what is in it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from spacil import storage
from spacil.config.flat import (
    FREE_TO_CHANGE_ON_RESUME,
    default_config,
    flat_settings,
    with_settings,
)
from spacil.config.groups import TrainConfig
from spacil.errors import ConfigError, RunDirError
from spacil.runs import folder as run_dir
from spacil.runs import resuming
from spacil.runs.folder import RunDir
from spacil.runs.location import safe_folder_name
from spacil.runs.resuming import find_unfinished_run


def some_config(**settings: Any) -> TrainConfig:
    return with_settings(default_config("spacil", "Hopper-v4"), {"seed": 3, **settings})


def open_run(config: TrainConfig, **options: Any) -> RunDir:
    """Hold a folder and begin, as a run does once its envs are made."""
    run = run_dir.open_run(config, **options)
    run.begin()
    return run


def finish(path: Path, **options: Any) -> Path:
    with open_run(some_config(), run_dir=path, **options) as run:
        run.mark("finished")
    return path


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


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
        assert owner.keys() == {"host", "pid", "boot_id", "started"}
        assert owner["pid"] == os.getpid()


def test_runs_that_start_within_one_second_get_different_folders(tmp_path: Path) -> None:
    runs = [open_run(some_config(), root=tmp_path) for _ in range(4)]
    paths = [run.path for run in runs]
    assert len(set(paths)) == 4
    assert sorted(paths) == paths
    for run in runs:
        run.close()


@pytest.mark.parametrize(
    ("task", "name"),
    [("Hopper-v4", "Hopper-v4"), ("my_env.v1", "my_env.v1")],
)
def test_a_plain_task_name_is_its_folder_name(task: str, name: str) -> None:
    assert safe_folder_name(task) == name


ODD_TASKS = ["ALE/Pong-v5", "ALE:Pong-v5", "module:Env-v0", "..", ".", "", "/", "-rf", ".git",
             "a b", "a'b\"c", "a\nb", "Läufer-v0", "走る", "x" * 300, "a\0b", "\ud800"]  # fmt: skip


def test_odd_task_names_become_distinct_safe_folder_names() -> None:
    names = [safe_folder_name(task) for task in ODD_TASKS]
    assert len(set(names)) == len(names)
    for name in names:
        assert name.isascii() and len(name) <= 128
        assert set("/:\0\n '\"").isdisjoint(name) and name[0] not in ".-"


@pytest.mark.parametrize(
    "name",
    ["spaces in it", "it's \"quoted\"", "line\nbreak", "Läufer 走る 🏃", "-rf", "$HOME;*?", "~",
     "n" * 255, "é" * 127, os.fsdecode(b"not-utf8-\xff")],
)  # fmt: skip
def test_odd_folder_names_work(tmp_path: Path, name: str) -> None:
    finish(tmp_path / name / "run")
    finish(tmp_path / name / "run", resume=True)
    assert resuming.status_of_run(tmp_path / name / "run") == "finished"


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
    for name in ("run.lock", "owner.json", ".tmp-0123", ".trash-checkpoints-0123"):
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
from spacil.config.flat import default_config, with_settings
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


@pytest.mark.parametrize("content", [b"", b"[]", b'{"status": "odd"}', b'{"status": []}'])
def test_a_status_that_cannot_be_read_counts_as_running(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "status.json").write_bytes(content)
    assert resuming.status_of_run(tmp_path) == "running"


# --- resuming


def another_value(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value + "x"
        case _:
            return [*value, 1]


@pytest.mark.parametrize("name", flat_settings(some_config()))
def test_each_setting_is_fixed_or_free_on_resume(name: str) -> None:
    saved = json.loads(json.dumps(flat_settings(some_config())))
    changed = saved | {name: another_value(saved[name])}
    if name in FREE_TO_CHANGE_ON_RESUME:
        resuming.check_resumable(saved, changed)
        return
    line = f"\n  {name}: {saved[name]} -> {changed[name]}\n"
    with pytest.raises(ConfigError, match=re.escape(line)):
        resuming.check_resumable(saved, changed)


def test_a_setting_that_one_side_does_not_have_is_a_change() -> None:
    flat = flat_settings(some_config())
    resuming.check_resumable(flat, flat)
    with pytest.raises(ConfigError, match=r"from_the_future: 1 -> \(none\)"):
        resuming.check_resumable(flat | {"from_the_future": 1}, flat)
    with pytest.raises(ConfigError, match=r"max_kl: \(none\) -> 0.01"):
        resuming.check_resumable({k: v for k, v in flat.items() if k != "max_kl"}, flat)


def test_a_resumed_run_keeps_its_files_and_records_what_was_free_to_change(tmp_path: Path) -> None:
    path = finish(tmp_path / "run")
    (path / "metrics.jsonl").write_bytes(b'{"iteration": 1}\n')
    with open_run(some_config(iterations=900), run_dir=path, resume=True):
        assert resuming.config_of_run(path).run.iterations == 900
        assert resuming.status_of_run(path) == "running"
        assert (path / "metrics.jsonl").read_bytes() == b'{"iteration": 1}\n'


def test_resuming_in_an_empty_folder_starts_there_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    finish(tmp_path / "new", resume=True)
    assert "nothing to resume" in caplog.text


def test_resuming_without_a_folder_takes_the_newest_unfinished_run_of_these_settings(
    tmp_path: Path,
) -> None:
    with pytest.raises(RunDirError, match="no unfinished run"):
        open_run(some_config(), root=tmp_path, resume=True)
    runs = [open_run(some_config(), root=tmp_path) for _ in range(4)]
    runs += [
        open_run(some_config(**other), root=tmp_path) for other in ({"max_kl": 0.5}, {"seed": 33})
    ]
    for run in runs:
        run.close()
    runs[3].mark("finished")
    (runs[2].path / "config.json").write_bytes(b"{")
    assert find_unfinished_run(tmp_path, some_config(iterations=9)) == runs[1].path
    with open_run(some_config(), root=tmp_path, resume=True) as run:
        assert run.path == runs[1].path
    runs[1].mark("interrupted", "SIGTERM")
    assert find_unfinished_run(tmp_path, some_config()) == runs[1].path
    for run in runs:
        run.mark("finished")
    assert find_unfinished_run(tmp_path, some_config()) is None


def test_saved_settings_of_a_wrong_type_are_a_config_error(tmp_path: Path) -> None:
    flat = flat_settings(some_config())
    for wrong, message in (
        (flat | {"seed": "three"}, "seed is 'three'"),
        (flat | {"policy_hidden": 5}, "policy_hidden is 5"),
        ({}, "missing"),
        ([1], "missing|wrong type"),
    ):
        storage.write_json(tmp_path / "config.json", wrong)
        with pytest.raises(ConfigError, match=message):
            resuming.config_of_run(tmp_path)
