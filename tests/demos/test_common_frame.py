"""The common frame: what defines it, what keeps it, and whose J may stand beside it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from demo_edits import with_tensors
from fixture_types import MakeDemos
from torch import Tensor

from spacil.demos.common_frame import (
    CommonFrame,
    bundled_frame,
    frame_document,
    frame_tensors,
    read_frame,
    recorded_evaluation,
    without_frame,
)
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.metadata import DemoMetadata
from spacil.errors import DataError


def doubles(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_a_dim_that_the_demonstrations_hold_still_is_not_live() -> None:
    observations = np.array([[1e-4, 7.0, 5.0], [-1e-4, 7.0, 5.0 + 4e-7], [0.0, 7.0, 5.0]])
    demos = Demonstrations.from_arrays([observations], [np.array([[0.0], [1.0]])])
    frame = CommonFrame.of(demos)
    assert frame.std.tolist() == pytest.approx([1e-4, 0.0, 0.0])
    assert frame.is_live.tolist() == [True, False, False]


def test_the_frame_of_demonstrations_has_their_spread_and_no_path(make_demos: MakeDemos) -> None:
    demos = replace(make_demos(), source="somewhere/on/this/machine.npz")
    frame = CommonFrame.of(demos)
    assert torch.equal(frame.std, demos.state_std)
    assert frame.source == f"demonstrations of Toy-v0 (3 episodes, hash {demos.content_hash[:8]})"


def test_episodes_that_are_not_finite_give_no_unit_of_length(make_demos: MakeDemos) -> None:
    demos = make_demos((7, 12, 5))
    observations = demos.observations.clone()
    observations[-1, 0] = torch.nan  # in the last episode
    assert torch.equal(
        CommonFrame.of(with_tensors(demos, observations=observations)).std, demos.first(2).state_std
    )


def test_frames_are_the_same_by_their_numbers_up_to_rounding() -> None:
    frame = CommonFrame(doubles(1.0, 2.0), "here")
    assert frame.is_same_as(CommonFrame(doubles(1.0, 2.0 + 1e-12), "there"))
    assert not frame.is_same_as(CommonFrame(doubles(1.0, 2.001), "here"))
    assert not frame.is_same_as(CommonFrame(doubles(1.0), "here"))
    assert frame.content_hash == CommonFrame(doubles(1.0, 2.0), "there").content_hash
    assert frame.content_hash != CommonFrame(doubles(1.0, 2.0 + 1e-12), "here").content_hash


@pytest.mark.parametrize(
    "std",
    [doubles(1.0, torch.nan), doubles(-1.0), torch.ones(2), torch.ones(2, 2, dtype=torch.float64)],
    ids=["not finite", "negative", "float32", "a matrix"],
)
def test_what_is_no_spread_is_no_frame(std: Tensor) -> None:
    with pytest.raises(DataError, match="is no common frame, expected finite standard deviations"):
        CommonFrame(std, "by hand")


def test_only_tasks_with_bundled_demonstrations_have_a_bundled_frame() -> None:
    ant = bundled_frame("Ant-v4")
    assert (ant.num_states, int(ant.is_live.sum())) == (111, 51)
    assert ant.source == "bundled demonstrations of Ant-v4"
    assert bundled_frame("Pendulum-v1") is None
    assert bundled_frame(None) is None


def test_a_recorded_j_holds_for_a_whole_file_in_its_own_frame(make_demos: MakeDemos) -> None:
    evaluation = {"smoothness_j": 0.4}
    demos = make_demos(metadata=DemoMetadata("Toy-v0", None, {"evaluation": evaluation}))
    own = CommonFrame.of(demos)
    assert recorded_evaluation(demos, own) == evaluation
    assert recorded_evaluation(demos, CommonFrame.of(make_demos(seed=1))) == {}
    for edited in (demos.first(2), demos.subsample(2), demos.with_observation_noise(0.1, seed=0)):
        for frame in (own, CommonFrame.of(edited)):
            assert recorded_evaluation(edited, frame) == {}
    for provenance in ({}, {"evaluation": "good"}, {"evaluation": None}):
        other = make_demos(metadata=DemoMetadata("Toy-v0", None, provenance))
        assert recorded_evaluation(other, CommonFrame.of(other)) == {}


def test_a_frame_survives_a_file() -> None:
    frame = CommonFrame(doubles(1.0, 2.0), "by hand")
    tensors = {"policy.bias": torch.zeros(3), **frame_tensors(frame)}
    again = read_frame(tensors, {"common_frame": frame_document(frame)}, "a file")
    assert (again.source, again.content_hash) == (frame.source, frame.content_hash)
    assert without_frame(tensors).keys() == {"policy.bias"}


def test_a_file_from_before_there_were_frames_has_none() -> None:
    assert read_frame({"policy.bias": torch.zeros(3)}, {"counters": {}}, "a file") is None
    assert frame_tensors(None) == {} and frame_document(None) is None


@pytest.mark.parametrize(
    ("tensors", "changes"),
    [
        ({}, {}),
        ({"frame.std": doubles(1.0, 2.5)}, {}),
        ({"frame.std": doubles(1.0, 2.0)}, {"hash": 3}),
    ],
    ids=["no tensor", "other numbers", "no hash"],
)
def test_a_forged_frame_is_refused(tensors: dict[str, Tensor], changes: dict[str, object]) -> None:
    entry = frame_document(CommonFrame(doubles(1.0, 2.0), "by hand")) | changes  # type: ignore[operator]
    with pytest.raises(DataError, match="a file: its common frame was changed or damaged"):
        read_frame(tensors, {"common_frame": entry}, "a file")


def test_a_task_name_that_would_upset_a_terminal_is_made_plain(make_demos: MakeDemos) -> None:
    demos = make_demos(metadata=DemoMetadata("\x1b[2J" + "long " * 100))
    frame = CommonFrame.of(demos)
    assert frame.source.startswith("demonstrations of \\x1b[2Jlong ")
    document = {"common_frame": {**(frame_document(frame) or {}), "source": "\x1b[2J"}}
    again = read_frame(frame_tensors(frame), document, "a file")
    assert again is not None and again.source == "\\x1b[2J"
