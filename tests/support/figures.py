"""Figures of long campaigns, kept in one JSON file when SPACIL_FIGURES names it."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

VARIABLE = "SPACIL_FIGURES"


def record_figure(name: str, figures: dict[str, Any]) -> None:
    """Put the figures of a campaign into the file, with the commit they were measured at."""
    if VARIABLE not in os.environ:
        return
    path = Path(os.environ[VARIABLE])
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    known[name] = {"commit": _commit()} | figures
    path.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    folder = Path(__file__).parent
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return told.stdout.strip()
