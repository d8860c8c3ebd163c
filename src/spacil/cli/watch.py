"""`spacil watch RUN|POLICY`: a policy in a window."""

from dataclasses import dataclass

from spacil.cli.arguments import PolicySource
from spacil.config.checks import require


@dataclass(frozen=True, kw_only=True)
class Arguments(PolicySource):
    """A policy in a window, in real time, until it is closed.

    MuJoCo's viewer, or the pictures of an env that draws itself.

    Without a display: spacil video.
    """

    seed: int = 0
    """Seed of the start states: those of `spacil evaluate`."""
    speed: float = 1.0
    """1 is real time, 0.25 slow motion."""


def run(parsed: Arguments) -> int:
    from spacil.film.watch import watch
    from spacil.policies.policy import task_of

    require(parsed.speed > 0, "speed", f"{parsed.speed:g}", "more than 0")
    policy = parsed.opened()
    num_episodes = watch(policy, parsed.task or task_of(policy), parsed.seed, parsed.speed)
    print(f"closed after {num_episodes} whole episodes")
    return 0
