"""A hook on any torch optimizer's step that adds the gradient of a smoothness penalty.

    attached = spacil.attach_penalty(optimizer, policy.mean, lambda: batch.states, weight=0.01)
    attached = spacil.attach_penalty(optimizer, policy.mean, lambda: batch.states, target=1.0)

Just before each step the gradient of weight * E[sigma_max(d mu / d s)^2] is added to what the
optimizer is about to use, or that of another penalty of the table (`config/penalty_terms.py`). The
training loop stays as it is; clipping and scaling of its own loss have happened by then, and do not
touch the penalty. With a target the weight is found meanwhile, by the controller of the smoothness
target in training (`learning/weight_search.py`).
"""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from spacil.config.checks import number, whole_number
from spacil.config.penalty_terms import WeightedTerm, parse_term
from spacil.errors import ConfigError, DivergedError
from spacil.functional.sensitivity import (
    BatchFunction,
    batch_jacobian,
    top_left_vector,
    top_singular,
)
from spacil.learning.weight_search import LAWS, TargetSearch, Verdict
from spacil.smoothness.policy_penalty import squared_slopes
from spacil.smoothness.policy_terms import PenaltyRows, resolved

DEFAULT_STATES = 256
"""States per step that carry the penalty: a Jacobian costs many times a forward pass."""
FIRST_WEIGHT = 0.01
"""Where the search for a target's weight begins, unless told."""
STEPS_PER_MOVE = 50
"""Optimizer steps over which J is averaged before the weight moves. The controller's gains are made
for one move per policy update, and the answer of J to a weight takes some ten of these."""

States = Tensor | Callable[[], Tensor | PenaltyRows | None]


