"""One frame: names, numbers, and a trace for every action."""

import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb

from spacil.envs.episodes import Trajectory
from spacil.envs.vector_env import EnvSpec, Scene
from spacil.film.draw import Size
from spacil.film.record import Clip, Panel, Recording
from spacil.film.render import COLOURS, Film, Moment, Picture

SIZE = Size(200, 100)
BLACK: Picture = np.zeros((SIZE.height, SIZE.width, 3), np.uint8)


def spec(num_actions: int, bound: float = 1.0) -> EnvSpec:
    high = np.full(num_actions, bound, np.float32)
    return EnvSpec("Point-v0", 1, num_actions, -high, high, 100, 0.02)


def panel_of(name: str, actions: torch.Tensor, *, is_whole: bool = False) -> Panel:
    trajectory = Trajectory(
        torch.zeros(len(actions), 1), actions, torch.ones(len(actions), dtype=torch.float64)
    )
    clip = Clip(trajectory, np.zeros((len(actions), 1)), is_whole)
    return Panel(name, (clip,), float(len(actions)), 1.25, 0.5)


def layout(panels: list[Panel], env_spec: EnvSpec) -> Film:
    drawn = Scene(None, bytes)  # by itself; these tests bring their pictures
    return Film(Recording(env_spec, 0, tuple(panels), None, drawn), SIZE)


def ink(frame: Picture, colour: str, panel: int, top: int = 52 + SIZE.height) -> int:
    """Count the pixels of a colour in the lanes of a panel, above the caption."""
    left = panel * (SIZE.width + 8) + 24  # beside the names of the lanes
    lanes = frame[top:-22, left : left + SIZE.width - 24].astype(float)
    return int((abs(lanes - 255 * np.array(to_rgb(colour))).max(-1) < 60).sum())


def wave(num_steps: int, period: int) -> torch.Tensor:
    return torch.sin(torch.arange(num_steps) * 2 * torch.pi / period).unsqueeze(-1)


def test_a_policy_that_shakes_draws_more_than_a_smooth_one() -> None:
    shaky, smooth = panel_of("shaky", wave(100, 3)), panel_of("smooth", wave(100, 90))
    painter = layout([shaky, smooth], spec(1))
    frame = painter.compose([BLACK, BLACK], Moment(0, 99, False))
    assert frame.shape == (painter.frame_size.height, painter.frame_size.width, 3)
    assert ink(frame, COLOURS[0], 0) > 2 * ink(frame, COLOURS[1], 1) > 100


def test_the_trace_runs_with_the_steps() -> None:
    painter = layout([panel_of("one", wave(120, 20))], spec(1))
    drawn = [
        ink(painter.compose([BLACK], Moment(0, step, False)), COLOURS[0], 0)
        for step in (0, 10, 60, 119)
    ]
    assert drawn[0] == 0 and drawn == sorted(set(drawn))


@pytest.mark.parametrize(("num_actions", "num_lanes"), [(1, 1), (6, 6), (17, 8)])
def test_every_action_has_a_lane_as_far_as_there_is_room(num_actions: int, num_lanes: int) -> None:
    still = panel_of("still", torch.zeros(5, num_actions))
    heights = [
        layout([one], spec(n)).frame_size.height
        for one, n in ((still, num_actions), (panel_of("", torch.zeros(5, 1)), 1))
    ]
    assert heights[0] - heights[1] == 28 * (num_lanes - 1)


def test_an_action_without_bounds_is_drawn_between_what_was_played() -> None:
    one = panel_of("one", 7 * wave(120, 20))
    frame = layout([one], spec(1, np.inf)).compose([BLACK], Moment(0, 119, False))
    assert ink(frame, COLOURS[0], 0) > 100


def test_numbers_change_with_time_and_a_long_name_is_cut() -> None:
    one = panel_of("n" * 200, wave(100, 9))
    painter = layout([one, one], spec(1))
    early, late, end = (
        painter.compose([BLACK, BLACK], moment)[:52]
        for moment in (Moment(0, 5, False), Moment(0, 99, False), Moment(0, 99, True))
    )
    assert np.array_equal(early[:24], late[:24])  # the name
    assert not np.array_equal(early, late) and not np.array_equal(late, end)
    for header in (early, late, end):
        assert (header[:, SIZE.width : SIZE.width + 8] == 255).all()  # between the panels


def test_a_panel_whose_episode_is_over_fades() -> None:
    one = panel_of("one", wave(10, 9), is_whole=True)
    painter = layout([one], spec(1))
    running = painter.compose([BLACK], Moment(0, 9, False))[60:140]
    over = painter.compose([BLACK], Moment(0, 10, False))[60:140]
    assert over.mean() > running.mean() + 100
