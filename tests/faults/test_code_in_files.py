"""A file that names code: nothing is imported or called because a file says so."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from fixture_types import Spacil, Tiny
from own_env import SOURCE, forget_own_env, write_own_env

import spacil as library
from spacil.errors import ConfigError, DataError
from spacil.policies.open import load_policy, save_policy

CALLABLES = ["os:abort", "signal:pause", "evilmod:Evil-v0"]
"""Two of modules that are loaded in every process, one of a file in the working folder"""


@pytest.fixture(autouse=True)
def nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Evidence of what was called or imported; after the test there is to be none."""
    called: list[str] = []
    monkeypatch.setattr(os, "abort", lambda: called.append("abort"))
    monkeypatch.setattr(signal, "pause", lambda: called.append("pause"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evilmod.py").write_text("open('PWNED', 'w').close()\n")
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield called
    sys.modules.pop("evilmod", None)
    assert called == []
    assert not (tmp_path / "PWNED").exists()


@pytest.fixture
def own_task(tmp_path: Path) -> Iterator[str]:
    yield write_own_env(tmp_path)
    forget_own_env()


def policy_file(task: str) -> Path:
    save_policy(library.load_expert("Reacher-v4"), path := Path("x.policy.safetensors"), task=task)
    return path


@pytest.mark.parametrize("task", CALLABLES)
@pytest.mark.parametrize(
    "command",
    [
        "evaluate FILE",
        "smoothness FILE",
        "diagnose FILE",
        "export FILE --out robot",
        "smooth FILE --iterations 1",
        "video FILE --out x.gif",
        "demos collect FILE --out x.npz --num 1",
    ],
)
def test_a_policy_file_names_code_in_vain(spacil: Spacil, task: str, command: str) -> None:
    refused = spacil(*command.replace("FILE", str(policy_file(task))).split())
    assert refused.code == 65
    assert f"x.policy.safetensors names the task '{task}', which is code" in refused.err
    assert f"type it: --task {task}" in refused.err


@pytest.mark.parametrize(
    "use",
    [
        library.diagnose,
        library.measure_smoothness,
        library.smooth,
        lambda policy: library.export_policy(policy, "robot"),
    ],
    ids=["diagnose", "measure_smoothness", "smooth", "export"],
)
def test_a_loaded_policy_keeps_that_a_file_named_its_task(use: Callable[[object], object]) -> None:
    with pytest.raises(DataError, match="names the task 'os:abort', which is code"):
        use(load_policy(policy_file("os:abort")))


@pytest.mark.parametrize("task", CALLABLES)
def test_an_edited_run_folder_is_not_resumed(spacil: Spacil, finished_run: Path, task: str) -> None:
    document = json.loads((finished_run / "run.json").read_text())
    for part in ("config", "inputs"):
        document[part]["task"] = task
    (finished_run / "run.json").write_text(json.dumps(document))
    refused = spacil("resume", finished_run, "--iterations", 4)
    assert refused.code == 65
    assert f"type it: spacil resume {finished_run} --task {task}" in refused.err


@pytest.mark.parametrize("task", CALLABLES)
def test_settings_from_a_file_name_code_in_vain(spacil: Spacil, tmp_path: Path, task: str) -> None:
    (tmp_path / "cfg.json").write_text(json.dumps({"algorithm": "trpo", "task": task}))
    refused = spacil("train", "--config", "cfg.json", "--run-dir", "run")
    assert refused.code == 65
    assert f"--config cfg.json names the task '{task}', which is code" in refused.err
    assert not (tmp_path / "run").exists()


def grids(task: str, **settings: Any) -> dict[str, Any]:
    return {"algorithms": ["trpo"], "tasks": [task], "seeds": [0], "set": settings}


def write_sweep(folder: Path, task: str) -> None:
    document = {"format": "spacil-sweep", "format_version": 1, "fresh_episodes": 0}
    (folder / "sweep.json").write_text(json.dumps(document | {"grids": [grids(task)]}))


@pytest.mark.parametrize("task", CALLABLES)
def test_a_plan_in_any_file_names_code_in_vain(spacil: Spacil, tmp_path: Path, task: str) -> None:
    write_sweep(tmp_path, task)
    (tmp_path / "plan.json").write_text(json.dumps(grids(task)))
    for words in (["-o", "."], ["plan.json", "-o", "new"], ["plan.json", "-o", "new", "--list"]):
        refused = spacil("sweep", *words)
        assert refused.code == 65
        assert f"names the task '{task}', which is code" in refused.err
        assert f"type it: --task {task}" in refused.err
    assert not (tmp_path / "new").exists()
    for words in (["sweep", "status", "."], ["sweep", "-o", ".", "--list"]):
        assert spacil(*words, "--json").result["states"] == {"waiting": 1}


def test_one_typed_name_is_not_leave_for_another(spacil: Spacil, tmp_path: Path) -> None:
    write_sweep(tmp_path, "evilmod:Evil-v0")
    assert spacil("sweep", "-o", ".", "--task", "my_cart:Cart-v0").code == 65


@pytest.mark.timeout(900)
def test_a_typed_task_is_handed_on_by_sweeps(spacil: Spacil, own_task: str, tmp_path: Path) -> None:
    tiny = {"iterations": 1, "num_envs": 2, "steps_per_iteration": 40, "evaluation_steps": 40}
    (tmp_path / "plan.json").write_text(json.dumps(grids(own_task, **tiny)))
    command = ("sweep", "plan.json", "-o", "sweep", "--fresh-episodes", 2)
    assert spacil(*command).code == 65
    assert spacil(*command, "--task", own_task).code == 0
    forget_own_env()
    states = spacil("sweep", "status", "sweep", "--json").result["states"]
    assert states == {"finished": 1}


def test_a_saved_agent_asks_for_its_env(own_task: str, tiny: Tiny) -> None:
    library.TRPO(own_task, **tiny("trpo")).learn(1).save("kept")
    with pytest.raises(DataError, match=f"type it: env={own_task}$"):
        library.TRPO.load("kept")
    assert library.TRPO.load("kept", env=own_task).evaluate(1).num_episodes == 1


@pytest.mark.parametrize("name", ["time", "dumps", "ANumber", "Box", "cart"])
def test_a_typed_name_must_make_an_env(own_task: str, tmp_path: Path, name: str) -> None:
    more = "from json import dumps\nfrom time import time\nANumber = 3\ncart = Cart()\n"
    (tmp_path / "my_cart.py").write_text(SOURCE + more)
    for task in ("signal:pause", f"my_cart:{name}"):
        told = f"^{task} is not an id .*, a subclass of gymnasium.Env, or a function of its own"
        with pytest.raises(ConfigError, match=told) as refused:
            library.TRPO(task)
        assert f"did you mean {name}?" not in str(refused.value)


def test_a_package_may_define_its_maker_in_a_module_below_it(tmp_path: Path) -> None:
    (tmp_path / "my_robots").mkdir()
    (tmp_path / "my_robots" / "carts.py").write_text(SOURCE)
    (tmp_path / "my_robots" / "__init__.py").write_text("from my_robots.carts import make_cart\n")
    try:
        assert library.TRPO("my_robots:make_cart").evaluate(1).num_episodes == 1
    finally:
        for name in ("my_robots", "my_robots.carts"):
            sys.modules.pop(name, None)
        gymnasium.registry.pop("Cart-v0", None)
