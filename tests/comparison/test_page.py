"""The report page: charts as data, text as text, and the whole of it in a real browser."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import browser
import imageio_ffmpeg
import numpy as np
import pandas as pd
import pytest
from browser import Browser
from charts_in_browser import frames, ink, place
from matplotlib import image
from matplotlib.colors import to_rgb

from spacil.comparison.figures import COLOURS, Chart, Series
from spacil.comparison.page import Clip, Section, chart_data, write_page

DESK, PHONE = (1280, 900), (390, 844)


def some_charts() -> list[Chart]:
    gail = Series([1, 2, 3], [1.5, 5.0, 7.5], low=[1.0, 4.0, 6.0], high=[2.0, 6.0, 9.0])
    lines = {"gail": gail, "spacil": Series([1, 2], [1.0, 3.0])}
    dots = {name: Series([1.0], [y]) for name, y in (("gail", 2), ("spacil", 3))}
    return [
        Chart("Return", "iteration", "G", lines, {"demonstrator": 8.0}),
        Chart("J", "iteration", "J", lines),
        Chart("Front", "J", "G", dots, is_joined=False),
    ]


def some_sections(label: str = "gail") -> list[Section]:
    frame = pd.DataFrame([[label, *["3542 ± 12.3"] * 11]], columns=[f"c {i}" for i in range(12)])
    section = Section("Hopper-v4", [(frame, 1)], some_charts())
    folders = pd.DataFrame({"run": ["runs/" + "long" * 60]})
    runs = Section("Runs", [(folders, 1)], is_folded=True)
    return [section, runs]


def test_lines_share_one_axis_with_gaps() -> None:
    returns = chart_data(some_charts()[0])
    assert returns["data"] == [
        [1, 2, 3],
        [1.5, 5.0, 7.5],
        [1.0, 4.0, 6.0],
        [2.0, 6.0, 9.0],
        [1.0, 3.0, None],
        [8.0, 8.0, 8.0],
    ]
    assert [one["has_band"] for one in returns["series"]] == [True, False]
    assert returns["levels"] == ["demonstrator"]


def test_dots_of_one_x_keep_their_own_places_and_one_colour_is_numbered() -> None:
    a, b = Series([1.0, 2.0], [5.0, np.inf]), Series([1.0, 1.0], [3.0, 4.0])
    data = chart_data(Chart("", "", "", {"a": a, "b": b}, is_joined=False))["data"]
    assert data == [[1.0, 1.0, 1.0, 2.0], [5.0, None, None, None], [None, 3.0, 4.0, None]]
    shown = chart_data(Chart("", "", "", dict.fromkeys(map(str, range(14)), a)))["series"]
    assert [one["num_alike"] for one in shown] == [0] * 12 + [1] * 2
    assert [shown[i]["colour"] for i in (0, 12)] == [COLOURS[0]] * 2


def written(file: Path, sections: list[Section], text: str = "2 runs") -> str:
    write_page(file, text, [text], [text], sections)
    return file.read_text()


def test_text_from_runs_is_never_markup(tmp_path: Path) -> None:
    evil = "</script><img src=x onerror=alert(1)>"
    chart = Chart(evil, "x", "y", {evil: Series([0], [1.0])})
    table = (pd.DataFrame({evil: [evil]}), 1)
    section = Section(evil, [table], [chart], [Clip(b"", evil, 2, 2)], evil)
    page = written(tmp_path / "page.html", [section, section], evil)
    assert "<img" not in page
    assert page.count("</script>") == 3  # the page's own


def test_the_page_is_whole_and_carries_the_licence(tmp_path: Path) -> None:
    page = written(tmp_path / "page.html", some_sections())
    assert not re.search(r"""(src|href)=["']?(http|//)""", page)
    assert "default-src 'none'" in page
    assert "The MIT License (MIT)" in page
    assert page.startswith("<!doctype html>")
    assert '<li><a href="#section-2">Runs</a></li>' in page
    (data,) = re.findall(r'id="charts">(.*?)</script>', page, flags=re.DOTALL)
    joined = [{one["is_joined"] for one in chart["series"]} for chart in json.loads(data)]
    assert joined == [{True}, {True}, {False}]
    assert len(page) < 100_000


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """The page with a film of a second and a half: a bar that grows."""
    if browser.CHROMIUM is None:
        pytest.skip("there is no chromium here")
    folder = tmp_path_factory.mktemp("browser")
    clip = folder / "clip.mp4"
    writer = imageio_ffmpeg.write_frames(clip, (800, 240), fps=20, macro_block_size=2)
    writer.send(None)
    for i in range(30):
        frame = np.zeros((240, 800, 3), np.uint8)
        frame[100:140, : 25 * i] = 255
        writer.send(frame)
    writer.close()
    film = Section("Films", clips=[Clip(clip.read_bytes(), "Left to right: a, b", 800, 240)])
    written(folder / "report.html", [*some_sections(), film])
    with Browser(folder / "profile", *DESK) as window:
        window.open(folder / "report.html")
        yield window


def test_every_chart_is_drawn_in_its_colours(opened: Browser) -> None:
    assert opened.ask("plots.length") == 3
    for chart in range(3):
        for colour in COLOURS[:2]:
            assert ink(opened, chart, colour) > 20, (chart, colour)


