import json
from pathlib import Path
from typing import Any

import numpy as np
import policies_of_others as foreign
import pytest
import torch
from fixture_types import Train

from spacil import measure_smoothness
from spacil.demos.common_frame import bundled_frame
from spacil.demos.file import load_demos
from spacil.engine.device import one_torch_thread
from spacil.errors import ConfigError, DataError
from spacil.measuring.evaluate import evaluate
from spacil.measuring.measure import load_states
from spacil.policies.open import load_policy, open_policy

ASSETS = Path("src/spacil/demos/assets")
REACHER = ASSETS / "Reacher-v4.policy.safetensors"


@pytest.fixture(scope="module")
def report() -> Any:
    with one_torch_thread():
        return measure_smoothness(REACHER, episodes=3)


def test_the_headline_equals_that_of_evaluate(report: Any) -> None:
    from spacil.envs.registry import make_vector_env
    from spacil.envs.vector_env import ResetSeeds

    saved = load_policy(REACHER)
    env = make_vector_env("Reacher-v4", 3, ResetSeeds(0, "evaluate"))
    try:
        result = evaluate(saved.policy, env, 0, 3, bundled_frame("Reacher-v4"))
    finally:
        env.close()
    document = report.as_document()
    for key in (
        "average_return",
        "return_std",
        "return_low",
        "mean_length",
        "num_episodes",
        "action_fluctuation",
    ):
        assert document[key] == pytest.approx(getattr(result, key))
    for key in ("smoothness_j", *(f"smoothness_j_{f}" for f in ("own", "raw", "common"))):
        assert document[key] == pytest.approx(getattr(result, key), rel=1e-5)
    assert document["smoothness_j_effective"] == pytest.approx(result.smoothness_j_effective)


def test_the_document_is_plain_json_with_every_key(report: Any) -> None:
    document = json.loads(json.dumps(report.as_document(), allow_nan=False))
    assert document["fixed_states_from"] == "bundled demonstrations of Reacher-v4"
    assert document["common_frame"] == {
        "source": "bundled demonstrations of Reacher-v4",
        "hash": bundled_frame("Reacher-v4").content_hash,
        "num_dims": 11,
        "num_live_dims": 10,
        "num_dims_read": 10,
        "dims_unseen": [],
    }
    assert document["on_fixed_states"]["num_states"] == 2500
    assert document["references"].keys() == {"zero_action", "random", "demonstrator"}
    assert document["references"]["zero_action"]["action_signal"]["action_fluctuation"] == 0
    assert document["action_signal"]["spectral_arc_length"] < 0
    assert "2/n" in document["conventions"]["spectrum_score"]
    nowhere = measure_smoothness(foreign.make_module(), states=torch.zeros(3, 11)).as_document()
    assert nowhere.keys() == document.keys()
    assert nowhere["average_return"] is None and nowhere["references"] is None
    assert nowhere["measured_on"] == "fixed states"
    assert nowhere["smoothness_j"] is None  # no demonstrations: never silently another frame


