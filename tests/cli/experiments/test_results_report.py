"""`spacil report` of a results folder: every experiment on one page, and the page in a browser."""

import json
import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import browser
import pytest
from browser import Browser
from charts_in_browser import frames, ink, place
from generated_results import write_result, write_results
from generated_runs import write_run

from spacil.cli.experiments.results_report import TITLE, results_page
from spacil.comparison.looks import looks_in
from spacil.comparison.page import write_page
from spacil.experiments.named.outcome import Outcome, Panel, Series
from spacil.experiments.named.results_folder import read_results

Spacil = Callable[..., Any]

DESK, PHONE = (1280, 900), (390, 844)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("experiments")
    write_results(folder / "results", folder / "runs")
    return folder / "results"


def charts_of(page: str) -> list[dict[str, Any]]:
    (data,) = re.findall(r'id="charts">(.*?)</script>', page, flags=re.DOTALL)
    return list(json.loads(data))


def test_the_page_holds_every_experiment_whole(
    spacil: Spacil, results: Path, tmp_path: Path
) -> None:
    out = tmp_path / "report.html"
    shown = spacil("report", results, "-o", out)
    assert (shown.code, shown.err) == (0, "")
    text = out.read_text()
    page = unescape(text)
    headings = re.findall(r'<section id="experiment-(.*?)"><h2>(.*?)</h2>', page)
    assert [name for name, _ in headings] == [
        "returns",
        "curves",
        "perturbation",
        "front",
        "claims",
    ]
    for name, heading in headings:
        assert f'<a href="#experiment-{name}">{heading}</a>' in page
        assert f"Made by <code>spacil experiment {name}</code>." in page
    assert "<code>gail-like</code> is GAIL with the default's start" in page  # the text of returns
    assert "<h3>Return (tab:eval_reward)</h3>" in page
    assert "3005 ± 7.071" in page
    assert "3326 ± 872.4" in page  # the paper's GAIL on Hopper
    assert "missing: Hopper-v4, bc: seeds 0, 1 waiting" in page
    assert "Runs: 6, by commit cccccccccc." in page
    assert "no document yet of: recipe, lambda-grid" in page
    assert not re.search(r"""(src|href)=["']?(http|//)""", text)


def test_charts_are_the_panels_of_the_documents(results: Path, tmp_path: Path) -> None:
    write_page(results_page(read_results(results), results, TITLE, tmp_path), tmp_path / "r.html")
    returns, *curves, noise, by_j, _ = charts_of((tmp_path / "r.html").read_text())
    assert [one["is_joined"] for one in returns["series"]] == [False] * 3
    assert returns["reference_label"] == "demonstrator"
    assert len(curves) == 3
    assert all(one["has_band"] for chart in curves for one in chart["series"])
    assert (noise["is_log_x"], noise["is_log_y"]) == (True, False)
    assert noise["data"][0] == [0.001, 0.1]
    assert (noise["reference_label"], by_j["reference_label"]) == ("no noise", "97 %")
    labels = {one["label"]: one["is_joined"] for one in by_j["series"]}
    assert labels == {"demonstrator": False, "gail-like": False, "exact": True}


def test_a_label_has_one_colour_and_lines_run_from_left_to_right(tmp_path: Path) -> None:
    first = Panel("a", "", "", [Series("x", [2.0, 1.0], [20.0, 10.0])])
    second = Panel("b", "", "", [Series("y", [1.0], [1.0]), Series("x", [1.0], [1.0])])
    empty = Panel("c", "", "", [])
    write_result(tmp_path, "mixing", Outcome("", "", [], {}, [first, second, empty]))
    (section,) = results_page(read_results(tmp_path), tmp_path, "", tmp_path).sections
    a, b = section.charts  # a panel without a point is no chart
    assert (a.series[0].x, a.series[0].y) == ([1.0, 2.0], [10.0, 20.0])
    assert a.series[0].colour == b.series[1].colour != b.series[0].colour


def test_a_logarithmic_axis_shows_positive_numbers_only(tmp_path: Path) -> None:
    series = Series("x", [0.0, 1.0, 2.0], [1.0, 0.0, 3.0])
    panels = [
        Panel("", "", "", [series], is_log_x=is_x, is_log_y=not is_x) for is_x in (True, False)
    ]
    write_result(tmp_path, "mixing", Outcome("", "", [], {}, panels))
    (section,) = results_page(read_results(tmp_path), tmp_path, "", tmp_path).sections
    assert [chart.series[0].x for chart in section.charts] == [[1.0, 2.0], [0.0, 2.0]]


