"""Films as files: decoded again, frame by frame; and what is said where something is missing."""

import os
import subprocess
import sys
from pathlib import Path

import drawing
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from numpy.typing import NDArray
from PIL import Image

import spacil
from spacil.errors import ConfigError
from spacil.film import draw
from spacil.film.record import record
from spacil.film.render import COLOURS, Film
from spacil.film.video import open_policies

SMALL = {"seconds": 1.2, "size": (160, 120), "env": "Reacher-v4"}


def shaking(states: NDArray[np.float32]) -> NDArray[np.float64]:
    """Pushes to and fro with the sign of a joint's velocity."""
    return np.where(states[:, 6:8] > 0, -1.0, 1.0)


@pytest.fixture(scope="module")
def filmed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Film, Path]:
    drawing.require_gl()
    path = tmp_path_factory.mktemp("film") / "clip.mp4"
    return spacil.video({"shaking": shaking}, path, **SMALL), path


def test_an_mp4_holds_every_frame_in_a_form_that_browsers_play(
    filmed: tuple[Film, Path],
) -> None:
    film, path = filmed
    frames, stream = drawing.decoded(path)
    # 60 steps at 50 Hz, every second one shown, and the end held for a second and a half.
    assert len(frames) == len(film.moments) == 30 + 38
    assert frames.shape[1:3] == (film.frame_size.height, film.frame_size.width)
    assert all(size % 2 == 0 for size in frames.shape[1:3])
    assert "h264" in stream and "yuv420p" in stream and "25 fps" in stream
    # The index comes first, so that a browser starts at once.
    content = path.read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")


def test_policies_move_and_their_traces_run(filmed: tuple[Film, Path]) -> None:
    film, path = filmed
    frames, _ = drawing.decoded(path)
    names = [one.name for one in film.recording.panels]
    assert names == ["demonstrator", "shaking"]
    pictures = frames[:24, 52 : 52 + 120].astype(int)
    for left in (0, 168):
        one = pictures[:, :, left : left + 160]
        assert abs(one[0] - one[-1]).max() > 60  # it moves
        assert one[0].std() > 10  # and there is something to see
    lanes = frames[:, 52 + 120 :].astype(float)
    inks = [
        (abs(lanes[:, :, left : left + 160] - 255 * np.array(to_rgb(colour))).max(-1) < 80).sum(
            (1, 2)
        )
        for left, colour in ((0, COLOURS[0]), (168, COLOURS[1]))
    ]
    for ink in inks:
        assert ink[20] > ink[10] > ink[2]


def test_frames_are_drawn_once_and_are_the_same_for_the_same_seed(
    filmed: tuple[Film, Path], tmp_path: Path
) -> None:
    film, path = filmed
    # Two panels, 25 + 5 moments in two episodes, and the last step of the held end.
    assert len(film.pictures) == 2 * (30 + 1)
    again = spacil.video({"shaking": shaking}, tmp_path / "clip.mp4", **SMALL)
    assert np.array_equal(again.pictures, film.pictures)
    assert (tmp_path / "clip.mp4").read_bytes() == path.read_bytes()
    *_, last = film.frames()
    assert np.array_equal(last, film.still())


def test_a_gif_needs_no_ffmpeg(
    filmed: tuple[Film, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    film = spacil.video(shaking, tmp_path / "clip.gif", demonstrator=False, **SMALL)
    with Image.open(tmp_path / "clip.gif") as gif:
        assert gif.size == (film.frame_size.width, film.frame_size.height)
        assert gif.n_frames > 10
        first = np.asarray(gif.convert("RGB")).astype(int)
        gif.seek(12)
        assert abs(np.asarray(gif.convert("RGB")).astype(int) - first).max() > 60
    with pytest.raises(ConfigError, match=r"pip install 'spacil\[video\]'"):
        spacil.video(shaking, tmp_path / "clip.mp4", **SMALL)


def test_osmesa_draws_where_egl_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "BACKENDS", ("osmesa",))
    drawing.why_not.cache_clear()
    reason = drawing.why_not()
    drawing.why_not.cache_clear()
    if reason:
        pytest.skip(reason)


CRASH = "import os, time\nos.environ['MUJOCO_GL'] == 'egl' and os.abort()\ntime.sleep(60)"


@pytest.mark.parametrize(
    ("driver", "words"),
    [
        (
            "raise ImportError('no libGL here')",
            r"egl: .*osmesa: .*apt install libegl1 .*libosmesa6",
        ),
        (CRASH, "egl: exit code -6; osmesa: no frame for too long"),
    ],
)
def test_a_driver_that_is_missing_crashes_or_hangs_is_named_and_ends_alone(
    driver: str, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # The child imports this in the place of a driver.
    (tmp_path / "OpenGL").mkdir()
    (tmp_path / "OpenGL" / "__init__.py").write_text(driver)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(draw, "_PATIENCE", 4.0)
    with pytest.raises(ConfigError, match=words) as refusal:
        spacil.video(shaking, tmp_path / "clip.gif", **SMALL)
    assert refusal.value.exit_code == 2
    assert not (tmp_path / "clip.gif").exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"out": "clip.avi"}, r"ends in \.mp4 or \.gif"),
        ({"seconds": 0}, "seconds is 0"),
        ({"seconds": 1e6}, "seconds is 1e.06"),
        ({"size": (10, 10)}, "size is 10x10"),
        ({"policies": []}, "no policy to film"),
        ({"policies": ["Reacher-v4", "Hopper-v4"], "env": None}, "of different tasks"),
        ({"policies": [shaking], "env": None}, "pass env"),
        ({"policies": ["Reacher-v4"] * 7}, "at most 6"),
    ],
)
def test_mistakes_are_named_before_anything_is_drawn(
    tmp_path: Path, changes: dict[str, object], words: str
) -> None:
    settings = {"policies": shaking, "out": "clip.gif", **SMALL} | changes
    out = tmp_path / str(settings.pop("out"))
    with pytest.raises(ConfigError, match=words):
        spacil.video(settings.pop("policies"), out, **settings)
    assert not out.exists()


def test_runs_are_called_by_algorithm_and_seed_and_twins_by_folder(finished_run: Path) -> None:
    twins, task = open_policies([str(finished_run)] * 2, None, "last")
    assert (list(twins), task) == (["gail, seed 0", "gail, seed 0: run"], "Reacher-v4")
    assert [one.name for one in record(twins, task, 0, 0.1).panels] == ["demonstrator", *twins]
    expert, task = open_policies("Hopper-v4", None, "best")
    panels = record(expert, task, 0, 0.1).panels
    assert [one.name for one in panels] == ["expert of Hopper-v4"]  # it is the demonstrator


def test_importing_spacil_imports_no_pillow_and_no_ffmpeg() -> None:
    script = (
        "import sys, spacil, spacil.cli.main; print({'PIL', 'imageio_ffmpeg'} & set(sys.modules))"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=os.environ
    )
    assert told.stdout == "set()\n"
