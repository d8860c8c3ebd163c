"""Weight searches in short real runs: what they move, hand out, log, save and refuse."""

import copy
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from demo_edits import with_tensors
from fixture_types import Spacil, TinyFlags, Train
from tiny_runs import tiny

import spacil
from spacil.cli.train import config_of_words
from spacil.config.algorithms import Preset
from spacil.config.defaults import default_config
from spacil.config.flat import flat_settings, from_flat_settings, with_settings, with_user_settings
from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import CommonFrame
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import load_demos
from spacil.demos.metadata import DemoMetadata
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import EnvSpec, ResetSeeds
from spacil.errors import ConfigError
from spacil.learning.learner import Metrics
from spacil.learning.on_policy import OnPolicy
from spacil.learning.run import train
from spacil.learning.searches import (
    CHANGE,
    J,
    Quantity,
    WeightSearches,
    measure_action_change,
    measure_j,
    start_score_search,
    target_fraction,
    wanted_value,
    weight_scale,
)
from spacil.learning.weight_search import LAWS, Constraint, WeightSearch
from spacil.measuring.frames import mean_j
from spacil.nets.policy import GaussianPolicy
from spacil.policies.open import load_policy, open_policy
from spacil.runs.state import State
from spacil.types import RolloutBatch

NewLearner = Callable[..., OnPolicy]

REACHER = "Reacher-v4"
WHOLE = load_demos(REACHER)
DEMOS = WHOLE.first(20)
FRAME = CommonFrame.of(WHOLE)
DEMONSTRATOR_J = WHOLE.metadata.provenance["evaluation"]["smoothness_j"]
START = {"warm_start_steps": 30, "warm_start_iterations": 1}

SMALL = tiny(
    "spacil", steps_per_iteration=500, penalty_ramp_iterations=0, smoothness_target_states=50
)


def make_config(preset: Preset = "none", task: str = REACHER, **settings: Any) -> TrainConfig:
    config = default_config("spacil", task, preset)
    if preset != "none":
        return with_settings(config, SMALL | settings)
    return with_user_settings(config, tiny("spacil", **START | settings))


@pytest.fixture
def learners() -> Iterator[NewLearner]:
    made: list[OnPolicy] = []

    def make(demos: Demonstrations = DEMOS, **settings: Any) -> OnPolicy:
        made.append(OnPolicy(make_config(**settings), settings.get("task", REACHER), demos))
        return made[-1]

    yield make
    for learner in made:
        learner.close()


@pytest.fixture
def plain_learners(learners: NewLearner) -> NewLearner:
    """Learners of the plain preset: fixed weights, no warm start."""

    def make(demos: Demonstrations = WHOLE, **settings: Any) -> OnPolicy:
        return learners(demos, preset="plain", **settings)

    return make


def train_all(learner: OnPolicy) -> list[Metrics]:
    rows: list[Metrics] = []
    train(learner, rows.append)
    return rows


def evaluated(rows: list[Metrics]) -> list[Metrics]:
    return [row for row in rows if "average_return" in row]


def test_the_weight_rises_while_the_constraint_holds_and_falls_when_it_does_not(
    learners: NewLearner,
) -> None:
    learner = learners(iterations=9, keep_return=0.5)
    kept, lost = Constraint(0.5, 0.1, -1e6, -1e3), Constraint(0.5, 0.1, -1e6, 1e9)
    search = learner.searches
    search.smoothest, search.constraint = WeightSearch(0.1, 0.01, 3.0), kept
    rows: list[Metrics] = []
    train(learner, lambda row: rows.append(row) or row["iteration"] < 4)
    search.constraint = lost
    train(learner, rows.append)
    weights = [row["lambda_policy"] for row in rows]
    assert weights[0] == pytest.approx(0.1)
    assert weights[4] > weights[2] > 0.1  # after the evaluations of iterations 2 and 4
    assert weights[8] < weights[4]
    rising, *_, falling = evaluated(rows)
    assert rising["is_constraint_met"] and not falling["is_constraint_met"]
    assert rising["constraint_slack"] > 0 > falling["constraint_slack"]
    assert falling["next_lambda_policy"] == pytest.approx(learner.searches.weights.spatial)


