"""The record: what it refuses at birth, what it derives, and what its methods write down."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from demo_edits import with_tensors, with_value
from fixture_types import MakeDemos

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import load_demos
from spacil.demos.metadata import DemoMetadata
from spacil.errors import ConfigError, DataError


def _changes(demos: Demonstrations) -> list[dict[str, Any]]:
    return list(demos.metadata.provenance["changes"])


def test_arrays_come_back_episode_by_episode() -> None:
    observations = [np.arange(6.0).reshape(3, 2), np.arange(8.0).reshape(4, 2)]
    actions = [np.array([[0.1], [0.2]]), np.array([[0.3], [0.4], [0.5]])]
    demos = Demonstrations.from_arrays(observations, actions, rewards=[[1, 2], [3, 4, 5]])
    assert (demos.num_episodes, demos.num_steps) == (2, 5)
    assert (demos.num_states, demos.num_actions) == (2, 1)
    second = demos.episodes[1]
    assert second.observations.tolist() == observations[1].tolist()
    assert second.executed_actions.tolist() == actions[1].tolist()
    assert second.rewards.tolist() == [3.0, 4.0, 5.0]
    assert demos.returns.tolist() == [3.0, 12.0]


def test_states_are_those_that_actions_were_taken_in() -> None:
    observations = [np.array([[0.0], [1.0], [99.0]]), np.array([[2.0], [99.0]])]
    demos = Demonstrations.from_arrays(observations, [np.zeros((2, 1)), np.zeros((1, 1))])
    assert demos.states.flatten().tolist() == [0.0, 1.0, 2.0]
    assert demos.state_std.tolist() == pytest.approx([np.sqrt(2 / 3)], rel=1e-15)
    assert demos.state_std.dtype == torch.float64


def test_later_changes_of_the_callers_arrays_do_not_reach_the_record() -> None:
    observations = [np.zeros((3, 2), dtype=np.float32)]
    demos = Demonstrations.from_arrays(observations, [np.zeros((2, 1), dtype=np.float32)])
    observations[0][:] = 7.0
    assert float(demos.observations.abs().max()) == 0.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_single_and_double_precision_are_kept_and_nets_read_single(dtype: type) -> None:
    ones = [np.ones((2, 1), dtype)]
    demos = Demonstrations.from_arrays(
        [np.ones((3, 2), dtype)], ones, actions=ones, rewards=ones[0].T
    )
    for tensor in (demos.observations, demos.executed_actions, demos.actions, demos.rewards):
        assert tensor.numpy().dtype == dtype
    for batch in (demos.expert_batch("raw"), demos.expert_batch("executed")):
        assert batch.states.dtype == batch.actions.dtype == torch.float32


@pytest.mark.parametrize("dtype", [np.float16, np.int32, np.uint8])
def test_casts_are_made_and_recorded(dtype: type) -> None:
    demos = Demonstrations.from_arrays(
        [np.ones((3, 2), dtype)], [np.ones((2, 1), np.float32)], truncations=[[0, 1]]
    )
    assert demos.observations.dtype == torch.float32
    cast = {"operation": "cast", "observations": f"{np.dtype(dtype).name} -> float32"}
    assert _changes(demos) == [cast]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.array([["a", "b"]] * 3), "observations of episode 0 is <U1, expected real numbers"),
        (
            np.array([[object()] * 2] * 3),
            "is object, expected real numbers: make them with np.asarray",
        ),
        (np.ones((3, 2), np.complex64), "complex64, expected real numbers"),
        ([[1.0, 2.0], [3.0]], "not a rectangular array"),
        (np.array([[0.0, 1e300]] * 3), r"1e\+300 at \(0, 1\): too large for float32"),
    ],
)
def test_what_is_no_array_of_real_numbers_is_refused(bad: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Demonstrations.from_arrays([bad], [np.zeros((2, 1))])


def test_a_missing_final_observation_is_filled_in_and_recorded() -> None:
    demos = Demonstrations.from_arrays([np.array([[1.0], [2.0]])], [np.zeros((2, 1))])
    assert demos.observations.flatten().tolist() == [1.0, 2.0, 2.0]
    assert {"operation": "repeat_last_observation_as_final"} in _changes(demos)


@pytest.mark.parametrize(
    ("observations", "actions", "message"),
    [
        ([(1, 3)], [(2, 1)], r"\(2, 1\), expected \(0, 1\): there are 1 observations, one more"),
        ([(4, 3)], [(2, 1)], "there are 4 observations, one more than steps"),
        ([(3, 1), (2, 1)], [(2, 1), (2, 1)], "episode 1: .* there are 2 observations"),
        ([(3, 4), (3, 5)], [(2, 1)] * 2, "observations has columns .* in different episodes"),
        ([(4, 4)], [(3,)], r"continuous vectors \(a Box space\)"),
        ([(3, 4)] * 2, [(2, 1)], "observations has 2 episodes, executed_actions 1"),
        ([], [], "no episodes"),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(
    observations: list[Any], actions: list[Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        Demonstrations.from_arrays(list(map(np.zeros, observations)), list(map(np.zeros, actions)))


def test_without_flags_an_episode_counts_as_truncated() -> None:
    demos = Demonstrations.from_arrays([np.zeros((3, 1))], [np.zeros((2, 1))])
    assert demos.truncations.tolist() == [False, True]
    assert not demos.terminations.any()
    assert demos.episodes[0].is_truncated
    assert not demos.episodes[0].is_terminated


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("observations", torch.zeros(26, 3), r"\(26, 3\), expected 24 rows"),
        ("observations", torch.zeros(27), r"shape \(8,\), expected \[steps, columns\]"),
        ("observations", torch.zeros(27, 0), r"\(8, 0\), expected \[steps, columns\]"),
        ("executed_actions", torch.zeros(24, 5), r"actions has shape \(7, 2\), expected \(7, 5\)"),
        ("rewards", torch.zeros(23).double(), r"rewards has shape \(23,\), expected 24 rows"),
        ("terminations", torch.full((24,), 0.5), "holds values other than 0 and 1"),
        ("episode_lengths", torch.tensor([7, 12, 25]), "add up to 44, but there are 24 actions"),
        ("episode_lengths", torch.tensor([7, 20, -3]), "add up to 24, but there are 24 actions"),
        ("episode_lengths", torch.tensor([[7], [12], [5]]), "but there are 24 actions"),
        ("episode_lengths", torch.tensor([2**62, 2**62, 2**63 - 1]), "but there are 24 actions"),
        ("episode_lengths", torch.tensor([8, 11, 5]), "episode 0 ends at step 6 by its term"),
        ("initial_qpos", torch.tensor(0.0), "initial_qpos has 1 episodes, executed_actions 3"),
        ("initial_qvel", None, "only one of initial_qpos and initial_qvel is there"),
        ("extra", torch.zeros(24), "unknown tensors .'extra'."),
        ("executed_actions", None, r"actions has shape \(7, 2\), expected \(7, 0\)"),
        ("observations", None, "no tensor .'observations'."),
    ],
)
def test_a_record_that_contradicts_itself_is_never_born(
    make_demos: MakeDemos, field: str, value: Any, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        with_tensors(make_demos(), **{field: value})


def test_expert_batches_hold_the_asked_form_of_actions(make_demos: MakeDemos) -> None:
    demos = make_demos()
    assert demos.actions is not None
    assert torch.equal(demos.expert_batch("raw").actions, demos.actions)
    assert torch.equal(demos.expert_batch("executed").actions, demos.executed_actions)
    assert torch.equal(demos.expert_batch("raw").states, demos.states)
    assert not torch.equal(demos.actions, demos.executed_actions)


def test_raw_actions_that_do_not_exist_are_not_replaced_in_silence(make_demos: MakeDemos) -> None:
    demos = make_demos(is_raw_known=False)
    with pytest.raises(DataError, match=r"holds executed actions only.*on both sides"):
        demos.expert_batch("raw")


def test_first_keeps_the_first_episodes_and_says_so(make_demos: MakeDemos) -> None:
    demos = make_demos()
    two = demos.first(2)
    assert two.episode_lengths.tolist() == [7, 12]
    assert torch.equal(two.observations, demos.observations[:21])
    assert torch.equal(two.executed_actions, demos.executed_actions[:19])
    assert two.tensors()["initial_qpos"].shape == (2, 4)
    assert _changes(two)[-1] == {"operation": "keep_first_episodes", "num_episodes": 2}


def test_more_episodes_than_there_are_cannot_be_asked_for(make_demos: MakeDemos) -> None:
    with pytest.raises(DataError, match="4 episodes asked for, 3 there"):
        make_demos().first(4)
    with pytest.raises(ConfigError, match=r"^num_episodes is 0, expected 1 or more"):
        make_demos().first(0)


def test_concatenation_is_undone_by_first(make_demos: MakeDemos) -> None:
    one, two = make_demos(seed=1), make_demos((4, 3), seed=2)
    both = Demonstrations.concatenate([one, two])
    assert both.episode_lengths.tolist() == [7, 12, 5, 4, 3]
    for name, tensor in both.first(3).tensors().items():
        assert torch.equal(tensor, one.tensors()[name]), name
    seeds = [part["seed"] for part in both.metadata.provenance["parts"]]
    assert seeds == [1, 2]


def test_what_one_part_lacks_is_left_out_and_recorded(make_demos: MakeDemos) -> None:
    both = Demonstrations.concatenate([make_demos(), make_demos(is_raw_known=False)])
    assert both.actions is None
    change = {"operation": "leave_out_tensors_some_parts_lack", "names": ["actions"]}
    assert _changes(both) == [change]


def test_demonstrations_of_two_envs_are_not_put_together(make_demos: MakeDemos) -> None:
    other = make_demos(metadata=DemoMetadata("Other-v0"))
    with pytest.raises(DataError, match="part 1 is from Other-v0, an earlier one from Toy"):
        Demonstrations.concatenate([make_demos(), other])


def test_episodes_with_nan_can_be_dropped_and_that_is_recorded(make_demos: MakeDemos) -> None:
    demos = with_value(make_demos(), "observations", (9, 2), torch.nan)  # of episode 1
    clean = demos.without_nonfinite_episodes()
    assert clean.episode_lengths.tolist() == [7, 5]
    assert torch.equal(clean.executed_actions[7:], demos.executed_actions[19:])
    assert _changes(clean)[-1] == {"operation": "drop_nonfinite_episodes", "episodes": [1]}
    assert clean.without_nonfinite_episodes() is clean


def test_the_content_hash_depends_on_all_tensors_and_metadata(make_demos: MakeDemos) -> None:
    original = make_demos()
    assert make_demos().content_hash == original.content_hash
    for name in original.tensors():
        if name == "episode_lengths":
            continue
        last = tuple(size - 1 for size in original.tensors()[name].shape)
        value = original.tensors()[name][last]
        other = not value if value.dtype == torch.bool else float(value) + 1
        changed = with_value(original, name, last, other)
        assert changed.content_hash != original.content_hash, name
    renamed = dataclasses.replace(original, metadata=DemoMetadata("Toy-v1"))
    assert renamed.content_hash != original.content_hash
    elsewhere = dataclasses.replace(original, source="elsewhere")
    assert elsewhere.content_hash == original.content_hash


@pytest.mark.parametrize(
    "provenance", [{"policy": object()}, {"noise": float("nan")}, {"changes": 3}, ["a list"]]
)
def test_metadata_is_plain_json(provenance: Any) -> None:
    with pytest.raises(DataError, match="provenance"):
        DemoMetadata(provenance=provenance)


def test_a_record_is_shown_in_one_line() -> None:
    assert repr(load_demos("Hopper-v4")) == (
        "Demonstrations(Hopper-v4: 6 episodes, 6000 steps, return 3692.07)"
    )
