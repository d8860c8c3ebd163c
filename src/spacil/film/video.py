"""Policies side by side, in a file.

spacil.video(["runs/gail", "runs/spacil"], "clip.mp4")
spacil.video({"before": "policy.onnx", "after": smooth_policy}, "clip.gif", env="Hopper-v5")
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spacil.demos.common_frame import CommonFrame, bundled_frame
from spacil.errors import ConfigError, keywords_for_flags
from spacil.film.draw import Size
from spacil.film.record import Recording, record
from spacil.film.render import Film, OnFrame, check_target, write_film
from spacil.policies.file import Which, bundled_experts
from spacil.policies.open import open_policy
from spacil.policies.policy import Policy, known_task

DEFAULT_SECONDS = 8.0
MAX_SECONDS = 300.0
MAX_PANELS = 6
MIN_SIDE, MAX_SIDE = 96, 1_920
DEMONSTRATOR = "demonstrator"


@dataclass(frozen=True)
class Panels:
    """The policies to show, by the name of the panel, and the env they play in."""

    policies: Mapping[str, Policy]
    env_source: Any

    @property
    def frame(self) -> CommonFrame | None:
        """The frame of the first policy that has one, for all, so that their J compare."""
        known = [p.common_frame for p in self.policies.values() if p.common_frame is not None]
        if known:
            return known[0]
        return bundled_frame(self.env_source) if isinstance(self.env_source, str) else None

    def with_demonstrator(self) -> "Panels":
        """Put the bundled expert first, unless it is shown or they had another teacher."""
        task = self.env_source
        if not isinstance(task, str) or task not in bundled_experts():
            return self
        frame, theirs = bundled_frame(task), self.frame
        had_another = frame is None or theirs is None or not theirs.is_same_as(frame)
        if had_another or any(source.name == task for source in self.policies.values()):
            return self
        return Panels({DEMONSTRATOR: open_policy(task), **self.policies}, task)


@keywords_for_flags()
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
    on_frame: OnFrame = lambda num_drawn, num_wanted: None,
) -> Film:
    """Write a film of policies that start from the same state, their actions running beneath.

    `policies`: one policy, a sequence of them, or a mapping from names to them; each is whatever
    `spacil.measure_smoothness` takes. `out` ends in .mp4 (needs `spacil[video]`) or .gif.
    `env`: by default the task that the policies are from. `size`: width and height of one panel.
    `demonstrator`: show the bundled expert of the task too, where there is one and the policies
    are measured in the frame of its demonstrations.
    """
    path = Path(out)
    check_target(path)  # before anything is opened
    named: list[tuple[str | None, object]]
    if isinstance(policies, Mapping):
        named = [(str(name), policy) for name, policy in policies.items()]
    else:
        several = policies if isinstance(policies, list | tuple) else [policies]
        named = [(None, policy) for policy in several]
    panels = open_panels(named, env, which)
    if demonstrator:
        panels = panels.with_demonstrator()
    film = make_film(panels, seed, seconds, Size(*size), on_frame)
    write_film(film, path)
    return film


def make_film(
    panels: Panels,
    seed: int = 0,
    seconds: float = DEFAULT_SECONDS,
    size: Size | None = None,
    on_frame: OnFrame = lambda num_drawn, num_wanted: None,
) -> Film:
    """Play and draw."""
    size = size or Size()
    if not (MIN_SIDE <= min(size.width, size.height) <= max(size.width, size.height) <= MAX_SIDE):
        raise ConfigError(
            f"--size is {size.width}x{size.height}, expected {MIN_SIDE} to {MAX_SIDE} pixels each "
            "way"
        )
    return Film(make_recording(panels, seed, seconds), size, on_frame)


def make_recording(panels: Panels, seed: int, seconds: float) -> Recording:
    """Play, and draw nothing."""
    if not 0 < seconds <= MAX_SECONDS:
        expected = f"expected more than 0 and at most {MAX_SECONDS:g}"
        raise ConfigError(f"--seconds is {seconds:g}, {expected}")
    if len(panels.policies) > MAX_PANELS:
        raise ConfigError(f"{len(panels.policies)} policies, expected at most {MAX_PANELS}")
    return record(panels.policies, panels.env_source, panels.frame, seed, seconds)


def open_panels(policies: Sequence[tuple[str | None, object]], env: Any, which: Which) -> Panels:
    """Open policies, find their task, and give a name to those that have none."""
    if not policies:
        raise ConfigError("there is no policy to film: name a run folder or a policy")
    opened = [open_policy(policy, which) for _, policy in policies]
    if env is None:
        tasks: dict[str, str] = {}
        for source in opened:
            if (task := known_task(source)) is not None:
                tasks.setdefault(task, source.name)
        if not tasks:
            raise ConfigError(f"{opened[0].name}: does not say which task it is for: pass --task")
        if len(tasks) > 1:
            listed = ", ".join(f"{name} {task}" for task, name in tasks.items())
            raise ConfigError(f"policies of different tasks cannot be compared: {listed}")
        (env,) = tasks
    named: dict[str, Policy] = {}
    for (given, _), source in zip(policies, opened, strict=True):
        name = given or _name_of(source)
        if name in named:
            name = f"{name}: {Path(source.name).name}"
        while name in named:
            name += "'"
        named[name] = source
    return Panels(named, env)


def _name_of(source: Policy) -> str:
    """Return `spacil, seed 0` for a run; else the file's name."""
    match source.provenance:
        case {"teacher": str(teacher)}:
            return f"smooth {Path(teacher).name}"
        case {"algorithm": str(algorithm), "seed": int(seed)} if source.name != source.task:
            return f"{algorithm}, seed {seed}"
    return f"expert of {source.task}" if source.name == source.task else Path(source.name).name
