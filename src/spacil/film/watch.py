"""A policy in a window, in real time, episode after episode until the window is closed.

MuJoCo's viewer, or for an env that draws itself its pictures.
"""

import contextlib
import io
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from torch import Tensor

from spacil.envs.episodes import play_wave
from spacil.envs.mujoco_model import POSE
from spacil.envs.vector_env import Scene
from spacil.errors import ConfigError
from spacil.film.record import DEFAULT_STEP_SECONDS, drawable_env, env_for
from spacil.policies.policy import Policy

NO_DISPLAY = (
    "there is no display to open a window on; `spacil video` draws the same into a file and needs "
    "none"
)


class _WindowClosedError(Exception):
    """Ends the episode that was running. Internal."""


def watch(policy: Policy, env_source: Any, seed: int, speed: float = 1.0) -> int:
    """Show the policy; return how many episodes were played to their end."""
    with drawable_env(env_source, seed) as (env, scene):
        env = env_for(policy, env, seed)
        policy.require_env(env.spec)
        if scene is None:
            raise ConfigError(
                f"{env.spec.task}: nothing draws it: `spacil video` shows its actions"
            )
        step_seconds = (env.spec.dt or DEFAULT_STEP_SECONDS) / speed
        with (_viewer if scene.model is not None else _pictures)(scene) as is_shown:
            due = time.monotonic()

            def act(states: Tensor) -> Tensor:
                nonlocal due
                if not is_shown():
                    raise _WindowClosedError
                due = max(due + step_seconds, time.monotonic() - step_seconds)
                time.sleep(max(0.0, due - time.monotonic()))
                return policy.act(states)

            num_whole = 0
            with contextlib.suppress(_WindowClosedError):
                while True:
                    play_wave(env, act, env.reset(num_whole), 1)
                    num_whole += 1
            return num_whole


@contextlib.contextmanager
def _viewer(scene: Scene) -> Iterator[Callable[[], bool]]:
    """MuJoCo's viewer: a function that shows where everything is, and whether it is still open."""
    require_display()
    import mujoco.viewer

    data = mujoco.MjData(scene.model)
    with mujoco.viewer.launch_passive(
        scene.model, data, show_left_ui=False, show_right_ui=False
    ) as window:
        tracking = mujoco.mj_name2id(scene.model, mujoco.mjtObj.mjOBJ_CAMERA, "track")
        if tracking >= 0:
            window.cam.type = mujoco.mjtCamera.mjCAMERA_FIXED
            window.cam.fixedcamid = tracking
        else:
            mujoco.mjv_defaultFreeCamera(scene.model, window.cam)

        def show() -> bool:
            with window.lock():
                mujoco.mj_setState(scene.model, data, scene.pose(), POSE)
                mujoco.mj_forward(scene.model, data)
            window.sync()
            return bool(window.is_running())

        yield show


@contextlib.contextmanager
def _pictures(scene: Scene) -> Iterator[Callable[[], bool]]:
    """The same for an env that draws itself, in a window of matplotlib's."""
    from matplotlib import pyplot

    if pyplot.get_backend().lower() == "agg":  # what it falls back on
        raise ConfigError(NO_DISPLAY)
    figure = pyplot.figure("spacil watch")
    image = figure.add_axes((0, 0, 1, 1)).imshow(pyplot.imread(io.BytesIO(scene.pose())))
    image.axes.set_axis_off()

    def show() -> bool:
        image.set_data(pyplot.imread(io.BytesIO(scene.pose())))
        pyplot.pause(0.001)
        return pyplot.fignum_exists(figure.number)

    yield show
    pyplot.close(figure)


def require_display() -> None:
    """Refuse in words: MuJoCo's viewer waits forever for a window that cannot open."""
    import glfw

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not glfw.init():
            raise ConfigError(NO_DISPLAY)