@pytest.mark.parametrize("task", [REACHER, "Hopper-v4"])
@pytest.mark.parametrize("wish", [{}, {"smoothest": True}], ids=str)
def test_without_keep_return_no_reward_is_read(
    learners: NewLearner, wish: dict[str, Any], task: str
) -> None:
    demos = load_demos(task).first(3)
    paid, unpaid = (learners(demos, iterations=6, task=task, **wish) for _ in range(2))
    for env in (unpaid.env, unpaid.eval_env):
        step = env.step

        def worthless(actions: Any, active: Any = None, step: Any = step) -> Any:
            result = step(actions, active)
            result.rewards[:] = 0
            return result

        env.step = worthless  # type: ignore[method-assign]
    rows, same = train_all(paid), train_all(unpaid)
    assert {row["average_return"] for row in evaluated(same)} == {0}
    assert min(row["mean_length"] for row in evaluated(rows)) < 1_000  # Hopper falls
    ours, theirs = paid.state.tensors(), unpaid.state.tensors()
    assert [name for name in ours if not torch.equal(ours[name], theirs[name])] == [
        "episode.returns"
    ]
    if wish:
        assert "return_share" not in rows[-1]
        slack = 1 - rows[-1]["imitation_score"] / rows[-1]["score_threshold"]
        assert rows[-1]["constraint_slack"] == pytest.approx(slack)


def test_handed_out_is_the_smoothest_policy_that_kept_the_constraint(learners: NewLearner) -> None:
    learner = learners(iterations=8, keep_return=0.9, evaluation_interval=1)
    keep_all = Constraint(0.9, 0.1, -1e6, -1e3)
    learner.searches.smoothest = WeightSearch(0.1, 0.01, 3.0)
    learner.searches.constraint = keep_all
    kept: dict[int, GaussianPolicy] = {}
    rows: list[Metrics] = []

    def keep(row: Metrics) -> None:
        rows.append(row)
        kept[row["iteration"]] = copy.deepcopy(learner.evaluated_policy)

    train(learner, keep)
    smoothest = min(rows, key=lambda row: row["smoothness_j"])
    assert rows[-1]["smoothest_iteration"] == smoothest["iteration"]
    assert [row["is_best"] for row in rows] == [
        row["smoothness_j"] < min((r["smoothness_j"] for r in rows[:i]), default=1e9)
        for i, row in enumerate(rows)
    ]
    assert learner.best is not None and learner.best.iteration == smoothest["iteration"]
    chosen = kept[smoothest["iteration"]].state_dict()
    handed_out = learner.final_policy.state_dict()
    assert all(torch.equal(handed_out[name], chosen[name]) for name in chosen)


@pytest.mark.parametrize("wish", [{}, {"smoothest": True, "select": "last"}], ids=str)
def test_the_last_policy_is_the_best_by_default_and_where_the_user_says_so(
    learners: NewLearner, wish: dict[str, Any]
) -> None:
    learner = learners(iterations=4, **wish)
    rows = evaluated(train_all(learner))
    assert [row["is_best"] for row in rows] == [True, True]
    assert learner.final_policy is learner.evaluated_policy
    assert ("smoothest_iteration" in rows[-1]) is bool(wish)


