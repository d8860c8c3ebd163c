"""Policies that play the same episodes: starts, cuts, numbers, and time."""

from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
import torch
from matplotlib import pyplot
from PIL import Image

from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import ResetSeeds
from spacil.errors import ConfigError, DataError
from spacil.film.draw import Size
from spacil.film.record import Recording, drawable_env, record
from spacil.film.render import Film
from spacil.film.watch import watch
from spacil.policies.open import open_policy
from spacil.policies.policy import Policy


def still() -> Policy:
    return open_policy(lambda states: torch.zeros(len(states), 2))


def played(seconds: float) -> Recording:
    policies = {"expert": open_policy("Reacher-v4"), "still": still()}
    return record(policies, "Reacher-v4", 0, seconds, demonstrator=False)


def test_everybody_starts_every_episode_from_the_same_state() -> None:
    recording = played(2.5)
    expert, idle = recording.panels
    assert [len(clip) for clip in expert.clips] == [50, 50, 25]
    for ours, theirs in zip(expert.clips, idle.clips, strict=True):
        assert torch.equal(ours.trajectory.states[0], theirs.trajectory.states[0])
        assert np.array_equal(ours.poses[0], theirs.poses[0])
        assert not np.array_equal(ours.poses[-1], theirs.poses[-1])
    first, second, _ = expert.clips
    assert not torch.equal(first.trajectory.states[0], second.trajectory.states[0])
    assert (first.is_whole, expert.clips[2].is_whole) == (True, False)


def test_the_same_seed_plays_the_same_film() -> None:
    once, again = played(0.5), played(0.5)
    for one, other in zip(once.panels, again.panels, strict=True):
        assert np.array_equal(one.clips[0].poses, other.clips[0].poses)
        assert (one.smoothness_j, one.action_change) == (other.smoothness_j, other.action_change)


def test_a_policy_that_does_nothing_has_no_change_and_no_slope() -> None:
    expert, idle = played(1.0).panels
    assert (idle.smoothness_j, idle.action_change) == (0.0, 0.0)
    assert expert.smoothness_j is not None and expert.smoothness_j > 0
    assert expert.clips[0].trajectory.total_return == pytest.approx(expert.total_return)


@pytest.mark.parametrize(
    ("task", "rate"),
    [("Reacher-v4", Fraction(25)), ("Hopper-v4", Fraction(125, 4)), ("Ant-v4", Fraction(20))],
)
def test_a_second_of_film_is_a_second_of_simulated_time(task: str, rate: Fraction) -> None:
    env = make_vector_env(task, 1, ResetSeeds(0, "evaluate"))
    recording = Recording(env.spec, 0, (), None)
    assert recording.rate == rate
    assert (
        recording.rate
        * recording.steps_per_frame
        * Fraction(env.spec.dt or 0).limit_denominator(1000)
        == 1
    )
    env.close()


def test_a_policy_of_another_task_is_refused() -> None:
    with pytest.raises(DataError, match="3 action dims, Reacher-v4 has 2"):
        record({"hopper": open_policy("Hopper-v4")}, "Reacher-v4", 0, 1.0)


def test_poses_of_a_gymnasium_env_are_those_of_ours() -> None:
    sources = ("Hopper-v5", lambda: gymnasium.make("Hopper-v5"))
    action = torch.tensor([[0.5, -0.2, 0.1]])
    found = []
    for source in sources:
        with drawable_env(source, 3) as (env, scene):
            env.reset()
            assert scene is not None
            poses = [scene.pose()]
            for _ in range(5):
                env.step(action)
                poses.append(scene.pose())
            found.append(poses)
    assert np.array_equal(*found)


class Square(gymnasium.Env[np.ndarray, np.ndarray]):
    """A point on a line, which draws itself as a red column, if asked to."""

    metadata: ClassVar = {"render_modes": ["rgb_array"]}
    observation_space = action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))

    def reset(self, **options: Any) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(**options)
        self.place, self.steps = 0.0, 0
        return np.zeros(1, np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.place, self.steps = self.place + 0.1 * float(action[0]), self.steps + 1
        return np.array([self.place], np.float32), 0.0, False, self.steps == 20, {}

    def render(self) -> Any:
        if self.render_mode != "rgb_array":
            return None
        picture = np.zeros((40, 60, 3), np.uint8)
        picture[:, 30 + round(10 * self.place), 0] = 255
        return picture


class Undrawn(Square):
    """It says that it draws, and needs something for it that is not there."""

    def render(self) -> Any:
        raise gymnasium.error.DependencyNotInstalled("pygame is not installed")


def right(states: torch.Tensor) -> torch.Tensor:
    return torch.ones(len(states), 1)


def test_an_env_that_draws_itself_is_filmed_as_it_draws() -> None:
    recording = record({"right": open_policy(right)}, Square, 0, 0.5)
    film = Film(recording, Size(120, 96))
    first, last = film.compose(film.pictures_at(film.moments[0]), film.moments[0]), film.still()
    assert first.shape == (film.frame_size.height, film.frame_size.width, 3)
    # 60 x 40 on 120 x 96: eight rows of paper above and below; the column moves to the right.
    assert (first[52 + 4, :120] == 255).all()
    reds = [np.flatnonzero(frame[52 + 48, :120, 0] > 200).mean() for frame in (first, last)]
    assert reds == [pytest.approx(60, abs=2), pytest.approx(60 + 2 * 14, abs=3)]


@pytest.mark.parametrize("source", [Undrawn, "Undescribed"])
def test_where_nothing_draws_the_film_shows_the_actions_alone(
    source: Any, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    class Undescribed(Square):
        metadata: ClassVar = {}

    is_said = source is Undrawn
    recording = record({"right": open_policy(right)}, source if is_said else Undescribed, 0, 0.5)
    assert recording.scene is None
    assert ("pygame is not installed; it is shown by its actions alone" in caplog.text) == is_said
    film = Film(recording, Size(120, 96))
    assert film.frame_size.height < 96 + 52
    film.write(tmp_path / "clip.gif")
    with Image.open(tmp_path / "clip.gif") as written:
        assert written.size == (film.frame_size.width, film.frame_size.height)


def test_a_window_shows_an_env_that_draws_itself_until_it_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = list[int]()

    def closing(states: torch.Tensor) -> torch.Tensor:
        shown.append(len(pyplot.get_fignums()))
        if len(shown) == 25:  # in the second episode
            pyplot.close("all")
        return torch.ones(len(states), 1)

    monkeypatch.setattr(pyplot, "get_backend", lambda: "TkAgg")  # as where there is a display
    assert watch(open_policy(closing), Square, 0, speed=100.0) == 1
    assert shown == [1] * 25 and pyplot.get_fignums() == []


def test_a_window_needs_a_display_and_something_to_show() -> None:
    with pytest.raises(ConfigError, match="no display to open a window on"):
        watch(open_policy(right), Square, 0)
    with pytest.raises(ConfigError, match="Undrawn: nothing draws it"):
        watch(open_policy(right), Undrawn, 0)
