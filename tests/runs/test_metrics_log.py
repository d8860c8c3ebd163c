"""metrics.jsonl survives kills, full disks and resumes, and never holds what is not JSON."""

import json
import resource
import sys
from pathlib import Path

import pytest

from spacil.errors import StorageError
from spacil.runs import metrics_log
from spacil.runs.metrics_log import BEFORE_THE_START, MetricsLog


def record_many(path: Path, first: int, last: int) -> None:
    with MetricsLog(path) as log:
        for iteration in range(first, last + 1):
            log.append({"iteration": iteration, "kl": iteration / 7})


def iterations_in(path: Path) -> list[int]:
    return [record["iteration"] for record in metrics_log.read(path)]


def test_a_line_is_in_the_file_before_append_returns(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with MetricsLog(path) as log:
        log.append({"iteration": 1, "kl": 0.5})
        assert path.read_bytes() == b'{"iteration": 1, "kl": 0.5}\n'


def test_numbers_that_are_not_finite_become_null(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    odd = float("nan"), float("inf"), float("-inf")
    with MetricsLog(path) as log:
        log.append({"iteration": 1, "loss": odd[0], "list": list(odd), "inner": {"x": odd[1]}})
    assert b"NaN" not in path.read_bytes() and b"Infinity" not in path.read_bytes()
    expected = {"iteration": 1, "loss": None, "list": [None] * 3, "inner": {"x": None}}
    assert metrics_log.read(path) == [expected]


def test_a_torn_last_line_of_any_length_is_dropped_and_the_file_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "metrics.jsonl"
    record_many(path, 1, 3)
    whole = path.read_bytes()
    second_end = whole.index(b'{"iteration": 3')
    for length in range(second_end + 1, len(whole)):
        caplog.clear()
        path.write_bytes(whole[:length])
        assert iterations_in(path) == [1, 2]
        record_many(path, 3, 3)
        assert path.read_bytes() == whole
        assert "dropped" in caplog.text


def test_a_last_line_of_rubbish_is_dropped_too(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    record_many(path, 1, 2)
    for rubbish in (b"\0" * 100, b"\0\n", b"[]\n", b'{"kl": 1}\n', b'{"iteration": NaN}\n'):
        whole = path.read_bytes()
        path.write_bytes(whole + rubbish)
        with MetricsLog(path):
            assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "line", [b'{"iteration": 2, "kl"\n', b"\n", b"\xff\n", b'{"iteration": 1}\n', b'{"kl": 0}\n']
)
def test_damage_before_the_last_line_is_refused_and_stays(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "metrics.jsonl"
    content = b'{"iteration": 1}\n' + line + b'{"iteration": 3}\n'
    path.write_bytes(content)
    with pytest.raises(StorageError, match="line 2"):
        metrics_log.read(path)
    with pytest.raises(StorageError, match="line 2"):
        MetricsLog(path)
    assert path.read_bytes() == content


def test_cutting_back_to_the_checkpoint(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, whole = tmp_path / "metrics.jsonl", tmp_path / "whole.jsonl"
    record_many(path, 1, 8)
    record_many(whole, 1, 9)
    with MetricsLog(path, up_to=5) as log:
        assert iterations_in(path) == [1, 2, 3, 4, 5]
        log.append({"iteration": 6, "kl": 6 / 7})
    record_many(path, 7, 9)
    assert path.read_bytes() == whole.read_bytes()
    assert not caplog.messages
    MetricsLog(path, up_to=12).close()
    assert "ends at iteration 9, but the checkpoint is at 12" in caplog.text


def test_an_iteration_is_recorded_once(tmp_path: Path) -> None:
    with MetricsLog(tmp_path / "metrics.jsonl") as log:
        log.append({"iteration": 2})
        with pytest.raises(ValueError, match="iteration 2 after 2"):
            log.append({"iteration": 2})


def test_when_the_disk_takes_no_more_the_torn_line_is_dropped_on_opening(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    record_many(path, 1, 2)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with MetricsLog(path) as log:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10, hard))
        try:
            with pytest.raises(StorageError, match=r"append to .*metrics.jsonl"):
                log.append({"iteration": 3, "kl": 3 / 7})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    record_many(path, 3, 3)
    assert iterations_in(path) == [1, 2, 3]


@pytest.mark.timeout(10)
def test_a_path_that_is_no_file_is_an_error_and_does_not_hang(tmp_path: Path) -> None:
    (tmp_path / "full").symlink_to("/dev/full")
    for path, reason in (
        (tmp_path, "cannot open"),
        (tmp_path / "full", "symbolic link"),
        (Path("/dev/full"), "is not a regular file"),
        (tmp_path / "missing" / "metrics.jsonl", "No such file"),
    ):
        with pytest.raises(StorageError, match=reason):
            MetricsLog(path)


def scalars_in(folder: Path, name: str) -> list[int]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(str(folder))
    accumulator.Reload()
    return [event.step for event in accumulator.Scalars(name)]


@pytest.mark.filterwarnings("ignore::DeprecationWarning:tensorboard")
def test_scalars_are_beside_it_and_follow_a_resume(tmp_path: Path) -> None:
    path, board = tmp_path / "metrics.jsonl", tmp_path / "tensorboard"
    killed = MetricsLog(path, board)  # never closed, as after a kill
    for iteration in range(1, 6):
        row = {"iteration": iteration, "env_steps": 200 * iteration, "kl": 0.1}
        killed.append(row | {"note": "text", "odd": float("nan")})
    assert scalars_in(board, "run/kl") == [200, 400, 600, 800, 1000]
    with MetricsLog(path, board, up_to=3) as log:
        log.append({"iteration": 4, "env_steps": 800, "kl": 0.1, "disc_acc": 0.5})
    assert scalars_in(board, "run/kl") == [200, 400, 600, 800]
    assert scalars_in(board, "disc/disc_acc") == [800]
    killed.close()


def test_a_run_starts_again_without_the_rows_before_its_first_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    record_many(path, 0, 2)
    with MetricsLog(path, up_to=BEFORE_THE_START) as log:
        assert iterations_in(path) == []
        log.append({"iteration": 0})
    assert iterations_in(path) == [0]


def test_without_tensorboard_one_warning_and_the_records_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    path = tmp_path / "metrics.jsonl"
    with MetricsLog(path, tmp_path / "tensorboard") as log:
        for iteration in (1, 2, 3):
            log.append({"iteration": iteration, "kl": 0.1})
    assert iterations_in(path) == [1, 2, 3]
    assert len(caplog.messages) == 1 and "no TensorBoard output" in caplog.text


def test_a_broken_tensorboard_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "tensorboard").write_text("a file where the folder should be")
    path = tmp_path / "metrics.jsonl"
    with MetricsLog(path, tmp_path / "tensorboard") as log:
        log.append({"iteration": 1, "kl": 0.1})
        log.append({"iteration": 2, "kl": 0.1})
    assert [json.loads(line)["iteration"] for line in path.read_text().splitlines()] == [1, 2]
    assert caplog.text.count("no TensorBoard output") == 1