@pytest.mark.parametrize(
    "wish",
    [
        {},
        {"smoothest": True},
        {"keep_return": 0.7, "fluctuation_target": 0.01},
        {"smoothness_target": 0.5, "smoothness_target_reference": "demonstrator"},
    ],
    ids=["rule", "score", "return", "J"],
)
def test_a_run_with_wishes_resumes_bit_for_bit(learners: NewLearner, wish: dict[str, Any]) -> None:
    whole, first, second = (learners(iterations=8, **wish) for _ in range(3))
    rows = train_all(whole)
    train(first, lambda row: row["iteration"] < 5)
    second.state.restore(first.state.tensors(), json.loads(json.dumps(first.state.document())))
    assert [timeless(row) for row in train_all(second)] == [timeless(row) for row in rows[5:]]
    assert second.state.document() == whole.state.document()
    ours, theirs = second.state.tensors(), whole.state.tensors()
    assert ours.keys() == theirs.keys() and ("chosen.log_std" in ours) is (
        "smoothest" in wish or "keep_return" in wish
    )
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def timeless(row: Metrics) -> Metrics:
    return {name: value for name, value in row.items() if not name.startswith("seconds")}


def test_the_return_to_keep_is_the_demonstrators(learners: NewLearner) -> None:
    told = learners(iterations=2, keep_return=0.9)
    row = train_all(told)[-1]
    assert DEMOS.returns is not None
    assert row["share_reference"] == pytest.approx(float(DEMOS.returns.mean()))
    assert row["random_return"] < -20
    span = row["share_reference"] - row["random_return"]
    share = (row["average_return"] - row["random_return"]) / span
    assert row["return_share"] == pytest.approx(share)
    assert row["constraint"] == "90.0% of the demonstrator's return"


@pytest.mark.parametrize("rewards", ["none", "not finite", "no more than random"])
def test_without_a_demonstrator_better_than_chance_there_is_no_return_to_keep(
    learners: NewLearner, rewards: str
) -> None:
    assert DEMOS.rewards is not None
    poor = DEMOS.rewards - 10
    if rewards == "not finite":
        poor[3] = float("nan")
    demos = with_tensors(DEMOS, rewards=None if rewards == "none" else poor)
    with pytest.raises(ConfigError, match=r"--keep-return 0.9: .* leave it out"):
        learners(replace(demos, metadata=DemoMetadata(REACHER)), keep_return=0.9).prepare()


def test_the_best_policy_is_handed_out_and_saved_and_the_last_one_can_be_had(
    tmp_path: Path,
) -> None:
    settings = tiny("spacil", **START, smoothest=True, iterations=6, evaluation_interval=1)
    agent = spacil.SPaCIL(REACHER, **settings).learn(run_dir=tmp_path / "run")
    learner, states = agent._learner, DEMOS.states[:5]
    assert isinstance(learner, OnPolicy) and learner.selected is not None
    handed_out, newest = agent.policy.mean(states), learner.evaluated_policy.mean(states)
    last = load_policy(tmp_path / "run", "last")
    assert last.provenance["iteration"] == 6
    file = tmp_path / "run" / "checkpoints" / "iter-000006.safetensors"
    for opened in (last, load_policy(file)):
        assert torch.equal(opened.policy.mean(states), newest)
    assert torch.equal(load_policy(tmp_path / "run", "best").policy.mean(states), handed_out)
    with torch.no_grad():  # the newest policy is another one, whatever this run has chosen
        learner.evaluated_policy.mean_net.weights_and_biases[-1][1].add_(0.5)
    agent.save(tmp_path / "agent")
    saved = load_policy(tmp_path / "agent")
    assert saved.provenance["iteration"] == learner.searches.chosen.iteration  # type: ignore[union-attr]  # it has one
    loaded = spacil.SPaCIL.load(tmp_path / "agent")
    best = load_policy(tmp_path / "agent" / "checkpoints" / "best.safetensors")
    for policy in (saved.policy, best.policy, open_policy(str(tmp_path / "agent")), loaded.policy):
        assert torch.equal(policy.mean(states), handed_out)
    ours, theirs = (one._learner.evaluated_policy.mean(states) for one in (agent, loaded))
    assert torch.equal(ours, theirs) and not torch.equal(ours, handed_out)
    agent.close()
    loaded.close()


