"""Poses in, pictures out: drawn without a display, in a child process.

EGL is tried first, then OSMesa, which needs no graphics card; MUJOCO_GL, where it is set, goes
before both. OpenGL drivers may crash, hang or print: all of it ends with the child. The same poses
give the same pictures on the same machine.

The child is a plain `python -c`, not one of multiprocessing, which would run the script that asks
for a film once more. It runs `draw_here`: it reads model.mjb and poses.npy in a folder, and fills
frames.npy.
"""

import faulthandler
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from spacil import storage
from spacil.envs.mujoco_model import POSE
from spacil.errors import ConfigError, StorageError
from spacil.plain_text import shown

BACKENDS = ("egl", "osmesa")
_PATIENCE = 120.0
"""Seconds without a frame after which the child gives up; the first one loads drivers"""
_NUM_SAMPLES = 4
"""Samples per pixel; more cost much without a graphics card"""
_DISTANCE_FROM_ABOVE = 0.85
"""Metres between Reacher and a camera above it"""


@dataclass(frozen=True)
class Size:
    """Size of a picture, in pixels."""

    width: int = 320
    height: int = 240


def backends() -> list[str]:
    """List the ways to OpenGL in the order in which they are tried."""
    chosen = os.environ.get("MUJOCO_GL", "").lower()
    return list(dict.fromkeys([*filter(None, [chosen]), *BACKENDS]))


def draw(
    model: Any, poses: NDArray[np.float64], size: Size, is_seen_from_above: bool = False
) -> NDArray[np.uint8]:
    """Draw one picture per pose [F, P] -> [F, H, W, 3], in a file that goes with the result."""
    with tempfile.TemporaryDirectory(prefix="spacil-frames-") as name:
        folder = Path(name)
        storage.require_free_space(folder, len(poses) * size.width * size.height * 3)
        with storage.os_errors_as(StorageError, "write", folder):
            mujoco.mj_saveModel(model, str(folder / "model.mjb"), None)
            np.save(folder / "poses.npy", poses)
        # Armed before mujoco loads a driver, which may hang.
        program = (
            f"import faulthandler; faulthandler.dump_traceback_later({_PATIENCE}, exit=True); "
            "from spacil.film import draw; draw.draw_here"
            f"({name!r}, {size.width}, {size.height}, {is_seen_from_above}, {_PATIENCE})"
        )
        paths = [os.fspath(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
        faults = []
        for backend in backends():
            environment["MUJOCO_GL"] = backend
            if backend in BACKENDS:
                environment["PYOPENGL_PLATFORM"] = backend  # it must agree with MUJOCO_GL
            done = subprocess.run(
                # -P: numpy.py in the working folder is no numpy
                [sys.executable, "-P", "-c", program],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=environment,
            )
            if done.returncode == 0:
                # Read when looked at: a long film does not fit in memory.
                frames: NDArray[np.uint8] = np.load(
                    folder / "frames.npy", mmap_mode="r", allow_pickle=False
                )
                return frames
            lines = done.stderr.decode(errors="replace").splitlines()
            errors = [line.strip() for line in lines if "Error" in line.split(":")[0]]
            fault = shown(errors[-1], 120) if errors else f"exit code {done.returncode}"
            if any(line.startswith("Timeout (") for line in lines):
                fault = "no frame for too long"
            faults.append(f"{backend}: {fault}")
    raise ConfigError(
        f"there is no OpenGL to draw with ({'; '.join(faults)}); on Debian or Ubuntu: apt install "
        "libegl1 (or libosmesa6, which needs no graphics driver), then run the same command again"
    )


def draw_here(
    name: str, width: int, height: int, is_seen_from_above: bool, patience: float
) -> None:
    """Draw in this process, the child, and end it."""
    folder = Path(name)
    model = mujoco.MjModel.from_binary_path(str(folder / "model.mjb"))
    poses = np.load(folder / "poses.npy", allow_pickle=False)
    model.vis.global_.offwidth = max(model.vis.global_.offwidth, width)
    model.vis.global_.offheight = max(model.vis.global_.offheight, height)
    model.vis.quality.offsamples = _NUM_SAMPLES
    data, camera = mujoco.MjData(model), mujoco.MjvCamera()
    # In Gymnasium's models "track" follows the body, from 3 m away.
    tracking = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, "track")
    mujoco.mjv_defaultFreeCamera(model, camera)
    if is_seen_from_above:
        camera.lookat[:] = 0.0
        camera.distance, camera.azimuth, camera.elevation = _DISTANCE_FROM_ABOVE, 90.0, -90.0
    frames = np.lib.format.open_memmap(
        folder / "frames.npy", mode="w+", dtype=np.uint8, shape=(len(poses), height, width, 3)
    )
    with mujoco.Renderer(model, height, width) as renderer:
        # Shadows take three times the time of everything else, on a processor.
        renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = 0
        renderer.scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = 0
        for pose, frame in zip(poses, frames, strict=True):
            faulthandler.dump_traceback_later(patience, exit=True)
            mujoco.mj_setState(model, data, pose, POSE)
            mujoco.mj_forward(model, data)
            renderer.update_scene(data, tracking if tracking >= 0 else camera)
            renderer.render(out=frame)
    frames.flush()
    os._exit(0)  # some drivers crash while they are taken down; everything is on disk by now
