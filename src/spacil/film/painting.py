"""Poses in, pictures out: drawn without a display, in a child process.

OpenGL is tried as EGL, then as OSMesa, which needs no graphics card at all; MUJOCO_GL, where it is
set, goes first. A driver that crashes or hangs takes its child along and nothing else. The same
poses give the same pictures on the same machine.
"""

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacil import storage
from spacil.envs.vector_env import FloatArray
from spacil.errors import ConfigError, StorageError
from spacil.film.poses import PoseReader
from spacil.plain_text import shown

Pictures = NDArray[np.uint8]
"""[F, H, W, 3]"""

BACKENDS = ("egl", "osmesa")
REMEDY = (
    "on Debian or Ubuntu: apt install libegl1 (or libosmesa6, which needs no graphics driver), "
    "then run the same command again"
)
_PATIENCE = 120.0
"""Seconds without a frame after which the child counts as hung; the first one loads drivers"""


@dataclass(frozen=True)
class Size:
    """Of one picture, in pixels."""

    width: int = 320
    height: int = 240


def draw(
    reader: PoseReader,
    poses: FloatArray,
    size: Size,
    on_frame: Callable[[int], None] = lambda num_drawn: None,
) -> Pictures:
    """One picture per pose [F, P], in a file that is gone when nobody holds the result."""
    with tempfile.TemporaryDirectory(prefix="spacil-frames-") as name:
        folder = Path(name)
        storage.require_free_space(folder, len(poses) * size.width * size.height * 3)
        request = {
            "width": size.width,
            "height": size.height,
            "is_seen_from_above": reader.is_seen_from_above,
        }
        with storage.os_errors_as(StorageError, "write", folder):
            (folder / "request.json").write_text(json.dumps(request))
            (folder / "model.mjb").write_bytes(reader.model_bytes().tobytes())
            np.save(folder / "poses.npy", poses)
        faults = []
        for backend in backends():
            fault = _paint(folder, backend, on_frame)
            if fault is None:
                return _opened(folder / "frames.npy")
            faults.append(f"{backend}: {fault}")
    raise ConfigError(f"there is no OpenGL to draw with ({'; '.join(faults)}); {REMEDY}")


def _opened(path: Path) -> Pictures:
    """Read when they are looked at: a long film does not fit in memory."""
    frames: Pictures = np.load(path, mmap_mode="r", allow_pickle=False)
    return frames


def backends() -> list[str]:
    """Ways to OpenGL, in the order in which they are tried."""
    chosen = os.environ.get("MUJOCO_GL", "").lower()
    return list(dict.fromkeys([*filter(None, [chosen]), *BACKENDS]))


def _paint(folder: Path, backend: str, on_frame: Callable[[int], None]) -> str | None:
    """What went wrong in words, None if nothing did."""
    package_parent = os.fspath(Path(__file__).parents[2])
    paths = [package_parent, *filter(None, [os.environ.get("PYTHONPATH")])]
    with (folder / f"{backend}.log").open("w+b") as log:
        child = subprocess.Popen(
            # -P: a numpy.py in the working folder is not numpy.
            [sys.executable, "-P", "-m", "spacil.film.painter", os.fspath(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env={
                **os.environ,
                # PyOpenGL must agree, whatever the surroundings say.
                **({"PYOPENGL_PLATFORM": backend} if backend in BACKENDS else {}),
                "MUJOCO_GL": backend,
                "PYTHONPATH": os.pathsep.join(paths),
            },
        )
        try:
            is_hung = _follow(child, on_frame)
            if is_hung:
                return f"no frame within {_PATIENCE:.0f} s"
            code = child.wait()
        finally:
            child.kill()
            child.wait()
            assert child.stdout is not None
            child.stdout.close()
        if code == 0:
            return None
        return _last_words(log) or (f"signal {-code}" if code < 0 else f"exit code {code}")


def _follow(child: "subprocess.Popen[bytes]", on_frame: Callable[[int], None]) -> bool:
    """Count its frames until it closes its output; True if it stopped drawing before."""
    assert child.stdout is not None
    descriptor, num_drawn = child.stdout.fileno(), 0
    while True:
        ready, _, _ = select.select([descriptor], [], [], _PATIENCE)
        if not ready:
            return True
        news = os.read(descriptor, 4096)
        if not news:
            return False
        num_drawn += len(news)
        on_frame(num_drawn)


def _last_words(log: Any) -> str:
    """The line of a traceback that names the error."""
    log.seek(0)
    lines = [line.strip() for line in log.read().decode(errors="replace").splitlines()]
    named = [line for line in lines if "Error" in line.split(":")[0]]
    return shown(named[-1], 120) if named else ""
