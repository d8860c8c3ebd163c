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

SCRIPTS = {"robots": "robots_page"} | {
    name: name.replace("-", "_")
    for name in (
        "returns", "curves", "mixing", "lambda-grid", "cost-smoothness", "demonstrators",
        "perturbation", "delay", "no-actions", "claims", "default", "controls", "robustness",
    )
}  # fmt: skip
"""Document -> the script that made it"""
WITHOUT_SCRIPTS = ("front",)


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
