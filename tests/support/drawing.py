"""Whether this machine can draw, and what is in the films it made."""

import functools
import re
import subprocess
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import pytest
from numpy.typing import NDArray

from spacil.errors import ConfigError
from spacil.film.draw import Size, draw
from spacil.film.record import drawable_env


@functools.cache
def why_not() -> str:
    """Empty where OpenGL works."""
    try:
        with drawable_env("Reacher-v4", 0) as (env, scene):
            env.reset()
            draw(scene.model, scene.pose()[None], Size(16, 16))
    except ConfigError as error:
        return str(error)
    return ""


def require_gl() -> None:
    if reason := why_not():
        pytest.skip(reason)


def decoded(path: Path) -> tuple[NDArray[np.uint8], str]:
    """Every frame [F, H, W, 3] of a film, and what ffmpeg says about its stream."""
    ffmpeg = imageio_ffmpeg.get_ffmpeg_exe()
    told = subprocess.run([ffmpeg, "-hide_banner", "-i", path], capture_output=True, text=True)
    (stream,) = re.findall(r"Stream .*: Video: .*", told.stderr)
    width, height = map(int, re.findall(r"(\d{2,5})x(\d{2,5})", stream)[0])
    raw = subprocess.run(
        [ffmpeg, "-loglevel", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
        capture_output=True,
        check=True,
    ).stdout
    return np.frombuffer(raw, np.uint8).reshape(-1, height, width, 3), stream