def test_what_must_be_kept_comes_before_the_action_change_and_that_before_j(
    learners: NewLearner,
) -> None:
    learner = learners(iterations=24, keep_return=0.5, fluctuation_target=1e-4)
    learner.prepare()
    search = learner.searches
    search.constraint = Constraint(0.5, 0.1, -1e6, -1e3)  # kept by anything
    rows: list[Metrics] = []
    train(learner, lambda row: rows.append(row) or row["iteration"] < 6)
    kept = rows[-1]
    assert kept["lambda_temporal"] > rows[1]["lambda_temporal"]
    assert kept["lambda_policy"] == rows[0]["lambda_policy"]  # J waits for the action change
    search.constraint = Constraint(0.5, 0.1, -1e6, 1e9)  # and by nothing
    train(learner, rows.append)
    # J's weight gives way as well, twice as fast as if it had not waited.
    missed = [row for row in evaluated(rows) if row["constraint_slack"] < 0]
    fall = math.log(missed[0]["next_lambda_policy"] / kept["lambda_policy"])
    assert fall == pytest.approx(LAWS["waiting"].gain * missed[0]["constraint_slack"])
    assert missed[-1]["next_lambda_policy"] == pytest.approx(0.1 * kept["lambda_policy"])
    assert rows[-1]["lambda_temporal"] < kept["lambda_temporal"]
    assert not rows[-1]["is_fluctuation_target_met"]
    assert rows[-1]["next_lambda_temporal"] == learner.searches.weights.temporal


def test_a_fluctuation_target_moves_a_temporal_weight_of_its_own(learners: NewLearner) -> None:
    strict = train_all(learners(iterations=8, fluctuation_target=1e-4))
    loose = train_all(learners(iterations=8, fluctuation_target=10.0))
    first = strict[1]  # the policy waits in iteration 0
    assert first["lambda_temporal"] == loose[1]["lambda_temporal"] == pytest.approx(0.03)
    assert strict[-1]["lambda_temporal"] > 0.06 > 0.03 > loose[-1]["lambda_temporal"]
    assert first["lambda_policy"] == pytest.approx(1.0)  # the rule's own, beside it
    assert strict[-1]["loss_penalty_cats"] > 0
    assert strict[-1]["fluctuation_gap"] > 0 > loose[-1]["fluctuation_gap"]
    assert not strict[-1]["is_fluctuation_target_met"]
    assert loose[-1]["fluctuation_target_verdict"] == "met"
    assert "the action change is still above it" in strict[-1]["fluctuation_target_verdict"]


def test_a_temporal_penalty_of_the_users_own_is_the_one_that_moves(learners: NewLearner) -> None:
    penalty = ("exact=0.1", "caps=0.2")
    rows = train_all(learners(iterations=5, fluctuation_target=1e-4, penalty=penalty))
    assert rows[1]["lambda_temporal"] == pytest.approx(0.2)
    assert rows[-1]["lambda_temporal"] > 0.25
    assert {row["lambda_policy"] for row in rows} == {0.1}
    assert "loss_penalty_cats" not in rows[-1]


def test_the_batchs_action_change_is_that_of_executed_mean_actions() -> None:
    """Hand-worked: a mean of twice the state, bounds of 1, two envs of which one is cut."""
    policy = GaussianPolicy(1, [-1.0], [1.0], (1,))
    policy.mean = lambda states: 2 * states  # type: ignore[method-assign]
    states = torch.tensor([[0.0, 0.0], [0.1, 0.3], [0.4, 9.0]]).unsqueeze(-1)
    is_cut = torch.tensor([[False, False], [False, True], [False, False]])
    none = torch.zeros_like(is_cut)
    batch = RolloutBatch(
        states, states, torch.zeros(3, 2).double(), is_cut, none, states[0, :0], states[0]
    )
    # 0 -> .2 -> .8 in the first env, 0 -> .6 before the cut in the second
    expected = (0.2 + 0.6 + 0.6) / 3
    assert measure_action_change(policy, batch, 100, torch.Generator()) == pytest.approx(expected)
    one_step = replace(batch, states=states[:1], terminated=none[:1], truncated=none[:1])
    assert measure_action_change(policy, one_step, 100, torch.Generator()) is None


