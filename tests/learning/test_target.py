"""The dual variable on plants whose answer is known, and in short real runs."""

import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from spacil.config.defaults import default_config
from spacil.config.flat import with_settings, with_user_settings
from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import CommonFrame
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.edits import with_observation_noise
from spacil.demos.file import load_demos
from spacil.demos.metadata import DemoMetadata
from spacil.engine.torch_threads import one_torch_thread
from spacil.errors import ConfigError, DataError
from spacil.learning.batch_measures import measure_j
from spacil.learning.evaluation import evaluate_at_start
from spacil.learning.loop import train
from spacil.learning.metrics import Metrics
from spacil.learning.policy_learner import PolicyLearner
from spacil.learning.target import (
    MAX_LOG_WEIGHT,
    MIN_LOG_WEIGHT,
    TOLERANCE,
    ChangeDual,
    Dual,
    verdict,
)
from spacil.learning.target_reference import target_j
from spacil.measuring.evaluate import evaluate
from spacil.measuring.frames import frames_of_policy
from spacil.nets.policy import GaussianPolicy
from spacil.policies.file import load_policy, save_policy
from spacil.smoothness.metric import local_constants

REACHER = "Reacher-v4"
DEMOS = load_demos(REACHER)
FRAME = CommonFrame.of(DEMOS)
DEMONSTRATOR_J = DEMOS.metadata.provenance["evaluation"]["smoothness_j"]


@pytest.fixture(autouse=True)
def _one_torch_thread() -> Iterator[None]:
    with one_torch_thread():
        yield


# --- the controller on a plant


def play(
    target: float,
    iterations: int = 300,
    gain: float = 0.35,
    lag: float = 15.0,
    bias: float = 1.0,
    floor: float = 0.0,
    kind: type[Dual] = Dual,
) -> tuple[Dual, float]:
    """A policy that learns: J rises to 2, and falls as a power of the weight; slowly, with noise.

    Evaluations, every tenth iteration, see `bias` times the J of the batch. Returns the dual and
    the J an evaluation sees at the end.
    """
    rng = random.Random(0)
    start = 0.3
    dual, log_j = kind.starting(target, 0.03), math.log(start)
    for iteration in range(iterations):
        learned = math.log(start) + math.log(2 / start) * (1 - math.exp(-iteration / 30))
        rest = max(learned - gain * math.log(1 + dual.weight / 0.003), math.log(floor + 1e-9))
        log_j += (rest - log_j) / lag
        batch_j = math.exp(log_j + rng.gauss(0, 0.05))
        dual = dual.after_batch(batch_j)
        if iteration % 10 == 9:
            dual = dual.after_evaluation(bias * math.exp(log_j + rng.gauss(0, 0.02)))
    return dual, bias * math.exp(log_j)


@pytest.mark.parametrize("gain", [0.2, 0.35, 0.6])
@pytest.mark.parametrize("lag", [3.0, 15.0, 40.0])
@pytest.mark.parametrize("target", [0.6, 1.2, 1.8])
def test_a_reachable_target_is_neared_to_a_tenth_and_then_met(
    gain: float, lag: float, target: float
) -> None:
    _, early = play(target, gain=gain, lag=lag)
    assert abs(early / target - 1) < 0.1
    dual, j = play(target, iterations=600, gain=gain, lag=lag)
    assert abs(j / target - 1) < TOLERANCE
    assert verdict(dual, j).is_met and verdict(dual, j).words == "met"


@pytest.mark.parametrize("lag", [3.0, 15.0, 40.0])
@pytest.mark.parametrize("gain", [0.07, 0.15, 0.35])
def test_an_action_change_that_hardly_answers_to_its_weight_is_met_too(
    gain: float, lag: float
) -> None:
    unpenalized = 2 * math.exp(-gain * math.log(11))  # what the first weight makes of it
    dual, change = play(0.85 * unpenalized, gain=gain, lag=lag, kind=ChangeDual)
    assert -0.1 < change / (0.85 * unpenalized) - 1 < TOLERANCE
    assert isinstance(dual, ChangeDual)


