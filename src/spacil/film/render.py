"""Frames of a film: a panel per policy, with its name, its picture and its actions.

The picture is MuJoCo's or the env's own; where nothing draws there is none.
The actions of the last second or so run through lanes, one per action, each between the bounds of
that action: a policy that shakes fills its lanes, a smooth one draws lines.
"""

import base64
import functools
import io
import itertools
import tempfile
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont, ImageOps

from spacil import storage
from spacil.errors import ConfigError, StorageError
from spacil.film.draw import Size, draw
from spacil.film.record import Recording

Picture = NDArray[np.uint8]
"""One picture [H, W, 3]"""

COLOURS = ("#5f6873", "#c8553d", "#1f6f8b", "#b8842a", "#588157", "#6d597a")
"""Colours of the traces, panel by panel"""
MAX_LANES = 8
MAX_STEPS_IN_TRACE = 120
_INK, _SOFT, _PAPER, _LANE = "#22262b", "#667078", "#ffffff", "#f0f2f4"
_HEADER, _FOOTER, _LANE_HEIGHT, _GAP, _MARGIN = 52, 22, 24, 4, 8
_LABEL_WIDTH = 22
_SHARPNESS = 2
"""Traces are drawn this much larger and shrunk: lines without steps"""
HELD_SECONDS = 1.5
"""The last frame stays, so that its numbers can be read"""
_MAX_GIF_RATE = 20
"""Viewers show faster ones slowly"""


class Moment(NamedTuple):
    """What one frame shows."""

    episode: int
    step: int
    """Step of the episode; a policy's own episode may be over by then"""
    is_last: bool = False
    """Whether the film has come to its end, where the numbers stand"""


