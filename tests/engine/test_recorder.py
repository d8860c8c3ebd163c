"""What a recorder replays is what the plain calls would have done."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any, cast

import pytest
import torch
from tests.support.tiny_runs import DRAWS_FROM_EVERY_STREAM, tiny
from tiny_runs import plain_config
from torch import Tensor

from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.demos.file import load_demos
from spacil.engine.device import Recorder, _Value, copied, one_torch_thread, refill
from spacil.learning.on_policy import OnPolicy

DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


@dataclass(frozen=True)
class _FirstCall:
    function: Callable[..., Any]
    lasting: tuple[Any, ...]
    fresh: tuple[Any, ...]
    """Copies, refilled before each replay"""
    result: Any
    """Of this call; later ones are written into it"""


class ReplayOnCpu(Recorder):
    """Replays without a GPU, and goes wrong where a graph would.

    From the second round on a graph does what it was recorded with: the *first* function on the
    *first* lasting arguments and on copies of the fresh ones, writing into the *first* results.
    A piece that reads anything else that is new in a round (a batch, a draw, a weight) reads stale
    numbers here as it would on a GPU.
    """

    def __init__(self) -> None:
        super().__init__()
        self._first: dict[str, _FirstCall] = {}

    def forget(self) -> None:
        super().forget()
        self._first = {}

    def __call__(
        self, name: str, function: Callable[..., _Value], lasting: tuple[Any, ...], *fresh: Any
    ) -> _Value:
        if self._is_first_round or name not in self._has_run:
            self._has_run.add(name)
            return function(*lasting, *fresh)
        if name not in self._first:
            kept = tuple(copied(argument) for argument in fresh)
            self._first[name] = _FirstCall(function, lasting, kept, function(*lasting, *kept))
            return cast(_Value, self._first[name].result)
        first = self._first[name]
        for old, new in zip(first.fresh, fresh, strict=True):
            refill(old, new)
        overwrite(first.result, first.function(*first.lasting, *first.fresh))
        return cast(_Value, first.result)


def overwrite(kept: Any, new: Any) -> None:
    """Write the numbers of a record into another of the same form.

    Records are tensors, containers, objects with attributes, methods bound to such, and functions
    with what they close over: a graph writes into the tensors that they hold.
    """
    if kept is new:
        return
    assert type(kept) is type(new), f"{kept!r} became {new!r}: a round of another kind"
    if isinstance(kept, Tensor):
        if not torch.equal(kept, new):  # constants may be views of one number
            kept.detach().copy_(new.detach())
    elif isinstance(kept, dict):
        assert kept.keys() == new.keys()
        for key in kept:
            overwrite(kept[key], new[key])
    elif isinstance(kept, list | tuple):
        for one, other in zip(kept, new, strict=True):
            overwrite(one, other)
    elif isinstance(kept, functools.partial):
        overwrite((kept.func, kept.args, kept.keywords), (new.func, new.args, new.keywords))
    elif isinstance(kept, FunctionType):
        assert kept.__code__ is new.__code__
        cells = zip(kept.__closure__ or (), new.__closure__ or (), strict=True)
        for one, other in cells:
            overwrite(one.cell_contents, other.cell_contents)
    elif isinstance(kept, MethodType):
        assert kept.__func__ is new.__func__
        overwrite(kept.__self__, new.__self__)
    elif hasattr(kept, "__dict__"):
        overwrite(vars(kept), vars(new))
    else:
        assert kept == new, f"{kept!r} is not {new!r}: a recorded piece cannot return either"


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
