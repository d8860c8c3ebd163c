"""Any policy as one record, and the checks that a policy from elsewhere must pass.

Records are made by `open_policy`. They hold a frozen copy on the CPU, so the policy passed in
keeps its device, its mode and its gradients.
"""

import copy
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from spacil.config.settings import ConditionsConfig
from spacil.demos.common_frame import CommonFrame
from spacil.envs.vector_env import EnvSpec, require_dims
from spacil.errors import ConfigError, DataError, SpacilError
from spacil.functional.sensitivity import RELATIVE_STEP, BatchFunction, differentiable
from spacil.nets.policy import CLIP, GaussianPolicy
from spacil.runs.facts import task_to_play
from spacil.smoothness.cost import CostFunction
from spacil.user_code import task_named_in_file

Kind = Literal["spacil", "module", "stable-baselines3", "rsl_rl", "onnx", "callable"]

_NUM_PROBED = 8


class NoFunctionError(DataError):
    """A policy answers one state in several ways."""


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
    """Bound to which normalised states are clipped"""

    @classmethod
    def of(cls, network: GaussianPolicy) -> "OwnFrame":
        scale = network.normalizer.scale
        return cls(network.normalize, network.mean_of_normalized, scale, float(CLIP))


@dataclass(frozen=True)
class Policy:
    """A policy with everything that is known about it."""

    name: str
    kind: Kind
    mean: BatchFunction
    """raw states [B, S] -> mean action [B, A], unclipped"""
    num_states: int | None = None
    """Number of state dims; None if unknown before the first call"""
    num_actions: int | None = None
    has_gradients: bool = True
    """False: derivatives come from finite differences"""
    dtype: torch.dtype = torch.float32
    action_bounds: tuple[Tensor, Tensor] | None = None
    """Low and high [A], if the policy knows them"""
    own: OwnFrame | None = None
    """Its own frame; None: the policy reads raw states"""
    std: Tensor | None = None
    """[A], standard deviation of its Gaussian, if it has one that does not depend on the state"""
    weights: tuple[Tensor, ...] | None = None
    """Weights of its MLP on the own frame, if it is one that can be certified"""
    cost: CostFunction | None = None
    """Cost that the discriminator of its run learned, on states of the own frame"""
    common_frame: CommonFrame | None = None
    """Common frame of the run it is from, where that was kept"""
    conditions: ConditionsConfig = field(default_factory=ConditionsConfig)
    """Delays and noise that it was made for; their history is part of its states"""
    task: str | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    path: str | None = None
    """File or folder that it was opened from; None for a policy in memory"""
    network: GaussianPolicy | None = None
    """Networks of a policy of spacil's own"""

    @property
    def policy(self) -> GaussianPolicy:
        """The networks, which can be saved, exported and trained; other kinds are refused."""
        if self.network is None:
            kind = ConfigError if self.path is None else DataError
            raise kind(
                f"{self.name} ({self.kind}) is no policy of spacil's, which can be rebuilt: spacil "
                "smoothness measures it, and spacil smooth distils it into one"
            )
        return self.network

    @property
    def own_frame(self) -> OwnFrame:
        """The own frame of a policy that came from `with_derivatives`."""
        assert self.own is not None
        return self.own

    @property
    def predict(self) -> Callable[..., Any]:
        """`load_policy(...).predict(observations)`: that of `GaussianPolicy`."""
        return self.policy.predict

    def act(self, states: Tensor) -> Tensor:
        """Mean actions for states of any precision, without a graph."""
        return self.mean(states.to(self.dtype)).detach()

    def require_widths(self, num_states: int, num_actions: int | None, what: str) -> None:
        """Refuse states, or an env, whose sizes differ from the policy's."""
        ours = (self.num_states, self.num_actions)
        require_dims(self.name, ours, (num_states, num_actions), what)

    def require_env(self, spec: EnvSpec) -> None:
        """Refuse an env of other sizes."""
        self.require_widths(spec.num_states, spec.num_actions, spec.task)

    def fitted_to(self, spec: EnvSpec, states: Tensor) -> "Policy":
        """Refuse an env of other sizes, and a policy that is no function of one of its states.

        Returns the policy with its number of actions, which a function shows only now.
        """
        self.require_env(spec)
        num_actions = self.require_function(states).shape[1]
        fitted = replace(self, num_states=spec.num_states, num_actions=num_actions)
        fitted.require_env(spec)
        return fitted

    def require_function(self, states: Tensor, answered: Tensor | None = None) -> Tensor:
        """Refuse a policy that is not a function of one state: random, stateful, or mixing rows.

        Its finite differences and Jacobians would be noise that looks like a number. Returns its
        answers to the first states; `answered` are those of a former call.
        """
        probe = states[:_NUM_PROBED].to(self.dtype)
        with torch.no_grad():
            again, first = self.mean(probe), self.mean(probe) if answered is None else answered
            alone = torch.cat([self.mean(row) for row in probe.split(1)])
        tolerance = 1e-3 * (1 + first.abs().max())
        if (again - first).abs().max() > tolerance:
            raise NoFunctionError(
                f"{self.name}: two calls on the same states gave actions that differ by "
                f"{float((again - first).abs().max()):.3g}: measure the mean action, not a sample"
            )
        if (alone - first).abs().max() > tolerance:
            raise NoFunctionError(
                f"{self.name}: the action for a state depends on the other rows of the batch (by "
                f"{float((alone - first).abs().max()):.3g}): each row must be computed on its own"
            )
        return first

    def with_derivatives(self, feature_std: Tensor) -> "Policy":
        """The policy with an own frame, the raw one if need be, and a mean with gradients there.

        `feature_std` [S] sets the steps of finite differences, where they are needed.
        """
        if self.own is not None:
            return self
        mean = self.mean
        if not self.has_gradients:
            # Along a dim that rests no spread says how far a step is: the largest will do.
            largest = float(feature_std.max()) or 1.0
            spread = feature_std.where(feature_std > 0, largest)
            mean = differentiable(mean, RELATIVE_STEP * spread)
        ones = torch.ones(len(feature_std), dtype=self.dtype)
        return replace(self, own=OwnFrame(lambda states: states, mean, ones, float("inf")))