class Film:
    """A recording with its pictures: each pose drawn once, shown as often as it is needed."""

    def __init__(self, recording: Recording, size: Size | None = None) -> None:
        self.path: Path | None = None
        """File that it was written to last"""
        self.recording, self.rate, spec = recording, recording.rate, recording.spec
        size = size or Size()
        # Where nothing draws, the lanes of the actions are the film.
        self._size = size = Size(size.width, size.height if recording.scene else 0)
        clips = [clip for panel in recording.panels for clip in panel.clips]
        self.steps_in_trace = max(2, min(max(map(len, clips)), MAX_STEPS_IN_TRACE))
        seconds = self.steps_in_trace * recording.step_seconds
        self._caption = f"{spec.task}, seed {recording.seed}. Actions of the last {seconds:.2g} s"
        actions = np.concatenate([clip.trajectory.actions.numpy() for clip in clips])
        is_bounded = np.isfinite(spec.action_low) & np.isfinite(spec.action_high)
        low = np.where(is_bounded, spec.action_low, actions.min(axis=0))
        high = np.where(is_bounded, spec.action_high, actions.max(axis=0))
        self._low, self._high = low - (high <= low), high + (high <= low)
        self._num_lanes = min(spec.num_actions, MAX_LANES)
        lanes_height = self._num_lanes * (_LANE_HEIGHT + _GAP) + _GAP
        width = len(recording.panels) * (size.width + _MARGIN) - _MARGIN
        height = _HEADER + size.height + lanes_height + _FOOTER
        # H.264 with subsampled colour has no odd sizes.
        self.frame_size = Size(width + width % 2, height + height % 2)
        lengths = [
            max(map(len, episode))
            for episode in zip(*(p.clips for p in recording.panels), strict=True)
        ]
        self.moments = [
            Moment(episode, step)
            for episode, length in enumerate(lengths)
            for step in range(0, length, recording.steps_per_frame)
        ]
        last = Moment(len(lengths) - 1, lengths[-1] - 1, is_last=True)
        self.moments += [last] * round(HELD_SECONDS * self.rate)
        places = (place for moment in self.moments for place in self._places(moment))
        self._rows = {place: row for row, place in enumerate(dict.fromkeys(places))}

    @functools.cached_property
    def pictures(self) -> NDArray[np.uint8]:
        """Every pose that some frame shows, as MuJoCo draws it: the first look needs OpenGL."""
        scene, poses = self.recording.scene, [self._pose(place) for place in self._rows]
        assert scene is not None, "a recording without a scene has no pictures"
        return draw(scene.model, np.stack(poses), self._size, scene.is_seen_from_above)

    def _pose(self, place: tuple[int, int, int]) -> Any:
        panel, episode, step = place
        return self.recording.panels[panel].clips[episode].poses[step]

    def _picture(self, place: tuple[int, int, int]) -> Picture | None:
        """One panel's picture, drawn by MuJoCo or by the env; None where nothing draws."""
        scene, size = self.recording.scene, (self._size.width, self._size.height)
        if scene is None:
            return None
        if scene.model is not None:
            picture: Picture = self.pictures[self._rows[place]]
            return picture
        with Image.open(io.BytesIO(self._pose(place))) as drawn:
            return np.asarray(ImageOps.pad(drawn.convert("RGB"), size, color=_PAPER))

    def frames(self) -> Iterator[Picture]:
        """Yield the frames [H, W, 3]."""
        for moment, repeats in itertools.groupby(self.moments):
            frame = self._frame(moment)
            yield from (frame for _ in repeats)

    def still(self) -> Picture:
        """Return the last frame: full traces, and the numbers."""
        return self._frame(self.moments[-1])

    def _frame(self, moment: Moment) -> Picture:
        return self.compose(self.pictures_at(moment), moment)

    def pictures_at(self, moment: Moment) -> list[Picture | None]:
        """Draw each panel's picture; None where nothing draws."""
        return [self._picture(place) for place in self._places(moment)]

    def _places(self, moment: Moment) -> list[tuple[int, int, int]]:
        """Which panel, episode and step each panel shows; the end of its own episode waits."""
        clips = [panel.clips[moment.episode] for panel in self.recording.panels]
        return [(i, moment.episode, min(moment.step, len(c) - 1)) for i, c in enumerate(clips)]

    def compose(self, pictures: Sequence[Picture | None], moment: Moment) -> Picture:
        """Put one frame together; `pictures` holds one per panel."""
        canvas = Image.new("RGB", (self.frame_size.width, self.frame_size.height), _PAPER)
        for i, picture in enumerate(pictures):
            canvas.paste(self._panel(i, picture, moment), (i * (self._size.width + _MARGIN), 0))
        place = (_MARGIN, self.frame_size.height - _FOOTER + 3)
        ImageDraw.Draw(canvas).text(place, self._caption, fill=_SOFT, font=_font(12))
        return np.asarray(canvas)

    def _panel(self, i: int, picture: Picture | None, moment: Moment) -> Image.Image:
        """Name and numbers, the picture, the lanes; it fades when its own episode is over."""
        panel, colour = self.recording.panels[i], COLOURS[i % len(COLOURS)]
        clip, width = panel.clips[moment.episode], self._size.width
        sheet = Image.new("RGB", (width, self.frame_size.height), _PAPER)
        if picture is not None:
            scene = Image.fromarray(np.ascontiguousarray(picture))
            if moment.step >= len(clip) and clip.is_whole:
                scene = Image.blend(scene, Image.new("RGB", scene.size, _PAPER), 0.55)
            sheet.paste(scene, (0, _HEADER))
        numbers = f"return {float(clip.trajectory.rewards[: moment.step + 1].sum()):.1f}"
        if moment.is_last:
            j, change = panel.smoothness_j, panel.action_change
            numbers = f"return {panel.total_return:.1f}"
            numbers += "" if j is None else f" · J {j:.2f}"
            numbers += "" if change is None else f" · change {change:.3f}"
        pen = ImageDraw.Draw(sheet)
        pen.rectangle((0, 4, 4, _HEADER - 6), fill=colour)
        pen.text((10, 2), panel.name, fill=_INK, font=_font(17))
        pen.text((10, 26), numbers, fill=_INK, font=_font(max(8, min(14, width // 22))))
        shown = clip.trajectory.actions.numpy()[: moment.step + 1]
        first = max(0, moment.step + 1 - self.steps_in_trace)
        sheet.paste(self._lanes(shown[first:], colour), (0, _HEADER + self._size.height + _GAP))
        return sheet

    def _lanes(self, actions: NDArray[np.float32], colour: str) -> Image.Image:
        """Draw the actions [T, A] of one panel, a lane each."""
        scale = _SHARPNESS
        width = self._size.width * scale
        sheet = Image.new("RGB", (width, self._num_lanes * (_LANE_HEIGHT + _GAP) * scale), _PAPER)
        pen = ImageDraw.Draw(sheet)
        across = (width - (_LABEL_WIDTH + 4) * scale) / (self.steps_in_trace - 1)
        x = (_LABEL_WIDTH + 2) * scale + np.arange(len(actions)) * across
        heights = (self._high - actions) / (self._high - self._low)
        for k in range(self._num_lanes):
            top = k * (_LANE_HEIGHT + _GAP) * scale
            lane = (_LABEL_WIDTH * scale, top, width - 1, top + _LANE_HEIGHT * scale - 1)
            pen.rectangle(lane, fill=_LANE)
            pen.text((2 * scale, top + 4 * scale), f"a{k}", fill=_SOFT, font=_font(11 * scale))
            y = top + 2 * scale + heights[:, k] * (_LANE_HEIGHT - 4) * scale
            line = [tuple(point) for point in np.stack([x, y], axis=-1).tolist()]
            if len(line) > 1:
                pen.line(line, fill=colour, width=round(1.4 * scale), joint="curve")
        return sheet.reduce(scale)

    def write(self, path: Path, quality: int = 23) -> None:
        """Write all of it or nothing; the same frames give the same bytes with the same encoder.

        `quality` is x264's: 18 looks like the frames, 30 is small.
        """
        self.still()  # everything is drawn, or refused, before a file is begun
        with (
            tempfile.TemporaryDirectory(prefix="spacil-film-") as folder,
            storage.os_errors_as(StorageError, "write", path),
        ):
            scratch = Path(folder) / path.name
            if path.suffix.lower() == ".mp4":
                self._write_mp4(scratch, quality)
            else:
                # Every frame, or every second one and so on; a GIF counts hundredths.
                every = -(-self.rate // _MAX_GIF_RATE)
                duration = max(2, round(100 * Fraction(every) / self.rate)) * 10
                first, *rest = (
                    Image.fromarray(frame).quantize(128, dither=Image.Dither.NONE)
                    for frame in itertools.islice(self.frames(), 0, None, int(every))
                )
                options = {"save_all": True, "append_images": rest, "loop": 0}
                first.save(scratch, "GIF", duration=duration, **options)
            storage.replace_file(path, scratch.read_bytes())
        self.path = path

    def _repr_html_(self) -> str:
        """The film itself, in a notebook; its last frame where it was not written."""
        kind, content = "image/png", io.BytesIO()
        if self.path is None or not self.path.is_file():
            Image.fromarray(self.still()).save(content, "PNG")
        else:
            kind = "video/mp4" if self.path.suffix.lower() == ".mp4" else "image/gif"
            content.write(self.path.read_bytes())
        data = f"data:{kind};base64,{base64.b64encode(content.getvalue()).decode()}"
        return f'<video controls src="{data}">' if kind == "video/mp4" else f'<img src="{data}">'

    def _write_mp4(self, path: Path, quality: int) -> None:
        import imageio_ffmpeg

        writer = imageio_ffmpeg.write_frames(
            path,
            (self.frame_size.width, self.frame_size.height),
            fps=self.rate,
            quality=None,
            # Browsers play no other colour layout; the index first, so that it starts at once.
            pix_fmt_out="yuv420p",
            macro_block_size=2,
            output_params=[
                *("-preset", "medium", "-crf", str(quality), "-movflags", "+faststart"),
                *("-map_metadata", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact"),
            ],
        )
        writer.send(None)
        for frame in self.frames():
            writer.send(np.ascontiguousarray(frame))
        writer.close()


@functools.cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    """Load the font that matplotlib brings along: the same letters on every machine."""
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return ImageFont.truetype(str(folder / "DejaVuSans.ttf"), size)


def check_target(
    path: Path, endings: tuple[str, ...] = (".mp4", ".gif"), *, overwrite: bool = False
) -> None:
    """Refuse what cannot be written, and mp4 without ffmpeg, before anything is drawn."""
    storage.require_free(path, overwrite=overwrite, endings=endings)
    if path.suffix.lower() == ".mp4":
        try:
            import imageio_ffmpeg

            imageio_ffmpeg.get_ffmpeg_exe()
        except (ImportError, RuntimeError):
            raise ConfigError(
                "writing mp4 needs imageio-ffmpeg: pip install 'spacil[video]', or choose a name "
                "that ends in .gif"
            ) from None
