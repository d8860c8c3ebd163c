"""What version 0.1 wrote is still of use: its policies act as they did, its runs end in words."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import spacil as library
from spacil.runs.checkpoints import checkpoint

Spacil = Callable[..., Any]

FIXTURES = Path(__file__).parents[1] / "fixtures" / "v0.1"
ALGORITHMS = {
    "trpo": "trpo",
    "gail": "gail",
    "spacil": "spacil",
    "bc": "bc",
    "fast": "spacil",
    "target": "spacil",
}
AGENTS: dict[str, type] = {
    "trpo": library.TRPO,
    "gail": library.GAIL,
    "spacil": library.SPaCIL,
    "bc": library.BC,
}
STATE = torch.linspace(-1, 1, 11)[None]
MEAN_ACTIONS = {
    ("trpo", "best"): (-0.1541, -0.0960),
    ("trpo", "last"): (-0.1541, -0.0960),
    ("gail", "best"): (0.2280, -0.2203),
    ("gail", "last"): (-0.0198, -0.2127),
    ("spacil", "best"): (0.2268, -0.2181),
    ("spacil", "last"): (-0.0443, -0.2052),
    ("bc", "best"): (-0.0007, -0.0309),
    ("bc", "last"): (-0.0007, -0.0309),
    ("fast", "best"): (-0.0192, -0.0814),
    ("fast", "last"): (-0.0192, -0.0814),
    ("target", "best"): (0.2268, -0.2181),
    ("target", "last"): (-0.0378, -0.1993),
    ("agent", "best"): (0.2280, -0.2203),
    ("policy.safetensors", "best"): (0.2280, -0.2203),
}
"""mu(STATE) of every policy in the fixtures, as version 0.1 computed it."""
SOURCES = [*ALGORITHMS, "agent", "policy.safetensors"]
DOCUMENTED_CODES = {2, 65, 69, 70, 73, 74, 75}


@pytest.fixture
def old(tmp_path: Path) -> Callable[[str], Path]:
    """A copy of what version 0.1 left behind under a name, to do anything with."""

    def copy(name: str) -> Path:
        source, target = FIXTURES / name, tmp_path / name
        return Path(
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
        )

    return copy


@pytest.mark.parametrize(("name", "which"), MEAN_ACTIONS)
def test_an_old_policy_acts_as_it_did(old: Callable[[str], Path], name: str, which: Any) -> None:
    saved = library.load_policy(old(name), which)
    assert saved.task == "Reacher-v4"
    expected = pytest.approx(MEAN_ACTIONS[name, which], abs=2e-4)
    assert tuple(saved.policy.mean(STATE)[0].tolist()) == expected


@pytest.mark.parametrize("name", SOURCES)
def test_an_old_policy_is_evaluated(spacil: Spacil, old: Callable[[str], Path], name: str) -> None:
    done = spacil("evaluate", old(name), "--episodes", 2, "--json")
    assert (done.code, done.err) == (0, "")
    document = done.result
    assert document["task"] == "Reacher-v4"
    assert document["algorithm"] == ALGORITHMS.get(name, "gail")
    assert -40 < document["average_return"] < 0 < document["smoothness_j"]


@pytest.mark.parametrize("name", SOURCES)
def test_an_old_policy_is_measured_and_so_is_its_cost(
    spacil: Spacil, old: Callable[[str], Path], name: str
) -> None:
    done = spacil("smoothness", old(name), "--episodes", 1, "--json")
    assert (done.code, done.err) == (0, "")
    assert done.result["smoothness_j"] > 0
    has_discriminator = name not in ("trpo", "bc", "policy.safetensors")
    assert (done.result["cost"] is not None) == has_discriminator


@pytest.mark.parametrize("name", ["trpo", "bc"])
def test_a_policy_needs_no_settings(
    spacil: Spacil, old: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    found = checkpoint.read_best(old(name) / "checkpoints")
    assert found is not None
    document = {key: value for key, value in found.document.items() if key != "config"}
    folder = checkpoint.write(tmp_path / "bare", found.iteration, found.tensors, document, {})
    for verb in ("evaluate", "smoothness"):
        done = spacil(verb, folder, "--episodes", 1, "--json")
        assert (done.code, done.err) == (0, "")
        assert done.result["algorithm"] is None


def test_a_cost_without_its_settings_is_refused_in_words(
    spacil: Spacil, old: Callable[[str], Path], tmp_path: Path
) -> None:
    found = checkpoint.read_best(old("gail") / "checkpoints")
    assert found is not None
    document = {key: value for key, value in found.document.items() if key != "config"}
    folder = checkpoint.write(tmp_path / "bare", found.iteration, found.tensors, document, {})
    assert library.load_policy(folder).policy.num_actions == 2
    refused = spacil("smoothness", folder, "--episodes", 1)
    assert refused.code == 65
    assert "discriminator" in refused.err


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_old_run_is_resumed_or_refused_with_a_reason(
    old: Callable[[str], Path], name: str
) -> None:
    folder = old(name)
    settings = json.loads((folder / "config.json").read_text())
    algorithm, task = settings.pop("algorithm"), settings.pop("task")
    settings = {k: tuple(v) if isinstance(v, list) else v for k, v in settings.items()}
    try:
        agent = AGENTS[algorithm](task, **(settings | {"iterations": 3}))
        agent.learn(run_dir=folder)
    except library.SpacilError as refusal:
        assert refusal.exit_code in DOCUMENTED_CODES
        assert str(refusal)
    else:
        last = checkpoint.newest_valid(folder / "checkpoints")
        assert last is not None and last.iteration == 3


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_command_refuses_an_old_run_of_other_settings_without_a_traceback(
    spacil: Spacil, old: Callable[[str], Path], name: str
) -> None:
    folder = old(name)
    command = ("train", ALGORITHMS[name], "--task", "Reacher-v4", "--run-dir", folder)
    refused = spacil(*command, "--resume", "--quiet", "--policy-hidden", 4)
    assert refused.code in DOCUMENTED_CODES
    assert refused.err.startswith("spacil: ")
    assert library.load_policy(folder, "last").provenance["iteration"] == 2


def test_an_old_agent_goes_on_or_is_refused_with_a_reason(old: Callable[[str], Path]) -> None:
    try:
        agent = library.GAIL.load(old("agent"))
    except library.SpacilError as refusal:
        assert refusal.exit_code in DOCUMENTED_CODES
        assert str(refusal)
    else:
        agent.learn(1)
        assert agent.config.run.iterations == 2
