"""The report on demonstrations: every fault is found, named, placed, and refused for training."""

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
import torch
from demo_edits import with_tensors, with_value
from fixture_types import MakeDemos
from hypothesis import given, settings
from hypothesis import strategies as st

from spacil.config.defaults import default_config
from spacil.config.settings import DemoChoice
from spacil.demos.check import DemoReport, check_demonstrations, demos_for_training
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import bundled_demos, load_demos
from spacil.demos.findings import Finding, Subject, find, jerky_actions, odd_episode
from spacil.demos.metadata import DemoMetadata
from spacil.envs.vector_env import EnvSpec, FloatArray
from spacil.errors import DataError
from spacil.learning.intake import checked_demonstrations


@pytest.fixture
def resets() -> FloatArray:
    """Starts of the toy task: its episodes begin near (1, -2, 0.5)."""
    return np.random.default_rng(1).normal([1.0, -2.0, 0.5], 0.3, (50, 3))


def _only(report: DemoReport, check: str) -> Finding:
    found = [finding for finding in report.findings if finding.check == check]
    assert len(found) == 1, report.findings
    return found[0]


def _checks(report: DemoReport) -> list[str]:
    """All but one: the records of this file are small on purpose."""
    return [finding.check for finding in report.findings if finding.check != "few_pairs"]


def test_good_demonstrations_have_no_findings(
    make_demos: MakeDemos, toy_spec: EnvSpec, resets: FloatArray
) -> None:
    report = check_demonstrations(make_demos((40, 35, 30)), toy_spec, resets)
    assert report.findings == ()
    assert report.is_usable


def test_the_summary_is_worked_out_by_hand() -> None:
    demos = Demonstrations.from_arrays(
        [np.zeros((4, 1)), np.zeros((2, 1))],
        [np.array([[0.0, 0.0], [1.0, 0.0], [1.0, -2.0]]), np.array([[5.0, 5.0]])],
        rewards=[[1.0, 2.0, 3.0], [2.0]],
    )
    report = check_demonstrations(demos, None)
    facts = report.facts
    assert (facts["average_return"], facts["return_std"]) == (4.0, 2.0)
    assert (facts["return_min"], facts["return_max"]) == (2.0, 6.0)
    assert (facts["average_length"], facts["length_min"], facts["length_max"]) == (2.0, 1, 3)
    # Changes 1, 0, 0, 2 within the first episode; the jump to the second one does not count.
    assert facts["mean_action_change"] == 0.75
    assert facts["fraction_out_of_bounds"] is None


def _with_state_std(*std: float) -> Demonstrations:
    signs = np.tile([[1.0], [-1.0]], (60, 1))
    return Demonstrations.from_arrays([signs * std + 3.0] * 3, [signs[:, :1]] * 3)


def test_states_in_small_units_are_states_and_states_at_rest_are_not() -> None:
    small = check_demonstrations(_with_state_std(1e-4, 1e-5, 0.0), None)
    assert "no_live_state" not in _checks(small)
    unseen = check_demonstrations(_with_state_std(1e-7, 0.0), None)  # around 3: rounding
    assert _only(unseen, "no_live_state").severity == "error"
    assert not unseen.is_usable


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    field=st.sampled_from(["observations", "executed_actions", "actions"]),
    value=st.sampled_from([float("nan"), float("inf"), float("-inf")]),
    place=st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 1)),
)
def test_non_finite_values_are_found(field: str, value: float, place: tuple[int, int, int]) -> None:
    episode, step, column = place
    rng = np.random.default_rng(0)
    demos = Demonstrations.from_arrays(
        [rng.normal(size=(n + 1, 2)) for n in (5, 9, 6)],
        [rng.normal(size=(n, 2)) for n in (5, 9, 6)],
        actions=[rng.normal(size=(n, 2)) for n in (5, 9, 6)],
    )
    getattr(demos.episodes[episode], field)[step, column] = value
    finding = _only(check_demonstrations(demos, None), "non_finite")
    assert finding.severity == "error"
    assert (finding.episode, finding.step, finding.column) == place
    expected = f"1 non-finite value in {field}, first {value} at episode {episode}, step {step}, "
    assert f"demonstrations: {expected}column {column}: " in finding.message