def test_the_weight_of_an_action_change_rises_three_times_as_fast_and_falls_alike() -> None:
    j, change = Dual.starting(1.0, 0.03), ChangeDual.starting(1.0, 0.03)
    rises = [dual.after_batch(1.2).log_weight - dual.log_weight for dual in (j, change)]
    falls = [dual.after_batch(0.8).log_weight - dual.log_weight for dual in (j, change)]
    assert rises[1] == pytest.approx(3 * rises[0]) and rises[0] > 0
    assert falls[1] == falls[0] < 0


@pytest.mark.parametrize("bias", [0.7, 1.4])
def test_the_controller_aims_at_what_evaluations_see(bias: float) -> None:
    dual, j = play(1.0, bias=bias)
    assert abs(j - 1) < 0.1
    assert math.exp(dual.log_bias) == pytest.approx(bias, rel=0.1)


def test_a_target_that_no_weight_reaches_is_reported_at_the_upper_bound() -> None:
    dual, j = play(0.1, floor=0.4)
    found = verdict(dual, j)
    assert math.log(dual.weight) == pytest.approx(MAX_LOG_WEIGHT)
    assert not found.is_met and found.gap > 2
    assert "above it with the weight at its bound" in found.words


def test_a_target_that_needs_no_weight_is_met_with_the_weight_at_its_lower_bound() -> None:
    dual, j = play(5.0, iterations=600)
    found = verdict(dual, j)
    assert math.log(dual.weight) == pytest.approx(MIN_LOG_WEIGHT)
    assert found.is_met and found.gap < -0.5
    assert found.words == "met"


def test_j_at_the_tolerance_is_met_and_beyond_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    # a number without rounding
    monkeypatch.setattr("spacil.learning.target.TOLERANCE", 0.25)
    found = {j: verdict(Dual.starting(2.0, 0.03), j) for j in (2.5, 2.5625)}
    assert [each.is_met for each in found.values()] == [True, False]
    assert [each.words == "met" for each in found.values()] == [True, False]


def test_a_run_that_ends_too_early_says_that_the_weight_still_moves() -> None:
    dual, j = play(0.2, iterations=60)
    assert "still above it, and the weight still moving" in verdict(dual, j).words


def test_the_weight_rises_while_j_is_above_its_target_and_falls_while_below() -> None:
    start = Dual.starting(1.0, 0.03)
    assert start.weight == pytest.approx(0.03) and start.gap == 0
    above, below = start.after_batch(1.3), start.after_batch(0.9)
    assert above.weight > 0.03 > below.weight
    assert above.gap == pytest.approx(0.3) and below.gap == pytest.approx(-0.1)
    assert above.after_batch(1.3).weight > above.weight
    # An untrained policy is smooth for another reason: far below, it falls no faster.
    assert start.after_batch(0.01).weight == start.after_batch(0.6).weight < below.weight


def test_a_policy_that_does_not_react_at_all_breaks_nothing() -> None:
    dual = Dual.starting(1.0, 0.03).after_batch(0.0).after_evaluation(0.0)
    assert math.isfinite(dual.weight) and dual.log_bias == 0


def test_a_dual_survives_a_trip_through_json() -> None:
    dual, _ = play(1.0, iterations=25)
    assert Dual(**json.loads(json.dumps(vars(dual)))) == dual


# --- in a run

SMALL = {
    "num_envs": 10,
    "steps_per_iteration": 500,
    "simulation_threads": 1,
    "torch_threads": 1,
    "policy_hidden": (16, 8),
    "value_hidden": (16,),
    "discriminator_hidden": (16,),
    "evaluation_steps": 100,
    "evaluation_interval": 2,
    "penalty_ramp_iterations": 0,
    "smoothness_target_states": 50,
}


def make_config(**settings: Any) -> TrainConfig:
    return with_settings(default_config("spacil", REACHER, "plain"), {**SMALL, **settings})


@pytest.fixture
def learners() -> Iterator[Callable[..., PolicyLearner]]:
    made: list[PolicyLearner] = []

    def make(demos: Demonstrations = DEMOS, **settings: Any) -> PolicyLearner:
        made.append(PolicyLearner(make_config(**settings), REACHER, demos))
        return made[-1]

    yield make
    for learner in made:
        learner.close()


def train_all(learner: PolicyLearner) -> list[Metrics]:
    rows: list[Metrics] = []
    train(learner, rows.append)
    return rows


