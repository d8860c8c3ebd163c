"""The ladders of a front: penalties whose weight doubles rung by rung, from a common GAIL policy.

Until the first rung every method of a seed is the same run, bit for bit (`penalty_start`). A rung
is evaluated at its end, before the weight doubles.
"""

from collections.abc import Mapping

from spacil.experiments.named.plan import QUICK, Scope, Setting
from spacil.experiments.named.recipe import DATA
from spacil.sweeps.plan import Value

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