def test_non_finite_rewards_are_not_read_and_warn(make_demos: MakeDemos, toy_spec: EnvSpec) -> None:
    demos = with_value(make_demos(), "rewards", 8, torch.nan)
    report = check_demonstrations(demos, toy_spec)
    finding = _only(report, "non_finite")
    assert (finding.severity, finding.episode, finding.step) == ("warning", 1, 1)
    assert report.is_usable
    assert report.facts["average_return"] is None


def test_other_sizes_refused(make_demos: MakeDemos, wide_spec: EnvSpec, toy_spec: EnvSpec) -> None:
    for choice in (DemoChoice(), DemoChoice(allow_env_mismatch=True)):
        message = r"3 state dims, Wide-v0 has 11: wrong file or --task\?"
        with pytest.raises(DataError, match=message):
            demos_for_training(make_demos(), wide_spec, choice=choice)
    narrow = Demonstrations.from_arrays([np.zeros((9, 3))] * 3, [np.zeros((8, 1))] * 3)
    with pytest.raises(DataError, match="1 action dims, Toy-v0 has 2"):
        demos_for_training(narrow, toy_spec)


def test_an_episode_beyond_the_time_limit_warns(make_demos: MakeDemos, toy_spec: EnvSpec) -> None:
    report = check_demonstrations(make_demos((5, 41, 6)), toy_spec)
    finding = _only(report, "longer_than_horizon")
    assert finding.episode == 1
    assert "has 41 steps, Toy-v0 ends after 40" in finding.message


def test_another_env_of_equal_sizes_is_refused(make_demos: MakeDemos, other_spec: EnvSpec) -> None:
    message = "another env .*gymnasium_id 'Toy-v0' there, 'Other-v0' here.*--allow-env-mismatch"
    with pytest.raises(DataError, match=message):
        demos_for_training(make_demos(), other_spec)
    _, report = demos_for_training(
        make_demos(), other_spec, choice=DemoChoice(allow_env_mismatch=True)
    )
    assert _only(report, "env_mismatch").severity == "warning"


@pytest.mark.parametrize(
    ("changes", "task", "word"),
    [
        ({"model_sha256": "0" * 64}, None, "model_sha256"),
        ({"kwargs": {"use_contact_forces": True}}, None, "kwargs"),
        ({"model_sha256": None}, None, None),  # what one side does not know is no mismatch
        ({}, "Toy-v0", None),  # a name alone is compared too
        ({}, "Other-v0", "task 'Other-v0' there, 'Toy-v0' here"),
    ],
)
def test_another_model_other_kwargs_or_another_name_are_another_env(
    make_demos: MakeDemos, toy_spec: EnvSpec, changes: dict[str, Any], task: Any, word: str | None
) -> None:
    demos = make_demos(metadata=DemoMetadata(task) if task else None)
    report = check_demonstrations(demos, dataclasses.replace(toy_spec, **changes))
    assert _checks(report) == ([] if word is None else ["env_mismatch"])
    assert word is None or word in _only(report, "env_mismatch").message


def test_without_metadata_the_starts_are_compared_with_resets(
    make_demos: MakeDemos, other_spec: EnvSpec, resets: FloatArray
) -> None:
    demos = make_demos(metadata=DemoMetadata())
    report = check_demonstrations(demos, other_spec, resets)
    assert _checks(report) == ["unknown_env"]  # starts that fit leave one warning
    report = check_demonstrations(demos, other_spec, resets + np.array([0.0, 8.0, 0.0]))
    assert _checks(report) == ["unknown_env", "strange_starts"]
    finding = _only(report, "strange_starts")
    assert (finding.severity, finding.column, finding.step) == ("warning", 1, 0)
    assert "3 of 3 episodes do not begin like resets (column 1 is -" in finding.message
    assert report.is_usable


def test_starts_left_out_by_thinning_are_not_compared_with_resets(
    make_demos: MakeDemos, toy_spec: EnvSpec, resets: FloatArray
) -> None:
    demos = make_demos((20, 20, 20))
    moving = demos.observations + torch.arange(63).remainder(21).unsqueeze(1)  # one unit per step
    moved = with_tensors(demos, observations=moving)
    assert _checks(check_demonstrations(moved.subsample(2), toy_spec, resets)) == []
    late = moved.subsample(10, offset=9)
    assert _checks(check_demonstrations(late, toy_spec, resets)) == []
    together = Demonstrations.concatenate([late, late])
    assert "strange_starts" not in _checks(check_demonstrations(together, toy_spec, resets))


