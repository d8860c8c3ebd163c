"""What the runs of a plan read besides settings: tasks and demonstrations, looked up once each."""

from collections.abc import Sequence
from pathlib import Path

from spacil.config.algorithms import ALGORITHMS
from spacil.envs.registry import require_task
from spacil.learning.intake import found_demonstrations
from spacil.sweeps.plan import SWEEP_FOLDER, PlannedRun, words_of


def refuse_missing_inputs(runs: Sequence[PlannedRun], sweep_dir: Path) -> None:
    """Refuse what `spacil train` would: a task or demonstrations that are not there."""
    for task in dict.fromkeys(run.task for run in runs):
        require_task(task)
    learning = [run for run in runs if ALGORITHMS[run.algorithm].needs_demonstrations]
    for run in {(run.task, _demos(run)): run for run in learning}.values():
        words = [word for word in _demos(run) if not _may_come_later(word, sweep_dir)]
        if words or not _demos(run):
            sources = [_in_folder(word, sweep_dir) for word in words]
            found_demonstrations(run.config(), run.task, sources)


def _demos(run: PlannedRun) -> tuple[str, ...]:
    return tuple(words_of(dict(run.choices).get("demos", ())))


def _in_folder(word: str, sweep_dir: Path) -> str:
    return word.replace(SWEEP_FOLDER, str(sweep_dir))


def _may_come_later(word: str, sweep_dir: Path) -> bool:
    """A file in the sweep's own folder, which may not be there before the sweep is."""
    return SWEEP_FOLDER in word and not Path(_in_folder(word, sweep_dir)).exists()
