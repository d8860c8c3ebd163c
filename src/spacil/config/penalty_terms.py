"""The policy penalties by name: default weight, help, and where the mathematics is.

A new penalty is one file in `spacil/smoothness` and one row here (docs/extending.md). Its function
takes a `PenalizedPolicy`, the `PenaltyRows` it was drawn and the config, and returns a record that
can be called again and again as the policy moves.
"""

import inspect
import numbers
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from spacil.errors import ConfigError


@dataclass(frozen=True)
class PenaltyKind:
    """One row of the table."""

    default_weight: float
    """In the penalty's own units; of its own paper or code where it has one"""
    summary: str
    build: str | Callable[..., Any]
    """`module:function` below `spacil`, imported when first used; or a user's own function"""
    rows: Literal["all", "with_successor"] = "all"
    """Which states of a batch can carry it"""
    draws: Literal["nothing", "ball_start", "noise"] = "nothing"
    """What it draws at random for each state, once per iteration"""
    has_printed_scale: bool = False
    """Whether the paper's printed scales have a meaning for it"""
    reads_weights: bool = True
    """Whether states may count unequally in it, as `penalty_discount` asks for"""

    @property
    def is_replayable(self) -> bool:
        """Whether two iterations with it are alike in all shapes and branches."""
        return self.rows == "all" and isinstance(self.build, str)


POLICY_PENALTIES: dict[str, PenaltyKind] = {
    "exact": PenaltyKind(
        0.03,
        "E[sigma_max^2], the squared largest singular value of the mean action's Jacobian",
        "smoothness.policy_terms:exact",
        has_printed_scale=True,
    ),
    "linear": PenaltyKind(
        0.1,
        "E[sigma_max], the metric J itself instead of the square",
        "smoothness.linear_penalty:linear",
    ),
    "pgd": PenaltyKind(
        0.03,
        "the same by the paper's projected gradient ascent (algo:reg_maximization)",
        "smoothness.policy_terms:pgd",
        draws="ball_start",
        has_printed_scale=True,
    ),
    "frobenius": PenaltyKind(
        0.01,
        "E[|J|_F^2], the squared Frobenius norm of that Jacobian",
        "smoothness.policy_terms:frobenius",
    ),
    "lcp": PenaltyKind(
        0.002,
        "E|grad_s log pi(a | s)|^2 at the sampled actions (LCP, Chen et al. 2024)",
        "smoothness.policy_terms:lcp",
    ),
    "cats": PenaltyKind(
        1.0,
        "E|mu(s_t) - mu(s_t+1)|^2, the change from one step to the next (CATS)",
        "smoothness.policy_terms:cats",
        rows="with_successor",
    ),
    "caps": PenaltyKind(
        1.0,
        "0.1 of cats and 0.5 of the change under Gaussian noise of 0.2 (CAPS, Mysore et al. 2021)",
        "smoothness.policy_terms:caps",
        rows="with_successor",
        draws="noise",
    ),
}
"""Read by the command line's help and checks, so nothing here may import torch."""


@dataclass(frozen=True)
class WeightedTerm:
    """One penalty of a run."""

    name: str
    weight: float

    @property
    def kind(self) -> PenaltyKind:
        return POLICY_PENALTIES[self.name]

    def __str__(self) -> str:
        return f"{self.name}={self.weight!r}"


def parse_terms(words: tuple[str, ...]) -> tuple[WeightedTerm, ...]:
    """`exact=0.1` or `cats` (its own default weight), each penalty once."""
    terms = tuple(_parse_term(word) for word in words)
    names = [term.name for term in terms]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"--penalty names {name} twice: give each penalty one weight")
    return terms


def _parse_term(word: str) -> WeightedTerm:
    name, separator, text = word.partition("=")
    if name not in POLICY_PENALTIES:
        raise ConfigError(
            f"--penalty {word}: there is no penalty {name!r}; there are "
            f"{', '.join(POLICY_PENALTIES)}. A function of your own is passed from Python, "
            "penalty={my_function: 0.1}; before a run with one is loaded or resumed, call "
            "spacil.register_penalty(my_function)"
        )
    if not separator:
        return WeightedTerm(name, POLICY_PENALTIES[name].default_weight)
    try:
        weight = float(text)
    except ValueError:
        weight = -1.0
    if not 0 <= weight < float("inf"):
        raise ConfigError(f"--penalty {word}: expected NAME=WEIGHT with a weight of 0 or more")
    return WeightedTerm(name, weight)


def words_of(penalty: object) -> tuple[str, ...]:
    """The terms as a config keeps them, from what Python callers pass.

    A mapping of names (or functions of your own) to weights, or words as on the command line. A
    function becomes a row of the table under its own name, for this process.
    """
    if isinstance(penalty, Mapping):
        return tuple(f"{_name_of(term)}={_number(weight)}" for term, weight in penalty.items())
    if isinstance(penalty, str):
        return tuple(penalty.split())
    if isinstance(penalty, list | tuple):
        return tuple(penalty)
    raise ConfigError(
        f'penalty is {penalty!r}, expected a mapping such as {{"exact": 0.1, "cats": 1}}'
    )


def _number(weight: object) -> str:
    """As a config spells it; numpy's numbers write their type beside their value."""
    is_number = isinstance(weight, numbers.Real) and not isinstance(weight, bool)
    return repr(float(weight)) if is_number else str(weight)  # type: ignore[arg-type]  # is_number


def _name_of(term: object) -> str:
    if isinstance(term, str):
        return term
    if not callable(term):
        raise ConfigError(f"penalty {term!r}: expected a name or a function")
    return register_penalty(term)


def register_penalty(function: Callable[..., Any], name: str | None = None) -> str:
    """Let this process know a penalty of your own; returns the name a config keeps.

    `function(mean_action, states)` returns a number to add to the policy's loss: `states` [B, S]
    are normalised, `mean_action` maps them to mean actions [B, A] with gradients. With a third
    parameter it gets the states one step later in the same episode; with a keyword-only one,
    `weights`, those of the states [B], of mean 1 and all 1 without `penalty_discount`.
    """
    name = str(getattr(function, "__name__", type(function).__name__)) if name is None else name
    if not re.fullmatch(r"[^\s=]+", name):
        raise ConfigError(f"penalty {name!r}: expected a name without spaces and equals signs")
    known = POLICY_PENALTIES.get(name)
    if known is not None and known.build is not function:
        raise ConfigError(
            f"a penalty named {name!r} exists already: give your function another name"
        )
    parameters = inspect.signature(function).parameters
    reads_weights = _is_keyword_only(parameters.get("weights"))
    num_parameters = len(parameters) - reads_weights
    if num_parameters not in (2, 3):
        raise ConfigError(
            f"penalty {name!r} takes {num_parameters} arguments, expected (mean_action, states) "
            "or (mean_action, states, next_states)"
        )
    rows: Literal["all", "with_successor"] = "with_successor" if num_parameters == 3 else "all"
    POLICY_PENALTIES[name] = PenaltyKind(
        1.0, "a function of your own", function, rows, reads_weights=reads_weights
    )
    return name


def _is_keyword_only(parameter: inspect.Parameter | None) -> bool:
    return parameter is not None and parameter.kind is inspect.Parameter.KEYWORD_ONLY
