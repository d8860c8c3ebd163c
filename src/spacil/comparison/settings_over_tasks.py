"""Which rows of several tasks are one setting, and what to call it.

They are, if they differ alike from the same preset of their tasks: a task brings its own discount,
and a printed preset its own weight, which nobody chose. Budgets are a task's own too, and tell
settings apart only where one task has several. A row's label says only what sets it apart from its
rivals of the same task, so that labels tell nothing here.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spacil.comparison.run_record import RunRecord, settings_of_preset
from spacil.config.algorithms import ALGORITHMS, Preset
from spacil.runs.inputs import DemoChoice, read_inputs
from spacil.sweeps.plan import DEMONSTRATION_FLAGS, PRESET

if TYPE_CHECKING:
    from spacil.comparison.comparison import Row

BUDGETS = ("iterations", "steps_per_iteration")


@dataclass(frozen=True)
class Reading:
    """A run's settings as a preset of its task, and what is different."""

    algorithm: str
    preset: Preset
    differences: frozenset[tuple[str, str]]

    def words(self) -> dict[str, str]:
        named = {PRESET: str(self.preset)} if self.preset != "none" else {}
        return named | dict(sorted(self.differences))


@dataclass(frozen=True)
class Setting:
    """One setting on its tasks, with a row for each."""

    rows: tuple["Row", ...]
    label: str

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(row.task for row in self.rows)

    @property
    def has_equal_budgets(self) -> bool:
        """Whether the budgets, too, differ alike from a preset of each task."""
        return len(_alike(self.rows, ())) == 1


def settings_over_tasks(rows: Sequence["Row"]) -> list[Setting]:
    """Every row belongs to one; equal rows of a task, as sweeps may plan them, go by labels."""
    groups: list[list[Row]] = []
    for group in _alike(rows, BUDGETS):
        for part in _alike(group, ()) if _has_a_task_twice(group) else [group]:
            groups += _by_label(part) if _has_a_task_twice(part) else [part]
    labels = _labels(groups)
    return [Setting(tuple(group), label) for group, label in zip(groups, labels, strict=True)]


def _has_a_task_twice(rows: Sequence["Row"]) -> bool:
    return len({row.task for row in rows}) < len(rows)


def _by_label(rows: Sequence["Row"]) -> list[list["Row"]]:
    labels = dict.fromkeys(row.label for row in rows)
    return [[row for row in rows if row.label == label] for label in labels]


def _alike(rows: Sequence["Row"], left_out: Sequence[str]) -> list[list["Row"]]:
    """Rows together that have a reading in common; settings that are left out do not count."""
    groups: list[tuple[frozenset[Reading], list[Row]]] = []
    for row in rows:
        readings = readings_of(row.runs[0].record, left_out)
        for place, (shared, members) in enumerate(groups):
            if shared & readings:
                groups[place] = (shared & readings, [*members, row])
                break
        else:
            groups.append((readings, [row]))
    return [members for _, members in groups]


def readings_of(record: RunRecord, left_out: Sequence[str] = ()) -> frozenset[Reading]:
    """One per preset that the algorithm has for the run's task."""
    values = {k: v for k, v in record.settings.items() if k not in ("task", *left_out)}
    given = demonstration_words(record).items()
    found = []
    for preset in ALGORITHMS[record.algorithm].presets:
        base = settings_of_preset(record.algorithm, record.task, preset)
        if base is not None:
            differences = {(k, _text(v)) for k, v in values.items() if base.get(k) != v}
            found.append(Reading(record.algorithm, preset, frozenset({*differences, *given})))
    return frozenset(found)


def demonstration_words(record: RunRecord) -> dict[str, str]:
    """Which demonstrations a run had, by flags; nothing for all of the bundled ones.

    Files count by their names without the task's, so that those of several tasks compare.
    """
    inputs = read_inputs(record.path)
    demonstrations = None if inputs is None else inputs.demonstrations
    if demonstrations is None:
        chosen = {k: text for k, text in record.choices.items() if k in DEMONSTRATION_FLAGS}
        sources = chosen.pop("demos", record.task).split("+")
    else:
        default = asdict(DemoChoice())
        choice = asdict(demonstrations.choice)
        chosen = {k: str(value) for k, value in choice.items() if value != default[k]}
        known = demonstrations.sources
        sources = ["in memory"] if known is None else list(known)
    names = "+".join(Path(source).name.replace(record.task, "TASK") for source in sources)
    return chosen if names == "TASK" else chosen | {"demos": names}


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)


def _labels(groups: Sequence[Sequence["Row"]]) -> list[str]:
    """The label that all rows of a group have and no others; else by what sets groups apart."""
    words = [_shortest_words(group) for group in groups]
    labels: list[str] = []
    for place, group in enumerate(groups):
        own = {row.label for row in group}
        others = {row.label for other in groups if other is not group for row in other}
        if len(own) == 1 and not own & others:
            labels += own
            continue
        rivals = [
            words[i]
            for i, other in enumerate(groups)
            if other is not group and other[0].algorithm == group[0].algorithm
        ]
        apart = [
            f"{name}={text}"
            for name, text in words[place].items()
            if any(rival.get(name) != text for rival in rivals)
        ]
        labels.append(" ".join([group[0].algorithm, *apart]))
    return labels


def _shortest_words(group: Sequence["Row"]) -> dict[str, str]:
    """Of the readings that all rows share, with the budgets if those are alike."""
    for left_out in ((), BUDGETS):
        readings = [readings_of(row.runs[0].record, left_out) for row in group]
        shared = frozenset.intersection(*readings)
        if shared:
            return min((one.words() for one in shared), key=lambda words: (len(words), str(words)))
    return {}