def wanted(learner: OnPolicy, quantity: Quantity = CHANGE) -> float:
    return wanted_value(
        quantity, learner.config, learner.demonstrations, learner.common_frame, learner.eval_env
    )


def test_a_fluctuation_target_may_be_a_fraction_of_somebodys_change(learners: NewLearner) -> None:
    assert wanted(learners(fluctuation_target=0.25)) == 0.25
    of_demonstrator = {"fluctuation_target": 0.8, "fluctuation_target_reference": "demonstrator"}
    change = DEMOS.action_change
    assert change is not None
    assert wanted(learners(**of_demonstrator)) == pytest.approx(0.8 * change)
    thinned = wanted(learners(DEMOS.subsample(5), **of_demonstrator))  # by a clone
    assert 0.2 * change < thinned < 2 * change


def test_a_run_moves_the_weight_the_right_way_and_logs_it(plain_learners: NewLearner) -> None:
    strict = train_all(plain_learners(iterations=8, smoothness_target=1e-3))
    loose = train_all(plain_learners(iterations=8, smoothness_target=100.0))
    start = 0.03
    assert strict[0]["lambda_policy"] == loose[0]["lambda_policy"] == pytest.approx(start)
    assert strict[-1]["lambda_policy"] > 3 * start
    assert loose[-1]["lambda_policy"] < 0.9 * start
    assert strict[-1]["smoothness_j"] < 0.8 * loose[-1]["smoothness_j"]
    assert strict[-1]["target_gap"] > 0 > loose[-1]["target_gap"]
    assert all(row["smoothness_j_batch"] > 0 for row in strict)
    assert [("target_verdict" in row) for row in strict] == [False, True] * 4
    assert not strict[-1]["is_target_met"]


def test_the_batchs_j_is_the_evaluations_j_on_the_same_states() -> None:
    policy = GaussianPolicy(11, [-1.0] * 2, [1.0] * 2, (16, 8), generator=torch.Generator())
    states = WHOLE.states[:60]
    policy.normalizer.merge(states)
    measured = measure_j(policy, states, FRAME, 60, torch.Generator())
    assert measured == pytest.approx(mean_j(policy, states, FRAME), rel=1e-5)


def test_the_demonstrators_recorded_j_is_the_reference_and_else_a_clones(
    plain_learners: NewLearner,
) -> None:
    settings = {"smoothness_target": 0.5, "smoothness_target_reference": "demonstrator"}
    assert wanted(plain_learners(smoothness_target=0.25), J) == 0.25  # J itself
    recorded = pytest.approx(0.5 * DEMONSTRATOR_J)
    assert wanted(plain_learners(**settings), J) == recorded
    # The recorded J is in the frame of the whole file and not in that of three episodes.
    for edited in (WHOLE.first(3), WHOLE.with_observation_noise(0.5, seed=0)):
        assert wanted(plain_learners(edited, **settings), J) != recorded
    silent = replace(WHOLE.first(8), metadata=DemoMetadata(WHOLE.metadata.task))
    learner = plain_learners(silent, **settings)
    clones_j = wanted(learner, J) / 0.5
    assert 0.2 * DEMONSTRATOR_J < clones_j < 2 * DEMONSTRATOR_J
    assert wanted(learner, J) / 0.5 == clones_j  # seeded


def test_a_run_that_ends_in_its_warm_start_tells_of_its_targets_too(
    train: Train, tmp_path: Path
) -> None:
    """Its only iteration has not moved the policy, nor measured it on the batch."""
    waits = {"warm_start_steps": 20, "warm_start_iterations": 2, "preset": "plain"}
    wish = {"smoothness_target": 0.5, "fluctuation_target": 0.5}
    ended = train("spacil", "--run-dir", tmp_path / "run", iterations=1, **waits, **wish)
    assert ended.code == 0, ended.err
    assert ended.result["smoothness_target"] == ended.result["fluctuation_target"] == 0.5