def test_cut_starts_of_half_the_episodes_do_not_warn(
    make_demos: MakeDemos, toy_spec: EnvSpec, resets: FloatArray
) -> None:
    demos = make_demos((6, 7, 8, 9))
    for index in (0, 1):
        demos.episodes[index].observations[0] += 50.0
    assert _checks(check_demonstrations(demos, toy_spec, resets)) == []


def _demos_with_actions(scale: float) -> Demonstrations:
    """Entries 0.1 to 1.0 times `scale`, on an env whose bounds are -1 and 1."""
    actions = np.linspace(0.1, 1.0, 40).reshape(20, 2) * scale
    rng = np.random.default_rng(0)
    return Demonstrations.from_arrays(
        [rng.uniform(5, 6, (21, 3)) for _ in range(3)],
        [actions] * 3,
        metadata=DemoMetadata("Toy-v0"),
    )


@pytest.mark.parametrize(
    ("scale", "fraction", "severity"),
    [
        (1.0, 0.0, None),  # at the bounds is inside
        (1.25, 0.225, "warning"),  # the last 9 of 40 entries
        (10.0, 0.975, "error"),
    ],
)
def test_actions_out_of_bounds_warn_and_are_refused_where_most_are(
    toy_spec: EnvSpec, scale: float, fraction: float, severity: str | None
) -> None:
    report = check_demonstrations(_demos_with_actions(scale), toy_spec)
    assert report.facts["fraction_out_of_bounds"] == fraction
    assert report.is_usable == (severity != "error")
    found = [it for it in report.findings if it.check == "actions_out_of_bounds"]
    assert [it.severity for it in found] == ([] if severity is None else [severity])
    if severity == "warning":
        assert (found[0].episode, found[0].step, found[0].column) == (0, 15, 1)
        assert "22.5% of the action entries are outside Toy-v0's bounds" in found[0].message


def test_an_open_bound_does_not_open_the_other_one(toy_spec: EnvSpec) -> None:
    spec = dataclasses.replace(toy_spec, action_low=np.full(2, -np.inf, dtype=np.float32))
    for action, fraction in ((1.25, 0.225), (-9.0, 0.0)):
        report = check_demonstrations(_demos_with_actions(action), spec)
        assert report.facts["fraction_out_of_bounds"] == fraction


def test_raw_actions_may_lie_anywhere(make_demos: MakeDemos, toy_spec: EnvSpec) -> None:
    demos = make_demos()
    demos.actions.mul_(100.0)
    report = check_demonstrations(demos, toy_spec)
    assert report.facts["fraction_out_of_bounds"] == 0.0
    assert _checks(report) == []


def _normalised(demos: Demonstrations) -> Demonstrations:
    mean, std = demos.states.double().mean(0), demos.state_std
    observations = ((demos.observations.double() - mean) / std).float()
    return with_tensors(demos, observations=observations)


def test_normalised_states_warn_on_suspicion_and_are_refused_on_two_signs(
    make_demos: MakeDemos, toy_spec: EnvSpec, resets: FloatArray
) -> None:
    demos = _normalised(make_demos((30, 30, 30)))
    alone = check_demonstrations(demos, toy_spec)
    assert _only(alone, "normalised_states").severity == "warning"
    with pytest.raises(DataError, match="look normalised; store raw ones"):
        demos_for_training(demos, toy_spec, resets)


def test_a_task_of_unit_sizes_by_nature_is_fine(make_demos: MakeDemos, toy_spec: EnvSpec) -> None:
    demos = _normalised(make_demos((30, 30, 30)))
    unit_resets = np.random.default_rng(2).normal(size=(100, 3))
    assert _checks(check_demonstrations(demos, toy_spec, unit_resets)) == []


def test_an_empty_episode_is_refused(make_demos: MakeDemos, toy_spec: EnvSpec) -> None:
    with pytest.raises(DataError, match=r"episodes \[1\] without a single step"):
        demos_for_training(make_demos((5, 0, 4, 3)), toy_spec)


