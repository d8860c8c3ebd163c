"""`spacil.export_policy`: every file gives the actions of `predict`, and says what it is."""

import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from tiny_runs import tiny as tiny_settings
from torch import Tensor, nn

import spacil
from spacil.envs.registry import PAPER_TASKS
from spacil.errors import ConfigError, DataError, StorageError
from spacil.export.checks import TOLERANCE, c_compiler
from spacil.export.export import FILES, export_policy
from spacil.measuring.evaluate import evaluation_env
from spacil.nets.policy import GaussianPolicy
from spacil.policies.history import InLoop
from spacil.policies.onnx import OnnxGraph
from spacil.policies.open import open_policy, save_policy
from spacil.policies.policy import own_policy

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def make_policy(hidden: tuple[int, ...] = (8, 6), high: float = 1.0) -> GaussianPolicy:
    """Small, with a normaliser that has seen states of which one number never moves."""
    generator = torch.Generator().manual_seed(0)
    policy = GaussianPolicy(5, [-high] * 2, [high] * 2, hidden, generator=generator)
    with torch.no_grad():
        for parameter in policy.mean_net.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    states = 3 + torch.randn(500, 5, generator=generator) * torch.tensor([1.0, 10, 0.1, 5, 0])
    policy.normalizer.merge(states)
    return policy.requires_grad_(False)


def states_for(policy: GaussianPolicy, num: int = 200) -> Tensor:
    directions = torch.randn(num, policy.num_states, generator=torch.Generator().manual_seed(1))
    normalizer = policy.normalizer
    return (normalizer.mean + 5 * normalizer.std * directions).float()


def session_of(folder: Path) -> Any:
    path = str(folder / "policy.onnx")
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


