"""`spacil video` and `spacil watch` at the command line."""

import contextlib
import json
from pathlib import Path
from typing import Any

import drawing
import mujoco.viewer
import numpy as np
import pytest
from fixture_types import Spacil
from matplotlib import image

from spacil.film import watch


def test_a_run_is_filmed_beside_another(spacil: Spacil, finished_run: Path, tmp_path: Path) -> None:
    drawing.require_gl()
    out, still = tmp_path / "clip.mp4", tmp_path / "still.png"
    out.write_text("an earlier one")
    done = spacil(
        *("video", finished_run, "-o", out, "--still", still, "--seconds", "0.4"),
        *("--size", "160x120", "--json", tmp_path / "film.json", "--overwrite"),
    )
    assert done.code == 0
    document = json.loads((tmp_path / "film.json").read_text())
    seconds = document["num_frames"] / 25
    told = f"({seconds:.1f} s, the last 1.5 s a still, 328x254, 25 frames per second)"
    assert f"video: {out} {told}" in done.out
    assert [panel["name"] for panel in document["panels"]] == ["demonstrator", "gail, seed 0"]
    assert document["panels"][0]["smoothness_j"] > 0
    assert document["task"] == "Reacher-v4"
    frames, _ = drawing.decoded(out)
    assert len(frames) == document["num_frames"]
    assert image.imread(still).shape[:2] == frames.shape[1:3]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--size", "big"), "expected WIDTHxHEIGHT"),
        (("--still", "frame.jpg"), "ends in .png"),
        (("-o", "clip.avi"), "ends in .mp4 or .gif"),
    ],
)
def test_flags_of_no_sense_are_refused(spacil: Spacil, flags: tuple[str, ...], words: str) -> None:
    refused = spacil("video", "Reacher-v4", *flags)
    assert refused.code == 2 and words in refused.err


def test_a_file_that_cannot_be_written_is_refused_first(spacil: Spacil, tmp_path: Path) -> None:
    refused = spacil("video", "Reacher-v4", "-o", tmp_path / "nowhere" / "clip.gif")
    assert refused.code == 74 and "create its folder first" in refused.err
    (tmp_path / "clip.gif").write_text("mine")
    refused = spacil("video", "Reacher-v4", "-o", tmp_path / "clip.gif")
    assert refused.code == 74 and "--overwrite replaces it" in refused.err
    assert (tmp_path / "clip.gif").read_text() == "mine"


def test_without_a_display_there_is_video(spacil: Spacil, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    for display in ("", ":987"):  # nobody there
        monkeypatch.setenv("DISPLAY", display)
        refused = spacil("watch", "Reacher-v4")
        assert refused.code == 2
        assert "no display" in refused.err and "spacil video" in refused.err


def test_watch_shows_steps_until_closed(spacil: Spacil, monkeypatch: pytest.MonkeyPatch) -> None:
    """The window is a stand-in: there is no display in tests."""
    seen: list[Any] = []

    class Window:
        cam = mujoco.MjvCamera()

        def __init__(self, model: Any, data: Any, **_: Any) -> None:
            self._data = data

        def lock(self) -> contextlib.AbstractContextManager[None]:
            return contextlib.nullcontext()

        def sync(self) -> None:
            seen.append(self._data.qpos.copy())

        def is_running(self) -> bool:
            return len(seen) < 60

        def __enter__(self) -> "Window":
            return self

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(watch, "require_display", lambda: None)
    monkeypatch.setattr(mujoco.viewer, "launch_passive", Window)
    done = spacil("watch", "Reacher-v4", "--speed", "20")
    assert (done.code, done.out) == (0, "closed after 1 whole episodes\n")
    moved = np.abs(np.diff(seen, axis=0)[:, :2]).max(axis=1)
    assert len(seen) == 60 and (moved > 0).mean() > 0.9
    assert not np.array_equal(seen[0][2:4], seen[50][2:4])  # the next episode's target