def test_repeated_episodes_warn_and_are_named(make_demos: MakeDemos, toy_spec: EnvSpec) -> None:
    demos = make_demos()
    doubled = Demonstrations.concatenate([demos, demos])
    finding = _only(check_demonstrations(doubled, toy_spec), "duplicate_episode")
    assert "episodes [3, 4, 5] repeat an earlier one exactly" in finding.message


def _varied(actions: list[Any], returns: list[float] | None = None) -> Demonstrations:
    """Episodes of one-dimensional actions; an episode's return is paid at its first step."""
    columns = [np.asarray(episode, dtype=np.float64).reshape(-1, 1) for episode in actions]
    rewards = None
    if returns is not None:
        pairs = zip(columns, returns, strict=True)
        rewards = [np.r_[paid, np.zeros(len(column) - 1)] for column, paid in pairs]
    observations = [np.zeros((len(column) + 1, 2)) for column in columns]
    return Demonstrations.from_arrays(observations, columns, rewards=rewards)


def _demos_in(states: list[list[float]], times: int = 20) -> Demonstrations:
    """Episodes that repeat some one-dimensional states."""
    columns = [np.tile(np.reshape(episode, (-1, 1)), (times, 1)) for episode in states]
    observations = [np.vstack([column, column[:1]]) for column in columns]
    return Demonstrations.from_arrays(observations, [np.zeros((len(c), 1)) for c in columns])


def _odd(demos: Demonstrations) -> list[tuple[str, int | None]]:
    found = find(Subject(demos), (odd_episode, jerky_actions))
    return [(finding.check, finding.episode) for finding in found]


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([[0, 1, 2, 3]], 6 / 10),  # changes of 1; the six pairs differ by 10/6 in the mean
        ([[0, 1, 0, 1]], 6 / 4),  # changes of 1; the six pairs differ by 4/6 in the mean
        ([[0, 0], [5, 5]], 0.0),  # a jump between episodes is no change of action
        ([[2, 2, 2]], None),
        ([[2]], None),
    ],
)
def test_the_relative_change_is_worked_out_by_hand(actions: Any, expected: float | None) -> None:
    assert Subject(_varied(actions)).relative_action_change == pytest.approx(expected)


def test_sampled_actions_are_told_from_smooth_and_from_thinned_ones() -> None:
    sampled = np.random.default_rng(0).normal(size=300)
    assert Subject(_varied([sampled])).relative_action_change == pytest.approx(1.0, abs=0.1)
    assert _odd(_varied([np.tile([0.0, 1.0], 150)])) == [("jerky_actions", None)]
    thinned = check_demonstrations(_varied([np.tile([0.0, 1.0], 600)]).subsample(3), None)
    assert thinned.facts["mean_action_change"] is None and "jerky_actions" not in _checks(thinned)
    assert _odd(_varied([np.sin(np.arange(300) / 10)])) == []
    assert _odd(_varied([np.tile([0.0, 1.0], 20)])) == []  # too few steps to say


@pytest.mark.parametrize(
    ("returns", "expected"),
    [
        ([100, 101, 99, 100, 30], [("low_return", 4)]),
        ([100, 101, 99, 100, 70], []),
        ([-4, -5, -3, -4, -9], []),  # a task of negative returns that spread anyway
        ([-4, -4.1, -4, -4.1, -30], [("low_return", 4)]),
        ([100, 30, 100], []),  # too few to call one odd
        ([100, 101, np.nan, 100, 30], []),
    ],
)
def test_a_failed_episode_among_good_ones_is_told(returns: list[float], expected: Any) -> None:
    assert _odd(_varied([[0, 0, 0]] * len(returns), returns)) == expected


def test_an_episode_much_shorter_than_the_others_is_told() -> None:
    assert _odd(_varied([[0] * 10, [0] * 2, [0] * 10, [0] * 12])) == [("short_episode", 1)]
    assert _odd(_varied([[0] * 10, [0] * 3, [0] * 10, [0] * 12])) == []


