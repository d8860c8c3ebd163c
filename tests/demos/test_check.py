"""The report on demonstrations: every fault is found, named, placed, and refused for training."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from demo_edits import with_tensors, with_value
from hypothesis import given, settings
from hypothesis import strategies as st

from spacil.config.settings import DemoChoice
from spacil.demos.check import (
    DemoReport,
    check_demonstrations,
    demos_for_training,
    report_lines,
)
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import load_demos, save_demos
from spacil.demos.findings import Finding
from spacil.demos.metadata import DemoMetadata
from spacil.envs.vector_env import EnvSpec, FloatArray
from spacil.errors import DataError

MakeDemos = Callable[..., Demonstrations]


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
    assert (report.average_return, report.return_std) == (4.0, 2.0)
    assert (report.return_min, report.return_max) == (2.0, 6.0)
    assert (report.average_length, report.length_min, report.length_max) == (2.0, 1, 3)
    # Changes 1, 0, 0, 2 within the first episode; the jump to the second one does not count.
    assert report.mean_action_change == 0.75
    assert report.fraction_out_of_bounds is None


# --- the scale of states ------------------------------------------------------------------------


def _with_state_std(*std: float) -> Demonstrations:
    signs = np.tile([[1.0], [-1.0]], (60, 1))
    return Demonstrations.from_arrays([signs * std + 3.0] * 3, [signs[:, :1]] * 3)


def test_a_state_dim_in_small_units_is_named_with_the_remedy() -> None:
    finding = _only(check_demonstrations(_with_state_std(1.0, 0.005, 0.0), None), "small_scale")
    assert (finding.severity, finding.column) == ("warning", 1)
    assert "state dim 1 (0.005) vary" in finding.message
    assert "rescale" in finding.message


def test_a_constant_dim_and_one_above_the_floor_are_no_finding() -> None:
    report = check_demonstrations(_with_state_std(1.0, 0.011, 0.0), None)
    assert not {"small_scale", "no_live_state"} & set(_checks(report))


def test_demonstrations_without_any_dim_that_is_seen_are_refused() -> None:
    report = check_demonstrations(_with_state_std(0.005, 0.001), None)
    finding = _only(report, "no_live_state")
    assert finding.severity == "error"
    assert "up to 0.005" in finding.message
    assert not report.is_usable


# --- row 1: non-finite values -------------------------------------------------------------------


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    field=st.sampled_from(["observations", "executed_actions", "actions"]),
    value=st.sampled_from([float("nan"), float("inf"), float("-inf")]),
    place=st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 1)),
)
def test_a_non_finite_value_is_found_wherever_it_is(
    field: str, value: float, place: tuple[int, int, int]
) -> None:
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


def test_non_finite_values_are_refused_for_training_unless_dropped(
    make_demos: MakeDemos, toy_spec: EnvSpec, tmp_path: Path
) -> None:
    demos = make_demos((6, 7, 8, 9))
    demos.episodes[2].observations[3:5, 1] = torch.inf
    path = tmp_path / "bad.safetensors"
    save_demos(demos, path)
    place = "episode 2, step 3, column 1: repair the source, or .*--drop-nonfinite"
    with pytest.raises(DataError, match=f"bad.safetensors: 2 non-finite values .*{place}"):
        demos_for_training(load_demos(path), toy_spec)
    clean, report = demos_for_training(
        load_demos(path), toy_spec, choice=DemoChoice(drop_nonfinite=True)
    )
    assert clean.episode_lengths.tolist() == [6, 7, 9]
    assert report.is_usable
    assert clean.metadata.provenance["changes"][-1]["episodes"] == [2]


def test_non_finite_rewards_only_warn_since_imitation_does_not_read_them(
    make_demos: MakeDemos, toy_spec: EnvSpec
) -> None:
    demos = with_value(make_demos(), "rewards", 8, torch.nan)
    report = check_demonstrations(demos, toy_spec)
    finding = _only(report, "non_finite")
    assert (finding.severity, finding.episode, finding.step) == ("warning", 1, 1)
    assert report.is_usable
    assert report.average_return is None


# --- row 2: sizes -------------------------------------------------------------------------------


def test_demonstrations_of_other_sizes_are_refused(
    make_demos: MakeDemos, wide_spec: EnvSpec, toy_spec: EnvSpec
) -> None:
    with pytest.raises(DataError, match=r"3 state dims, Wide-v0 has 11: wrong file or --task\?"):
        demos_for_training(make_demos(), wide_spec)
    narrow = Demonstrations.from_arrays([np.zeros((9, 3))] * 3, [np.zeros((8, 1))] * 3)
    with pytest.raises(DataError, match="1 action dims, Toy-v0 has 2"):
        demos_for_training(narrow, toy_spec)


def test_other_sizes_are_refused_even_where_another_env_is_allowed(
    make_demos: MakeDemos, wide_spec: EnvSpec
) -> None:
    with pytest.raises(DataError, match="state dims"):
        demos_for_training(make_demos(), wide_spec, choice=DemoChoice(allow_env_mismatch=True))


def test_an_episode_longer_than_the_time_limit_warns(
    make_demos: MakeDemos, toy_spec: EnvSpec
) -> None:
    report = check_demonstrations(make_demos((5, 41, 6)), toy_spec)
    finding = _only(report, "longer_than_horizon")
    assert finding.episode == 1
    assert "has 41 steps, Toy-v0 ends after 40" in finding.message


# --- row 4: another env -------------------------------------------------------------------------


def test_demonstrations_of_another_env_of_the_same_sizes_are_refused(
    make_demos: MakeDemos, other_spec: EnvSpec
) -> None:
    message = "another env .*gymnasium_id 'Toy-v0' there, 'Other-v0' here.*--allow-env-mismatch"
    with pytest.raises(DataError, match=message):
        demos_for_training(make_demos(), other_spec)
    _, report = demos_for_training(
        make_demos(), other_spec, choice=DemoChoice(allow_env_mismatch=True)
    )
    assert _only(report, "env_mismatch").severity == "warning"


def test_another_model_file_or_other_kwargs_are_another_env(
    make_demos: MakeDemos, toy_spec: EnvSpec
) -> None:
    changes: tuple[dict[str, Any], ...] = (
        {"model_sha256": "0" * 64},
        {"kwargs": {"use_contact_forces": True}},
    )
    for change in changes:
        spec = dataclasses.replace(toy_spec, **change)
        finding = _only(check_demonstrations(make_demos(), spec), "env_mismatch")
        assert next(iter(change)) in finding.message


def test_what_one_side_does_not_know_is_no_mismatch(
    make_demos: MakeDemos, toy_spec: EnvSpec
) -> None:
    spec = dataclasses.replace(toy_spec, model_sha256=None)
    assert _checks(check_demonstrations(make_demos(), spec)) == []


def test_a_task_name_alone_is_compared_too(make_demos: MakeDemos, toy_spec: EnvSpec) -> None:
    right, wrong = DemoMetadata(task="Toy-v0"), DemoMetadata(task="Other-v0")
    assert _checks(check_demonstrations(make_demos(metadata=right), toy_spec)) == []
    with pytest.raises(DataError, match="task 'Other-v0' there, 'Toy-v0' here"):
        demos_for_training(make_demos(metadata=wrong), toy_spec)


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
    assert "3 of 3 episodes do not begin like Other-v0 (column 1 is -" in finding.message
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


# --- row 5: bounds, normalised states -----------------------------------------------------------


def _demos_with_actions(scale: float) -> Demonstrations:
    """Entries 0.1 to 1.0 times `scale`, on an env whose bounds are -1 and 1."""
    actions = np.linspace(0.1, 1.0, 40).reshape(20, 2) * scale
    rng = np.random.default_rng(0)
    return Demonstrations.from_arrays(
        [rng.uniform(5, 6, (21, 3)) for _ in range(3)],
        [actions] * 3,
        metadata=DemoMetadata("Toy-v0"),
    )


def test_actions_at_the_bounds_are_inside(toy_spec: EnvSpec) -> None:
    report = check_demonstrations(_demos_with_actions(1.0), toy_spec)
    assert report.fraction_out_of_bounds == 0.0
    assert "actions_out_of_bounds" not in _checks(report)


def test_some_actions_out_of_bounds_warn_with_the_fraction_of_entries(toy_spec: EnvSpec) -> None:
    report = check_demonstrations(_demos_with_actions(1.25), toy_spec)
    finding = _only(report, "actions_out_of_bounds")
    assert report.fraction_out_of_bounds == 0.225  # the last 9 of 40 entries
    assert finding.severity == "warning"
    assert (finding.episode, finding.step, finding.column) == (0, 15, 1)
    assert "22.5% of the action entries are outside Toy-v0's bounds" in finding.message
    assert report.is_usable


def test_an_open_bound_does_not_open_the_other_one(toy_spec: EnvSpec) -> None:
    spec = dataclasses.replace(toy_spec, action_low=np.full(2, -np.inf, dtype=np.float32))
    assert check_demonstrations(_demos_with_actions(1.25), spec).fraction_out_of_bounds == 0.225
    assert check_demonstrations(_demos_with_actions(-9.0), spec).fraction_out_of_bounds == 0.0


def test_mostly_out_of_bounds_is_refused(toy_spec: EnvSpec) -> None:
    with pytest.raises(DataError, match=r"of the action entries .*other units, or another task\?"):
        demos_for_training(_demos_with_actions(10.0), toy_spec)


def test_raw_actions_may_lie_anywhere(make_demos: MakeDemos, toy_spec: EnvSpec) -> None:
    demos = make_demos()
    assert demos.actions is not None
    demos.actions.mul_(100.0)
    report = check_demonstrations(demos, toy_spec)
    assert report.fraction_out_of_bounds == 0.0
    assert _checks(report) == []


def _normalised(demos: Demonstrations) -> Demonstrations:
    mean, std = demos.state_mean, demos.state_std
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


def test_a_task_whose_states_are_of_unit_size_by_nature_is_not_suspected(
    make_demos: MakeDemos, toy_spec: EnvSpec
) -> None:
    demos = _normalised(make_demos((30, 30, 30)))
    unit_resets = np.random.default_rng(2).normal(size=(100, 3))
    assert _checks(check_demonstrations(demos, toy_spec, unit_resets)) == []


# --- row 7: how many episodes -------------------------------------------------------------------


def test_an_empty_episode_is_refused(make_demos: MakeDemos, toy_spec: EnvSpec) -> None:
    with pytest.raises(DataError, match="episode 1 without a single step"):
        demos_for_training(make_demos((5, 0, 4, 3)), toy_spec)


def test_repeated_episodes_warn_and_are_named(make_demos: MakeDemos, toy_spec: EnvSpec) -> None:
    demos = make_demos()
    doubled = Demonstrations.concatenate([demos, demos])
    finding = _only(check_demonstrations(doubled, toy_spec), "duplicate_episode")
    assert "episodes 3, 4, 5 repeat an earlier episode exactly" in finding.message
    assert "there are 3 different demonstrations" in finding.message


def test_an_end_without_a_flag_is_noted(make_demos: MakeDemos, toy_spec: EnvSpec) -> None:
    demos = with_value(make_demos(), "terminations", -1, False)
    finding = _only(check_demonstrations(demos, toy_spec), "unflagged_end")
    assert (finding.severity, finding.episode) == ("note", 2)


def test_missing_raw_actions_are_noted(make_demos: MakeDemos, toy_spec: EnvSpec) -> None:
    report = check_demonstrations(make_demos(is_raw_known=False), toy_spec)
    assert _checks(report) == ["clipped_actions", "executed_actions_only"]
    assert _only(report, "executed_actions_only").severity == "note"
    assert not report.has_raw_actions


@pytest.mark.parametrize(("count", "words"), [(1, "1 episode only"), (2, "2 episodes only")])
def test_one_or_two_episodes_warn(
    make_demos: MakeDemos, toy_spec: EnvSpec, count: int, words: str
) -> None:
    _, report = demos_for_training(make_demos(), toy_spec, choice=DemoChoice(num_demos=count))
    assert words in _only(report, "few_episodes").message


# --- the report itself --------------------------------------------------------------------------


def test_all_errors_are_named_at_once(make_demos: MakeDemos, wide_spec: EnvSpec) -> None:
    demos = with_value(make_demos((5, 0, 4)), "observations", (0, 0), torch.nan)
    with pytest.raises(DataError, match="state dims") as caught:
        demos_for_training(demos, wide_spec)
    lines = str(caught.value).splitlines()
    assert len(lines) == 4
    for word, line in zip(["step", "nan", "dims", "env"], lines, strict=True):
        assert word in line


def test_the_report_is_plain_json_whatever_it_found(
    make_demos: MakeDemos, toy_spec: EnvSpec
) -> None:
    demos = make_demos((1, 0))
    for name in ("observations", "executed_actions", "rewards"):
        demos = with_value(demos, name, slice(None), torch.nan)
    document = check_demonstrations(demos, toy_spec).as_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["average_return"] is None
    assert document["mean_action_change"] is None
    assert document["is_usable"] is False
    assert document["findings"][0].keys() == {
        "severity",
        "check",
        "message",
        "episode",
        "step",
        "column",
    }


def test_the_report_reads_as_text(make_demos: MakeDemos, toy_spec: EnvSpec) -> None:
    text = "\n".join(report_lines(check_demonstrations(make_demos(), toy_spec)))
    assert text.startswith("demonstrations: 3 episodes, 24 steps of Toy-v0\n")
    assert "mean 8.0, 5 to 12" in text
    assert text.endswith("\nusable")
    broken = "\n".join(report_lines(check_demonstrations(make_demos((5, 0, 4)), toy_spec)))
    assert "  error: demonstrations: episode 1 without a single step; remove" in broken
    assert broken.endswith("not usable: 1 error")
