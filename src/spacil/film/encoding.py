"""Frames in, a file's bytes out: H.264 in mp4, as browsers play it, or GIF.

mp4 is written by the ffmpeg of imageio-ffmpeg (`spacil[video]`), GIF by pillow, which is always
there. The same frames give the same bytes with the same encoder.
"""

import io
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from itertools import islice
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from spacil import storage
from spacil.errors import ConfigError, StorageError
from spacil.film.painting import Size
from spacil.plain_text import shown

Frames = Iterable[NDArray[np.uint8]]
Encode = Callable[[Frames, Size, Fraction], bytes]

_MAX_GIF_RATE = 20
"""Viewers show faster ones slowly"""
_MAX_FILE_BYTES = 2**31


def mp4(frames: Frames, size: Size, rate: Fraction, quality: int = 23) -> bytes:
    """`quality` is x264's: 18 looks like the frames, 30 is small."""
    with tempfile.TemporaryDirectory(prefix="spacil-video-") as folder:
        path = Path(folder) / "clip.mp4"
        command = [
            *(require_ffmpeg(), "-hide_banner", "-loglevel", "error", "-y"),
            *("-f", "rawvideo", "-pixel_format", "rgb24"),
            *("-video_size", f"{size.width}x{size.height}"),
            *("-framerate", f"{rate.numerator}/{rate.denominator}", "-i", "-"),
            *("-an", "-c:v", "libx264", "-preset", "medium", "-crf", str(quality)),
            # Browsers play no other colour layout; the index first, so that it starts at once.
            *("-pix_fmt", "yuv420p", "-movflags", "+faststart"),
            *("-map_metadata", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact"),
            str(path),
        ]
        with (Path(folder) / "log").open("w+b") as log:
            ffmpeg = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log)
            try:
                assert ffmpeg.stdin is not None
                for frame in frames:
                    ffmpeg.stdin.write(frame.tobytes())
                ffmpeg.stdin.close()
                code = ffmpeg.wait()
            except BrokenPipeError:
                code = ffmpeg.wait() or 1
            finally:
                ffmpeg.kill()
                ffmpeg.wait()
            if code:
                log.seek(0)
                words = shown(log.read().decode(errors="replace").strip())
                raise StorageError(f"ffmpeg could not write the video: {words or f'code {code}'}")
        return bytes(storage.read_bytes(path, _MAX_FILE_BYTES))


def gif(frames: Frames, size: Size, rate: Fraction) -> bytes:
    """Every frame, or every second one and so on; its clock counts hundredths of a second."""
    every = -(-rate // _MAX_GIF_RATE)
    duration = max(2, round(100 * every / rate)) * 10
    pictures = [
        Image.fromarray(frame).quantize(128, dither=Image.Dither.NONE)
        for frame in islice(frames, 0, None, int(every))
    ]
    out = io.BytesIO()
    first, *rest = pictures
    first.save(out, "GIF", save_all=True, append_images=rest, duration=duration, loop=0)
    return out.getvalue()


ENCODERS: Mapping[str, Encode] = MappingProxyType({".mp4": mp4, ".gif": gif})
"""By the end of the file's name"""


def encoder_for(path: Path) -> Encode:
    """Refuses what cannot be written, and mp4 without ffmpeg, before anything is drawn."""
    suffix = path.suffix.lower()
    if suffix not in ENCODERS:
        raise ConfigError(f"{path}: expected a file name that ends in {' or '.join(ENCODERS)}")
    if not path.absolute().parent.is_dir():
        raise StorageError(f"cannot write {str(path)!r}: create its folder first")
    if suffix == ".mp4":
        require_ffmpeg()
    return ENCODERS[suffix]


def require_ffmpeg() -> str:
    """Its path."""
    try:
        import imageio_ffmpeg

        path: str = imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        raise ConfigError(
            "writing mp4 needs imageio-ffmpeg: pip install 'spacil[video]', or choose a name that "
            "ends in .gif"
        ) from None
    return path
