"""Policies that rsl_rl trained, as a runner holds them and as its files do."""

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("rsl_rl")
from rsl_rl.runners import OnPolicyRunner
from toy_robots import ToyRobots, settings

from spacil.errors import DataError
from spacil.policies.open import open_policy

AGENT_YAML = """\
seed: 1
actor:
  class_name: MLPModel
  hidden_dims: !!python/tuple
  - 32
  activation: elu
critic:
  activation: tanh
"""


def runner(**actor: Any) -> Any:
    torch.manual_seed(0)
    with contextlib.redirect_stdout(io.StringIO()):
        made = OnPolicyRunner(ToyRobots(8), settings(**actor), device="cpu")
        made.learn(2)
    return made


def test_an_actor_and_its_checkpoint_act_as_the_runner_does(tmp_path: Path) -> None:
    made = runner()
    made.save(str(tmp_path / "model_2.pt"))
    (tmp_path / "params").mkdir()
    (tmp_path / "params" / "agent.yaml").write_text(AGENT_YAML)
    observations = made.env.get_observations()
    act = made.get_inference_policy()
    with torch.no_grad():
        expected = act(observations)
    for source in (act, tmp_path / "model_2.pt"):
        opened = open_policy(source)
        assert torch.allclose(opened.act(observations["actor"]), expected, atol=1e-6)
        assert (opened.num_states, opened.num_actions, opened.kind) == (4, 2, "rsl_rl")
        assert opened.std is not None and opened.std.shape == (2,)


def test_what_a_file_does_not_say_is_not_guessed(tmp_path: Path) -> None:
    runner().save(str(tmp_path / "model_2.pt"))
    with pytest.raises(DataError, match=r"activation its actor has is not known; expected params"):
        open_policy(tmp_path / "model_2.pt")
    torch.save({"actor_state_dict": Path}, tmp_path / "model_3.pt")
    with pytest.raises(DataError, match="weights alone"):
        open_policy(tmp_path / "model_3.pt")
    with pytest.raises(DataError, match="only an MLP with a Gaussian"):
        open_policy(runner(class_name="RNNModel", rnn_hidden_dim=8).get_inference_policy())
