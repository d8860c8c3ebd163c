"""`spacil experiment`: the bundled experts, beside the paper's."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spacil import paper

Spacil = Callable[..., Any]


def test_an_expert_is_measured_on_fresh_episodes_and_beats_the_papers(
    spacil: Spacil, tmp_path: Path
) -> None:
    done = spacil("experiment", "experts", "--tasks", "Reacher-v4", "--json", tmp_path / "e.json")
    assert done.code == 0
    [row] = json.loads((tmp_path / "e.json").read_text())["experts"]
    assert row["evaluation"]["num_episodes"] == 1_000
    assert row["paper_return"] == paper.TASKS["Reacher-v4"].expert_return
    assert row["evaluation"]["average_return"] > row["paper_return"]
    assert row["provenance"]["command"].startswith("spacil train trpo --task Reacher-v4")
    assert "Reacher-v4" in done.out


def test_a_task_without_an_expert_is_refused(spacil: Spacil) -> None:
    refused = spacil("experiment", "experts", "--tasks", "Pendulum-v1")
    assert refused.code == 2
    assert "Pendulum-v1" in refused.err
