"""What a recorder replays is what the plain calls would have done."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from tests.support.replay_on_cpu import ReplayOnCpu
from tests.support.tiny_runs import DRAWS_FROM_EVERY_STREAM, tiny
from tiny_runs import plain_config
from torch import Tensor

from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.demos.file import load_demos
from spacil.engine.device import one_torch_thread
from spacil.engine.recorder import Recorder
from spacil.learning.on_policy import OnPolicy

DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


@dataclass(frozen=True)
class Summands:
    numbers: Tensor
    sign: float


def signed_sum(summands: Summands) -> Tensor:
    return summands.sign * summands.numbers.sum()


def replaying(device: str) -> Recorder:
    return ReplayOnCpu() if device == "cpu" else Recorder(torch.device(device))


@pytest.mark.parametrize("device", DEVICES)
def test_each_call_does_its_work_once_with_its_own_arguments(device: str) -> None:
    recorder, total = replaying(device), torch.zeros((), device=device)
    totals = []
    for size, value in ((3, 1.0), (3, 2.0), (3, 5.0), (2, 10.0), (3, 100.0), (3, 1000.0)):
        recorder.begin_round(size)
        numbers = torch.full((size,), value, device=device)
        found = recorder("sum", signed_sum, (), Summands(numbers, -1.0))
        # A later piece reads what an earlier one returned.
        recorder("add", Tensor.add_, (total, found))
        totals.append(float(total))
    assert totals == [-3, -9, -24, -44, -344, -3344]


@pytest.mark.parametrize("device", DEVICES)
def test_what_is_handed_in_as_lasting_is_read_as_it_was_when_recorded(device: str) -> None:
    # The trap, shown: this is why everything random or new in a round is handed in as fresh.
    recorder = replaying(device)
    seen = []
    for value in (1.0, 2.0, 3.0):
        recorder.begin_round("alike")
        new = torch.full((1,), value, device=device)
        seen.append(float(recorder("read", torch.clone, (new,))))
    assert seen == [1, 2, 2]


UPDATES: dict[str, tuple[str, dict[str, Any]]] = {
    "trpo": ("trpo", {"fisher_state_fraction": 0.5}),
    "gail": ("gail", {}),
    "spacil": ("spacil", {}),
    "every stream": ("spacil", DRAWS_FROM_EVERY_STREAM),
    "frobenius, gp": ("spacil", {"penalty": ("frobenius=0.03",), "cost_penalty_form": "gp"}),
    "lcp, r1": ("spacil", {"penalty": ("lcp=0.03",), "cost_penalty_form": "r1"}),
    "caps, both": ("spacil", {"penalty": ("caps=0.03",), "cost_penalty_form": "both"}),
    "target": ("spacil", {"smoothness_target": 0.05}),
    "warm start": ("spacil", {"warm_start_epochs": 2, "warm_start_iterations": 3}),
    "rule": ("rule", {"warm_start_steps": 10, "warm_start_iterations": 2}),
    "printed": ("spacil", {"penalty": ("pgd=0.03:scale=paper-sum",), "penalty_ramp_iterations": 3}),
    "several": ("spacil", {"penalty": ("exact=0.03", "pgd=0.1", "lcp=0.01")}),
    "ppo": ("trpo", {"policy_step": "ppo", "ppo_epochs": 3, "ppo_minibatch": 70}),
    "ppo, several": (
        "spacil",
        {"policy_step": "ppo", "ppo_minibatch": 70, "penalty": ("pgd=0.03", "frobenius=0.1")},
    ),
    "ppo, cats": ("spacil", {"policy_step": "ppo", "ppo_epochs": 2, "penalty": ("cats=1",)}),
    "airl": ("airl", {"penalty": ("exact=0.1",)}),
    "airl, state": ("airl", {"airl_reward": "state", "imitation_reward": "logit"}),
    "airl, warm start": ("airl", {"warm_start_epochs": 2, "warm_start_iterations": 3}),
    "gail, gp": ("gail", {"lambda_cost": 0.1, "cost_penalty_form": "gp"}),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", UPDATES)
def test_replayed_updates_learn_what_plain_ones_do(name: str, device: str) -> None:
    algorithm, settings = UPDATES[name]
    is_rule, task = algorithm == "rule", "Reacher-v4"
    start = default_config("spacil", task) if is_rule else plain_config(algorithm, task)
    small = tiny("spacil" if is_rule else algorithm, device=device)
    config = with_settings(start, small | settings)
    histories, tensors = [], []
    for recorder in (Recorder(), replaying(device)):
        learner = OnPolicy(config, "Reacher-v4", load_demos("Reacher-v4"))
        learner.recorder = recorder
        with one_torch_thread():
            rows = [learner.iterate() for _ in range(6)]
        histories.append([{k: v for k, v in r.items() if "seconds" not in k} for r in rows])
        tensors.append(learner.state.tensors())
        learner.close()
    plain, replayed = histories
    assert plain == replayed
    assert all(torch.equal(tensors[0][name], tensors[1][name]) for name in tensors[0])
