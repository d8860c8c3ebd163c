"""`spacil evaluate`: numbers with stable keys, the same for the same seed."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from fixture_types import Spacil, Tiny

import spacil as library
from spacil.demos.demonstrations import Demonstrations
from spacil.measuring.evaluate import Evaluation


def test_json_has_stable_keys_and_repeats_for_a_seed(spacil: Spacil, finished_run: Path) -> None:
    command = ("evaluate", finished_run, "--episodes", 4, "--json", "-")
    first = spacil(*command)
    assert (first.code, first.err) == (0, "")
    numbers = first.result
    assert numbers.keys() == {
        *("spacil_version", "source", "task", "algorithm", "seed", "provenance", "common_frame"),
        "demonstrator",
        *Evaluation.__dataclass_fields__,
    }
    assert numbers["task"] == "Reacher-v4"
    assert numbers["num_episodes"] == 4
    assert numbers["return_low"] <= numbers["average_return"] <= numbers["return_high"] < 0
    assert numbers["smoothness_j"] == numbers["smoothness_j_common"] > 0
    assert spacil(*command).result == numbers
    assert spacil(*command, "--seed", 1).result["average_return"] != numbers["average_return"]


def test_the_demonstrator_stands_beside_the_policy(spacil: Spacil, finished_run: Path) -> None:
    demos = library.load_demos("Reacher-v4")
    command = ("evaluate", finished_run, "--episodes", 2)
    beside = spacil(*command, "--json").result["demonstrator"]
    assert beside["average_return"] == pytest.approx(float(demos.returns.mean()))
    assert 0 < beside["smoothness_j"] < 10
    shown = spacil(*command).out
    assert re.search(r"policy +demonstrator", shown)
    assert re.search(rf"return G +-\d+\.\d+ +{beside['average_return']:.3f}", shown)


def without_rewards(demos: Demonstrations) -> Demonstrations:
    return replace(demos, episodes=tuple(replace(e, rewards=None) for e in demos.episodes))


def test_the_bundled_demonstrator_stands_beside_a_run_on_its_own_episodes_only(
    spacil: Spacil, tiny: Tiny, tmp_path: Path
) -> None:
    bundled = library.load_demos("Reacher-v4")
    for name, demos in (("few", bundled.first(3)), ("all", bundled)):
        agent = library.GAIL("Reacher-v4", without_rewards(demos), **tiny(iterations=1))
        agent.learn(run_dir=tmp_path / name)
        agent.save(tmp_path / f"{name}-agent")
    for source in ("few", "few-agent"):
        command = ("evaluate", tmp_path / source, "--episodes", 1, "--json")
        assert spacil(*command).result["demonstrator"] is None
        assert spacil(*command, "--demos", "Reacher-v4").result["demonstrator"] is None
    beside = spacil("evaluate", tmp_path / "all", "--episodes", 1, "--json").result["demonstrator"]
    assert beside["average_return"] == pytest.approx(float(bundled.returns.mean()))


def test_on_another_task_no_demonstrator_is_beside_a_policy(spacil: Spacil, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert (
        spacil("train", "bc", "--task", "Hopper-v4", "--iterations", 1, "--run-dir", run).code == 0
    )
    command = ("evaluate", run, "--episodes", 1, "--json")
    assert spacil(*command).result["demonstrator"] is not None
    assert spacil(*command, "--task", "Hopper-v5").result["demonstrator"] is None


def test_demonstrations_of_another_task_are_refused_by_size_or_told(
    spacil: Spacil, finished_run: Path, tmp_path: Path
) -> None:
    command = ("evaluate", finished_run, "--episodes", 1, "--json", "--demos")
    refused = spacil(*command, "Hopper-v4")  # 11 state dims as well
    assert (refused.code, refused.out) == (65, "")
    assert "2 action dims, " in refused.err and "has 3: wrong file" in refused.err
    demos = library.load_demos("Reacher-v4")
    renamed = replace(demos, metadata=replace(demos.metadata, task="Reacher-v5"))
    library.save_demos(renamed, tmp_path / "five.safetensors")
    shown = spacil(*command, tmp_path / "five.safetensors")
    assert shown.code == 0
    assert "demonstrations of Reacher-v5, and the policy plays Reacher-v4: J is per" in shown.err


def test_no_common_frame_without_demonstrations(spacil: Spacil, tiny: Tiny, tmp_path: Path) -> None:
    agent = library.TRPO("Pendulum-v1", **tiny("trpo"))
    agent.save(tmp_path / "agent")
    shown = spacil("evaluate", tmp_path / "agent", "--episodes", 1)
    assert shown.code == 0
    assert "no common frame: pass --demos" in shown.out
    numbers = spacil("evaluate", tmp_path / "agent", "--episodes", 1, "--json", "-").result
    assert numbers["smoothness_j"] is None and numbers["smoothness_j_own"] > 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--episodes", "0"], 2, "--episodes is 0, expected 1 or more"),
        (["--seed", "-1"], 2, "--seed is -1, expected 0 or more"),
        (["--task", "Hopper-v4"], 65, "2 action dims, Hopper-v4 has 3"),
        (["--task", "Recher-v4"], 2, "did you mean Reacher-v"),
        (["--demos", "Walker2d-v4"], 65, "has 17: wrong file"),
        (["--demos", "missing"], 65, "no such file"),
        (["--json", "/proc/none/x.json", "--episodes", "1"], 74, "cannot write"),
        (["--which", "worst"], 2, "worst"),
    ],
)
def test_a_mistake_is_refused_in_words(
    spacil: Spacil, finished_run: Path, arguments: list[str], code: int, message: str
) -> None:
    refusal = spacil("evaluate", finished_run, *arguments)
    assert refusal.code == code
    assert message in refusal.err
    assert refusal.out == ""


@pytest.mark.parametrize("name", ["missing", ".", "run/metrics.jsonl", "run/run.json"])
def test_no_policy_fails(spacil: Spacil, finished_run: Path, tmp_path: Path, name: str) -> None:
    refusal = spacil("evaluate", tmp_path / name)
    assert refusal.code == 65
    assert f"{tmp_path / name}: " in refusal.err
