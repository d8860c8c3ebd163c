"""What a reader of an experiment's numbers must know of the episodes and policies behind them."""

from collections import Counter
from collections.abc import Sequence

from spacil.experiments.named.experiment import ArmRuns
from spacil.experiments.run_record import RunRecord

EARLY = 0.25
"""Share of a run: where its best policy is from before it, the run has not learned since"""


def notes_on_episodes(records: Sequence[RunRecord]) -> list[str]:
    """Runs without fresh episodes, and how many the others have where that is not one number."""
    notes = [
        f"{'/'.join(record.path.parts[-4:])}: no fresh episodes; these are the evaluations that "
        "its best policy was picked by, which flatter it"
        for record in records
        if not record.is_fresh
    ]
    counts = Counter(record.best.get("num_episodes") for record in records if record.is_fresh)
    if len(counts) > 1:
        told = ", ".join(f"{number} in {runs} runs" for number, runs in counts.most_common())
        notes.append(f"numbers of fresh episodes: {told}")
    return notes


def notes_on_early_best(arms: Sequence[ArmRuns]) -> list[str]:
    """Arms whose best policies are all from the beginning of their runs: nothing was learned."""
    notes = []
    for arm in arms:
        pairs = [(r.best.get("iteration"), r.last.get("iteration")) for r in arm.records]
        known = [(best, last) for best, last in pairs if best is not None and last is not None]
        if known and len(known) == len(pairs) and all(b < EARLY * last for b, last in known):
            listed = ", ".join(f"{best} of {last}" for best, last in known)
            place = ", ".join(word for word in (arm.task, arm.arm.group, arm.label) if word)
            notes.append(f"{place}: its best policies are of iterations {listed}")
    return notes
