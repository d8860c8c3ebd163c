"""Policies side by side, in a file.

spacil.video(["runs/gail", "runs/spacil"], "clip.mp4")
spacil.video({"before": "policy.onnx", "after": smooth_policy}, "clip.gif", env="Hopper-v5")
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spacil import storage
from spacil.demos.common_frame import CommonFrame, bundled_frame
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import ResetSeeds, VectorEnv
from spacil.errors import ConfigError, keywords_for_flags
from spacil.film.encoding import encoder_for
from spacil.film.film import Film, develop
from spacil.film.footage import Footage, play_side_by_side
from spacil.film.painting import Size
from spacil.film.poses import PoseReader, pose_reader
from spacil.policies.file import Which, bundled_experts
from spacil.policies.open import open_policy
from spacil.policies.source import PolicySource, known_task

DEFAULT_SECONDS = 8.0
MAX_SECONDS = 300.0
MAX_PANELS = 6
MIN_SIDE, MAX_SIDE = 96, 1_920
DEMONSTRATOR = "demonstrator"

OnFrame = Callable[[int, int], None]
"""frames drawn so far, frames wanted"""


@dataclass(frozen=True)
class Cast:
    """Who plays, and where."""

    policies: Mapping[str, PolicySource]
    """By the name of the panel"""
    env_source: Any

    @property
    def frame(self) -> CommonFrame | None:
        """One for all panels, so that their J compare: that of the first policy that has one."""
        kept = [source.common_frame for source in self.policies.values()]
        known = [frame for frame in kept if frame is not None]
        if known:
            return known[0]
        return bundled_frame(self.env_source) if isinstance(self.env_source, str) else None


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
    encoder_for(path)  # refuses early
    cast = cast_of(_listed(policies), env, which)
    if demonstrator:
        cast = with_demonstrator(cast)
    film = film_of(cast, seed, seconds, Size(*size), on_frame)
    write_film(film, path)
    return film


def write_film(film: Film, path: Path) -> None:
    """Whole or not at all, in the format that the file's name says."""
    content = encoder_for(path)(film.frames(), film.frame_size, film.rate)
    storage.replace_file(path, content)


def film_of(
    cast: Cast,
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
    with stage(cast, seed) as (env, reader):
        return develop(footage_of(cast, env, reader, seed, seconds), reader, size, on_frame)


def footage_of(
    cast: Cast, env: VectorEnv, reader: PoseReader, seed: int, seconds: float
) -> Footage:
    """Play, and draw nothing: needs no OpenGL."""
    if not 0 < seconds <= MAX_SECONDS:
        raise ConfigError(f"--seconds is {seconds:g}, expected more than 0 and at most 300")
    if len(cast.policies) > MAX_PANELS:
        raise ConfigError(f"{len(cast.policies)} policies, expected at most {MAX_PANELS}")
    frame = cast.frame
    if frame is not None and frame.num_states != env.spec.num_states:
        frame = None  # an env under a task's name may have been wrapped
    return play_side_by_side(cast.policies, env, reader, frame, seed, seconds)


@contextlib.contextmanager
def stage(cast: Cast, seed: int) -> Iterator[tuple[VectorEnv, PoseReader]]:
    """One env for everybody. The stream of `spacil evaluate`: its first episode is the film's."""
    env = make_vector_env(cast.env_source, 1, ResetSeeds(seed, "evaluate"))
    with contextlib.closing(env):
        yield env, pose_reader(env)


def cast_of(policies: Sequence[tuple[str | None, object]], env: Any, which: Which) -> Cast:
    """Open policies, find their task, and give a name to those that have none."""
    if not policies:
        raise ConfigError("there is no policy to film: name a run folder or a policy")
    opened = [open_policy(policy, which) for _, policy in policies]
    if env is None:
        env = _common_task(opened, [policy for _, policy in policies])
    named: dict[str, PolicySource] = {}
    for (given, _), source in zip(policies, opened, strict=True):
        name = given or _name_of(source)
        if name in named:
            name = f"{name}: {Path(source.name).name}"
        while name in named:
            name += "'"
        named[name] = source
    return Cast(named, env)


def with_demonstrator(cast: Cast) -> Cast:
    """The bundled expert first, unless it is there already or the policies had another teacher."""
    task = cast.env_source
    if not isinstance(task, str) or task not in bundled_experts():
        return cast
    frame, theirs = bundled_frame(task), cast.frame
    had_another = frame is None or theirs is None or not theirs.is_same_as(frame)
    if had_another or any(source.name == task for source in cast.policies.values()):
        return cast
    return Cast({DEMONSTRATOR: open_policy(task), **cast.policies}, task)


def _listed(policies: object) -> list[tuple[str | None, object]]:
    """With a name where one is given."""
    if isinstance(policies, Mapping):
        return [(str(name), policy) for name, policy in policies.items()]
    if isinstance(policies, list | tuple):
        return [(None, policy) for policy in policies]
    return [(None, policies)]


def _common_task(opened: Sequence[PolicySource], policies: Sequence[object]) -> str:
    """The one task that all policies are from."""
    tasks: dict[str, str] = {}
    for source, policy in zip(opened, policies, strict=True):
        if (task := known_task(source, policy)) is not None:
            tasks.setdefault(task, source.name)
    if not tasks:
        raise ConfigError(f"{opened[0].name}: does not say which task it is for: pass --task")
    if len(tasks) > 1:
        listed = ", ".join(f"{name} {task}" for task, name in tasks.items())
        raise ConfigError(f"policies of different tasks cannot be compared: {listed}")
    return next(iter(tasks))


def _name_of(source: PolicySource) -> str:
    """`spacil, seed 0` of a run; else the file's name."""
    match source.provenance:
        case {"teacher": str(teacher)}:
            return f"smooth {Path(teacher).name}"
        case {"algorithm": str(algorithm), "seed": int(seed)} if source.name != source.task:
            return f"{algorithm}, seed {seed}"
    return f"expert of {source.task}" if source.name == source.task else Path(source.name).name
