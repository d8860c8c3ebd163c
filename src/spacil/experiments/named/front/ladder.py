"""The runs behind a front: penalties whose weight doubles rung by rung, from a common GAIL policy.

Until the first rung every method of a seed is the same run, bit for bit (`penalty_start`). A rung
is evaluated at its end, before the weight doubles.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spacil.experiments.demonstrator import share
from spacil.experiments.named.experiment import ArmRuns
from spacil.experiments.named.plan import QUICK, Arm, Scope, Setting
from spacil.experiments.named.recipe import DATA
from spacil.experiments.run_demonstrator import demonstrator_of_run
from spacil.experiments.run_record import RunRecord
from spacil.experiments.sweeps.plan import Value
from spacil.penalties.weights import share_at
from spacil.runs import metrics_log

RUNG, NUM_RUNGS = 40, 8
START = RUNG
"""Iterations of the common GAIL, which begins at a clone"""
EPISODE_STEPS = 50_000
"""Of the evaluation at each rung: 50 episodes of 1,000 steps"""

ACTION_RATE, BY_CONSTRUCTION = "action-rate reward", "by construction"
METHODS: Mapping[str, tuple[str, ...]] = {
    "exact": ("exact=0.01",),
    "frobenius": ("frobenius=0.005",),
    "lcp": ("lcp=0.0005",),
    "cats": ("cats=0.1",),
    "caps": ("caps=0.1",),
    "exact + temporal": ("exact=0.01", "cats=0.1"),
    ACTION_RATE: (f"{ACTION_RATE}=0.01",),
    BY_CONSTRUCTION: ("lipschitz=16",),
}
"""Method -> its weights on the first rung; the last one has 128 times as much. The policy that is
smooth by construction has a bound instead, and on the last rung 1 / 128 of it."""
BOUND_RAMP = 20
"""Iterations over which the first bound comes down, from none: a clone is not cut at once"""


@dataclass(frozen=True)
class Rung:
    """One evaluation of one run on the ladder; keys are stable."""

    seed: int
    iteration: int
    factor: float
    """On the first rung's weights; 0 for the common GAIL"""
    G: float
    share: float | None
    J: float | None
    J_effective: float | None
    action_change: float | None


def base(tier: str, iterations: int | None) -> dict[str, Value]:
    """The GAIL of ratios on the data of a tier."""
    choices: dict[str, Value] = {"preset": "gail-like", **DATA[tier][0]}
    return choices if iterations is None else choices | {"iterations": iterations}


def num_iterations(scope: Scope) -> int:
    """Of a whole ladder: the common GAIL and all rungs."""
    return (1 + NUM_RUNGS) * _rung(scope)


def _rung(scope: Scope) -> int:
    given = {**(QUICK if scope.is_quick else {}), **dict(scope.changes)}
    return int(str(given.get("evaluation_interval", RUNG)))


def ladder(label: str, tier: str, scope: Scope) -> Setting:
    """One method from the common GAIL up to its last rung."""
    rung = _rung(scope)
    choices = (
        base(tier, num_iterations(scope))
        | weighted(label)
        | {
            "penalty_start": rung,
            "penalty_doubling": rung,
            "evaluation_interval": rung,
            "evaluation_steps": EPISODE_STEPS,
        }
    )
    return Setting(label, "spacil", choices, DATA[tier][1])


def rungs_of(arm: Arm, record: RunRecord) -> list[Rung]:
    """The common GAIL and every rung of a run, from its evaluations."""
    penalty = arm.runs()[0].config().policy_penalty
    known, random = demonstrator_of_run(record), record.best.get("random_return")
    rungs = []
    for row in metrics_log.read(record.path / "metrics.jsonl"):
        iteration, g = row["iteration"], row.get("average_return")
        is_end = iteration >= penalty.penalty_start and not (
            (iteration - penalty.penalty_start) % penalty.penalty_doubling
        )
        if g is None or not is_end or iteration == 0:
            continue
        rungs.append(
            Rung(
                record.seed,
                iteration,
                share_at(penalty, iteration - 1),  # the weight before this evaluation
                g,
                share(g, random, known),
                row.get("smoothness_j_common"),
                row.get("smoothness_j_effective"),
                row.get("action_fluctuation"),
            )
        )
    return rungs


def weights_at_factor(label: str, factor: float) -> tuple[str, ...]:
    """The weights of a method, or its bound, on the rung of this factor."""
    pairs = [word.split("=") for word in METHODS[label]]
    scale = 1 / factor if label == BY_CONSTRUCTION else factor
    return tuple(f"{name}={float(weight) * scale!r}" for name, weight in pairs)


def weighted(label: str, factor: float = 1.0) -> dict[str, Value]:
    """The same as settings: penalties on the policy, what the reward loses, or a bound."""
    words = weights_at_factor(label, factor)
    first = float(words[0].split("=")[1])
    if label == ACTION_RATE:
        return {"action_rate_weight": first}
    if label == BY_CONSTRUCTION:
        return {"policy_lipschitz": first, "penalty_ramp_iterations": BOUND_RAMP}
    return {"penalty": words}


def mean_rungs(arm: ArmRuns) -> list[dict[str, Any]]:
    """Means over seeds at each rung that every seed has, the common GAIL first."""
    by_factor: dict[float, list[Rung]] = {}
    for record in arm.records:
        for rung in rungs_of(arm.arm, record):
            by_factor.setdefault(rung.factor, []).append(rung)
    found = []
    for factor, rungs in sorted(by_factor.items()):
        if len(rungs) == len(arm.records):
            means = {name: _mean([getattr(r, name) for r in rungs]) for name in _NUMBERS}
            found.append({"factor": factor, **means})
    return found


_NUMBERS = ("G", "share", "J", "J_effective", "action_change")


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None