@pytest.mark.parametrize(
    "wish",
    [
        {},  # the rule
        {"smoothness_target": 1e-3},
        {"fluctuation_target": 1e-4},
        {"keep_return": 0.9},
        {"keep_return": 0.9, "fluctuation_target": 1e-4},
    ],
    ids=str,
)
def test_no_search_moves_while_its_weight_is_withheld(
    learners: NewLearner, wish: dict[str, Any]
) -> None:
    learner = learners(iterations=9, evaluation_interval=1, penalty_ramp_iterations=5, **wish)
    learner.prepare()
    if learner.searches.smoothest is not None:
        learner.searches.constraint = Constraint(0.5, 0.1, -1e6, -1e3)  # kept by anything
    start = learner.searches.weights
    found = [start]
    train(learner, lambda row: found.append(learner.searches.weights))
    assert found[:6] == [start] * 6  # before the sixth iteration, the first with all the weight
    assert found[-1] != start


@pytest.mark.parametrize("wish", [{"smoothest": True}, {"keep_return": 0.98}])
def test_a_wish_for_the_smoothest_takes_the_place_of_the_rule(wish: dict[str, Any]) -> None:
    config = with_user_settings(default_config("spacil", REACHER), wish)
    assert config.wish.wants_smoothest and config.policy_penalty.penalty_weight == "fixed"
    assert config.imitation.select == "smoothest"
    assert from_flat_settings(flat_settings(config)) == config


def test_a_wish_that_is_not_made_changes_nothing() -> None:
    default = default_config("spacil", REACHER)
    targets = {"smoothness_target": 0.0, "fluctuation_target": 0.0}
    nothing = {"smoothest": False, "keep_return": 0.0, **targets}
    assert with_user_settings(default, nothing) == default
    state = State()
    WeightSearches(default).register(state)
    assert set(state.document().values()) == {None}


@pytest.mark.parametrize(
    ("flags", "settings"),
    [
        ("--smoothness-target=0 --no-smoothest", {}),
        ("--keep_return=0.9 --smoothness-target 0.0", {"keep_return": 0.9}),
        ("--smoothest --keep-return 0", {"smoothest": True}),
        ("--smoothness-target 1 --no-smoothest", {"smoothness_target": 1.0}),
        (
            "--penalty-weight auto --lambda-policy 0.2",
            {"penalty_weight": "auto", "lambda_policy": 0.2},
        ),
    ],
)
def test_flags_imply_what_keywords_do(flags: str, settings: dict[str, Any]) -> None:
    default = default_config("spacil", REACHER)
    config, _ = config_of_words(["spacil", "--task", REACHER, *flags.split()])
    assert config == with_user_settings(default, settings)


