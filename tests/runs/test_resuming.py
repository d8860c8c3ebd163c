"""What a run folder records is read back, and only the same run is resumed."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from run_folders import finish, open_run, some_config

from spacil import storage
from spacil.config.flat import FREE_TO_CHANGE_ON_RESUME, flat_settings
from spacil.errors import ConfigError, RunDirError
from spacil.runs.resuming import (
    check_resumable,
    config_of_run,
    find_unfinished_run,
    status_of_run,
)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"status": "odd"}', b'{"status": []}'])
def test_a_status_that_cannot_be_read_counts_as_running(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "status.json").write_bytes(content)
    assert status_of_run(tmp_path) == "running"


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
        assert config_of_run(path).run.iterations == 900
        assert status_of_run(path) == "running"
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
        ({}, "algorithm is None"),
        ([1], "config.json' holds a list, expected settings by name: restore it"),
    ):
        storage.write_json(tmp_path / "config.json", wrong)
        with pytest.raises(ConfigError, match=message):
            config_of_run(tmp_path)
