"""A run folder is made, held, refused and resumed without ever hurting what is in it."""

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
from generated_runs import write_run
from run_folders import finish, names_in, open_run, some_config

from spacil.config.flat import FREE_TO_CHANGE_ON_RESUME, flat_settings
from spacil.errors import ConfigError, DataError, RunDirError
from spacil.policies.open import load_policy
from spacil.runs import folder
from spacil.runs.facts import read_run
from spacil.runs.folder import check_resumable, named_runs, safe_folder_name


def test_a_run_gets_a_folder_of_its_own_with_its_settings(tmp_path: Path) -> None:
    config = some_config()
    with open_run(config, root=tmp_path / "runs") as run:
        assert run.path.parent == tmp_path / "runs" / "spacil" / "Hopper-v4"
        assert run.path.name.startswith("seed3-20")
        assert names_in(run.path) == ["run.json", "run.lock"]
        facts = read_run(run.path)
        assert (facts.config, facts.status) == (config, "running")
        assert (run.path / "run.lock").read_text().startswith(f"process {os.getpid()} on ")


def test_a_start_that_fails_before_it_begins_leaves_no_folder(tmp_path: Path) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        folder.open_run(some_config(), run_dir=tmp_path / "run", resume=True),
    ):
        raise KeyboardInterrupt
    assert not (tmp_path / "run").exists()
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
        assert (tmp_path / "real" / "run" / "run.json").exists()
        with pytest.raises(RunDirError, match="in use"):
            open_run(some_config(), run_dir=tmp_path / "real" / "run", resume=True)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("n" * 256, "File name too long"),
        ("é" * 128, "File name too long"),
        ("null\0character", "null"),
        ("half a pair \ud800", "surrogates"),
        ("file/run", "Not a directory"),
        ("file", "File exists"),
        ("dangling", "File exists"),
        ("/proc/spacil-run", "No such file"),
    ],
)
def test_a_folder_that_cannot_be_is_refused_at_once(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "dangling").symlink_to("nowhere")
    started = time.monotonic()
    with pytest.raises(RunDirError, match=reason):
        open_run(some_config(), run_dir=tmp_path / name)
    assert time.monotonic() - started < 1


