"""`spacil train airl` and `spacil.AIRL`, end to end: train, measure, save, load, resume."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_runs import tiny

import spacil as library
from spacil.errors import DataError
from spacil.policies.open import open_policy
from spacil.runs import checkpoint


def learner_of(agent: Any) -> Any:
    return agent._learner


def require_equal(ours: Any, theirs: Any) -> None:
    left, right = learner_of(ours).state.tensors(), learner_of(theirs).state.tensors()
    assert left.keys() == right.keys()
    assert [name for name in left if not torch.equal(left[name], right[name])] == []


@pytest.mark.parametrize("form", ["state-action", "state"])
@pytest.mark.parametrize("step", ["trpo", "ppo"])
def test_it_trains_evaluates_and_goes_on_bit_for_bit(tmp_path: Path, form: str, step: str) -> None:
    settings = tiny(airl_reward=form, policy_step=step, penalty={"exact": 0.1, "cats": 0.1})
    agent, rows = library.AIRL("Reacher-v4", **settings), []
    agent.learn(2, callback=lambda agent, metrics: rows.append(metrics))
    agent.save(tmp_path / "saved")
    again = library.AIRL.load(tmp_path / "saved")
    require_equal(agent, again)
    for each in (agent, again):
        each.learn(1)
    require_equal(agent, again)
    assert rows[-1]["average_return"] < 0
    assert rows[-1]["loss_penalty_exact"] > 0
    assert rows[-1]["cost_lipschitz_state"] > 0
    assert (rows[-1]["cost_lipschitz_action"] == 0) == (form == "state")
    for each in (agent, again):
        each.close()


@pytest.mark.parametrize("form", ["state-action", "state"])
def test_the_measured_cost_is_minus_the_learned_reward(tmp_path: Path, form: str) -> None:
    agent = library.AIRL("Reacher-v4", **tiny(airl_reward=form))
    agent.learn(1)
    agent.save(tmp_path / "saved")
    found = open_policy(str(tmp_path / "saved"))
    assert found.cost is not None
    states, actions = torch.randn(5, 11), torch.rand(5, 2)
    adversary = learner_of(agent).adversary
    with torch.no_grad():
        torch.testing.assert_close(found.cost(states, actions), adversary.cost(states, actions))
        live = states * agent.policy.normalizer.mask
        reward = adversary.network.reward(live, actions)
        torch.testing.assert_close(found.cost(states, actions), -reward)
    agent.close()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"algorithm": "gail"}, "do not match its settings"),
        ({"algorithm": "trpo"}, "trpo has no discriminator"),
        ({"algorithm": "nobody's"}, "do not match its settings"),
        ({"discriminator_hidden": [3]}, "do not match its settings"),
        ({"discriminator_hidden": None}, "do not match its settings"),
        ({"airl_reward": "state"}, "do not match its settings"),
    ],
)
def test_a_cost_that_does_not_fit_its_settings_is_refused_in_words(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    agent = library.AIRL("Reacher-v4", **tiny())
    agent.save(tmp_path / "saved")
    agent.close()
    found = checkpoint.best(tmp_path / "saved" / "checkpoints")
    assert found is not None
    document = {**found.document, "config": {**found.document["config"], **changes}}
    state = checkpoint.RunState(found.tensors, document, found.notes)
    file = checkpoint.write(tmp_path / "changed", found.iteration, state)
    with pytest.raises(DataError, match=words):
        library.measure_smoothness(file, episodes=1)
