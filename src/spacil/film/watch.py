"""A policy in MuJoCo's viewer, in real time, episode after episode until the window is closed."""

import itertools
import time
from typing import Any

from torch import Tensor

from spacil.envs.episodes import WaveStep, play_wave
from spacil.film.footage import DEFAULT_STEP_SECONDS
from spacil.film.video import Cast, stage
from spacil.film.viewer import open_viewer
from spacil.policies.source import PolicySource, check_widths


class _WindowClosedError(Exception):
    """Ends the episode that was running. Internal."""


def watch(source: PolicySource, env_source: Any, seed: int, speed: float = 1.0) -> int:
    """Returns how many episodes were played to their end."""
    with stage(Cast({source.name: source}, env_source), seed) as (env, reader):
        check_widths(source, env.spec.num_states, env.spec.num_actions, env.spec.task)
        step_seconds = (env.spec.dt or DEFAULT_STEP_SECONDS) / speed
        with open_viewer(reader) as window:
            due = time.monotonic()

            def act(states: Tensor) -> Tensor:
                nonlocal due
                if not window.show(reader.read()):
                    raise _WindowClosedError
                due = max(due + step_seconds, time.monotonic() - step_seconds)
                time.sleep(max(0.0, due - time.monotonic()))
                return source.mean(states.to(source.dtype)).detach()

            def ignore(step: WaveStep) -> None: ...

            for episode in itertools.count():
                try:
                    play_wave(env, act, env.reset(episode), 1, ignore)
                except _WindowClosedError:
                    return episode
    raise AssertionError("unreachable")
