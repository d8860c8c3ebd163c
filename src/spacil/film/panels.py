"""One frame of a film: a panel per policy, with its name, its picture and its actions.

The actions of the last second or so run through lanes, one per action, each between the bounds of
that action: a policy that shakes fills its lanes, a smooth one draws lines.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from spacil.envs.vector_env import EnvSpec
from spacil.film.footage import Performance
from spacil.film.painting import Size

Picture = NDArray[np.uint8]
"""[H, W, 3]"""

COLOURS = ("#5f6873", "#c8553d", "#1f6f8b", "#b8842a", "#588157", "#6d597a")
"""Of the traces, panel by panel"""
MAX_LANES = 8
MAX_STEPS_IN_TRACE = 120

_INK, _SOFT, _PAPER, _LANE = "#22262b", "#667078", "#ffffff", "#f0f2f4"
_HEADER, _FOOTER, _LANE_HEIGHT, _GAP, _MARGIN = 52, 22, 24, 4, 8
_LABEL_WIDTH = 22
_SMALLEST_FONT = 8
_SHARPNESS = 2
"""Traces are drawn this much larger and shrunk: lines without steps"""


@dataclass(frozen=True)
class Moment:
    """What one frame shows of one panel."""

    round: int
    step: int
    """Of the round; the policy's own episode may be over by then"""
    is_last: bool
    """Whether the film has come to its end, where the numbers are told"""


class PanelPainter:
    """Lays out panels of one size; everything that stays the same is drawn once."""

    def __init__(self, performances: Sequence[Performance], spec: EnvSpec, size: Size) -> None:
        self._performances = performances
        self._spec = spec
        self._size = size
        self._lanes = range(min(spec.num_actions, MAX_LANES))
        longest = max(len(take) for one in performances for take in one.takes)
        self.steps_in_trace = max(2, min(longest, MAX_STEPS_IN_TRACE))
        self._bounds = [_bounds_of(performances, spec, k) for k in self._lanes]
        lanes_height = len(self._lanes) * (_LANE_HEIGHT + _GAP) + _GAP
        width = len(performances) * size.width + (len(performances) - 1) * _MARGIN
        height = _HEADER + size.height + lanes_height + _FOOTER
        # H.264 with subsampled colour has no odd sizes.
        self.frame_size = Size(width + width % 2, height + height % 2)

    def frame(self, pictures: Sequence[Picture], moment: Moment, caption: str) -> Picture:
        """`pictures`: one per panel, of the size of a panel."""
        canvas = Image.new("RGB", (self.frame_size.width, self.frame_size.height), _PAPER)
        for i, (performance, picture) in enumerate(zip(self._performances, pictures, strict=True)):
            left = i * (self._size.width + _MARGIN)
            self._draw_panel(canvas, left, performance, picture, moment, COLOURS[i % len(COLOURS)])
        place = (_MARGIN, self.frame_size.height - _FOOTER + 3)
        ImageDraw.Draw(canvas).text(place, caption, fill=_SOFT, font=_font(12))
        return np.asarray(canvas)

    def _draw_panel(
        self,
        canvas: Image.Image,
        left: int,
        performance: Performance,
        picture: Picture,
        moment: Moment,
        colour: str,
    ) -> None:
        take = performance.takes[moment.round]
        step = min(moment.step, len(take) - 1)
        is_over = moment.step >= len(take) and take.is_whole
        scene = Image.fromarray(np.ascontiguousarray(picture))
        if is_over:
            scene = Image.blend(scene, Image.new("RGB", scene.size, _PAPER), 0.55)
        canvas.paste(scene, (left, _HEADER))
        pen = ImageDraw.Draw(canvas)
        pen.rectangle((left, 4, left + 4, _HEADER - 6), fill=colour)
        room = self._size.width - 12
        pen.text((left + 10, 2), _fitting(performance.name, 17, room), fill=_INK, font=_font(17))
        numbers = _numbers(performance, take.return_so_far(step), moment.is_last)
        pen.text((left + 10, 26), numbers, fill=_INK, font=_font_for(numbers, 14, room))
        if is_over:
            pen.text((left + 10, _HEADER + 6), "episode over", fill=_INK, font=_font(14))
        top = _HEADER + self._size.height + _GAP
        canvas.paste(self._trace(performance, moment, colour), (left, top))

    def _trace(self, performance: Performance, moment: Moment, colour: str) -> Image.Image:
        actions = performance.takes[moment.round].trajectory.actions.numpy()
        first = max(0, moment.step + 1 - self.steps_in_trace)
        shown = actions[first : moment.step + 1]
        scale = _SHARPNESS
        width = self._size.width * scale
        height = (len(self._lanes) * (_LANE_HEIGHT + _GAP)) * scale
        sheet = Image.new("RGB", (width, height), _PAPER)
        pen = ImageDraw.Draw(sheet)
        across = (width - (_LABEL_WIDTH + 4) * scale) / (self.steps_in_trace - 1)
        for k in self._lanes:
            top = k * (_LANE_HEIGHT + _GAP) * scale
            low, high = self._bounds[k]
            pen.rectangle(
                (_LABEL_WIDTH * scale, top, width - 1, top + _LANE_HEIGHT * scale - 1), fill=_LANE
            )
            pen.text((2 * scale, top + 4 * scale), f"a{k}", fill=_SOFT, font=_font(11 * scale))
            inner = (_LANE_HEIGHT - 4) * scale
            y = top + 2 * scale + (high - shown[:, k]) / (high - low) * inner
            x = (_LABEL_WIDTH + 2) * scale + np.arange(len(shown)) * across
            line = [tuple(point) for point in np.stack([x, y], axis=-1).tolist()]
            if len(line) > 1:
                pen.line(line, fill=colour, width=round(1.4 * scale), joint="curve")
        return sheet.reduce(scale)


def _numbers(performance: Performance, return_so_far: float, is_last: bool) -> str:
    """The return so far; at the end of the film everything that is known about what it showed."""
    if not is_last:
        return f"return {return_so_far:.1f}"
    told = [f"return {performance.total_return:.1f}"]
    if performance.smoothness_j is not None:
        told.append(f"J {performance.smoothness_j:.2f}")
    if performance.action_change is not None:
        told.append(f"change {performance.action_change:.3f}")
    return " · ".join(told)


def _bounds_of(performances: Sequence[Performance], spec: EnvSpec, k: int) -> tuple[float, float]:
    """Of action k; where the env has none, those of all panels' actions."""
    low, high = float(spec.action_low[k]), float(spec.action_high[k])
    if np.isfinite([low, high]).all() and low < high:
        return low, high
    actions = np.concatenate(
        [take.trajectory.actions[:, k].numpy() for p in performances for take in p.takes]
    )
    low, high = float(actions.min()), float(actions.max())
    return (low, high) if low < high else (low - 1, high + 1)


def _font_for(text: str, largest: int, room: int) -> ImageFont.FreeTypeFont:
    """The largest font in which there is room for the whole text, within reason."""
    sizes = range(largest, _SMALLEST_FONT, -1)
    fitting = (_font(size) for size in sizes if _font(size).getlength(text) <= room)
    return next(fitting, _font(_SMALLEST_FONT))


def _fitting(text: str, font_size: int, room: int) -> str:
    """As much of the text as there is room for."""
    font = _font(font_size)
    if font.getlength(text) <= room:
        return text
    while text and font.getlength(text + "…") > room:
        text = text[:-1]
    return text + "…"


@functools.cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    """The one that matplotlib brings along: the same letters on every machine."""
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return ImageFont.truetype(str(folder / "DejaVuSans.ttf"), size)
