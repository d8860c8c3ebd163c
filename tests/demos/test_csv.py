"""CSV files: what comes back, what people write, and what is refused."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import left_out, load_demos, save_demos
from spacil.demos.formats import csv_file
from spacil.errors import ConfigError, DataError

MakeDemos = Callable[..., Demonstrations]

PEOPLES = """\
episode,obs_0,obs_1,action_0,reward,terminated,truncated,note
7,0.5,1,-0.25,1.5,False,False,warming up
7,0.75,2,0.5,2.5,True,False,
3,1e-3,-4,0.125,0,0,0,"a, b"
"""


def _write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_an_export_comes_back_number_by_number(make_demos: MakeDemos, tmp_path: Path) -> None:
    demos = make_demos((7, 12, 5))
    demos.observations[3, 1] = torch.nan
    demos.executed_actions[0, 0] = 1e-42  # below the smallest normal float32
    save_demos(demos, tmp_path / "ours.csv")
    again = load_demos(tmp_path / "ours.csv")
    expected = {name: demos.tensors()[name] for name in demos.tensors() if name in again.tensors()}
    assert set(demos.tensors()) - set(expected) == set(left_out(demos, "csv"))
    for name, tensor in expected.items():
        found = again.tensors()[name].to(tensor.dtype)
        assert torch.equal(found.nan_to_num(7.0), tensor.nan_to_num(7.0)), name
    changes = again.metadata.provenance["changes"]
    assert changes[0] == {"operation": "import_csv", "file": "ours.csv"}


@pytest.mark.parametrize("is_known", [True, False])
def test_rewards_may_be_missing(make_demos: MakeDemos, tmp_path: Path, is_known: bool) -> None:
    demos = Demonstrations.from_arrays(
        [np.zeros((3, 2))], [np.ones((2, 1))], rewards=[[1.0, 2.0]] if is_known else None
    )
    save_demos(demos, tmp_path / "ours.csv")
    again = load_demos(tmp_path / "ours.csv")
    assert (again.rewards is not None) == is_known
    assert again.truncations.tolist() == [False, True]


def test_what_people_write_is_understood(tmp_path: Path) -> None:
    demos = load_demos(_write(tmp_path / "theirs.csv", PEOPLES))
    assert demos.episode_lengths.tolist() == [2, 1]
    assert demos.executed_actions.flatten().tolist() == [-0.25, 0.5, 0.125]
    assert demos.states.tolist() == [[0.5, 1.0], [0.75, 2.0], [pytest.approx(1e-3), -4.0]]
    assert demos.returns is not None and demos.returns.tolist() == [4.0, 0.0]
    assert demos.terminations.tolist() == [False, True, False]
    assert demos.actions is None
    changes = demos.metadata.provenance["changes"]
    assert changes[0]["ignored_columns"] == ["note"]
    assert changes[1] == {"operation": "repeat_last_observation_as_final"}


def test_columns_come_in_any_order_with_blank_lines_and_a_byte_order_mark(tmp_path: Path) -> None:
    text = "\ufeffaction_0, obs_1,obs_0,episode\r\n\r\n1,2,3,0\r\n,5,6,0\r\n"
    demos = load_demos(_write(tmp_path / "excel.csv", text))
    assert demos.observations.tolist() == [[3.0, 2.0], [6.0, 5.0]]
    assert demos.executed_actions.tolist() == [[1.0]]


HEAD = "episode,obs_0,action_0,terminated\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected columns episode, obs_0, ... and action_0, ...; its first line is ''"),
        ("a;b;c\n", "its first line is 'a;b;c'"),
        ("episode,obs_0,action_0,obs_0\n", "two columns have one name"),
        ("episode,obs_0,obs_2,action_0\n", "obs columns must be obs_0, obs_1, ... with no gap"),
        ("episode,obs_1,action_0\n", "obs columns must be obs_0"),
        (HEAD, "no episodes"),
        (HEAD + "0,1,2\n", "line 2: 3 cells, expected 4"),
        (HEAD + "0,x,2,0\n", "line 2: 'x' where a number is expected"),
        (HEAD + "0,1_0,2,0\n", "'1_0' where a number is expected"),
        (HEAD + "0,,2,0\n", "'' where a number is expected"),
        (HEAD + "0,1,,0\n", "'' where a number is expected"),
        (HEAD + "0,1,2,maybe\n", "'maybe' where 0, 1, true or false is expected"),
        (HEAD + "0,1,2,0\n1,1,2,0\n0,1,2,0\n", "line 4: more of episode '0'; keep its rows"),
        (HEAD + "0,1,,\n0,1,2,0\n", "line 3: a row after the one without an action"),
        (HEAD + "0,1,2,0\n0,1,,\n1,1,2,0\n", "the final observation of every episode, or of none"),
        (HEAD + "0,1,2,1\n0,1,2,0\n", "episode 0 ends at step 0 by its flags"),
        (HEAD + '0,"1,2,0\n', "not a CSV file, or damaged: unexpected end of data"),
        (HEAD + "0," + "1" * 200_000 + ",2,0\n", "field larger than field limit"),
        (b"PK\x03\x04\xff\xfe", "not a CSV file, or damaged"),
        (HEAD.encode() + b"0,\x00,2,0\n", "where a number is expected"),
    ],
)
def test_what_is_no_such_table_is_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = _write(tmp_path / "bad.csv", text)
    with pytest.raises(DataError, match=rf"bad\.csv.*{re.escape(message)}"):
        load_demos(path)


def test_a_file_that_is_too_large_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_file, "MAX_BYTES", 2**20)
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        os.truncate(file.fileno(), 3 * 2**20)
    with pytest.raises(DataError, match="3 MiB, more than 1: use npz instead"):
        load_demos(path)


def test_the_command_line_knows_the_format_by_its_entry_in_the_table(
    make_demos: MakeDemos, tmp_path: Path
) -> None:
    from spacil.cli.demos.files import run_export

    save_demos(make_demos(), tmp_path / "ours.demos.safetensors")
    source = str(tmp_path / "ours.demos.safetensors")
    assert run_export([source, str(tmp_path / "out.csv"), "--format", "csv"]) == 0
    assert load_demos(tmp_path / "out.csv").num_steps == 24
    with pytest.raises(ConfigError, match=r"the name of a csv file ends in \.csv"):
        save_demos(make_demos(), tmp_path / "out.txt", "csv")
    with pytest.raises(ConfigError, match="no format 'excel'; choose native, npz, csv"):
        save_demos(make_demos(), tmp_path / "out.xls", "excel")
