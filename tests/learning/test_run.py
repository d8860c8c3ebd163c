"""A run in a folder: what is kept, when, and what a start that fails leaves behind."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_folders import names_in
from tiny_runs import tiny

import spacil
from spacil.config.defaults import default_config
from spacil.config.flat import FREE_TO_CHANGE_ON_RESUME, with_settings
from spacil.config.train_config import TrainConfig
from spacil.errors import ConfigError, RunDirError
from spacil.learning.on_policy import OnPolicy
from spacil.learning.run import Outcome, restore, train_in_folder
from spacil.runs import checkpoint
from spacil.runs.facts import config_of, read_run
from spacil.runs.progress import Progress
from spacil.runs.run_log import RUN_LOG, RunLog

Train = Callable[..., Outcome]


CONFIG = with_settings(default_config("trpo", "Reacher-v4"), tiny("trpo", iterations=5))


@pytest.fixture
def trained(tmp_path: Path) -> Train:
    def train(config: TrainConfig = CONFIG, **options: Any) -> Outcome:
        return train_in_folder(
            config,
            lambda: OnPolicy(config, config.task, None),
            Progress(1, is_shown=False),
            **{"run_dir": tmp_path / "run"} | options,
        )

    return train


def status_of(run_dir: Path) -> tuple[str, str]:
    status = json.loads((run_dir / "run.json").read_text())
    return status["status"], status["reason"]


def test_a_finished_run_holds_everything_about_itself(trained: Train, tmp_path: Path) -> None:
    outcome = trained()
    assert outcome.path == tmp_path / "run"
    assert outcome.exit_code == 0
    assert outcome.best is not None and outcome.last is not None
    assert outcome.last["iteration"] == 5
    assert names_in(tmp_path / "run") == [
        *("checkpoints", "metrics.jsonl", "run.json", "run.lock", "tensorboard")
    ]
    assert status_of(tmp_path / "run") == ("finished", "")
    kept = read_run(tmp_path / "run")
    assert (kept.best, kept.last) == (outcome.best, outcome.last)
    assert kept.config == CONFIG
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    evaluated = [row for row in rows if "average_return" in row]
    assert [row["iteration"] for row in evaluated] == [0, 2, 4, 5]
    assert outcome.best["average_return"] == max(row["average_return"] for row in evaluated[1:])
    best = checkpoint.best(tmp_path / "run" / "checkpoints")
    assert best is not None and best.iteration == outcome.best["iteration"]


def test_checkpoints_come_at_their_interval_and_at_the_end(trained: Train, tmp_path: Path) -> None:
    trained(with_settings(CONFIG, {"checkpoint_interval": 2, "evaluation_interval": 100}))
    kept = [checkpoint.BEST, *map(checkpoint.file_name, (2, 4, 5))]
    assert names_in(tmp_path / "run" / "checkpoints") == kept


def test_a_run_that_is_stopped_saves_where_it_is_and_goes_on_from_there(
    trained: Train, tmp_path: Path
) -> None:
    rare = with_settings(CONFIG, {"checkpoint_interval": 100})
    seen: list[int] = []

    def stop_after_three(metrics: dict[str, Any]) -> bool:
        seen.append(metrics["iteration"])
        return metrics["iteration"] != 3

    outcome = trained(rare, on_iteration=stop_after_three)
    assert outcome.exit_code == 0 and seen == [1, 2, 3]
    assert status_of(tmp_path / "run") == ("interrupted", "stopped by a callback")
    assert checkpoint.file_name(3) in names_in(tmp_path / "run" / "checkpoints")
    trained(rare, resume=True, on_iteration=stop_after_three)
    assert seen == [1, 2, 3, 4, 5]
    assert status_of(tmp_path / "run") == ("finished", "")


def test_an_error_in_training_is_the_status_and_the_checkpoints_stay(
    trained: Train, tmp_path: Path
) -> None:
    def fail(metrics: dict[str, Any]) -> bool:
        if metrics["iteration"] == 2:
            raise OSError("the camera fell off")
        return True

    with pytest.raises(OSError, match="camera"):
        trained(on_iteration=fail)
    assert status_of(tmp_path / "run") == ("failed", "OSError: the camera fell off")
    last = checkpoint.newest(tmp_path / "run" / "checkpoints")
    assert last is not None and last.iteration == 1


def test_a_start_that_fails_leaves_no_folder_and_an_old_run_as_it_was(
    trained: Train, tmp_path: Path
) -> None:
    def fail() -> OnPolicy:
        raise ConfigError("no such device")

    def start(**options: Any) -> None:
        with pytest.raises(ConfigError, match="no such device"):
            train_in_folder(CONFIG, fail, Progress(1, is_shown=False), **options)

    start(run_dir=tmp_path / "run")
    assert names_in(tmp_path) == []
    start(root=tmp_path / "runs")
    assert not list(tmp_path.rglob("seed*"))
    (tmp_path / "mine").mkdir()
    start(run_dir=tmp_path / "mine")
    assert (tmp_path / "mine").is_dir()
    trained()
    (tmp_path / "run" / "run.lock").unlink()
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    start(run_dir=tmp_path / "run", overwrite=True)
    start(run_dir=tmp_path / "run", resume=True)
    (tmp_path / "run" / "run.lock").unlink()
    assert before == {
        path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()
    }


def test_progress_is_closed_whatever_happens(tmp_path: Path) -> None:
    class Watched(Progress):
        is_closed = False

        def close(self) -> None:
            self.is_closed = True

    (tmp_path / "file").write_bytes(b"")
    progress = Watched(1)
    with pytest.raises(RunDirError):
        train_in_folder(
            CONFIG, lambda: pytest.fail("made"), progress, run_dir=tmp_path / "file" / "run"
        )
    assert progress.is_closed


def test_other_versions_of_the_software_are_told_and_the_run_goes_on(
    trained: Train, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    versions = checkpoint.software_versions()
    packages = {"spacil", "torch", "numpy", "mujoco", "gymnasium"}
    assert versions.keys() == packages | {"machine", "instruction_set"}
    monkeypatch.setattr(checkpoint, "software_versions", lambda: versions | {"torch": "1.0"})
    trained()
    monkeypatch.undo()
    outcome = trained(with_settings(CONFIG, {"iterations": 6}), resume=True)
    assert outcome.last is not None and outcome.last["iteration"] == 6
    assert f"not bit for bit: torch 1.0 -> {versions['torch']}" in caplog.text


def test_a_checkpoint_knows_the_settings_it_was_written_under(
    trained: Train, tmp_path: Path
) -> None:
    trained()
    last = checkpoint.newest(tmp_path / "run" / "checkpoints")
    assert last is not None
    assert config_of(last.settings, last.path) == CONFIG
    assert not FREE_TO_CHANGE_ON_RESUME & set(last.document["config"])
    assert last.notes["commit"] == checkpoint.source_commit()
    assert last.notes["software"]["spacil"] == spacil.__version__


def test_the_checkpoint_of_another_run_is_not_gone_on_from(trained: Train, tmp_path: Path) -> None:
    """Same sizes, env and demonstrations, but other settings: somebody copied it here."""
    trained()
    found = checkpoint.newest(tmp_path / "run" / "checkpoints")
    assert found is not None
    other = OnPolicy(with_settings(CONFIG, {"max_kl": 0.5}), CONFIG.task, None)
    try:
        with pytest.raises(ConfigError, match=r"different settings.*\n  max_kl: 0.0"):
            restore(other, found)
    finally:
        other.close()


def test_the_log_tells_a_start_from_a_resumption_and_an_end_from_a_stop(
    trained: Train, tmp_path: Path
) -> None:
    with RunLog() as log:
        trained(log=log, on_iteration=lambda row: row["iteration"] != 2)
    with RunLog() as log:
        trained(log=log, resume=True)
    told = (tmp_path / "run" / RUN_LOG).read_text().splitlines()
    assert "started: trpo on Reacher-v4, seed 0, 5 iterations; " in told[0]
    assert "interrupted, exit code 0 after iteration 2, last return " in told[1]
    assert "resumed after iteration 2: trpo on Reacher-v4" in told[2]
    assert "finished after iteration 5, last return " in told[3]
    assert len(told) == 4