def test_a_run_moves_the_weight_the_right_way_and_logs_it(
    learners: Callable[..., PolicyLearner],
) -> None:
    strict = train_all(learners(iterations=8, smoothness_target=1e-3))
    loose = train_all(learners(iterations=8, smoothness_target=100.0))
    start = 0.03
    assert strict[0]["lambda_policy"] == loose[0]["lambda_policy"] == pytest.approx(start)
    assert strict[-1]["lambda_policy"] > 3 * start
    assert loose[-1]["lambda_policy"] < 0.9 * start
    assert strict[-1]["smoothness_j"] < 0.8 * loose[-1]["smoothness_j"]
    assert strict[-1]["target_gap"] > 0 > loose[-1]["target_gap"]
    assert all(row["smoothness_j_batch"] > 0 for row in strict)
    assert [("target_verdict" in row) for row in strict] == [False, True] * 4
    assert not strict[-1]["is_target_met"]


def test_a_run_without_a_target_measures_and_logs_nothing(
    learners: Callable[..., PolicyLearner],
) -> None:
    rows = train_all(learners(iterations=2))
    assert not {"smoothness_j_batch", "target_gap", "target_verdict"} & rows[-1].keys()


def test_a_run_with_a_target_resumes_bit_for_bit(learners: Callable[..., PolicyLearner]) -> None:
    settings = {
        "iterations": 6,
        "smoothness_target": 0.5,
        "smoothness_target_reference": "demonstrator",
    }
    whole, first, second = (learners(**settings) for _ in range(3))
    rows = train_all(whole)
    train(first, lambda row: row["iteration"] < 4)
    second.restore(first.tensors(), json.loads(json.dumps(first.document())))
    assert second.wishes.smoothness is not None and second.wishes.smoothness.log_bias != 0
    assert [timeless(row) for row in train_all(second)] == [timeless(row) for row in rows[4:]]
    assert second.document() == whole.document()
    ours, theirs = second.tensors(), whole.tensors()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def timeless(row: Metrics) -> Metrics:
    return {name: value for name, value in row.items() if not name.startswith("seconds")}


def test_the_batchs_j_is_the_evaluations_j_on_the_same_states() -> None:
    policy = GaussianPolicy(11, [-1.0] * 2, [1.0] * 2, (16, 8), generator=torch.Generator())
    states = DEMOS.states[:60]
    policy.normalizer.merge(states)
    constants = local_constants(
        policy.mean_of_normalized,
        policy.normalize(states),
        frames_of_policy(policy, FRAME),
    )
    assert constants.common is not None
    measured = measure_j(policy, states, FRAME, 60, torch.Generator())
    assert measured == pytest.approx(float(constants.common.mean()), rel=1e-5)


# --- what the target refers to


def wanted(learner: PolicyLearner) -> float:
    return target_j(learner.config, learner.demonstrations, learner.common_frame, learner.eval_env)


def test_a_target_without_a_reference_is_j_itself(learners: Callable[..., PolicyLearner]) -> None:
    assert wanted(learners(smoothness_target=0.25)) == 0.25


def test_the_demonstrators_recorded_j_is_the_reference(
    learners: Callable[..., PolicyLearner],
) -> None:
    learner = learners(smoothness_target=0.5, smoothness_target_reference="demonstrator")
    assert wanted(learner) == pytest.approx(0.5 * DEMONSTRATOR_J)


def test_edited_demonstrations_say_nothing_of_the_demonstrators_j(
    learners: Callable[..., PolicyLearner],
) -> None:
    """The recorded J is in the frame of the whole file and not in that of three episodes."""
    settings = {"smoothness_target": 0.5, "smoothness_target_reference": "demonstrator"}
    for edited in (DEMOS.first(3), with_observation_noise(DEMOS, 0.5, seed=0)):
        assert wanted(learners(edited, **settings)) != pytest.approx(0.5 * DEMONSTRATOR_J)


def test_an_unrecorded_demonstrator_is_cloned(learners: Callable[..., PolicyLearner]) -> None:
    silent = replace(DEMOS.first(8), metadata=DemoMetadata(DEMOS.metadata.task))
    settings = {"smoothness_target": 0.5, "smoothness_target_reference": "demonstrator"}
    learner = learners(silent, **settings)
    clones_j = wanted(learner) / 0.5
    assert 0.2 * DEMONSTRATOR_J < clones_j < 2 * DEMONSTRATOR_J
    assert wanted(learner) / 0.5 == clones_j  # seeded


