"""The policy penalties by name: default weight, help, and where the mathematics is.

A new penalty is one file in `spacil/smoothness` and one row here (docs/extending.md). Its function
takes the mean action, the states and what the row asks for, then the row's arguments by name; it
returns a penalty that can be called again and again as the policy moves.
"""

import difflib
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from spacil import paper
from spacil.errors import ConfigError

Arguments = Mapping[str, float | tuple[str, ...]]
"""Argument of a term -> its default: a number, or the words it may be, the default first"""

SCALES = ("lipschitz", "paper-mean", "paper-sum")
BALL: Arguments = {
    "radius": paper.PENALTY_RADIUS,
    "steps": 10,
    "step_size": paper.PENALTY_STEP_SIZE,
    "rule": ("power", "raw", "normalized"),
    "start": ("sphere", "ball", "gauss"),
}
"""Projected gradient ascent in a small ball around each state (algo:reg_maximization): radius in
normalised state units (epsilon), number of steps (N), and how a step is taken: to the sphere along
the gradient (power), `step_size` (nu) times the gradient as printed (raw), or of length
2 * radius / steps (normalized). It starts on the sphere, inside the ball, or at 1e-5 Gaussian
noise."""


@dataclass(frozen=True)
class PenaltyKind:
    """One row of the table."""

    default_weight: float
    """Weight in the penalty's own units; that of its own paper or code where it has one"""
    summary: str
    build: str | Callable[..., Any]
    """`module:function` below `spacil`, imported when first used; or a user's own function"""
    asks: tuple[Literal["successors", "actions", "noise"], ...] = ()
    """What it takes beside the states, of `PenaltyRows`: the states one step later, where there is
    one; actions as sampled there; standard normal noise, drawn once per iteration and scaled by the
    argument `noise` where there is one"""
    arguments: Arguments = field(default_factory=dict)
    """What `NAME=WEIGHT:argument=value` may say"""

    @property
    def is_temporal(self) -> bool:
        """Whether it speaks of changes along time."""
        return "successors" in self.asks

    @property
    def is_replayable(self) -> bool:
        """Whether two iterations with it are alike in all shapes and branches."""
        return not self.is_temporal and isinstance(self.build, str)


POLICY_PENALTIES: dict[str, PenaltyKind] = {
    "exact": PenaltyKind(
        0.03,
        "E[sigma_max^2], the squared largest singular value of the mean action's Jacobian",
        "smoothness.policy_penalty:exact_policy_penalty",
    ),
    "linear": PenaltyKind(
        0.1,
        "E[sigma_max], the metric J itself instead of the square",
        "smoothness.policy_penalty:linear_policy_penalty",
    ),
    "pgd": PenaltyKind(
        0.03,
        "the same by the paper's projected gradient ascent (algo:reg_maximization)",
        "smoothness.policy_penalty:pgd_policy_penalty",
        asks=("noise",),
        arguments={"scale": SCALES, **BALL},
    ),
    "frobenius": PenaltyKind(
        0.01,
        "E[|J|_F^2], the squared Frobenius norm of that Jacobian",
        "smoothness.policy_penalty:frobenius_policy_penalty",
    ),
    "lcp": PenaltyKind(
        0.002,
        "E|grad_s log pi(a | s)|^2 at the sampled actions (LCP, Chen et al. 2024)",
        "smoothness.policy_penalty:lcp_policy_penalty",
        asks=("actions",),
    ),
    "cats": PenaltyKind(
        1.0,
        "E|mu(s_t) - mu(s_t+1)|^2, the change from one step to the next (CATS)",
        "smoothness.policy_penalty:cats_penalty",
        asks=("successors",),
    ),
    "caps": PenaltyKind(
        1.0,
        "0.1 of cats and 0.5 of the change under Gaussian noise of 0.2 (CAPS, Mysore et al. 2021)",
        "smoothness.policy_penalty:caps_penalty",
        asks=("successors", "noise"),
        arguments={"noise": 0.2, "temporal": 0.1, "spatial": 0.5},
    ),
    "l2c2": PenaltyKind(
        1.0,
        "E|mu(twin) - mu(s)|^2 / |twin - s|^2, a mean per dim, for a twin on the way to the next "
        "state (L2C2, Kobayashi 2022) or a noisy one (ProtoMotions)",
        "smoothness.policy_penalty:l2c2_penalty",
        asks=("successors", "noise"),
        arguments={"twin": ("path", "noisy"), "spread": 0.2},
    ),
}
"""Read by the command line's help and checks, so nothing here may import torch."""

_IN_BALL: Arguments = {
    "mixing": ("interpolate", "per_batch", "bernoulli", "none"),
    "scale": SCALES,
    "estimator": ("exact", "pgd"),
    **BALL,
}
COST_FORMS: Mapping[str, Arguments] = {
    "response": _IN_BALL,
    "both": _IN_BALL,
    "state": _IN_BALL,
    "gp": {"mixing": _IN_BALL["mixing"]},
    "r1": {},
}
"""Form of the cost penalty -> its arguments. mixing: where it is measured, zeta ~ U[0, 1): between
agent and demonstrations at a zeta for each pair; at one zeta per batch; at demonstrated states with
probability zeta; or on the agent's alone. estimator: the gradient norm of the cost along its form,
or the paper's ascent."""


