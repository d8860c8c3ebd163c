"""Every page of docs/results is what its document's rows make of it."""

import importlib
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import pages
import report

SCRIPTS = {
    name: name.replace("-", "_")
    for name in (
        "returns", "curves", "mixing", "lambda-grid", "cost-smoothness", "demonstrators",
        "perturbation",
    )
}  # fmt: skip
"""Document -> the script that made it"""
WITHOUT_SCRIPTS = ("claims", "front")


def document_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((pages.RESULTS / f"{name}.json").read_text())
    return found


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_page_is_made_again_from_the_rows_of_its_document(name: str) -> None:
    document = document_of(name)
    document |= asdict(importlib.import_module(SCRIPTS[name]).page_of(document))
    assert pages.markdown(document, name) == (pages.RESULTS / f"{name}.md").read_text()


@pytest.mark.parametrize("name", WITHOUT_SCRIPTS)
def test_a_page_without_a_script_is_made_of_the_tables_of_its_document(name: str) -> None:
    assert pages.markdown(document_of(name), name) == (pages.RESULTS / f"{name}.md").read_text()


def test_a_script_writes_page_and_figure_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mixing

    (tmp_path / "mixing.json").write_text(json.dumps(document_of("mixing")))
    monkeypatch.setattr("sys.argv", ["mixing.py", "--results", str(tmp_path)])
    pages.main("mixing", mixing.page_of, lambda sources: {})
    assert (tmp_path / "mixing.md").read_text() == (pages.RESULTS / "mixing.md").read_text()
    assert (tmp_path / "mixing.svg").stat().st_size > 10_000


def test_runs_that_are_missing_are_on_the_page() -> None:
    document = document_of("mixing") | {"problems": ["spacil/Hopper-v4/x/seed0: waiting"]}
    page = pages.markdown(document, "mixing")
    assert page.endswith("## Missing\n\n- spacil/Hopper-v4/x/seed0: waiting\n")


def test_all_documents_stand_on_one_page_that_loads_nothing(tmp_path: Path) -> None:
    for name in ("mixing", "claims"):
        (tmp_path / f"{name}.json").write_text(json.dumps(document_of(name)))
    (tmp_path / "speed.json").write_text("{}")
    (tmp_path / "cut.json").write_text('{"experiment": ')
    out = tmp_path / "report.html"
    (damaged,) = report.main(tmp_path, out)
    assert "cut.json" in damaged
    page = out.read_text()
    assert page.index('id="mixing"') < page.index('id="claims"')
    assert page.count("<svg") == 1
    assert "interpolate" in page and "damaged, left out" in page and "speed.json" in page
    assert not re.search(r"(src|href)=\"(?!#)", page)