@pytest.mark.parametrize(
    ("algorithm", "settings", "message"),
    [
        ("spacil", {"smoothest": True, "smoothness_target": 1.0}, "and so does --smoothest"),
        ("spacil", {"keep_return": 0.9, "smoothness_target": 1.0}, "so does --keep-return"),
        ("smooth", {"keep_return": 0.9, "penalty_weight": "auto"}, "so does --keep-return"),
        ("spacil", {"smoothest": True, "lambda_policy": 0.0}, "expected a weight above 0"),
        ("spacil", {"select": "smoothest"}, "--select smoothest: give --smoothest or"),
        ("spacil", {"smoothness_target_reference": "demonstrator"}, "above 0 when --smoothness"),
        ("spacil", {"smoothness_target": 1.0, "lambda_policy": 0.0}, "expected a weight above 0"),
        ("spacil", {"smoothness_target": 1.0, "smoothness_target_states": 0}, "states is 0"),
        ("spacil", {"fluctuation_target_reference": "demonstrator"}, "above 0 when --fluctuation"),
        (
            "spacil",
            {"fluctuation_target": 1.0, "smoothness_target": 1.0, "penalty": ("cats=1",)},
            "a spatial penalty first",
        ),
        ("spacil", {"fluctuation_target": 1.0, "penalty": ("exact", "cats=0")}, "a weight above 0"),
    ],
)
def test_wishes_that_mean_nothing_are_refused(
    algorithm: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        with_user_settings(default_config(algorithm, REACHER), settings)


def test_the_command_line_says_what_became_of_the_wishes(
    spacil: Spacil, tiny_flags: TinyFlags, tmp_path: Path
) -> None:
    flags = tiny_flags("spacil", **START, keep_return=0.5, fluctuation_target=1e-4, iterations=4)
    done = spacil(
        "train", "spacil", "--task", REACHER, *flags, "--smoothest", "--run-dir", tmp_path / "a"
    )
    said = " ".join(done.out.split())
    assert "constraint 50.0% of the demonstrator's return" in said
    assert "fluctuation target verdict not met: the action change is still above it" in said
    assert "action change" in done.err and "E|da|" in done.out
    config = json.loads((tmp_path / "a" / "run.json").read_text())["config"]
    assert (config["smoothest"], config["select"]) == (True, "smoothest")
    result = spacil(
        *("train", "spacil", "--task", REACHER, *flags, "--run-dir", tmp_path / "b", "--json"),
        *("--quiet", "--no-smoothest"),
    ).result
    assert result["smoothest_iteration"] in (2, 4)
    assert result["best"]["iteration"] == result["smoothest_iteration"]
    assert isinstance(result["smoothest"]["return_share"], float)


@pytest.mark.parametrize(("pairs", "fraction"), [(50, 0.4388), (300, 0.3802), (6_000, 0.2991)])
def test_few_pairs_ask_for_less_smoothness(pairs: int, fraction: float) -> None:
    assert target_fraction(pairs) == pytest.approx(fraction, rel=1e-3)


@pytest.mark.parametrize(
    ("reference_j", "scale"),
    [(4.0, 1.0), (1.8, 1.0), (0.9, 4.0), (0.6, 9.0), (0.5, 10.0), (0.0, 10.0)],
)
def test_where_j_is_small_the_first_weight_is_larger(reference_j: float, scale: float) -> None:
    assert weight_scale(reference_j) == pytest.approx(scale)


def test_the_rule_starts_from_the_demonstrations_alone() -> None:
    demos = load_demos("Reacher-v4").first(4)
    settings = tiny("spacil", warm_start_steps=30, seed=3)
    config = with_settings(default_config("spacil", "Reacher-v4"), settings)
    env = make_vector_env("Reacher-v4", 1, ResetSeeds(0, "probe"), 1)
    env.close()
    frame = CommonFrame.of(demos)
    rule, again = (start_score_search(config, demos, frame, env.spec) for _ in range(2))
    assert rule == again
    assert rule.threshold > 0.1
    reference = rule.target_j / target_fraction(demos.num_steps)
    assert rule.config_weight == 0.1
    assert rule.weight == rule.first_weight == pytest.approx(0.1 * weight_scale(reference))
    smoother = with_settings(config, {"penalty": ("exact=100.0",)})
    assert start_score_search(smoother, demos, frame, env.spec).target_j == rule.target_j


def test_under_a_delay_the_wanted_j_is_not_that_of_a_clone_which_repeats_its_commands() -> None:
    """Where the command to give is the last one given, a clone that sees it needs no state."""
    states = torch.randn(200, 2, generator=torch.Generator().manual_seed(0))
    held = states[:, :1].clone()
    settings = {"action_delay": "1", **tiny("spacil", warm_start_steps=300)}
    config = with_settings(default_config("spacil", "Reacher-v4"), settings)
    seen = torch.cat([states, held], dim=1)
    demos = Demonstrations.from_arrays([seen.numpy()], [held[:-1].numpy()])
    frame = CommonFrame(torch.ones(2, dtype=torch.float64), "ones").with_history(3)
    spec = EnvSpec("late", 3, 1, *(np.full(1, b, np.float32) for b in (-5, 5)), None, None)
    found = [
        start_score_search(config, demos, frame, replace(spec, num_sensors=n)).target_j
        for n in (2, None)
    ]
    assert found[0] > 1.5 * found[1]
