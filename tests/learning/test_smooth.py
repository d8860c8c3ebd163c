"""A jerky controller comes out smooth, and a run of it goes on where it was stopped."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import point_mass
import policies_of_others as foreign
import pytest
import torch
from tiny_runs import TINY_SMOOTHING
from torch.nn.utils import parameters_to_vector

import spacil
from spacil.config.defaults import default_config
from spacil.config.flat import with_user_settings
from spacil.envs.episodes import play
from spacil.errors import ConfigError, DataError
from spacil.learning.dagger import SmoothingLearner
from spacil.learning.run import train
from spacil.learning.smooth import smooth
from spacil.learning.smoothing_goal import first_weights
from spacil.measuring.evaluate import evaluation_env
from spacil.measuring.played import played_episodes, share_of_return
from spacil.policies.open import open_policy

TINY: dict[str, Any] = TINY_SMOOTHING | {"iterations": 4}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("smooth") / "run"
    env, teacher = point_mass.make_point_mass, point_mass.jerky_teacher
    return smooth(teacher, env, episodes=5, run_dir=folder, **TINY)


def test_a_jerky_function_comes_out_smooth_and_keeps_its_return(result: Any) -> None:
    before, after = result.comparison.teacher, result.comparison.smooth
    assert after.smoothness_j < 0.5 * before.smoothness_j
    assert after.return_share > 0.98
    assert result.is_done and result.verdict.startswith("done")


def test_the_table_is_of_episodes_that_no_round_played(result: Any) -> None:
    teacher = open_policy(point_mass.jerky_teacher)
    with evaluation_env(point_mass.make_point_mass, 5, 0) as env:
        played = played_episodes(play(env, lambda: teacher.act, 5), env.spec)
    table = result.comparison
    assert table.teacher.played.average_return == pytest.approx(played.average_return)
    earned = table.smooth.played.average_return
    share = share_of_return(earned, table.random_return, table.teacher.played.average_return)
    assert table.smooth.return_share == share != 1.0


def test_a_student_rougher_than_a_saturated_teacher_is_not_done() -> None:
    def saturated(states: np.ndarray) -> np.ndarray:
        return np.tanh(-50 * states[:, :1] - 75 * states[:, 1:])

    found = smooth(saturated, point_mass.make_point_mass, episodes=5, **TINY)
    table = found.comparison
    assert table.smooth.return_share > 0.98
    assert table.smooth.smoothness_j > table.teacher.smoothness_j
    assert not found.is_done and found.as_document()["is_done"] is False
    assert "NOT done" in found.verdict and "above the teacher's" in found.verdict


def test_episodes_of_one_step_are_smoothed() -> None:
    def one_step() -> gymnasium.Env[Any, Any]:
        return gymnasium.wrappers.TimeLimit(point_mass.PointMass(), 1)

    found = smooth(point_mass.jerky_teacher, one_step, episodes=5, **TINY | {"iterations": 2})
    assert found.comparison.smooth.played.mean_length == 1


def test_filters_stand_in_the_table_without_a_j(result: Any) -> None:
    filters = result.comparison.filters
    assert len(filters) == 6
    assert all(row.is_filter and row.smoothness_j is None for row in filters)
    for row in filters:
        is_alternative = row.return_share >= 0.9  # another one is not played further
        conditions = row.under("noise", 0.1), row.under("delay", 1)
        assert all((found is not None) is is_alternative for found in conditions)


def test_the_folder_holds_the_policy_that_was_returned(result: Any) -> None:
    observations = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    saved = spacil.load_policy(result.run_dir / "policy.safetensors")
    of_run = spacil.load_policy(result.run_dir)
    expected = result.policy.predict(observations)
    assert np.array_equal(saved.policy.predict(observations), expected)
    assert np.array_equal(of_run.policy.predict(observations), expected)
    assert saved.provenance["teacher"] == "jerky_teacher"
    assert saved.common_frame is not None


def learner(
    iterations: int, teacher: object = point_mass.jerky_teacher, **more: Any
) -> SmoothingLearner:
    settings = TINY | {"iterations": iterations, "fit_steps": 20} | more
    config = with_user_settings(default_config("smooth", "point-mass"), settings)
    return SmoothingLearner(config, point_mass.make_point_mass, open_policy(teacher))


def test_the_first_weights_are_a_tenth_where_commands_are_late() -> None:
    soon, late = learner(1), learner(1, action_delay="1")
    assert soon.first_weights == first_weights(soon.profile, 1.0)
    assert [late.first_weights[name] for name in ("exact", "cats")] == pytest.approx(
        [0.1 * weight for weight in soon.first_weights.values()]
    )
    soon.close()
    late.close()


def test_a_run_taken_apart_after_a_round_goes_on_bit_for_bit() -> None:
    whole = learner(3)
    train(whole, lambda metrics: None)
    first = learner(2)
    train(first, lambda metrics: None)
    second = learner(3)
    second.common_frame = first.common_frame
    second.state.restore(first.state.tensors(), first.state.document())
    # The cart cannot be saved within an episode; 40 steps a round are one, so nothing is lost.
    second.env_states = second.env.reset(2)
    train(second, lambda metrics: None)
    ours, theirs = whole.state.tensors(), second.state.tensors()
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert name.startswith("env.") or torch.equal(value, theirs[name]), name
    assert whole.state.document() == second.state.document()
    assert whole.first_weights == second.first_weights and whole.first_weights["exact"] > 0
    assert whole.profile.threshold == second.profile.threshold


def test_a_mean_of_the_students_is_handed_out_from_the_seventh_round_on() -> None:
    ours = learner(7)
    students: list[torch.Tensor] = []
    train(ours, lambda metrics: students.append(parameters_to_vector(ours.student.parameters())))
    kept = parameters_to_vector(ours.evaluated_policy.parameters())
    expected = 2 / 3 * students[5] + 1 / 3 * students[6]
    assert torch.allclose(kept, expected, atol=1e-6)
    assert not torch.allclose(students[5], students[6], atol=1e-4)


def test_the_default_comes_out_the_same_where_nothing_is_paid() -> None:
    def unpaid() -> gymnasium.Env[Any, Any]:
        return gymnasium.wrappers.TransformReward(point_mass.make_point_mass(), lambda reward: 0.0)

    config = with_user_settings(default_config("smooth", "point-mass"), TINY | {"iterations": 6})
    teacher = open_policy(point_mass.jerky_teacher)
    paid, free = (
        SmoothingLearner(config, env, teacher) for env in (point_mass.make_point_mass, unpaid)
    )
    for one in (paid, free):
        one.searches = one.searches.times(4.0, 4.0)  # too much, so that they fall
    weights: list[float] = []
    train(paid, lambda metrics: weights.append(metrics["weight_exact"]))
    train(free, lambda metrics: None)
    assert len(set(weights)) > 1  # the rule was at work
    ours, theirs = paid.state.tensors(), free.state.tensors()
    assert all(torch.equal(value, theirs[name]) for name, value in ours.items())
    assert paid.searches == free.searches
    assert free.latest is not None and free.latest.share is None


def test_a_run_does_not_go_on_with_another_teacher() -> None:
    first = learner(1)
    train(first, lambda metrics: None)
    other = learner(2, foreign.as_function(foreign.make_module(2, 1)))
    with pytest.raises(ConfigError, match="cannot resume with another teacher"):
        other.state.restore(first.state.tensors(), first.state.document())


def test_weights_mean_the_same_whatever_the_units_of_the_actions() -> None:
    def strong(states: np.ndarray) -> np.ndarray:
        return 4 * point_mass.jerky_teacher(states)

    settings = TINY | {"iterations": 2, "fit_steps": 60, "episodes": 3}
    plain = smooth(point_mass.jerky_teacher, point_mass.make_point_mass, **settings)
    scaled = smooth(strong, point_mass.make_strong_point_mass, **settings)
    ratio = scaled.comparison.smooth.smoothness_j / plain.comparison.smooth.smoothness_j
    assert 3 < ratio < 5


def test_a_teacher_with_a_memory_is_refused() -> None:
    last = np.zeros(1, dtype=np.float32)

    def filtered(states: np.ndarray) -> np.ndarray:
        nonlocal last
        last = 0.5 * last + 0.5 * point_mass.jerky_teacher(states)[:1]
        return np.repeat(last, len(states), axis=0)

    with pytest.raises(DataError, match="two calls on the same states"):
        smooth(filtered, point_mass.make_point_mass, **TINY)


def test_a_policy_of_other_sizes_is_refused() -> None:
    with pytest.raises(DataError, match="11 state dims, make_point_mass has 2"):
        smooth(foreign.make_module(11, 1), point_mass.make_point_mass, **TINY)


def test_a_policy_that_names_no_task_needs_one() -> None:
    with pytest.raises(ConfigError, match="does not say which task"):
        smooth(point_mass.jerky_teacher)
    with pytest.raises(ConfigError, match="--device cuda: no such CUDA device"):
        smooth(point_mass.jerky_teacher, point_mass.make_point_mass, device="cuda")


def test_an_onnx_file_and_a_torch_module_are_taught_from_alike(tmp_path: Path) -> None:
    module = foreign.make_module(2, 1)
    path = foreign.write_onnx(module, tmp_path / "teacher.onnx")
    settings = TINY | {"iterations": 1, "fit_steps": 20, "episodes": 2}
    of_file = smooth(path, point_mass.make_point_mass, **settings)
    of_module = smooth(module, point_mass.make_point_mass, **settings)
    points = np.linspace(-1, 1, 20, dtype=np.float32).reshape(10, 2)
    assert np.allclose(of_file.policy.predict(points), of_module.policy.predict(points), atol=1e-4)