def test_the_bundled_demonstrator_stands_beside_the_policy(report: Any) -> None:
    # This policy is the demonstrator, so the two columns are one.
    beside = report.references["demonstrator"]
    assert beside.average_return == pytest.approx(report.played.average_return)
    assert beside.smoothness_j == pytest.approx(report.smoothness_j)
    assert report.references["random"].smoothness_j is None
    other = measure_smoothness(foreign.make_module(), env="Reacher-v4", episodes=3)
    assert other.references["demonstrator"].average_return == beside.average_return
    assert other.smoothness_j != pytest.approx(beside.smoothness_j)
    elsewhere = measure_smoothness(foreign.make_module(3, 1), env="Pendulum-v1", episodes=1)
    assert elsewhere.references.keys() == {"zero_action", "random"}


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ("Reacher-v4", "states is no array of numbers"),
        (Path("demos.npz"), "demonstrations as demonstrations="),
        (lambda: None, "states is no array of numbers"),
        ([[1.0], [2.0, 3.0]], "states is no array of numbers"),
    ],
)
def test_what_is_no_array_of_states_is_refused_in_words(states: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        measure_smoothness(foreign.make_module(), states=states)


def test_the_certificate_bounds_everything_that_was_measured(report: Any) -> None:
    certificate = report.certificate
    for measured in (report.on_trajectories, report.on_fixed_states):
        assert measured.own.max <= certificate["own_bound"] <= certificate["own_layer_product"]
        assert (
            measured.common.max
            <= certificate["common_bound"]
            <= certificate["common_layer_product"]
        )
    assert certificate["own_looseness"] >= 1 and certificate["common_looseness"] >= 1


def test_a_frame_that_leaves_out_what_a_policy_reads_has_no_certificate() -> None:
    module = foreign.make_module()
    states = load_demos("Reacher-v4").states[:200]
    report = measure_smoothness(module, states=states, demonstrations="Reacher-v4")
    (unseen,) = report.common_frame.dims_unseen  # the height of the arm never varies
    assert f"J does not see 1 of these: {unseen}" in str(report.common_frame)
    moved = states[:1].clone()
    moved[0, unseen] += 1.0  # no distance in the common frame
    with torch.no_grad():
        assert not torch.equal(module(moved), module(states[:1]))
    assert report.certificate["common_bound"] is None
    assert report.certificate["own_bound"] >= report.on_fixed_states.own.max


def test_power_ascent_is_near_exact_and_the_papers_step_is_not(report: Any) -> None:
    found = report.estimators
    assert found["power"] == pytest.approx(found["exact"], rel=0.01)
    assert found["raw"] < 0.7 * found["exact"]  # this policy is smooth: the raw step hardly moves
    assert found["raw"] < found["normalized"] < 1.01 * found["exact"]
    assert found["jeffreys"] == pytest.approx(
        found["radius"] ** 2 / 2 * found["power"] ** 2, rel=0.1
    )
    stds = load_policy(REACHER).policy.log_std.detach().exp()
    smallest, largest = float(stds.min()), float(stds.max())
    in_stds = found["jeffreys_policy_std"]
    assert 0.9 * found["jeffreys"] / largest**2 < in_stds < 1.1 * found["jeffreys"] / smallest**2


def test_sampled_actions_visit_other_states() -> None:
    sampled = measure_smoothness(REACHER, episodes=2, sampled=True)
    mean = measure_smoothness(REACHER, episodes=2)
    assert sampled.acting == "sampled" and mean.acting == "mean"
    assert sampled.played.average_return != mean.played.average_return
    assert sampled.on_fixed_states == mean.on_fixed_states
    with pytest.raises(ConfigError, match="whose spread is known"):
        measure_smoothness(foreign.make_module(), env="Reacher-v4", sampled=True)


@pytest.mark.parametrize("constant", [0.0, 0.4])
def test_a_constant_policy_is_perfectly_smooth_and_flagged_inactive(constant: float) -> None:
    module = torch.nn.Linear(11, 2)
    with torch.no_grad():
        module.weight.zero_()
        module.bias.fill_(constant)
    report = measure_smoothness(module, env="Reacher-v4", episodes=2)
    assert report.is_inactive
    assert report.smoothness_j == report.smoothness_j_own == 0
    signal = report.played.action_signal
    assert signal.action_fluctuation == 0 and signal.spectrum_score == pytest.approx(0, abs=1e-12)
    assert report.certificate["own_bound"] == 0 and report.certificate["own_looseness"] is None


def test_a_policy_that_acts_is_not_flagged(report: Any) -> None:
    assert not report.is_inactive and report.action_spread > 0.01


def test_a_run_folder_tells_the_smoothness_of_its_cost(train: Train, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert train("gail", "--run-dir", run, iterations=2).code == 0
    source = open_policy(run)
    assert source.cost is not None and source.task == "Reacher-v4"
    report = measure_smoothness(run, episodes=2)
    cost = report.cost
    assert cost["in_state"].mean > 0 and cost["in_action"].mean > 0 and cost["response"].mean > 0
    # Along the response the cost can change no faster than in the action times the policy's J.
    assert cost["response"].max <= cost["in_action"].max * report.on_trajectories.own.max * (
        1 + 1e-4
    )
    assert measure_smoothness(run, episodes=2, which="last").cost is not None
    assert measure_smoothness(REACHER, states=torch.zeros(2, 11)).cost is None


def test_states_come_from_npz_files_and_demonstrations(tmp_path: Path) -> None:
    states = np.random.default_rng(0).normal(size=(4, 5, 11))
    np.savez(tmp_path / "s.npz", states=states, other=np.zeros(3))
    assert torch.equal(load_states(tmp_path / "s.npz")[0], torch.from_numpy(states.reshape(20, 11)))
    assert load_states(ASSETS / "Reacher-v4.demos.safetensors")[0].shape == (2500, 11)


@pytest.mark.parametrize(
    ("arrays", "complaint"),
    [
        ({"weights": np.zeros((3, 2))}, r"has no array named states or observations.*weights"),
        ({"states": np.zeros(3)}, r"shape \(3,\), expected \(B, S\)"),
        ({"states": np.zeros((0, 4))}, r"shape \(0, 4\)"),
        ({"obs": np.array([[1.0], [np.nan]])}, "1 of 2 states are not finite, first in row 1"),
    ],
)
def test_files_without_states_fail(arrays: dict[str, Any], complaint: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", **arrays)
    with pytest.raises(DataError, match=complaint):
        load_states(tmp_path / "s.npz")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "nowhere to measure"),
        ({"states": torch.zeros(2, 11), "robustness": True}, "robustness plays episodes"),
        ({"states": torch.zeros(2, 11), "episodes": 0}, "^episodes is 0"),
        ({"states": torch.zeros(2, 11), "attack_radius": -1.0}, "^attack_radius is -1"),
        (
            {"states": torch.zeros(2, 11), "attack_radius": 0.1},
            "^attack_radius is read with robustness only",
        ),
        ({"env": "Hopper-v4"}, "2 action dims"),
        ({"env": "Reacher-v4", "demonstrations": "Walker2d-v4"}, "11 state dims"),
        ({"which": "first"}, "which is 'first', expected best or last"),
    ],
)
def test_impossible_measurements_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises((ConfigError, DataError), match=message):
        measure_smoothness(foreign.make_module(), **settings)
