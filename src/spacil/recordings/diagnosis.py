"""Say from a recording alone why a robot shakes.

import numpy as np, spacil
print(spacil.diagnose_recording(np.load("log.npz")))
"""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from spacil.config.checks import whole_number
from spacil.errors import DataError, keywords_for_flags
from spacil.plain_text import in_frame
from spacil.recordings.causes import CAUSES, Cause
from spacil.recordings.log import VISIBLE, Log
from spacil.recordings.recording import Recording, log_of, recording_of
from spacil.recordings.signals import Array, changes, surprises, usual_size

_FRAME_HEIGHT = 900
"""Pixels of the page in a notebook"""
SHORT_S = 5.0
_ROUGH = 0.03
"""Roughness of a measurement, in ranges, that no command explains: too much to call it healthy"""


@dataclass(frozen=True, eq=False)
class RecordingDiagnosis:
    """Why a recorded robot shakes: causes, the most important first."""

    source: str
    causes: tuple[Cause, ...]
    latency_s: float | None
    """From a command to its measurement, with the joints' own lag; None where nothing follows"""
    latency_interval_s: tuple[float, float] | None
    """95 % interval, from parts of the recording"""
    dead_time_s: float | None
    """Part of the latency in which nothing happens"""
    rate_hz: float
    num_rows: int
    joints: tuple[str, ...]
    not_checked: Mapping[str, str]
    """What could not be looked for, and why"""
    notes: tuple[str, ...]
    log: Log

    def as_dict(self) -> dict[str, Any]:
        """JSON with stable keys."""
        causes = [{k: v for k, v in vars(cause).items() if k != "at"} for cause in self.causes]
        fields = {k: v for k, v in vars(self).items() if k not in ("causes", "log")}
        return {"causes": causes, **fields, "not_checked": dict(self.not_checked)}

    def __str__(self) -> str:
        rows = f"{self.num_rows} rows at {self.rate_hz:.4g} Hz, {len(self.joints)} joints"
        lines = [f"{self.source}: {rows}"]
        if self.latency_s is not None:
            ends = self.latency_interval_s
            around = "" if ends is None else f" ({1000 * ends[0]:.0f} to {1000 * ends[1]:.0f})"
            lines.append(
                f"latency {1000 * self.latency_s:.0f} ms{around}, of which "
                f"{1000 * (self.dead_time_s or 0):.0f} ms without any answer"
            )
        for place, cause in enumerate(self.causes, 1):
            text = (
                f"{place}. {cause.cause} ({cause.share:.0%}): {cause.evidence}. -> {cause.remedy}"
            )
            lines += ["", *textwrap.wrap(text, 98, subsequent_indent="   ")]
        extra = [f"not looked for: {name}, {why}" for name, why in self.not_checked.items()]
        return "\n".join([*lines, "", *self.notes, *extra]).rstrip()

    def _repr_html_(self) -> str:
        from spacil.recordings.page import recording_html

        return in_frame(recording_html(self), _FRAME_HEIGHT)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write one page that opens offline, with traces, spectra and the ranked table."""
        from spacil.recordings.page import write_recording_page

        write_recording_page(self, Path(path), overwrite=overwrite)


def diagnose_recording(
    arrays: Mapping[str, ArrayLike],
    *,
    rate: float | None = None,
    chunk: int | None = None,
    policy: object = None,
    names: Sequence[str] = (),
    source: str = "recording",
) -> RecordingDiagnosis:
    """Say why a recorded robot shakes.

    `arrays`: `commands` [T, J], and where known `measured` [T, J], `time` [T] in seconds, `episode`
    [T] and `observations` [T, S], which a `policy` (as `open_policy` takes it) is asked in.
    `rate`: rows a second, where there is no time. `chunk`: rows of a policy's chunks, if known.
    """
    with keywords_for_flags():
        recording = recording_of(arrays, rate, names, source)
        return diagnosis_of(recording, chunk, policy)


def diagnosis_of(
    recording: Recording, chunk: int | None = None, policy: object = None
) -> RecordingDiagnosis:
    """Look for every cause in a checked recording."""
    if chunk is not None:
        whole_number("chunk", chunk, least=2)
    log = log_of(recording, chunk, None if policy is None else _answers(policy, recording))
    found = [cause for look in CAUSES for cause in look(log)]
    causes = sorted(found, key=lambda cause: -cause.share) or [_otherwise(log)]
    delay, interval = log.late, None
    if delay is not None and len(delay.blocks) > 2:
        middle = float(np.median(delay.lag))
        half = stats.t.ppf(0.975, len(delay.blocks) - 1) * stats.sem(delay.blocks)
        interval = (middle - float(half), middle + float(half))
    unseen: dict[str, str] = {}
    if recording.measured is None:
        why = "there is no measurement: record where the joints are beside each command"
        unseen = dict.fromkeys(("latency", "limit-cycle", "sensor-noise"), why)
    elif delay is None:
        unseen["latency"] = "no joint's measurement follows its command: are they in one order?"
    if recording.time is None:
        unseen["timing"] = "there are no time stamps: record the time of each row"
    return RecordingDiagnosis(
        source=recording.source,
        causes=tuple(causes),
        latency_s=None if delay is None else float(np.median(delay.lag)),
        latency_interval_s=interval,
        dead_time_s=None if delay is None else float(np.median(delay.dead)),
        rate_hz=recording.rate,
        num_rows=len(recording.commands),
        joints=recording.names,
        not_checked=unseen,
        notes=recording.notes,
        log=log,
    )


def _otherwise(log: Log) -> Cause:
    """The answer where no cause is seen: nothing shakes, or it cannot be told from this."""
    seconds = len(log.c) / log.rate
    moves = np.abs(log.dc).max() > 0
    record = "Record 30 s or more in which it shakes: commands, measured positions, time stamps"
    if not moves and (log.m is None or np.ptp(log.m, axis=0).max() == 0):
        return Cause("unknown", 1.0, "nothing moves in this recording", record)
    if seconds < SHORT_S:
        return Cause("unknown", 1.0, f"{seconds:.1f} s are too short to tell", record)
    if log.m is not None:
        rough = usual_size(surprises(log.m, log.pieces))
        turns = np.sqrt((changes(log.m, log.pieces, 2) ** 2).mean(0))
        if (is_rough := (rough > _ROUGH) & (rough > 0.5 * turns)).any():
            name = log.names[int(is_rough.argmax())]
            evidence = (
                f"the measurement of {name} is rough ({100 * rough.max():.0f} % of its range from "
                "row to row) and no command says why"
            )
            return Cause("unknown", 1.0, evidence, f"{record}, and motor currents or an IMU")
    evidence = f"nothing that is {100 * VISIBLE:.1f} % of a joint's range or more shakes"
    return Cause("healthy", 1.0, evidence, "Nothing to do here")


def _answers(policy: object, recording: Recording) -> Array:
    """What the policy answers to the recorded states, [T, J]."""
    import torch  # only where there is a policy

    from spacil.policies.open import open_policy

    opened = open_policy(policy)
    states = recording.measured if recording.observations is None else recording.observations
    if states is None:
        raise DataError(f"{recording.source}: a policy needs the observations that it acted in")
    opened.require_widths(states.shape[1], recording.commands.shape[1], recording.source)
    with torch.no_grad():
        parts = torch.from_numpy(np.asarray(states, float)).split(10_000)
        return torch.cat([opened.act(part).double() for part in parts]).numpy()