class AttachedPenalty:
    """The penalty as it is attached; `remove()` takes it off again."""

    def __init__(
        self,
        optimizer: Optimizer,
        mean_action: BatchFunction,
        states: States,
        weight: float,
        search: TargetSearch | None = None,
        term: WeightedTerm | None = None,
        seed: int = 0,
    ) -> None:
        self.weight = weight
        """May be changed at any time; 0 computes nothing. With a target the controller moves it"""
        self.value: float | None = None
        """The penalty at the last step, E[sigma_max^2] if exact; None before the first"""
        self.term = term or parse_term("exact")
        self._seed, self._generator = seed, torch.Generator()
        self._mean_action, self._states, self._search = mean_action, states, search
        self._recent_j: deque[float] = deque(maxlen=STEPS_PER_MOVE)
        self._num_steps = 0
        self._handle = optimizer.register_step_pre_hook(self._add_gradient)

    def __repr__(self) -> str:
        j = "not measured yet" if self.j is None else f"{self.j:.3g}"
        told = "" if self.verdict is None else f", target {self.verdict.words}"
        return f"AttachedPenalty(weight {self.weight:.3g}, J {j}{told})"

    def remove(self) -> None:
        self._handle.remove()

    @property
    def j(self) -> float | None:
        """E[sigma_max], mean of the last 50 steps or fewer; None before the first.

        Measured where it costs nothing, for the exact penalty, and where a target needs it.
        """
        return float(np.mean(self._recent_j)) if self._recent_j else None

    @property
    def verdict(self) -> Verdict | None:
        """What has become of the target so far; None without one, or before the first step."""
        if self._search is None or self.j is None:
            return None
        return self._search.verdict(self.j, LAWS["J"])

    def _add_gradient(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        # torch passes the optimizer itself as the first argument; the other can be a closure.
        if any(argument is not None for argument in (*args[1:], *kwargs.values())):
            raise ConfigError(
                f"{type(optimizer).__name__}.step was called with a closure, which computes the "
                "gradient anew and would lose the penalty's: call backward() and then step()"
            )
        if self.weight == 0:
            return
        found = self._states() if callable(self._states) else self._states
        rows = PenaltyRows(found) if isinstance(found, Tensor) else found
        if rows is None or len(rows.states) == 0:
            return
        if not isinstance(rows, PenaltyRows) or rows.states.ndim != 2:
            shape = tuple(getattr(getattr(rows, "states", rows), "shape", ()))
            raise ConfigError(f"states have shape {shape}, expected a tensor [B, S]")
        groups = (group["params"] for group in optimizer.param_groups)
        parameters = [p for group in groups for p in group if p.requires_grad]
        with torch.enable_grad():
            value, j = self._penalty(rows)
            slopes: tuple[Tensor | None, ...] = (None,)
            if value.requires_grad:
                slopes = torch.autograd.grad(self.weight * value, parameters, allow_unused=True)
        if all(slope is None for slope in slopes):
            raise ConfigError("mean_action does not depend on any parameter of the optimizer")
        # The newest values, and with a target a move of the weight now and then.
        self.value, newest_j = torch.stack([value.detach(), j]).tolist()
        if not np.isfinite(self.value):
            raise DivergedError(
                f"the smoothness penalty is {self.value}: a smaller weight may help"
            )
        if np.isfinite(newest_j):
            self._recent_j.append(newest_j)
        self._num_steps += 1
        if self._search is not None and self._num_steps % STEPS_PER_MOVE == 0:
            self._search = self._search.after_batch(float(np.mean(self._recent_j)), LAWS["J"])
            self.weight = self._search.applied(LAWS["J"])
        for parameter, slope in zip(parameters, slopes, strict=True):
            if slope is not None:
                parameter.grad = slope if parameter.grad is None else parameter.grad + slope

    def _penalty(self, rows: PenaltyRows) -> tuple[Tensor, Tensor]:
        """The penalty with a graph, and J; NaN where that is not measured."""
        states, mean = rows.states.detach(), self._mean_action
        if self.term.name == "exact":  # sigma_max^2 at each state [B] is both
            worst = top_left_vector(batch_jacobian(mean, states))
            (squared,) = squared_slopes(mean, states, worst.unsqueeze(0))
            return squared.mean(), squared.detach().sqrt().mean()
        inputs = [states]
        for asked in self.term.kind.asks:
            if asked == "successors":
                if rows.successors is None:
                    raise ConfigError(
                        f"penalty {self.term.name} reads the states one step later, which are not "
                        "known here: expected PenaltyRows(states, successors=...)"
                    )
                inputs.append(rows.successors.detach())
            elif asked == "noise":
                spread = self.term.arguments.get("noise", 1.0)
                inputs.append(spread * self._draw(states))
            else:  # actions, as sampled with a spread of 1
                with torch.no_grad():
                    centre = mean(states)
                inputs.append(centre + self._draw(centre))
        j = states.new_full((), torch.nan)
        if self._search is not None:
            with torch.no_grad():
                j = top_singular(batch_jacobian(mean, states)).mean()
        return resolved(self.term, mean, *inputs)(), j

    def _draw(self, like: Tensor) -> Tensor:
        """Standard normal numbers from a generator of the penalty's own."""
        if self._generator.device != like.device or not self._num_steps:
            self._generator = torch.Generator(like.device).manual_seed(self._seed)
        return torch.randn(
            like.shape, generator=self._generator, device=like.device, dtype=like.dtype
        )


def attach_penalty(
    optimizer: Optimizer,
    mean_action: BatchFunction,
    states: States,
    *,
    weight: float | None = None,
    target: float | None = None,
    penalty: str | None = None,
    seed: int = 0,
) -> AttachedPenalty:
    """Add a penalty's gradient before every `optimizer.step()`.

    `mean_action`: states [B, S] -> mean actions [B, A], by parameters that the optimizer moves.
    `states`: [B, S] as the network reads them, or a function that returns those of this step;
    None or no rows: this step goes without a penalty. Slopes count per unit of these states.
    `penalty`: `exact` (E[sigma_max^2]) by default, `linear`, `frobenius`, `lcp`; and `cats`,
    `caps`, `l2c2`, for which `states` returns `PenaltyRows` with successors. Arguments follow a
    colon, as in `l2c2:twin=noisy`.
    `weight`: on the penalty; by default that of a penalty's own paper, where it is named. For
    `exact` 0.01 is a start where actions and states are of size 1.
    `target`: the J = E[sigma_max] that is wanted at most, on these states. The weight is then found
    as training goes on, from `weight` if that is given too; `verdict` says whether J got there.
    `seed`: of what a penalty draws.
    """
    if weight is None and target is None and penalty is None:
        raise ConfigError("neither weight nor target is given, expected one of them")
    term, search = parse_term(penalty or "exact"), None
    if term.name == "pgd" or not isinstance(term.kind.build, str):
        raise ConfigError(
            f"penalty {term.name} cannot be attached: use exact, or add it to the loss"
        )
    own = term.weight if penalty and target is None else FIRST_WEIGHT
    first = own if weight is None else weight
    first = number("weight", first, "a finite number of 0 or more", lambda value: value >= 0)
    if target is not None:
        target = number("target", target, "a finite number above 0", lambda value: value > 0)
        if first == 0:
            raise ConfigError("weight is 0, expected more: a target's search begins somewhere")
        search = TargetSearch.starting(target, first)
    return AttachedPenalty(optimizer, mean_action, states, first, search, term, seed)


def row_choice(num_states: int, seed: int) -> Callable[[int], Any]:
    """Choose indices of so many of `size` rows, by draws of their own: the run's draws stay."""
    num_states = whole_number("num_states", num_states)
    generator = np.random.default_rng(whole_number("seed", seed, 0))
    return lambda size: generator.integers(size, size=min(num_states, size))