@dataclass(frozen=True)
class WeightedTerm:
    """One penalty of a run."""

    name: str
    weight: float
    given: tuple[str, ...] = ()
    """Arguments that differ from their defaults, e.g. `noise=0.3`"""

    @property
    def kind(self) -> PenaltyKind:
        return POLICY_PENALTIES[self.name]

    @property
    def arguments(self) -> dict[str, Any]:
        """Every argument of the term by name."""
        return parse_arguments(self.given, self.kind.arguments, f"--penalty {self.name}")

    @property
    def unweighted(self) -> str:
        """The term without its weight, e.g. `caps:noise=0.3`."""
        return ":".join([self.name, *self.given])

    def __str__(self) -> str:
        return self.unweighted.replace(self.name, f"{self.name}={self.weight!r}", 1)


def parse_terms(words: tuple[str, ...]) -> tuple[WeightedTerm, ...]:
    """`exact=0.1` or `cats` (its own default weight) or `caps=1:noise=0.3`, each penalty once."""
    terms = tuple(map(parse_term, words))
    names = [term.name for term in terms]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"--penalty names {name} twice: give each penalty one weight")
    return terms


def parse_term(word: str) -> WeightedTerm:
    """The term in `NAME[=WEIGHT][:argument=value...]`."""
    head, *rest = word.split(":")
    name, separator, text = head.partition("=")
    kind = POLICY_PENALTIES.get(name)
    if kind is None:
        raise ConfigError(
            f"--penalty {word}: there is no penalty {name!r}; there are "
            f"{', '.join(POLICY_PENALTIES)}. A function of your own is passed from Python, "
            "penalty={my_function: 0.1}; before a run with one is loaded or resumed, call "
            "spacil.register_penalty(my_function)"
        )
    weight = _value_of(text, 0.0) if separator else kind.default_weight
    if not isinstance(weight, float):
        raise ConfigError(f"--penalty {word}: expected NAME=WEIGHT with a weight of 0 or more")
    return WeightedTerm(name, weight, canonical(rest, kind.arguments, f"--penalty {word}"))


def parse_arguments(words: Sequence[str], known: Arguments, where: str) -> dict[str, Any]:
    """Every argument by name: those in `key=value` words, the others at their defaults."""
    found = {key: value[0] if isinstance(value, tuple) else value for key, value in known.items()}
    for word in words:
        key, _, text = word.partition("=")
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1) or known or ["none"]
            raise ConfigError(f"{where}: no argument {key!r} here; it takes {', '.join(close)}")
        default, value = known[key], _value_of(text, known[key])
        if value is None or (value == 0 and key not in ("temporal", "spatial")):
            number = f"a {'whole ' * isinstance(default, int)}number above 0"
            expected = ", ".join(default) if isinstance(default, tuple) else number
            raise ConfigError(f"{where}: {key} is {text!r}, expected {expected}")
        found[key] = value
    return found


def canonical(words: Sequence[str], known: Arguments, where: str) -> tuple[str, ...]:
    """The words of arguments that differ from their defaults, in the table's order."""
    usual = parse_arguments((), known, where)
    found = parse_arguments(words, known, where)
    return tuple(f"{key}={value}" for key, value in found.items() if value != usual[key])


def _value_of(text: str, default: float | tuple[str, ...]) -> Any:
    """A word of the default's, or a finite number of 0 or more of its type; None for others."""
    if isinstance(default, tuple):
        return text if text in default else None
    try:
        number = float(text)
    except ValueError:
        return None
    fits = 0 <= number < math.inf and number == type(default)(number)
    return type(default)(number) if fits else None


def words_of(penalty: object) -> tuple[str, ...]:
    """The terms as a config keeps them, from what Python callers pass.

    A mapping of names (or functions of your own) to weights, or words as on the command line. A
    function becomes a row of the table under its own name, for this process.
    """
    if isinstance(penalty, str):
        return tuple(penalty.split())
    if isinstance(penalty, list | tuple):
        return tuple(penalty)
    if not isinstance(penalty, Mapping):
        raise ConfigError(
            f'penalty is {penalty!r}, expected a mapping such as {{"exact": 0.1, "cats": 1}}'
        )
    words = []
    for term, weight in penalty.items():
        if not isinstance(term, str) and not callable(term):
            raise ConfigError(f"penalty {term!r}: expected a name or a function")
        name, *arguments = (term if isinstance(term, str) else register_penalty(term)).split(":")
        words.append(":".join([f"{name}={weight}", *arguments]))
    return tuple(words)


def register_penalty(function: Callable[..., Any], name: str | None = None) -> str:
    """Let this process know a penalty of your own; returns the name a config keeps.

    `function(mean_action, states)` returns a number to add to the policy's loss: `states` [B, S]
    are normalised, `mean_action` maps them to mean actions [B, A] with gradients. With a third
    parameter it gets the states one step later in the same episode.
    """
    name = str(getattr(function, "__name__", type(function).__name__)) if name is None else name
    if not re.fullmatch(r"[^\s=:]+", name):
        raise ConfigError(
            f"penalty {name!r}: expected a name without spaces, colons and equals signs"
        )
    known = POLICY_PENALTIES.get(name)
    if known is not None and known.build is not function:
        raise ConfigError(
            f"a penalty named {name!r} exists already: give your function another name"
        )
    num_parameters = len(inspect.signature(function).parameters)
    if num_parameters not in (2, 3):
        raise ConfigError(
            f"penalty {name!r} takes {num_parameters} arguments, expected (mean_action, states) "
            "or (mean_action, states, next_states)"
        )
    asks: tuple[Literal["successors"], ...] = ("successors",) if num_parameters == 3 else ()
    POLICY_PENALTIES[name] = PenaltyKind(1.0, "a function of your own", function, asks)
    return name