def test_rows_of_one_colour_differ_in_lines_and_dots(opened: Browser) -> None:
    drawn = opened.ask(
        """[0, 1, 2, 12].map((num_alike) => {
          const row = { label: "a", colour: "#123456", num_alike, is_joined: true };
          const [line, dots] = [row, { ...row, is_joined: false }].map(
            (one) => seriesOf({ x_label: "x", series: [one], levels: [] }).columns[1]);
          return [line.line, JSON.stringify(line.dash), dots.points.fill, dots.points.size];
        })"""
    )
    solid, dashed, dotted, again = drawn
    assert solid == again == ["solid", None, "#123456", 9]
    assert (dashed[0], dotted[0]) == ("dashed", "dotted")
    assert len({tuple(one[2:]) for one in (solid, dashed, dotted)}) == 3
    assert len({one[1] for one in (solid, dashed, dotted)}) == 3
    marker = opened.ask(
        "plots[0].root.querySelector('.u-series + .u-series .u-marker').style.border"
    )
    assert marker.startswith("2px solid")


def test_a_name_hides_and_shows_its_line_and_band(opened: Browser) -> None:
    before = ink(opened, 0, COLOURS[0])
    assert opened.ask("plots[0].series.slice(1, 4).map(s => s.show)") == [True] * 3
    opened.mouse("mouseMoved", 1, 1)
    frames(opened)
    label = place(opened, ".u-series:nth-child(2) .u-label")
    at = (label["left"] + label["width"] / 2, label["top"] + label["height"] / 2)
    for is_shown in (False, True):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            opened.mouse(kind, *at)
        opened.mouse("mouseMoved", 1, 1)
        frames(opened)
        assert opened.ask("plots[0].series.slice(1, 4).map(s => s.show)") == [is_shown] * 3
        assert (ink(opened, 0, COLOURS[0]) > before / 2) == is_shown


@pytest.mark.parametrize("size", [PHONE, DESK])
def test_the_page_fits_both_sizes(opened: Browser, size: tuple[int, int], tmp_path: Path) -> None:
    opened.resize(*size)
    frames(opened)
    widths = opened.ask("[document.documentElement.scrollWidth, innerWidth, plots[0].width]")
    assert widths[0] <= widths[1] == size[0]
    share = 0.8 if size == PHONE else 0.4  # a desk has room for two side by side
    assert share * size[0] < widths[2] <= size[0]
    opened.screenshot(tmp_path / "page.png")
    pixels = image.imread(tmp_path / "page.png")[..., :3]
    assert size[0] - 20 <= pixels.shape[1] <= size[0]  # a scroll bar is left out
    assert (abs(pixels - to_rgb(COLOURS[0])).max(axis=-1) < 0.02).sum() > 100


BAR = """() => {
  const film = document.querySelector("video");
  const copy = new OffscreenCanvas(800, 240).getContext("2d");
  copy.drawImage(film, 0, 0);
  const { data } = copy.getImageData(0, 120, 800, 1);
  return [...data].filter((value, i) => i % 4 == 0 && value > 200).length / 800;
}"""
"""How far the bar has grown in the frame that is shown, 0 to 1"""


def until(window: Browser, expression: str) -> None:
    deadline = time.monotonic() + 20
    while not window.ask(expression):
        assert time.monotonic() < deadline, expression
        time.sleep(0.05)


def press(window: Browser, name: str) -> None:
    """Click the button of this name."""
    at = window.ask(
        f"""(() => {{
          const all = [...document.querySelectorAll("button")];
          const button = all.find(one => one.textContent === "{name}");
          button.scrollIntoView({{ block: "center" }});
          const {{ left, top, width, height }} = button.getBoundingClientRect();
          return [left + width / 2, top + height / 2];
        }})()"""
    )
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        window.mouse(kind, *at)


def test_a_film_is_loaded_and_plays(opened: Browser) -> None:
    until(opened, "document.querySelector('video').readyState >= 2")
    film = opened.ask(
        "(({duration, videoWidth, videoHeight, error}) => ({duration, videoWidth, videoHeight, "
        "error}))(document.querySelector('video'))"
    )
    assert film["duration"] == pytest.approx(1.5, abs=0.05)
    assert (film["videoWidth"], film["videoHeight"], film["error"]) == (800, 240, None)
    # At rest it shows its end, and nothing covers the traces at its lower edge.
    until(opened, "document.querySelector('video').currentTime > 1.3")
    assert not opened.ask("document.querySelector('video').controls")
    until(opened, f"({BAR})() > 0.8")
    press(opened, "Slow motion")
    press(opened, "Play")
    until(opened, "!document.querySelector('video').paused")
    until(opened, "((t) => t > 0.1 && t < 1)(document.querySelector('video').currentTime)")
    assert opened.ask("document.querySelector('video').playbackRate") == 0.25
    press(opened, "Pause")
    until(opened, "document.querySelector('video').paused")
    assert 0 < opened.ask(f"({BAR})()") < 0.8


@pytest.mark.parametrize("size", [PHONE, DESK])
def test_a_film_fits_phone_and_desk_and_is_shown(opened: Browser, size: tuple[int, int]) -> None:
    opened.resize(*size)
    opened.ask(
        "new Promise(done => { const film = document.querySelector('video'); film.pause(); "
        "film.onseeked = () => done(1); film.currentTime = 1.4; })"
    )
    frames(opened)
    shape = opened.ask("document.querySelector('video').getBoundingClientRect().toJSON()")
    # Never so small that its letters cannot be read: a phone scrolls to the rest.
    assert shape["width"] == {PHONE: 544, DESK: 800}[size]
    assert shape["height"] == pytest.approx(shape["width"] * 0.3, rel=0.05)
    assert opened.ask("document.querySelector('video').parentElement.clientWidth") < size[0]
    until(opened, f"({BAR})() > 0.6")


def test_nothing_is_loaded_from_elsewhere_and_nothing_complains(opened: Browser) -> None:
    opened.ask("1")
    assert opened.complaints == []
    assert all(url.startswith(("file://", "data:")) for url in opened.requests)
