"""Runs that differ in their seed only, and what to call them."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from spacil import storage
from spacil.comparison.run_record import RunRecord
from spacil.sweeps.plan import is_read

Group = list[RunRecord]
"""Of one task and one setting, by seed"""


def grouped(records: Sequence[RunRecord]) -> tuple[list[Group], list[str]]:
    """Groups by task, in the order found; and the runs that are there twice, in words."""
    by_setting: dict[Any, Group] = defaultdict(list)
    for record in records:
        settings = storage.document_hash(dict(record.settings))
        chosen = tuple(sorted(record.choices.items())) if record.is_planned else None
        by_setting[record.task, record.algorithm, settings, chosen].append(record)
    groups = [group for members in by_setting.values() for group in _by_demonstrations(members)]
    problems, kept = [], []
    for members in groups:
        first = {record.seed: record for record in reversed(members)}
        problems += [
            f"{record.path}: the same run as {first[record.seed].path}; left out"
            for record in members
            if first[record.seed] is not record
        ]
        kept.append(sorted(first.values(), key=lambda record: record.seed))
    order = list(dict.fromkeys(record.task for record in records))
    return sorted(kept, key=lambda group: order.index(group[0].task)), problems


def labels_of(groups: Sequence[Group]) -> list[str]:
    """The algorithm of each group, and those choices in which it differs from its rivals.

    Rivals are the groups of the same task whose algorithm can make that choice at all.
    """
    firsts = [group[0] for group in groups]
    labels = []
    for record in firsts:
        rivals = [other for other in firsts if other.task == record.task]
        words = [
            f"{name}={text}"
            for name, text in record.choices.items()
            if any(
                is_read(rival.algorithm, name) and rival.choices.get(name) != text
                for rival in rivals
            )
        ]
        labels.append(" ".join([record.algorithm, *words]))
    named = [(record.task, label) for record, label in zip(firsts, labels, strict=True)]
    return [
        label
        if named.count((record.task, label)) == 1
        else f"{label} demos {(record.demonstrations or 'unknown')[:8]}"
        for record, label in zip(firsts, labels, strict=True)
    ]


def _by_demonstrations(members: Group) -> list[Group]:
    """Runs of equal settings, apart by demonstrations where a seed is there more than once.

    Not always: with noise on its observations, every seed learns from its own.
    """
    seeds = [record.seed for record in members]
    if len(set(seeds)) == len(seeds):
        return [members]
    by_hash: dict[str | None, Group] = defaultdict(list)
    for record in members:
        by_hash[record.demonstrations].append(record)
    return list(by_hash.values())