def test_an_episode_elsewhere_than_the_others_is_told_without_rewards() -> None:
    # Means 0 0 0 0 3, their median 0.
    swings: list[list[float]] = [[-1, 1]] * 4
    (finding,) = find(Subject(_demos_in([*swings, [2, 4]])), [odd_episode])
    assert (finding.check, finding.episode) == ("other_states", 4)
    # Squares 8 * 1 + 4 + 16 = 28 over 10 states, less the mean's 0.6^2: std 1.562; 3 / 1.562.
    assert "1.92 standard deviations" in finding.message
    assert _odd(_demos_in([*swings, [-0.6, 1.4]])) == [("other_states", 4)]
    assert _odd(_demos_in([*swings, [-0.8, 1.2]])) == []  # near enough
    assert _odd(_demos_in([*swings, [2, 4]], times=19)) == []  # too few steps to say
    assert _odd(_demos_in([[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]])) == []  # each its own way
    assert _odd(_demos_in([[1, 1]] * 5)) == []  # states that never move say nothing


@pytest.mark.parametrize("every", [1, 20])
@pytest.mark.parametrize("task", sorted(bundled_demos()))
def test_good_demonstrations_are_not_told_whole_or_thinned(task: str, every: int) -> None:
    assert _odd(load_demos(task).subsample(every)) == []


def test_one_demonstrator_of_six_who_fails_is_named() -> None:
    demos = load_demos("HalfCheetah-v4")
    failed = with_value(demos, "rewards", slice(2000, 3000), demos.rewards[2000:3000] * 0.1)
    finding = _only(check_demonstrations(failed, None), "low_return")
    assert finding.episode == 2
    assert "a failed demonstration? Imitation copies it too" in finding.message


@pytest.mark.parametrize(("last_length", "is_warned"), [(30, True), (31, False)])
def test_a_hundred_pairs_may_warn(make_demos: MakeDemos, last_length: int, is_warned: bool) -> None:
    report = check_demonstrations(make_demos((35, 35, last_length)), None)
    messages = [finding.message for finding in report.findings if finding.check == "few_pairs"]
    assert ["100 state-action pairs only" in message for message in messages] == [True] * is_warned
    assert report.is_usable


def test_thinning_to_a_hundred_pairs_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    demos, config = load_demos("Reacher-v4"), default_config("gail", "Reacher-v4")
    for num_demos, every, num_warnings in ((4, 1, 0), (4, 10, 1), (2, 10, 1)):
        caplog.clear()
        choice = DemoChoice(num_demos=num_demos, demo_every=every)
        checked_demonstrations(demos, config, "Reacher-v4", choice)
        assert caplog.text.count("pairs only") == num_warnings


def test_clipped_actions_warn_where_many_lie_on_a_bound(toy_spec: EnvSpec) -> None:
    actions = np.full((40, 2), 0.5)
    for num_clipped, is_warned in ((8, False), (9, True)):  # of 80 entries, a tenth
        actions.flat[:num_clipped] = 1.0
        demos = Demonstrations.from_arrays([np.zeros((41, 3))] * 3, [actions] * 3)
        for known in (demos, with_tensors(demos, actions=demos.executed_actions)):
            checks = _checks(check_demonstrations(known, toy_spec))
            assert ("clipped_actions" in checks) == is_warned
        raw = with_tensors(demos, actions=2 * demos.executed_actions)
        assert "clipped_actions" not in _checks(check_demonstrations(raw, toy_spec))


def test_all_errors_are_named_at_once(make_demos: MakeDemos, wide_spec: EnvSpec) -> None:
    demos = with_value(make_demos((5, 0, 4)), "observations", (0, 0), torch.nan)
    with pytest.raises(DataError, match="state dims") as caught:
        demos_for_training(demos, wide_spec)
    lines = str(caught.value).splitlines()
    assert len(lines) == 4
    for word, line in zip(["step", "nan", "dims", "env"], lines, strict=True):
        assert word in line


def test_a_report_is_plain_json_whatever_it_found(make_demos: MakeDemos, toy_spec: EnvSpec) -> None:
    demos = make_demos((1, 0))
    for name in ("observations", "executed_actions", "rewards"):
        demos = with_value(demos, name, slice(None), torch.nan)
    report = check_demonstrations(demos, toy_spec).as_dict()
    document = json.loads(json.dumps(report, allow_nan=False))
    assert document["average_return"] is None
    assert document["mean_action_change"] is None
    assert document["is_usable"] is False
    places = {"episode", "step", "column"}
    assert document["findings"][0].keys() == {"severity", "check", "message", *places}
