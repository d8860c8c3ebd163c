"""Policies in a browser: one HTML file in which they act, side by side and in step.

MuJoCo runs in the page, as WebAssembly, and so do the policies' networks: whoever opens the file
turns up noise, delay, shoves, gravity and friction, and sees which policy shakes. Nothing is
loaded from anywhere. The page knows the built-in tasks, by the names and settings of their
functions in `envs/mujoco_tasks.py`; of other envs and other kinds of policy it shows a film.
"""

import base64
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from spacil import storage
from spacil.envs.mujoco_model import model_path
from spacil.envs.mujoco_tasks import MujocoTask
from spacil.envs.registry import TASKS
from spacil.errors import ConfigError, keywords_for_flags
from spacil.film.record import Recording, record
from spacil.film.render import COLOURS, Film, check_target
from spacil.film.video import open_policies
from spacil.plain_text import in_frame
from spacil.policies.file import Which
from spacil.policies.policy import Policy

MAX_PANELS = 3
_FRAME_HEIGHT = 760
"""Pixels of the page in a notebook"""
_MEASURED_SECONDS = 8.0
"""Seconds of play that J and the action change of a panel's heading are measured on"""


@dataclass(frozen=True)
class Page:
    """What was written."""

    path: Path
    task: str
    num_bytes: int
    is_live: bool
    """Whether the policies act in the page; else it holds a film"""
    recording: Recording

    def _repr_html_(self) -> str:
        """Show the page in a notebook."""
        return in_frame(self.path.read_text(encoding="utf-8"), _FRAME_HEIGHT)


def make_page(
    policies: object,
    out: str | Path,
    *,
    env: Any = None,
    seed: int = 0,
    title: str = "",
    which: Which = "best",
    overwrite: bool = False,
) -> Page:
    """Write a page in which up to three policies act side by side.

    `policies`: one policy, a sequence of them, or a mapping from names to them; each is whatever
    `spacil.measure_smoothness` takes. `env`: by default the task that the policies are from.
    `overwrite`: replace `out` if it exists.
    """
    check_target(Path(out), (".html",), overwrite=overwrite)  # before anything is opened
    named, env = open_policies(policies, env, which)
    if len(named) > MAX_PANELS:
        raise ConfigError(f"{len(named)} policies, expected at most {MAX_PANELS} on one page")
    recording = record(named, env, seed, _MEASURED_SECONDS, demonstrator=False)
    task = TASKS.get(env) if isinstance(env, str) else None
    live = task is not None and all(policy.network is not None for policy in named.values())
    data: dict[str, Any] = {
        "title": title or f"{recording.spec.task}: which one shakes?",
        "seed": seed,
        "panels": [
            {
                "name": panel.name,
                "colour": colour,
                "j": panel.smoothness_j,
                "action_change": panel.action_change,
                "return": panel.total_return,
            }
            for panel, colour in zip(recording.panels, COLOURS[1:], strict=False)
        ],
    }
    if live and task is not None:
        frame = recording.frame
        data["task"] = _described(task) | {
            "noise_std": [] if frame is None else frame.std.tolist(),
            "step_seconds": recording.step_seconds,
        }
        for shown, policy in zip(data["panels"], named.values(), strict=True):
            shown["policy"] = _network(policy)
        scripts = [_script("mujoco.js"), _script("page.js")]
        data["mujoco"] = base64.b64encode(_asset("mujoco.wasm.gz")).decode()
    else:
        with tempfile.TemporaryDirectory(prefix="spacil-page-") as folder:
            Film(recording).write(Path(folder) / "film.mp4")
            film = (Path(folder) / "film.mp4").read_bytes()
        data["film"] = base64.b64encode(film).decode()
        scripts = [_script("page.js")]
    text = _asset("page.html").decode()
    parts = {
        "/*STYLE*/": _asset("page.css").decode(),
        "/*DATA*/": json.dumps(data).replace("<", "\\u003c"),
        "/*SCRIPT*/": "\n".join(scripts),
        "/*LICENCE*/": _asset("mujoco.LICENSE").decode() if live else "",
    }
    for place, part in parts.items():
        text = text.replace(place, part)
    content = text.encode()
    storage.replace_file(Path(out), content)
    return Page(Path(out), recording.spec.task, len(content), live, recording)


page = keywords_for_flags()(make_page)
"""`spacil.page`: the same, with errors that name keywords instead of flags"""


def _asset(name: str) -> bytes:
    return (files("spacil.film") / "assets" / name).read_bytes()


def _script(name: str) -> str:
    """Return a script that may stand inside HTML."""
    return _asset(name).decode().replace("</script", "<\\/script")


def _described(task: MujocoTask) -> dict[str, Any]:
    """Describe a task by the names and settings of its functions, which the page has too."""

    def named(function: Callable[..., Any]) -> dict[str, Any]:
        if isinstance(function, partial):
            settings = function.keywords.items()
            plain = {key: v.__name__ if callable(v) else v for key, v in settings}
            return named(function.func) | plain
        return {"name": function.__name__}

    functions = ("observe", "landmark", "reward", "is_healthy", "draw_start")
    return {
        "name": task.name,
        "model": model_path(task).read_text(encoding="utf-8"),
        "frame_skip": task.frame_skip,
        "horizon": task.horizon,
        "is_seen_from_above": task.is_seen_from_above,
        **{name: named(getattr(task, name)) for name in functions},
    }


def _network(policy: Policy) -> dict[str, Any]:
    """Describe a policy's normaliser, layers, bounds and history."""
    network, conditions = policy.policy, policy.conditions
    normalizer = network.normalizer
    layers = [
        {"weight": _packed(weight), "bias": _packed(bias), "num_out": len(bias)}
        for weight, bias in network.mean_net.weights_and_biases
    ]
    return {
        "shift": normalizer.shift.tolist(),
        "scale": normalizer.scale.tolist(),
        "layers": layers,
        "low": _bounds(network.action_low),
        "high": _bounds(network.action_high),
        "num_commands": conditions.num_commands,
        "num_past": conditions.num_observations,
        "delay": conditions.range_of("action")[1],
    }


def _packed(tensor: Tensor) -> str:
    return base64.b64encode(tensor.detach().to(torch.float32).numpy().tobytes()).decode()


def _bounds(bounds: Tensor) -> list[float | None]:
    return [value if abs(value) < float("inf") else None for value in bounds.tolist()]
