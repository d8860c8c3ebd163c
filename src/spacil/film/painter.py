"""The child that draws: `python -m spacil.film.painter FOLDER`, MUJOCO_GL around it.

Reads request.json, model.mjb and poses.npy from the folder, fills frames.npy, and writes one byte
to stdout per frame. OpenGL drivers may crash, hang or print: all of it ends with this process.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from spacil.envs.mujoco_model import POSE

TRACKING_CAMERA = "track"
"""In Gymnasium's models: it follows the body, from 3 m away"""
_NUM_SAMPLES = 4
"""Per pixel; more costs much without a graphics card"""
_DISTANCE_FROM_ABOVE = 0.85
"""Of Reacher's camera, in metres"""


def paint(folder: Path) -> None:
    request = json.loads((folder / "request.json").read_text())
    model = mujoco.MjModel.from_binary_path(str(folder / "model.mjb"))
    poses = np.load(folder / "poses.npy", allow_pickle=False)
    height, width = request["height"], request["width"]
    model.vis.global_.offwidth = max(model.vis.global_.offwidth, width)
    model.vis.global_.offheight = max(model.vis.global_.offheight, height)
    model.vis.quality.offsamples = _NUM_SAMPLES
    data, camera = mujoco.MjData(model), _camera(model, request["is_seen_from_above"])
    frames = np.lib.format.open_memmap(
        folder / "frames.npy", mode="w+", dtype=np.uint8, shape=(len(poses), height, width, 3)
    )
    with mujoco.Renderer(model, height, width) as renderer:
        # Shadows take three times the time of everything else, on a processor.
        renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = 0
        renderer.scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = 0
        for pose, frame in zip(poses, frames, strict=True):
            mujoco.mj_setState(model, data, pose, POSE)
            mujoco.mj_forward(model, data)
            renderer.update_scene(data, camera)
            renderer.render(out=frame)
            os.write(1, b".")
    frames.flush()


def _camera(model: Any, is_seen_from_above: bool) -> Any:
    """The model's own tracking camera; else a free one that sees all of it."""
    index = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, TRACKING_CAMERA)
    if index >= 0:
        return index
    camera = mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(model, camera)
    if is_seen_from_above:
        camera.lookat[:] = 0.0
        camera.distance, camera.azimuth, camera.elevation = _DISTANCE_FROM_ABOVE, 90.0, -90.0
    return camera


if __name__ == "__main__":
    paint(Path(sys.argv[1]))
    # Some drivers crash while they are taken down; everything is on disk by now.
    os._exit(0)
