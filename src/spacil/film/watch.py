"""A policy in MuJoCo's viewer, in real time, episode after episode until the window is closed."""

import contextlib
import time
import warnings
from typing import Any

from torch import Tensor

from spacil.envs.episodes import play_wave
from spacil.envs.mujoco_model import POSE
from spacil.errors import ConfigError
from spacil.film.record import DEFAULT_STEP_SECONDS, drawable_env, env_for
from spacil.policies.policy import Policy


class _WindowClosedError(Exception):
    """Ends the episode that was running. Internal."""


def watch(policy: Policy, env_source: Any, seed: int, speed: float = 1.0) -> int:
    """Show the policy; return how many episodes were played to their end."""
    with drawable_env(env_source, seed) as (env, scene):
        env = env_for(policy, env, seed)
        policy.require_env(env.spec)
        step_seconds = (env.spec.dt or DEFAULT_STEP_SECONDS) / speed
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
            due = time.monotonic()

            def act(states: Tensor) -> Tensor:
                nonlocal due
                with window.lock():
                    mujoco.mj_setState(scene.model, data, scene.pose(), POSE)
                    mujoco.mj_forward(scene.model, data)
                window.sync()
                if not window.is_running():
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


def require_display() -> None:
    """Refuse in words: MuJoCo's viewer waits forever for a window that cannot open."""
    import glfw

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not glfw.init():
            raise ConfigError(
                "there is no display to open a window on; `spacil video` draws the same into a "
                "file and needs none"
            )