def test_overwriting_deletes_the_run_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, elsewhere = finish(tmp_path / "run"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_bytes(b"")
    (path / "metrics.jsonl").write_bytes(b'{"iteration": 1}\n')
    (path / "tensorboard").mkdir()
    (path / "checkpoints").symlink_to(elsewhere)
    (path / "thesis.tex").write_text("mine")
    with open_run(some_config(max_kl=0.5), run_dir=path, overwrite=True) as run:
        assert names_in(path) == ["run.json", "run.lock", "thesis.tex"]
        assert read_run(run.path).config == some_config(max_kl=0.5)
    assert "thesis.tex" in caplog.text
    assert names_in(elsewhere) == ["precious"]


@pytest.mark.parametrize("options", [{}, {"resume": True}, {"overwrite": True}], ids=repr)
@pytest.mark.parametrize(
    "files",
    [
        {"thesis.tex": b"mine"},
        {".tmp-thesis": b"mine"},
        {"run.json": b'{"algorithm": "spacil", "task": "Hopper-v4", "seed": 1}'},
        {"run.json": b"not json", "metrics.jsonl": b""},
        {"run.lock": b"", "metrics.jsonl": b""},
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
    for name in ("run.lock", f".tmp-{dead}"):
        (tmp_path / name).write_bytes(b"")
    finish(tmp_path)
    assert names_in(tmp_path) == ["run.json", "run.lock"]


@pytest.mark.parametrize("options", [{"resume": True, "run_dir": Path("x")}, {}], ids=repr)
def test_overwrite_without_a_folder_or_with_resume_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="--overwrite"):
        open_run(some_config(), overwrite=True, **options)


def test_a_refused_start_gives_the_lock_back(tmp_path: Path) -> None:
    path = finish(tmp_path / "run")
    for _ in range(2):
        with pytest.raises(RunDirError, match="already holds a run"):
            open_run(some_config(), run_dir=path)
    with pytest.raises(ConfigError, match="max_kl"):
        open_run(some_config(max_kl=0.5), run_dir=path, resume=True)
    finish(path, resume=True)


def test_an_error_that_leaves_the_run_is_its_status_and_goes_on_its_way(tmp_path: Path) -> None:
    with (
        pytest.raises(ZeroDivisionError, match="division by zero"),
        open_run(some_config(), run_dir=tmp_path / "run"),
    ):
        _ = 1 / 0
    facts = read_run(tmp_path / "run")
    assert (facts.status, facts.reason) == ("failed", "ZeroDivisionError: division by zero")


def test_a_status_given_before_the_error_stays(tmp_path: Path) -> None:
    with (
        pytest.raises(SystemExit, match="143"),
        open_run(some_config(), run_dir=tmp_path / "run") as run,
    ):
        run.record(status="interrupted", reason="SIGTERM")
        raise SystemExit(143)
    assert read_run(tmp_path / "run").reason == "SIGTERM"


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
        check_resumable(saved, changed)
        return
    line = f"\n  {name}: {saved[name]} -> {changed[name]}\n"
    with pytest.raises(ConfigError, match=re.escape(line)):
        check_resumable(saved, changed)


def test_a_setting_that_one_side_does_not_have_is_a_change() -> None:
    flat = flat_settings(some_config())
    check_resumable(flat, flat)
    with pytest.raises(ConfigError, match=r"from_the_future: 1 -> \(none\)"):
        check_resumable(flat | {"from_the_future": 1}, flat)
    with pytest.raises(ConfigError, match=r"max_kl: \(none\) -> 0.03"):
        check_resumable({k: v for k, v in flat.items() if k != "max_kl"}, flat)


def test_a_resumed_run_keeps_its_files_and_records_what_was_free_to_change(tmp_path: Path) -> None:
    path = finish(tmp_path / "run")
    (path / "metrics.jsonl").write_bytes(b'{"iteration": 1}\n')
    with open_run(some_config(iterations=900), run_dir=path, resume=True):
        facts = read_run(path)
        assert (facts.config.run.iterations, facts.status) == (900, "running")
        assert (path / "metrics.jsonl").read_bytes() == b'{"iteration": 1}\n'


def test_resuming_without_a_folder_takes_the_newest_unfinished_run(tmp_path: Path) -> None:
    def resumed(**settings: Any) -> Path:
        with open_run(some_config(**settings), root=tmp_path, resume=True) as run:
            return run.path

    with pytest.raises(RunDirError, match="no unfinished run"):
        resumed()
    runs = [open_run(some_config(), root=tmp_path) for _ in range(4)]
    runs += [
        open_run(some_config(**other), root=tmp_path) for other in ({"max_kl": 0.5}, {"seed": 33})
    ]
    for run in runs:
        run.close()
    runs[3].record(status="finished")
    (runs[2].path / "run.json").write_bytes(b"{")
    assert resumed(iterations=9) == resumed() == runs[1].path
    runs[1].record(status="interrupted", reason="SIGTERM")
    assert resumed() == runs[1].path
    for run in runs:
        run.record(status="finished")
    with pytest.raises(RunDirError, match="no unfinished run"):
        resumed()


def test_a_folder_of_runs_is_refused_with_the_names_of_some(tmp_path: Path) -> None:
    assert not named_runs(tmp_path) and not named_runs(tmp_path / "nowhere")
    run = write_run(tmp_path / "runs" / "gail" / "Hopper-v4" / "seed0")
    with pytest.raises(DataError, match="expected a run folder") as refused:
        load_policy(tmp_path / "runs")
    assert str(refused.value).endswith(f"; name one of the runs in it:\n{run}")
    for i in range(7):
        write_run(tmp_path / f"run{i}", iterations=2)
    assert len(named_runs(tmp_path).splitlines()) == 6


ODD_TASKS = ["ALE/Pong-v5", "ALE:Pong-v5", "module:Env-v0", "..", ".", "", "/", "-rf", ".git",
             "a b", "a'b\"c", "a\nb", "Läufer-v0", "走る", "x" * 300, "a\0b", "\ud800"]  # fmt: skip


def test_task_names_become_distinct_safe_folder_names() -> None:
    assert [safe_folder_name(task) for task in ("Hopper-v4", "my_env.v1")] == [
        "Hopper-v4",
        "my_env.v1",
    ]
    names = [safe_folder_name(task) for task in ODD_TASKS]
    assert len(set(names)) == len(names)
    for name in names:
        assert name.isascii() and len(name) <= 128
        assert set("/:\0\n '\"").isdisjoint(name) and name[0] not in ".-"