@pytest.fixture
def _no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling takes most of the time, and some tests are about something else."""
    monkeypatch.setenv("CC", "no-such-compiler")


@pytest.mark.parametrize("task", PAPER_TASKS)
def test_a_bundled_expert_acts_the_same_in_onnx_and_in_c(task: str, tmp_path: Path) -> None:
    result = export_policy(task, tmp_path / "robot", episodes=1, num_checked=1_000)
    _, in_onnx, in_c = result.checks
    assert in_onnx.largest_difference is not None and in_onnx.largest_difference <= TOLERANCE
    if c_compiler() is None:
        assert in_c.reason is not None and "no C compiler" in in_c.reason
    else:
        assert in_c.largest_difference is not None and in_c.largest_difference <= TOLERANCE
        assert in_c.num_states == 1_000
    assert {path.name for path in (tmp_path / "robot").iterdir()} == set(FILES)
    facts = json.loads((tmp_path / "robot" / "policy.json").read_text())
    assert facts["task"] == task
    for noun in ("observation", "action"):
        num = facts[f"num_{noun}s"]
        assert len(facts[f"{noun}_names"]) == len(facts[f"{noun}_units"]) == num
    assert facts["smoothness_j"] > 0 and facts["control_dt_seconds"] > 0


@pytest.mark.usefixtures("_no_compiler")
def test_anybody_can_compute_the_onnx_file_for_one_row_or_many(tmp_path: Path) -> None:
    policy = make_policy()
    export_policy(policy, tmp_path / "robot", num_checked=100)
    session, states = session_of(tmp_path / "robot"), states_for(policy).numpy()
    assert [port.shape for port in session.get_inputs()] == [["batch", 5]]
    for num_rows in (1, 7, 200):
        (actions,) = session.run(["action"], {"observation": states[:num_rows]})
        assert np.abs(actions - policy.predict(states[:num_rows])).max() < TOLERANCE
    assert (np.abs(actions) == 1).any() and (np.abs(actions) < 1).any()  # clipped, and not


@pytest.mark.usefixtures("_no_compiler")
def test_the_onnx_file_is_opset_18_with_every_weight_inside(tmp_path: Path) -> None:
    export_policy(make_policy(), tmp_path / "robot", num_checked=100)
    model = onnx.load(tmp_path / "robot" / "policy.onnx", load_external_data=False)
    onnx.checker.check_model(model, full_check=True)
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 18)]
    assert all(tensor.data_location == 0 for tensor in model.graph.initializer)
    assert [node.op_type for node in model.graph.node] == [
        *("Sub", "Mul", "Clip", "Gemm", "Tanh", "Gemm", "Tanh", "Gemm", "Min", "Max")
    ]


@pytest.mark.usefixtures("_no_compiler")
def test_the_metadata_say_what_the_numbers_mean(tmp_path: Path) -> None:
    result = export_policy("Reacher-v4", tmp_path / "robot", episodes=1, num_checked=100)
    found = session_of(tmp_path / "robot").get_modelmeta().custom_metadata_map
    assert found["note"].startswith("actions are final, in env units")
    assert (found["input_name"], found["output_name"]) == ("observation", "action")
    assert json.loads(found["action_high"]) == [1.0, 1.0]
    assert float(found["control_dt_seconds"]) == pytest.approx(0.02)
    assert json.loads(found["observation_units"])[6] == "rad/s"
    assert json.loads(found["action_units"]) == ["200 N m", "200 N m"]
    assert json.loads(found["observations_ignored"]) == [10]  # the target never leaves the plane
    assert float(found["smoothness_j"]) == result.facts["smoothness_j"]
    assert found["policy_sha256"] == result.facts["policy_sha256"]
    other = export_policy(make_policy(), tmp_path / "other", num_checked=100)
    assert other.facts["policy_sha256"] != found["policy_sha256"]


@pytest.mark.usefixtures("_no_compiler")
def test_the_golden_file_holds_what_predict_answers_exactly(tmp_path: Path) -> None:
    policy = make_policy()
    export_policy(policy, tmp_path / "robot", num_checked=100)
    golden = json.loads((tmp_path / "robot" / "golden.json").read_text())
    observations = np.array(golden["observations"], np.float32)
    assert observations.tolist() == golden["observations"]  # float32, to the last bit
    assert len(observations) == 64
    assert np.allclose(policy.predict(observations), golden["actions"], atol=1e-5)


@pytest.mark.usefixtures("_no_compiler")
def test_equal_policies_give_equal_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        export_policy(make_policy(), tmp_path / name, num_checked=100)
    for name in ("policy.onnx", "policy.h", "golden.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_policy_without_task_or_bounds_is_exported_without_j(tmp_path: Path) -> None:
    policy = make_policy((), high=float("inf"))
    result = export_policy(policy, tmp_path / "robot", num_checked=100)
    assert "pass --task" in result.facts["not_measured"]
    assert result.facts["action_high"] == [None, None]
    assert "smoothness_j" not in result.facts
    states = states_for(policy).numpy()
    (actions,) = session_of(tmp_path / "robot").run(None, {"observation": states})
    assert np.allclose(actions, policy.predict(states), atol=1e-4) and np.abs(actions).max() > 5


@pytest.mark.usefixtures("_no_compiler")
def test_runs_agents_and_saved_policies_are_all_exported(
    finished_run: Path, tmp_path: Path, tiny: Any
) -> None:
    of_run = export_policy(finished_run, tmp_path / "of-run", episodes=1, num_checked=100)
    assert of_run.facts["run_content_hash"] and of_run.facts["algorithm"] == "gail"
    saved = spacil.load_policy(finished_run)
    save_policy(saved, tmp_path / "mine.policy.safetensors")
    of_file = export_policy(tmp_path / "mine.policy.safetensors", tmp_path / "file", num_checked=99)
    assert of_file.facts["policy_sha256"] == of_run.facts["policy_sha256"]
    assert of_file.facts["smoothness_j"] > 0
    agent = spacil.GAIL("Reacher-v4", **tiny())
    of_agent = export_policy(agent, tmp_path / "agent", episodes=0, num_checked=100)
    assert of_agent.facts["task"] == "Reacher-v4" and "not_measured" in of_agent.facts
    agent.close()


@pytest.mark.usefixtures("_no_compiler")
def test_an_env_of_ones_own_is_played_when_it_is_given(tmp_path: Path, tiny: Any) -> None:
    def pendulum() -> Any:
        return gymnasium.make("Pendulum-v1")

    agent = spacil.TRPO(pendulum, **tiny("trpo"))
    unknown = export_policy(agent, tmp_path / "one", num_checked=100)
    assert (
        "its task cannot be played here: unknown task 'pendulum'" in unknown.facts["not_measured"]
    )
    played = export_policy(agent, tmp_path / "two", pendulum, episodes=1, num_checked=100)
    agent.close()
    assert played.facts["smoothness_j_raw"] > 0 and "smoothness_j" not in played.facts
    assert played.facts["control_dt_seconds"] == pytest.approx(0.05)
    assert played.facts["action_high"] == [2.0] and "action_units" not in played.facts


def test_a_steep_policy_magnifies_rounding_and_is_exported_all_the_same(tmp_path: Path) -> None:
    policy = make_policy((32, 32, 32))
    with torch.no_grad():
        for weight, _ in policy.mean_net.weights_and_biases:
            weight.mul_(8)
    result = export_policy(policy, tmp_path / "robot", num_checked=1_000)
    tolerance = json.loads((tmp_path / "robot" / "golden.json").read_text())["tolerance"]
    assert tolerance > TOLERANCE
    assert all((check.largest_difference or 0) <= tolerance for check in result.checks)


@pytest.mark.parametrize(
    "other",
    [nn.Linear(3, 2), lambda states: states, object()],
    ids=["module", "function", "object"],
)
def test_policies_of_others_are_refused_with_a_way_out(other: object, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"spacil smooth distils|cannot open a object"):
        export_policy(other, tmp_path / "robot")
    assert not list(tmp_path.iterdir())


class OddPolicy(GaussianPolicy):
    """Its `predict` is not what its numbers say."""

    def predict(self, *arguments: Any, **named: Any) -> Any:
        return super().predict(*arguments, **named) + np.float32(1e-3)


def test_nothing_is_written_when_a_file_differs_from_predict(tmp_path: Path) -> None:
    odd = OddPolicy(3, [-1.0], [1.0], (4,), generator=torch.Generator().manual_seed(0))
    with pytest.raises(DataError, match=r"policy\.onnx differs from predict by 0\.001"):
        export_policy(
            own_policy(odd, "odd", task="Nowhere-v0"), tmp_path / "robot", num_checked=100
        )
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("_no_compiler")
def test_an_earlier_export_is_replaced_when_asked_and_other_files_never(tmp_path: Path) -> None:
    folder = tmp_path / "robot"
    folder.mkdir()  # an empty folder is as good as none
    first = export_policy(make_policy(), folder, num_checked=100)
    with pytest.raises(StorageError, match="--overwrite replaces it"):
        export_policy(make_policy((3,)), folder, num_checked=100)
    second = export_policy(make_policy((3,)), folder, num_checked=100, overwrite=True)
    written = json.loads((folder / "policy.json").read_text())
    assert written["policy_sha256"] == second.facts["policy_sha256"]
    assert first.facts["policy_sha256"] != second.facts["policy_sha256"]
    assert [path.name for path in tmp_path.iterdir()] == ["robot"]
    (folder / "thesis.txt").write_text("months of work")
    for other in (tmp_path, folder):
        with pytest.raises(StorageError, match="holds other files"):
            export_policy(make_policy(), other, num_checked=100, overwrite=True)
    assert (folder / "thesis.txt").read_text() == "months of work"


@pytest.mark.parametrize(
    ("place", "words"),
    [("a/b", "create its folder"), ("file", "name a"), ("link", "name a")],
)
def test_a_place_that_cannot_be_written_is_refused(place: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(StorageError, match=words):
        export_policy(make_policy(), tmp_path / place)


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("PATH", "nowhere", r"no C compiler here \(cc, gcc, clang, or CC=...\)$"),
        ("CC", "false --really", "false --really failed"),
    ],
)
def test_without_a_usable_compiler_the_header_is_written_and_said_to_be_untried(
    variable: str, value: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv(variable, value)
    result = export_policy(make_policy(), tmp_path / "robot", num_checked=100)
    assert re.match(reason, result.checks[2].reason or "")
    assert (tmp_path / "robot" / "policy.h").is_file()


def test_a_compiler_that_is_no_command_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", 'gcc"')
    with pytest.raises(ConfigError, match='CC is gcc", expected a command: No closing quotation'):
        export_policy(make_policy(), tmp_path / "robot", num_checked=100)


def compiled(folder: Path, source: str, *command: str) -> str:
    """What a program with the header prints."""
    suffix = ".cpp" if "++" in command[0] else ".c"
    (folder / f"main{suffix}").write_text(source)
    strict = ("-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Werror")
    program = folder / "main"
    build = [*command, *strict, "-O1", f"main{suffix}", "-o", str(program)]
    subprocess.run(build, cwd=folder, check=True, timeout=120)
    return subprocess.run([str(program)], capture_output=True, text=True, timeout=60).stdout


PROGRAM = """
#define SPACIL_POLICY_SELF_TEST
#include <stdio.h>
#include "policy.h"
int main(void)
{
    float observation[SPACIL_POLICY_NUM_OBSERVATIONS] = {0}, action[2] = {7, 7};
    printf("%g ", (double)spacil_policy_self_test());
    printf("%d ", spacil_policy(observation, action));
    observation[1] = NAN;
    action[0] = 7;
    printf("%d %g\\n", spacil_policy(observation, action), (double)action[0]);
    return 0;
}
"""


@pytest.mark.parametrize(
    "command",
    [("cc", "-std=c99"), ("c++", "-std=c++11"), ("cc", "-std=c99", "-ffast-math")],
    ids=str,
)
def test_the_header_compiles_without_a_warning_and_tests_itself(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]} here")
    folder = tmp_path / "robot"
    export_policy(make_policy(), folder, num_checked=100)
    difference, code, code_of_nan, untouched = compiled(folder, PROGRAM, *command).split()
    assert float(difference) < 1e-5
    assert (code, code_of_nan, untouched) == ("0", "-1", "7")


def test_the_self_test_of_the_header_notices_another_weight(tmp_path: Path) -> None:
    if c_compiler() is None:
        pytest.skip("no C compiler here")
    folder = tmp_path / "robot"
    export_policy(make_policy(), folder, num_checked=100)
    header = (folder / "policy.h").read_text()
    start = header.index("spacil_policy_biases_3[2] = {") + len("spacil_policy_biases_3[2] = {")
    (folder / "policy.h").write_text(header[:start] + "0.001f + " + header[start:].lstrip())
    assert float(compiled(folder, PROGRAM, *(c_compiler() or []), "-std=c99").split()[0]) > 5e-4


@pytest.fixture(scope="module")
def late_policy() -> Any:
    """Cloned for a delay of 0 to 2 steps: it sees commands and observations of before."""
    agent = spacil.BC("Reacher-v4", action_delay="0-2", **tiny_settings("bc", iterations=1))
    agent.learn()
    opened = open_policy(agent)
    agent.close()
    return opened


def test_a_policy_with_a_history_is_exported_with_a_memory(
    late_policy: Any, tmp_path: Path
) -> None:
    """11 sensors, 2 commands of 2 motors, 2 past observations."""
    result = export_policy(late_policy, tmp_path / "robot", episodes=2, num_checked=500)
    assert late_policy.num_states == 11 + 2 * 2 + 2 * 11
    _, in_onnx, in_c = result.checks
    assert in_onnx.largest_difference is not None and in_onnx.largest_difference <= TOLERANCE
    if c_compiler():
        assert in_c.largest_difference is not None and in_c.largest_difference <= TOLERANCE
    facts = json.loads((tmp_path / "robot" / "policy.json").read_text())
    named = ("num_sensors", "history_commands", "history_observations")
    assert [facts[name] for name in named] == [11, 2, 2]
    assert facts["conditions"]["action_delay"] == "0-2" and "its last commands" in facts["note"]
    header = (tmp_path / "robot" / "policy.h").read_text()
    assert "spacil_policy_reset" in header and "spacil_policy_golden_commands" in header


def test_without_a_history_there_is_no_memory(tmp_path: Path) -> None:
    export_policy("Reacher-v4", tmp_path / "robot", episodes=0, num_checked=100)
    assert "memory" not in (tmp_path / "robot" / "policy.h").read_text()
    assert "num_sensors" not in json.loads((tmp_path / "robot" / "policy.json").read_text())


def test_over_whole_episodes_the_onnx_file_commands_what_the_policy_does(
    late_policy: Any, tmp_path: Path
) -> None:
    """The file is given its own outputs as its past; the env keeps its own record of them."""
    export_policy(late_policy, tmp_path / "robot", episodes=0, num_checked=100)
    graph = OnnxGraph(str(tmp_path / "robot" / "policy.onnx"), tmp_path)
    with evaluation_env("Reacher-v4", 1, 3, 1, late_policy.conditions) as env:
        observations = env.reset()
        loop = InLoop(late_policy)
        past = loop.at_start(observations[0, :11].numpy())
        for _ in range(env.spec.horizon or 0):
            expected = late_policy.predict(observations[0].numpy())
            found = graph.step({"observation": observations[:, :11].numpy(), **past})
            np.testing.assert_allclose(found["action"][0], expected, atol=1e-5)
            np.testing.assert_allclose(loop.step(observations[0, :11].numpy()), expected, atol=1e-5)
            past = {name: found[f"next_{name}"] for name in past}
            step = env.step(torch.as_tensor(expected).unsqueeze(0))
            observations = step.observations
        assert bool(step.truncated[0])


def test_an_exported_history_is_read_back_as_one_function_of_all_its_inputs(
    late_policy: Any, tmp_path: Path
) -> None:
    export_policy(late_policy, tmp_path / "robot", episodes=0, num_checked=100)
    read = open_policy(tmp_path / "robot" / "policy.onnx")
    states = torch.randn(5, late_policy.num_states, generator=torch.Generator().manual_seed(0))
    assert read.num_states == late_policy.num_states
    expected = torch.as_tensor(late_policy.predict(states.numpy()))
    torch.testing.assert_close(read.act(states), expected, atol=1e-5, rtol=0)
    assert read.conditions == late_policy.conditions


def test_without_onnx_everything_else_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "onnx" else found(name)
    )
    own = own_policy(make_policy(), "mine")
    result = export_policy(own, tmp_path / "robot", num_checked=64, rate=50)
    assert {path.name for path in (tmp_path / "robot").iterdir()} == {*FILES} - {"policy.onnx"}
    told = str(result)
    assert "not written: pip install 'spacil[export]'" in told and "written: " in told
    facts = json.loads((tmp_path / "robot" / "policy.json").read_text())
    assert (facts["control_rate_hz"], facts["control_dt_seconds"]) == (50, 0.02)
    assert "SPACIL_POLICY_DT 0.02" in (tmp_path / "robot" / "policy.h").read_text()
    with pytest.raises(ConfigError, match="--rate is 0, expected a finite number of Hz"):
        export_policy(own, tmp_path / "other", rate=0)