def own_policy(network: GaussianPolicy, name: str, **known: Any) -> Policy:
    """A record of networks of spacil's own; `known` are fields of `Policy`."""
    network = copy.deepcopy(network).cpu().requires_grad_(False)
    refuse_nonfinite(network, name)
    first, *rest = (weight for weight, _ in network.mean_net.weights_and_biases)
    return Policy(
        name=name,
        kind="spacil",
        mean=guarded(network.mean, name),
        num_states=network.num_states,
        num_actions=network.num_actions,
        dtype=network.log_std.dtype,
        action_bounds=(network.action_low, network.action_high),
        own=OwnFrame.of(network),
        std=network.log_std.exp(),
        weights=(first * network.normalizer.mask, *rest),
        network=network,
        **known,
    )


def known_task(policy: Policy, typed: Collection[str] = ()) -> str | None:
    """The task that a policy says it is for; one that is code has to be among the `typed` names.

    A run of an env object says that its env cannot be made again from a name.
    """
    if not policy.task:
        return None
    if policy.path is not None and policy.task not in typed:
        return task_to_play(policy.task, policy.path)
    return task_named_in_file(policy.task, policy.name, typed)  # an agent's may be from a file


def task_of(policy: Policy, typed: Collection[str] = ()) -> str:
    """The same, where one is needed."""
    task = known_task(policy, typed)
    if task is None:
        raise ConfigError(f"{policy.name}: does not say which task it is for: pass --task")
    return task


def refuse_nonfinite(module: nn.Module, name: str) -> None:
    """Refuse weights that would make every number of a report a NaN."""
    for key, parameter in module.named_parameters():
        if parameter.is_meta or is_lazy(parameter):
            raise DataError(f"{name}: the weights {key!r} are not there yet: load or use it first")
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
