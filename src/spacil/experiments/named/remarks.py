"""What a reader of an experiment's numbers must know of the episodes and policies behind them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from spacil.comparison.run_record import RunRecord
from spacil.experiments.named.experiment import ArmRuns
from spacil.experiments.named.plan import name_in

EARLY = 0.25
"""Share of a run: where its best policy is from before it, the run has not learned since"""


def notes_on_episodes(
    records: Sequence[RunRecord], kept: Sequence[Mapping[str, Any]] = ()
) -> list[str]:
    """Runs without fresh episodes, and how many the others have where that is not one number.

    `kept` are rows of runs that only the document knows which was extended.
    """
    runs = [
        ("/".join(record.path.parts[-4:]), record.is_fresh, record.best.get("num_episodes"))
        for record in records
    ]
    runs += [(str(name_in(row)), row["is_fresh"], row["num_episodes"]) for row in kept]
    notes = [
        f"{name}: no fresh episodes; these are the evaluations that its best policy was picked by, "
        "which flatter it"
        for name, is_fresh, _ in runs
        if not is_fresh
    ]
    counts = Counter(number for _, is_fresh, number in runs if is_fresh)
    if len(counts) > 1:
        told = ", ".join(
            f"{'not recorded' if number is None else number} in {count} runs"
            for number, count in counts.most_common()
        )
        notes.append(f"numbers of fresh episodes: {told}")
    if kept:
        notes.append(f"{len(kept)} of the runs are from the document that was extended")
    return notes


def notes_on_early_best(arms: Sequence[ArmRuns]) -> list[str]:
    """Arms whose best policies are all from the beginning of their runs: nothing was learned."""
    notes = []
    for arm in arms:
        pairs = [(r.best.get("iteration"), r.last.get("iteration")) for r in arm.records]
        pairs += [(row.get("iteration"), _iterations_of(arm, row)) for row in arm.kept]
        known = [(best, last) for best, last in pairs if best is not None and last is not None]
        if known and len(known) == len(pairs) and all(b < EARLY * last for b, last in known):
            listed = ", ".join(f"{best} of {last}" for best, last in known)
            notes.append(f"{arm.arm.place}: its best policies are of iterations {listed}")
    return notes


def _iterations_of(arm: ArmRuns, row: Mapping[str, Any]) -> int:
    """Of the whole run that a row is of: it is finished."""
    (run,) = (run for run in arm.arm.runs() if run.name == name_in(row))
    return run.config().run.iterations
