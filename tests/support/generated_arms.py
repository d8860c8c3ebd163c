"""The runs of an experiment's arms with made-up results, in a sweep folder of their own."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from generated_runs import write_run

from spacil.experiments.named.experiment import Gathered, gather
from spacil.experiments.named.plan import Arm, Scope
from spacil.sweeps.folder import SweepFolder
from spacil.sweeps.plan import PlannedRun

Results = Callable[[Arm, PlannedRun], tuple[float, float] | None]
"""Return and J of a run's fresh episodes; None: it has not run"""


def gathered_from(
    folder: Path, arms: Sequence[Arm], results: Results, scope: Scope | None = None, **how: Any
) -> Gathered:
    """What an analysis is given when the arms' runs had these results."""
    for arm in arms:
        for run in arm.runs():
            found = results(arm, run)
            if found is not None and not (folder / run.name).exists():
                final = {"final_return": found[0], "fresh": found, **how}
                write_run(folder / run.name, run.algorithm, run.task, run.seed, **final)
    grids = tuple(grid for arm in arms for grid in arm.grids())
    return gather(SweepFolder(folder, grids, 150), arms, scope or Scope())
