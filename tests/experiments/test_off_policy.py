"""DAC and IQ-Learn on the parts of Stable-Baselines3: what they read, and which way they learn."""

from typing import Any

import numpy as np
import pytest
import torch

import off_policy
import spacil
from spacil.errors import ConfigError

TASK = "Reacher-v4"
pytestmark = pytest.mark.filterwarnings("ignore:.*is out of date:DeprecationWarning")


@pytest.fixture
def expert() -> off_policy.Expert:
    whole = spacil.load_demos(TASK)
    return off_policy.Expert(whole.first(5), whole)


def made(algorithm: Any, expert: off_policy.Expert, num_steps: int = 120) -> Any:
    torch.manual_seed(0)
    wanted = off_policy.Arguments(algorithm, TASK, steps=1_000)
    model: Any = off_policy.model_of(wanted, expert)
    model.learn(num_steps)  # before its learning starts: the buffer fills
    return model


def test_states_are_seen_in_standard_deviations_with_a_flag(expert: off_policy.Expert) -> None:
    whole = off_policy.Expert(spacil.load_demos(TASK), spacil.load_demos(TASK)).states
    assert whole[:, -1].abs().max() == 0 and whole.shape[1] == 12
    stds = whole[:, :-1].std(0, correction=0)
    assert all(std == pytest.approx(1, abs=1e-3) or std == 0 for std in stds.tolist())


def test_dac_pays_logits_and_lets_an_absorbing_state_follow_a_termination(
    expert: off_policy.Expert,
) -> None:
    model = made("dac", expert)
    buffer = model.replay_buffer
    before, (state, action) = buffer.pos, (np.ones((1, 12)), np.zeros((1, 2)))
    over = np.array([True])
    buffer.add(state, state, action, np.zeros(1), over, [{}])
    assert buffer.pos == before + 2 and buffer.dones[: before + 2].sum() == 0
    assert buffer.next_observations[before, 0].tolist() == [0.0] * 11 + [1.0]
    assert buffer.observations[before + 1, 0].tolist() == [0.0] * 11 + [1.0]
    buffer.add(state, state, action, np.zeros(1), over, [{"TimeLimit.truncated": True}])
    assert buffer.pos == before + 3
    for _ in range(60):
        found = buffer.sample(64)
    with torch.no_grad():
        shown = buffer.logits(expert.states, expert.actions).mean()
        assert torch.allclose(found.rewards[:, 0], buffer.logits(found.observations, found.actions))
    assert shown > found.rewards.mean()  # it has learned to tell them apart


def test_iq_learns_a_critic_that_prefers_the_demonstrations(expert: off_policy.Expert) -> None:
    model = made("iq", expert)

    def gap() -> float:
        with torch.no_grad():
            agent = model.replay_buffer.sample(100)
            theirs = torch.cat(model.critic(expert.states, expert.actions))
            ours = torch.cat(model.critic(agent.observations, agent.actions))
        return float(theirs.mean() - ours.mean())

    before = gap()
    model.train(60, 64)
    assert gap() > before + 0.05


def test_action_bounds_other_than_one_are_refused() -> None:
    whole = spacil.load_demos(TASK)
    wanted = off_policy.Arguments("iq", "Pusher-v5")
    expert = off_policy.Expert(whole, whole)
    with pytest.raises(ConfigError, match="expected bounds of -1 and 1"):
        off_policy.model_of(wanted, expert)