def test_a_document_without_tables_leads_to_its_page(
    spacil: Spacil, results: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "docs" / "results"
    folder.mkdir(parents=True)
    document = json.loads((results / "perturbation.json").read_text())
    for name in ("text", "tables", "num_runs", "commits"):
        del document[name]
    (folder / "perturbation.json").write_text(json.dumps(document))
    (folder / "perturbation.md").write_text("# Noise")
    out = tmp_path / "report.html"
    assert spacil("report", folder, "-o", out, "--title", "Old & new").code == 0
    page = unescape(out.read_text())
    assert '<a href="docs/results/perturbation.md">' in page
    assert "<h1>Old & new</h1>" in page
    assert page.count("data-chart=") == 1


def test_a_damaged_document_is_named_and_the_exit_code_is_3(
    spacil: Spacil, results: Path, tmp_path: Path
) -> None:
    (tmp_path / "returns.json").write_bytes((results / "returns.json").read_bytes())
    (tmp_path / "curves.json").write_bytes((results / "curves.json").read_bytes()[:1000])
    out = tmp_path / "report.html"
    shown = spacil("report", tmp_path, "-o", out)
    assert shown.code == 3
    assert "curves.json: not valid JSON" in shown.out
    assert "damaged, left out: " in out.read_text()
    assert "Returns and smoothness on five tasks" in out.read_text()


def test_a_folder_with_no_document_and_no_run_is_refused(spacil: Spacil, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    out = tmp_path / "report.html"
    refused = spacil("report", tmp_path / "empty", "-o", out)
    assert refused.code == 73
    assert "no run to report on, and no result of an experiment" in refused.err
    (tmp_path / "empty" / "returns.json").write_text("{")
    refused = spacil("report", tmp_path / "empty", "-o", out)
    assert (refused.code, "returns.json: not valid JSON" in refused.err) == (73, True)
    assert not out.exists()


def test_results_and_runs_are_not_mixed_on_one_page(
    spacil: Spacil, results: Path, tmp_path: Path
) -> None:
    run = write_run(tmp_path / "run")
    refused = spacil("report", results, run, "-o", tmp_path / "report.html")
    assert refused.code == 2
    assert "name that folder alone" in refused.err


# --- in a browser


@pytest.fixture(scope="module")
def opened(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if browser.CHROMIUM is None:
        pytest.skip("there is no chromium here")
    folder = tmp_path_factory.mktemp("browser")
    page = results_page(read_results(results), results, TITLE, folder)
    write_page(page, folder / "report.html")
    with Browser(folder / "profile", *DESK) as window:
        window.open(folder / "report.html")
        yield window


def test_every_panel_is_drawn_in_its_colours(opened: Browser, results: Path) -> None:
    drawn = 0
    for result in read_results(results).results:
        looks = looks_in(vars(one) for panel in result.panels for one in panel.series)
        for panel in result.panels:
            for one in panel.series:
                # J of all methods is one line in these runs: the last one lies on top.
                is_hidden = panel.y_label.startswith("J,") and one is not panel.series[-1]
                assert is_hidden or ink(opened, drawn, looks[one.label].colour) > 20, (
                    drawn,
                    one.label,
                )
            drawn += 1
    assert opened.ask("plots.length") == drawn == 7


def test_an_axis_that_is_logarithmic_is_drawn_so(opened: Browser) -> None:
    middle = opened.ask("(([a, b, c]) => (b - a) / (c - a))([.001, .01, .1].map("
                        "x => plots[4].valToPos(x, 'x')))")  # fmt: skip
    assert middle == pytest.approx(0.5)


def test_a_name_hides_its_line_and_band(opened: Browser) -> None:
    colour = opened.ask("charts[1].series[0].colour")
    before = ink(opened, 1, colour)
    label = place(opened, ".u-series:nth-child(2) .u-label", chart=1)
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        opened.mouse(kind, label["left"] + label["width"] / 2, label["top"] + label["height"] / 2)
    opened.mouse("mouseMoved", 1, 1)
    frames(opened)
    assert opened.ask("plots[1].series.slice(1, 4).map(s => s.show)") == [False] * 3
    assert before > 20 > ink(opened, 1, colour)


def test_the_contents_lead_to_the_sections(opened: Browser) -> None:
    opened.ask("document.querySelector('nav a[href$=front]').click()")
    frames(opened)
    top = opened.ask("document.getElementById('experiment-front').getBoundingClientRect().top")
    assert abs(top) < 50


@pytest.mark.parametrize(("size", "in_a_row"), [(PHONE, 1), (DESK, 2)])
def test_the_page_fits_and_wide_tables_scroll_in_their_own_box(
    opened: Browser, size: tuple[int, int], in_a_row: int
) -> None:
    opened.resize(*size)
    frames(opened)
    assert opened.ask("document.documentElement.scrollWidth <= innerWidth")
    assert opened.ask("innerWidth") == size[0]
    wide = opened.ask(
        "[...document.querySelectorAll('.scroll')].filter("
        "box => box.scrollWidth > box.clientWidth).length"
    )
    assert wide > 0
    tops = opened.ask("[1, 2].map(i => plots[i].root.getBoundingClientRect().top)")
    assert (2 if tops[0] == tops[1] else 1) == in_a_row
    width, room = opened.ask("[plots[1].width, plots[1].root.parentElement.clientWidth]")
    assert 0.8 * size[0] / in_a_row - 50 < width == room


def test_nothing_is_loaded_and_nothing_complains(opened: Browser) -> None:
    opened.ask("1")
    assert opened.complaints == []
    assert all(url.startswith("file://") for url in opened.requests)