def test_a_policy_file_is_a_reference(
    learners: Callable[..., PolicyLearner], tmp_path: Path
) -> None:
    learner = learners(smoothness_target=0.5)
    path = tmp_path / "reference.policy.safetensors"
    save_policy(learner.policy, path, REACHER, {})
    j = evaluate(learner.policy, learner.eval_env, 0, 2, FRAME).smoothness_j
    assert j is not None
    relative = learners(smoothness_target=0.5, smoothness_target_reference=str(path))
    assert wanted(relative) == pytest.approx(0.5 * j, rel=0.2)


def test_a_reference_is_measured_on_the_episodes_of_the_untrained_policy(
    learners: Callable[..., PolicyLearner], tmp_path: Path
) -> None:
    path = tmp_path / "reference.policy.safetensors"
    save_policy(learners().policy, path, REACHER, {})
    learner = learners(smoothness_target=0.5, smoothness_target_reference=str(path))
    learner.policy.load_state_dict(load_policy(path).policy.state_dict())
    at_start = evaluate_at_start(learner)["smoothness_j"]
    assert wanted(learner) == pytest.approx(0.5 * at_start, rel=1e-6)


def test_a_reference_that_does_not_fit_is_refused(
    learners: Callable[..., PolicyLearner], tmp_path: Path
) -> None:
    missing = learners(smoothness_target=0.5, smoothness_target_reference="gail-run")
    with pytest.raises(ConfigError, match="expected none, demonstrator, or a run folder"):
        wanted(missing)
    other = tmp_path / "other.policy.safetensors"
    save_policy(GaussianPolicy(4, [-1.0], [1.0]), other, "Other-v0", {})
    with pytest.raises(DataError, match="4 state dims"):
        wanted(learners(smoothness_target=0.5, smoothness_target_reference=str(other)))


@pytest.mark.parametrize(
    ("algorithm", "settings", "message"),
    [
        ("spacil", {"smoothness_target": -0.1}, "target is -0.1, expected above 0"),
        ("spacil", {"smoothness_target_reference": "demonstrator"}, "above 0 when --smoothness"),
        ("spacil", {"smoothness_target": 1.0, "lambda_policy": 0.0}, "expected a weight above 0"),
        ("spacil", {"smoothness_target": 1.0, "smoothness_target_states": 0}, "states is 0"),
        ("gail", {"smoothness_target": 1.0}, "GAIL with a policy penalty is spacil"),
        ("trpo", {"smoothness_target": 1.0}, "trpo does not read it; it is for spacil, airl"),
        ("bc", {"smoothness_target": 1.0}, "bc takes a weight, --lambda-policy"),
    ],
)
def test_targets_that_mean_nothing_are_refused(
    algorithm: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        with_user_settings(default_config(algorithm, REACHER), settings)


def test_the_command_line_says_what_became_of_the_target(
    spacil: Callable[..., Any], tiny_flags: Callable[..., list[str]], tmp_path: Path
) -> None:
    flags = tiny_flags("spacil", smoothness_target=1e-3, iterations=2, preset="plain")
    command = ["train", "spacil", "--task", REACHER, "--quiet", *flags]
    printed = spacil(*command, "--run-dir", tmp_path / "a").out
    assert "smoothness target J 0.001: not met: J is still above it" in printed
    result = spacil(*command, "--run-dir", tmp_path / "b", "--json").result
    assert result["is_target_met"] is False and result["target_gap_evaluated"] > 1


@pytest.mark.parametrize(
    ("wish", "line"),
    [
        ("smoothness_target", "smoothness target J 0.5"),
        ("fluctuation_target", "fluctuation t"),
    ],
)
def test_a_run_that_ends_in_its_warm_start_says_so_too(
    spacil: Callable[..., Any],
    tiny_flags: Callable[..., list[str]],
    tmp_path: Path,
    wish: str,
    line: str,
) -> None:
    """Its only iteration has not moved the policy, nor measured it on the batch."""
    waits = {"warm_start_steps": 20, "warm_start_iterations": 2}
    flags = tiny_flags("spacil", iterations=1, preset="plain", **waits, **{wish: 0.5})
    command = ["train", "spacil", "--task", REACHER, "--quiet", *flags]
    ended = spacil(*command, "--run-dir", tmp_path / "run")
    assert ended.code == 0, ended.err
    assert line in ended.out
