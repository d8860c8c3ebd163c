"""Policies side by side, in a file.

spacil.video(["runs/gail", "runs/spacil"], "clip.mp4")
spacil.video({"before": "policy.onnx", "after": smooth_policy}, "clip.gif", env="Hopper-v5")
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spacil.errors import ConfigError
from spacil.film.draw import Size
from spacil.film.record import record
from spacil.film.render import Film, check_target
from spacil.policies.file import Which
from spacil.policies.open import open_policy
from spacil.policies.policy import Policy, known_task

DEFAULT_SECONDS = 8.0
MIN_SIDE, MAX_SIDE = 96, 1_920


def video(
    policies: object,
    out: str | Path,
    *,
    env: Any = None,
    seed: int = 0,
    seconds: float = DEFAULT_SECONDS,
    size: tuple[int, int] = (Size.width, Size.height),
    demonstrator: bool = True,
    which: Which = "best",
    overwrite: bool = False,
) -> Film:
    """Write a film of policies that start from the same state, their actions running beneath.

    `policies`: one policy, a sequence of them, or a mapping from names to them; each is whatever
    `spacil.measure_smoothness` takes. `out` ends in .mp4 (needs `spacil[video]`) or .gif.
    `env`: by default the task that the policies are from. `size`: width and height of one panel.
    `demonstrator`: show the bundled expert of the task too, where there is one and the policies
    are measured in the frame of its demonstrations. `overwrite`: replace `out` if it exists.
    """
    check_target(Path(out), overwrite=overwrite)  # before anything is opened
    if not MIN_SIDE <= min(size) <= max(size) <= MAX_SIDE:
        raise ConfigError(
            f"--size is {size[0]}x{size[1]}, expected {MIN_SIDE} to {MAX_SIDE} pixels each way"
        )
    named, env = open_policies(policies, env, which)
    film = Film(record(named, env, seed, seconds, demonstrator), Size(*size))
    film.write(Path(out))
    return film


def open_policies(policies: object, env: Any, which: Which) -> tuple[dict[str, Policy], Any]:
    """Open policies, give a name to those that have none, and find their task."""
    if isinstance(policies, Mapping):
        names, several = list(map(str, policies)), list(policies.values())
    else:
        names, several = [], list(policies) if isinstance(policies, list | tuple) else [policies]
    opened = [open_policy(policy, which) for policy in several]
    if not opened:
        raise ConfigError("there is no policy to film: name a run folder or a policy")
    if env is None:
        known = {task: policy.name for policy in opened if (task := known_task(policy))}
        if not known:
            raise ConfigError(f"{opened[0].name}: does not say which task it is for: pass --task")
        if len(known) > 1:
            listed = ", ".join(f"{name} {task}" for task, name in known.items())
            raise ConfigError(f"policies of different tasks cannot be compared: {listed}")
        (env,) = known
    named: dict[str, Policy] = {}
    for name, policy in zip(names or map(_name_of, opened), opened, strict=True):
        if name in named:
            name = f"{name}: {Path(policy.name).name}"
        while name in named:
            name += "'"
        named[name] = policy
    return named, env


def _name_of(policy: Policy) -> str:
    """Return `spacil, seed 0` for a run; else the file's name."""
    if policy.name == policy.task:
        return f"expert of {policy.task}"
    match policy.provenance:
        case {"teacher": str(teacher)}:
            return f"smooth {Path(teacher).name}"
        case {"algorithm": str(algorithm), "seed": int(seed)}:
            return f"{algorithm}, seed {seed}"
    return Path(policy.name).name
