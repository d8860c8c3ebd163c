"""Thinned demonstrations: which steps stay, and what is still known about them."""

from pathlib import Path
from typing import Any

import pytest
import torch
from demo_edits import with_tensors, with_value
from fixture_types import MakeDemos

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import load_demos, save_demos
from spacil.errors import ConfigError, DataError


def _last_change(demos: Demonstrations) -> dict[str, Any]:
    return dict(demos.metadata.provenance["changes"][-1])


def test_thinning_keeps_every_nth_step_the_ends_and_the_returns(make_demos: MakeDemos) -> None:
    demos = make_demos()
    thin = demos.subsample(5)
    assert thin.episode_lengths.tolist() == [2, 3, 1]
    kept = [0, 5, 7, 12, 17, 19]
    assert torch.equal(thin.executed_actions, demos.executed_actions[kept])
    assert torch.equal(thin.states, demos.states[kept])
    assert thin.terminations.tolist() == [False, True, False, False, True, True]
    for index in range(3):
        final = thin.episodes[index].observations[-1]
        assert torch.equal(final, demos.episodes[index].observations[-1])
    torch.testing.assert_close(thin.returns, demos.returns, rtol=1e-14, atol=1e-14)
    assert _last_change(thin) == {"operation": "subsample", "every": 5}
    assert demos.subsample(1) is demos
    with pytest.raises(ConfigError, match="every is 0, expected 1 or more"):
        demos.subsample(0)


def test_an_offset_shifts_the_steps_and_keeps_ends_and_returns(make_demos: MakeDemos) -> None:
    demos = make_demos((7, 12, 3))
    thin = demos.subsample(5, offset=4)
    # The last episode ends before step 4 and keeps its last step.
    kept = [4, 7 + 4, 7 + 9, 19 + 2]
    assert thin.episode_lengths.tolist() == [1, 2, 1]
    assert torch.equal(thin.states, demos.states[kept])
    assert torch.equal(thin.next_states, demos.next_states[kept])
    assert thin.terminations.tolist() == [True, False, True, True]
    torch.testing.assert_close(thin.returns, demos.returns, rtol=1e-14, atol=1e-14)
    assert _last_change(thin) == {"operation": "subsample", "every": 5, "offset": 4}


def test_a_kept_step_keeps_its_true_successor(make_demos: MakeDemos) -> None:
    demos = make_demos()
    kept = [0, 5, 7, 12, 17, 19]
    whole, thin = demos.expert_batch("executed"), demos.subsample(5).expert_batch("executed")
    assert torch.equal(thin.next_states, whole.next_states[kept])
    assert not thin.terminated.any()  # the last steps of the three episodes are not among them
    assert torch.equal(demos.subsample(5).next_states, thin.next_states)
    ends = demos.subsample(6, offset=4).expert_batch("raw").terminated
    assert ends.tolist() == [False, False, False, True]  # steps 4; 4 and 10 of 12; 4 of 5


def test_successors_never_bridge_two_episodes(make_demos: MakeDemos) -> None:
    demos = make_demos((3, 2))
    batch = demos.expert_batch("executed")
    finals = [demos.episodes[index].observations[-1].float() for index in range(2)]
    assert torch.equal(batch.next_states[2], finals[0])
    assert torch.equal(batch.next_states[4], finals[1])
    assert torch.equal(batch.next_states[:2], demos.states[1:3])
    assert batch.terminated.tolist() == [False, False, True, False, True]


def test_thinning_twice_keeps_the_successors_of_the_first_time(make_demos: MakeDemos) -> None:
    demos = make_demos((12, 9))
    twice, once = demos.subsample(2).subsample(3), demos.subsample(6)
    assert torch.equal(twice.states, once.states)
    assert torch.equal(twice.next_states, once.next_states)


def test_a_file_keeps_successors_if_there_are_any(make_demos: MakeDemos, tmp_path: Path) -> None:
    thin = make_demos().subsample(5, offset=2)
    save_demos(thin, tmp_path / "thin.demos.safetensors")
    again = load_demos(tmp_path / "thin.demos.safetensors")
    assert again.content_hash == thin.content_hash and again.is_thinned
    assert torch.equal(again.next_states, thin.next_states)
    whole = load_demos("Reacher-v4")
    assert not whole.is_thinned and "next_observations" not in whole.tensors()
    assert whole.content_hash.startswith("00b2e895b22528f3")


def test_thinned_and_whole_parts_keep_all_successors(make_demos: MakeDemos) -> None:
    whole, thin = make_demos(seed=1), make_demos(seed=2).subsample(3)
    both = Demonstrations.concatenate([whole, thin])
    assert torch.equal(both.next_states, torch.cat([whole.next_states, thin.next_states]))
    assert both.is_thinned


def test_observation_noise_reaches_the_successors(make_demos: MakeDemos) -> None:
    thin = make_demos((200, 200)).subsample(2)
    noisy = thin.with_observation_noise(0.1, seed=0)
    difference = (noisy.next_states - thin.next_states).double() / thin.state_std
    assert float(difference.std()) == pytest.approx(0.1, rel=0.1)


def test_episodes_with_a_nan_successor_are_dropped(make_demos: MakeDemos) -> None:
    thin = with_value(make_demos().subsample(5), "next_observations", (2, 1), torch.nan)
    assert thin.without_nonfinite_episodes().episode_lengths.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"next_is_terminal": None}, "only one of next_observations and"),
        ({"next_observations": torch.zeros(6, 4)}, r"\(2, 4\), expected \(2, 3\)"),
        ({"next_observations": torch.zeros(5, 3)}, r"shape \(5, 3\), expected 6 rows"),
    ],
)
def test_misfits_are_refused(make_demos: MakeDemos, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        with_tensors(make_demos().subsample(5), **changes)


def test_episodes_from_the_middle_are_chosen_and_recorded(make_demos: MakeDemos) -> None:
    demos = make_demos()
    chosen = demos.first(2, start=1)
    assert chosen.episode_lengths.tolist() == [12, 5]
    assert torch.equal(chosen.executed_actions, demos.executed_actions[7:])
    expected = {"operation": "keep_first_episodes", "num_episodes": 2, "start": 1}
    assert _last_change(chosen) == expected
    with pytest.raises(DataError, match="2 episodes asked for, 1 there from episode 2 on"):
        demos.first(2, start=2)
    with pytest.raises(ConfigError, match="start is -1, expected 0 or more"):
        demos.first(1, start=-1)
