"""Footage with its pictures: frames one after the other, drawn once and shown as often as asked."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from spacil.envs.vector_env import FloatArray
from spacil.film.footage import Footage
from spacil.film.painting import Pictures, Size, draw
from spacil.film.panels import Moment, PanelPainter, Picture
from spacil.film.poses import PoseReader

_HELD_SECONDS = 1.5
"""The last frame stays, so that its numbers can be read"""


@dataclass(frozen=True)
class Film:
    """A sequence of frames [H, W, 3], all of one size."""

    footage: Footage
    panel_size: Size
    pictures: Pictures
    """Of every pose that is shown, once"""
    shots: tuple[tuple[Moment, tuple[int, ...]], ...]
    """Frame by frame: the moment, and which picture each panel shows"""

    @property
    def rate(self) -> Fraction:
        return self.footage.rate

    @property
    def num_frames(self) -> int:
        return len(self.shots)

    @property
    def seconds(self) -> float:
        return float(self.num_frames / self.rate)

    @property
    def frame_size(self) -> Size:
        return self._painter.frame_size

    @property
    def _painter(self) -> PanelPainter:
        return PanelPainter(self.footage.performances, self.footage.spec, self.panel_size)

    def frames(self, first: int = 0) -> Iterator[Picture]:
        """From frame `first` on."""
        painter = self._painter
        caption = _caption(self.footage, painter.steps_in_trace)
        last: tuple[tuple[Moment, tuple[int, ...]], Picture] | None = None
        for shot in self.shots[first:]:
            if last is None or last[0] != shot:
                moment, chosen = shot
                frame = painter.frame([self.pictures[i] for i in chosen], moment, caption)
                last = (shot, frame)
            yield last[1]

    def still(self) -> Picture:
        """The last frame: full traces, and the numbers."""
        return next(self.frames(self.num_frames - 1))


def develop(
    footage: Footage,
    reader: PoseReader,
    size: Size,
    on_frame: Callable[[int, int], None] = lambda num_drawn, num_wanted: None,
) -> Film:
    """Draw every pose that some frame shows, once. Needs OpenGL."""
    moments = _moments(footage)
    places: dict[tuple[int, int, int], int] = {}
    poses: list[FloatArray] = []
    shots: list[tuple[Moment, tuple[int, ...]]] = []
    for moment in moments:
        chosen = []
        for panel, performance in enumerate(footage.performances):
            take = performance.takes[moment.round]
            key = (panel, moment.round, min(moment.step, len(take) - 1))
            if key not in places:
                places[key] = len(poses)
                poses.append(take.poses[key[2]])
            chosen.append(places[key])
        shots.append((moment, tuple(chosen)))
    num_wanted = len(poses)
    pictures = draw(reader, np.stack(poses), size, lambda n: on_frame(n, num_wanted))
    return Film(footage, size, pictures, tuple(shots))


def _moments(footage: Footage) -> list[Moment]:
    found = []
    for number in range(footage.num_rounds):
        steps = range(0, footage.round_length(number), footage.steps_per_frame)
        found += [Moment(number, step, is_last=False) for step in steps]
    last = Moment(footage.num_rounds - 1, footage.round_length(footage.num_rounds - 1) - 1, True)
    return [*found, *[last] * round(_HELD_SECONDS * footage.rate)]


def _caption(footage: Footage, steps_in_trace: int) -> str:
    seconds = steps_in_trace * footage.step_seconds
    return f"{footage.spec.task}, seed {footage.seed}. Actions of the last {seconds:.2g} s"
