"""Any policy as one record that can be measured, and the checks third-party ones must pass.

Records are made by `open_policy`. They hold a frozen copy on the CPU, so the policy passed in
keeps its device, its mode and its gradients.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from spacil.demos.common_frame import CommonFrame
from spacil.envs.vector_env import require_dims
from spacil.errors import ConfigError, DataError, SpacilError
from spacil.functional.spectral import BatchFunction
from spacil.runs.inputs import task_to_play
from spacil.smoothness.cost_metric import CostFunction
from spacil.user_code import task_named_in_file

Kind = Literal["spacil", "module", "stable-baselines3", "onnx", "callable"]

_NUM_PROBED = 8


@dataclass(frozen=True)
class OwnFrame:
    """The state as the policy's own network reads it."""

    normalize: BatchFunction
    """raw [B, S] -> normalised [B, S]"""
    mean: BatchFunction
    """normalised [B, S] -> mean action [B, A]"""
    scale: Tensor
    """[S], normalised units per raw unit; zero on masked dims"""
    clip: float
    """normalised states are clipped to this"""


@dataclass(frozen=True)
class PolicySource:
    """A policy as its measurements see it."""

    name: str
    kind: Kind
    mean: BatchFunction
    """raw states [B, S] -> mean action [B, A], unclipped"""
    num_states: int | None = None
    """None if unknown before the first call"""
    num_actions: int | None = None
    has_gradients: bool = True
    """False: derivatives come from finite differences"""
    dtype: torch.dtype = torch.float32
    action_bounds: tuple[Tensor, Tensor] | None = None
    """low and high [A], if the policy knows them"""
    own: OwnFrame | None = None
    """None: the policy reads raw states, so its own frame is the raw one"""
    std: Tensor | None = None
    """[A], standard deviation of its Gaussian, if it has one that does not depend on the state"""
    weights: tuple[Tensor, ...] | None = None
    """of its MLP on the own frame, if it is one that can be certified"""
    cost: CostFunction | None = None
    """what its run's discriminator learned, on states of the own frame"""
    common_frame: CommonFrame | None = None
    """of the run it is from, where that was kept"""
    task: str | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)


def refuse_nonfinite(module: nn.Module, name: str) -> None:
    """A NaN among the weights would make every number of a report a NaN."""
    for key, parameter in module.named_parameters():
        if not bool(torch.isfinite(parameter).all()):
            raise DataError(
                f"{name}: the weights {key!r} are not finite, so there is nothing to measure"
            )


def guarded(function: Callable[[Tensor], object], name: str) -> BatchFunction:
    """The function, with DataErrors for its exceptions and for results that are not actions."""

    def act(states: Tensor) -> Tensor:
        try:
            actions = function(states)
        except SpacilError:
            raise
        except Exception as error:
            raise DataError(
                f"{name}: the policy raised {type(error).__name__}: {error} "
                f"on states of shape {tuple(states.shape)}"
            ) from error
        if not isinstance(actions, Tensor):
            raise DataError(
                f"{name}: the policy returned a {type(actions).__name__}, expected one array of "
                "actions [B, A]: wrap it so that it returns the mean action"
            )
        if actions.ndim != 2 or len(actions) != len(states):
            raise DataError(
                f"{name}: for states of shape {tuple(states.shape)} the policy returned actions "
                f"of shape {tuple(actions.shape)}, expected ({len(states)}, A)"
            )
        is_bad = ~torch.isfinite(actions.detach()).all(-1)
        if bool(is_bad.any()):
            raise DataError(
                f"{name}: the policy's action is not finite for {int(is_bad.sum())} of "
                f"{len(states)} states, first in row {int(is_bad.nonzero()[0])}"
            )
        return actions

    return act


def check_widths(source: PolicySource, num_states: int, num_actions: int | None, what: str) -> None:
    """Refuse states, or an env, whose sizes differ from the policy's."""
    ours = (source.num_states, source.num_actions)
    require_dims(source.name, ours, (num_states, num_actions), what)


def check_is_function(source: PolicySource, states: Tensor) -> int:
    """Refuse a policy that is not a function of one state: random, stateful, or mixing rows.

    Its finite differences and Jacobians would be noise that looks like a number. Returns the
    number of actions.
    """
    probe = states[:_NUM_PROBED]
    with torch.no_grad():
        first, again = source.mean(probe), source.mean(probe)
        alone = torch.cat([source.mean(row) for row in probe.split(1)])
    tolerance = 1e-3 * (1 + first.abs().max())
    if (again - first).abs().max() > tolerance:
        raise DataError(
            f"{source.name}: two calls on the same states gave actions that differ by "
            f"{float((again - first).abs().max()):.3g}: measure the mean action, not a sample"
        )
    if (alone - first).abs().max() > tolerance:
        raise DataError(
            f"{source.name}: the action for a state depends on the other rows of the batch (by "
            f"{float((alone - first).abs().max()):.3g}): each row must be computed on its own"
        )
    return first.shape[1]


def known_task(source: PolicySource, policy: object) -> str | None:
    """The task that a policy says it is for; `policy` is what it was opened from.

    A run of an env object says that its env cannot be made again from a name.
    """
    if source.task is None:
        return None
    if isinstance(policy, str | Path):
        return task_to_play(source.task, policy)
    return task_named_in_file(source.task, source.name)  # what it was loaded from may have named it


def task_of(source: PolicySource, policy: object) -> str:
    """The same, where one is needed."""
    task = known_task(source, policy)
    if task is None:
        raise ConfigError(f"{source.name}: does not say which task it is for: pass --task")
    return task
