"""MuJoCo's own window, moved by poses. Needs a display."""

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import mujoco

from spacil.envs.mujoco_model import POSE
from spacil.envs.vector_env import FloatArray
from spacil.errors import ConfigError
from spacil.film.poses import PoseReader

_REMEDY = "`spacil video` draws the same into a file and needs none"


class Viewer:
    """An open window."""

    def __init__(self, handle: Any, model: Any, data: Any) -> None:
        self._handle, self._model, self._data = handle, model, data

    def show(self, pose: FloatArray) -> bool:
        """False when the window was closed."""
        with self._handle.lock():
            mujoco.mj_setState(self._model, self._data, pose, POSE)
            mujoco.mj_forward(self._model, self._data)
        self._handle.sync()
        return bool(self._handle.is_running())


@contextlib.contextmanager
def open_viewer(reader: PoseReader) -> Iterator[Viewer]:
    require_display()
    import mujoco.viewer

    data = mujoco.MjData(reader.model)
    handle = mujoco.viewer.launch_passive(
        reader.model, data, show_left_ui=False, show_right_ui=False
    )
    with handle:
        _follow(handle.cam, reader)
        yield Viewer(handle, reader.model, data)


def require_display() -> None:
    """Refuse in words: MuJoCo's viewer waits forever for a window that cannot open."""
    is_linux = sys.platform.startswith("linux")
    if is_linux and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise ConfigError(f"there is no display to open a window on; {_REMEDY}")
    import glfw

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not glfw.init():
            raise ConfigError(f"the display refused to open a window; {_REMEDY}")


def _follow(camera: Any, reader: PoseReader) -> None:
    """The model's own tracking camera, else one that sees all of it."""
    index = mujoco.mj_name2id(reader.model, mujoco.mjtObj.mjOBJ_CAMERA, "track")
    if index >= 0:
        camera.type, camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, index
    else:
        mujoco.mjv_defaultFreeCamera(reader.model, camera)
