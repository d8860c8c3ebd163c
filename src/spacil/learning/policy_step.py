"""The seam for policy steps; the paper's, a natural gradient inside a KL bound (TRPO); and PPO.

A policy loss maps the candidate's mean actions and log std on the batch to its summands by name;
their sum is the loss. Losses and penalties are records of what they froze, so that an update can
be recorded and replayed.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from spacil.config.settings import PolicyStepConfig
from spacil.config.train_config import TrainConfig
from spacil.engine.device import Recorder, one_torch_thread, read_together
from spacil.engine.mlp_passes import Adam, ParameterJacobian, forward
from spacil.errors import DivergedError
from spacil.functional import policy_gradient
from spacil.functional.policy_gradient import (
    SearchResult,
    Solution,
    conjugate_gradient,
    kl_old_new,
    log_prob,
    search,
)
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams
from spacil.smoothness.policy_penalty import Penalty
from spacil.smoothness.policy_terms import DrawnTerms, build_terms, random_subset

MAX_SENSITIVITY_BYTES = 512 * 2**20
"""Above this the Fisher products walk through the layers instead."""

PolicyLoss = Callable[[Tensor, Tensor], dict[str, Tensor]]
"""mean [B, A], log_std [A] -> summands, all minimised"""
DrawPenalties = Callable[[], DrawnTerms]
"""The policy penalties of this iteration, on rows drawn anew with each call"""


@dataclass(frozen=True)
class PolicyBatch:
    """What a policy step learns from, on the device."""

    states: Tensor
    """[B, S] normalised"""
    actions: Tensor
    """[B, A] raw"""
    advantages: Tensor
    """[B] standardised"""


@dataclass(frozen=True)
class StepReport:
    """What a step did; logged as it is. By default that of a policy that was left as it is."""

    kl: float = 0.0
    """Mean KL(old, new) over all states of the batch, at the parameters kept"""
    summands: dict[str, float] = field(default_factory=dict)
    """The loss by name, before the step or over its first epoch"""

    @property
    def refusal(self) -> str:
        """Why the policy did not move; empty when it did."""
        return ""


class PolicyStep(ABC):
    """Moves a policy on a batch."""

    optimizer: Adam | None = None
    """Memory that a checkpoint must keep; None without one."""
    report: type[StepReport]
    """Without values that of an iteration that leaves the policy as it is"""

    def __init__(self, policy: GaussianPolicy, config: TrainConfig) -> None:
        self.policy, self.config = policy, config

    @abstractmethod
    def take(
        self,
        batch: PolicyBatch,
        draw_penalties: DrawPenalties,
        streams: Streams,
        recorder: Recorder,
    ) -> StepReport:
        """Move the policy, or leave it bit for bit."""


@dataclass(frozen=True)
class SurrogateLoss:
    """-E[pi(a | s) / pi_old(a | s) * A], the first term of eq:final_policy_opti."""

    actions: Tensor
    """[B, A]"""
    advantages: Tensor
    """[B]"""
    old_log_probs: Tensor
    """[B]"""
    clip: float | None = None
    """PPO: the ratio counts within 1 +- this, where that lowers what is gained"""

    def __call__(self, mean: Tensor, log_std: Tensor) -> dict[str, Tensor]:
        ratio = (log_prob(self.actions, mean, log_std) - self.old_log_probs).exp()
        gained = ratio * self.advantages
        if self.clip is not None:
            clipped = ratio.clamp(1 - self.clip, 1 + self.clip) * self.advantages
            gained = torch.minimum(gained, clipped)
        return {"surrogate": -gained.mean()}


@dataclass(frozen=True)
class PenalizedLoss:
    """loss + sum of weight * R^pi (eq:final_policy_opti)"""

    loss: PolicyLoss
    penalties: Mapping[str, Penalty]
    weights: Sequence[float | Tensor]

    def __call__(self, mean: Tensor, log_std: Tensor) -> dict[str, Tensor]:
        summands = self.loss(mean, log_std)
        for (name, penalty), weight in zip(self.penalties.items(), self.weights, strict=True):
            summands[f"penalty_{name}"] = weight * penalty()
        return summands


def total(summands: Mapping[str, Tensor]) -> Tensor:
    """The loss: the sum of its summands."""
    return torch.stack(list(summands.values())).sum()


# --- the trust region


@dataclass(frozen=True)
class TrustRegionReport(StepReport):
    improvement: float = 0.0
    """Decrease of the penalised loss"""
    step_fraction: float = 0.0
    """Accepted share of the natural-gradient step; 0 when the old parameters were restored"""
    line_search_tries: int = 0
    line_search_reason: str = "only critic and discriminator train: warm start"
    is_accepted: bool = True
    cg_steps: int = 0
    cg_residual: float = 0.0
    has_positive_curvature: bool = True

    @property
    def refusal(self) -> str:
        return "" if self.is_accepted else self.line_search_reason


class OldPolicy:
    """The policy before its step, evaluated on the batch once.

    Probability ratios, KL, gradient and curvature are all measured from here.
    """

    def __init__(
        self,
        policy: GaussianPolicy,
        normalized_states: Tensor,
        config: PolicyStepConfig,
        fisher_rows: Tensor | None = None,
    ) -> None:
        """`fisher_rows`: which of the states the curvature is measured on; None, all of them."""
        layers = policy.mean_net.weights_and_biases
        self.inputs = normalized_states * policy.normalizer.mask
        """[B, S], as the mean network reads them"""
        self.log_std = policy.log_std.detach().clone()
        rows = self.inputs if fisher_rows is None else self.inputs[fisher_rows]
        # Sensitivities cost a pass per action, save two in each conjugate gradient step, and take
        # long to read. With 10 steps: 3 actions 0.75 of the time without them, 6 1.0, 8 1.2.
        num_floats = len(rows) * policy.num_actions * sum(policy.hidden[:-1])
        num_bytes = num_floats * policy.log_std.element_size()
        is_cached = 2 * policy.num_actions <= config.cg_steps and num_bytes <= MAX_SENSITIVITY_BYTES
        self.curvature = ParameterJacobian(layers, rows, keeps_sensitivities=is_cached)
        self.jacobian = (
            self.curvature
            if rows is self.inputs
            else ParameterJacobian(layers, self.inputs, keeps_sensitivities=False)
        )
        self.mean = self.jacobian.outputs
        """[B, A]"""

    def fisher_product(self, vector: Tensor) -> Tensor:
        """F v, the Gauss-Newton curvature of KL(old, new) at the old parameters.

        For a Gaussian with a shared log std, F = J^T diag(1 / (B std^2)) J on the mean network
        and 2 on each log std.
        """
        num_actions = self.log_std.numel()
        precision = (-2 * self.log_std).exp() / len(self.curvature.outputs)
        on_network = self.curvature.gauss_newton(vector[:-num_actions], precision)
        return torch.cat([on_network, 2 * vector[-num_actions:]])


@dataclass(frozen=True)
class Direction:
    """Where the policy stands and where to move it, all on the device: nothing is waited for."""

    old: OldPolicy
    loss: PolicyLoss
    summands: dict[str, Tensor]
    """The loss at the old parameters, by name"""
    gradient: Tensor
    solution: Solution
    squared_length: Tensor
    """Of the solution in the metric of the KL, a number"""
    theta: Tensor
    """The old parameters, flat"""
    full_step: Tensor
    """Onto the KL bound, by the quadratic model; not finite without a positive length"""


def find_direction(
    policy: GaussianPolicy, loss: PolicyLoss, old: OldPolicy, config: PolicyStepConfig
) -> Direction:
    """The natural gradient: that of the penalised loss, in the metric of the KL alone."""
    # What the loss reads of the batch's mean actions is pulled back over the cached activations;
    # what it reads of the parameters otherwise (a penalty) has a graph of its own.
    parameters = policy.update_parameters()
    mean = old.mean.detach().requires_grad_()
    summands = loss(mean, policy.log_std)
    d_mean, *direct = torch.autograd.grad(
        total(summands), [mean, *parameters], materialize_grads=True
    )
    g = policy_gradient.flatten(direct)
    g[: -policy.num_actions] += old.jacobian.pull_back(d_mean)

    # The products bring their own threads; what is between them is small.
    with one_torch_thread():
        solution = conjugate_gradient(
            lambda v: old.fisher_product(v).add_(v, alpha=config.cg_damping), -g, config.cg_steps
        )
    # x^T A x from the residual the solver tracks: A x = b - r.
    squared_length = solution.x.dot(-g - solution.residual_vector)
    theta = policy_gradient.flatten(parameters).detach()
    full_step = solution.x * (2 * config.max_kl / squared_length.double()).sqrt()
    named = {name: value.detach() for name, value in summands.items()}
    return Direction(old, loss, named, g, solution, squared_length, theta, full_step)


def follow(
    policy: GaussianPolicy, direction: Direction, config: PolicyStepConfig, recorder: Recorder
) -> TrustRegionReport:
    """Go as far along the direction as the bound and the penalised loss allow."""
    # One wait for the device; a loss or gradient that is not finite is refused.
    g, solution = direction.gradient, direction.solution
    num_bad, loss, length, steps, residual, is_positive, *values = read_together(
        (~torch.isfinite(g)).sum(),
        total(direction.summands),
        direction.squared_length,
        solution.num_steps,
        solution.residual,
        solution.is_positive,
        *direction.summands.values(),
    )
    if num_bad or not math.isfinite(loss):
        raise DivergedError(
            f"policy step: loss is {loss}, {int(num_bad)} of {g.numel()} gradient entries "
            "are not finite; the parameters were left as they were"
        )
    result = SearchResult(False, 0.0, 0.0, loss, 0, "no direction")
    if length > 0:
        mean = direction.old.mean

        def move(fraction: float) -> float:
            nonlocal mean
            along = torch.full((), fraction, device=direction.theta.device)
            mean, kl = recorder("candidate", _move_to, (policy, direction), along)
            return float(kl)

        def loss_here() -> float:
            return float(recorder("candidate loss", _loss_at, (policy, direction, mean)))

        tries, shrink = config.line_search_tries, config.line_search_shrink
        result = search(move, loss_here, loss, config.max_kl, tries, shrink)
        if not result.is_accepted:
            policy_gradient.assign(policy.update_parameters(), direction.theta)
    return TrustRegionReport(
        kl=result.kl,
        improvement=loss - result.loss,
        step_fraction=result.fraction,
        line_search_tries=result.num_tries,
        line_search_reason=result.reason,
        is_accepted=result.is_accepted,
        cg_steps=int(steps),
        cg_residual=residual,
        has_positive_curvature=bool(is_positive),
        summands=dict(zip(direction.summands, values, strict=True)),
    )


@torch.no_grad()
def _move_to(
    policy: GaussianPolicy, direction: Direction, fraction: Tensor
) -> tuple[Tensor, Tensor]:
    """Move the policy so far along the step: its mean actions [B, A] and mean KL(old, new)."""
    old = direction.old
    theta = torch.addcmul(direction.theta, direction.full_step, fraction)
    policy_gradient.assign(policy.update_parameters(), theta)
    mean = forward(policy.mean_net.weights_and_biases, old.inputs)
    return mean, kl_old_new(old.mean, old.log_std, mean, policy.log_std).mean()


@torch.no_grad()
def _loss_at(policy: GaussianPolicy, direction: Direction, mean: Tensor) -> Tensor:
    return total(direction.loss(mean, policy.log_std))


class TrustRegionStep(PolicyStep):
    """The paper's policy step: lower the penalised loss within KL(old, new) <= max_kl."""

    report = TrustRegionReport

    def take(
        self,
        batch: PolicyBatch,
        draw_penalties: DrawPenalties,
        streams: Streams,
        recorder: Recorder,
    ) -> TrustRegionReport:
        region, device = self.config.policy_step, batch.states.device
        rows = random_subset(len(batch.states), region.fisher_state_fraction, streams.subset)
        fisher_rows = None if rows is None else rows.to(device)
        lasting = (self.policy, self.config, batch)
        drawn = draw_penalties().on(device)
        direction = recorder("direction", _direction, lasting, fisher_rows, drawn)
        return follow(self.policy, direction, region, recorder)


def _direction(
    policy: GaussianPolicy,
    config: TrainConfig,
    batch: PolicyBatch,
    fisher_rows: Tensor | None,
    drawn: DrawnTerms,
) -> Direction:
    """The natural gradient of the surrogate with the penalties composed onto it."""
    old = OldPolicy(policy, batch.states, config.policy_step, fisher_rows)
    old_log_probs = log_prob(batch.actions, old.mean, old.log_std)
    surrogate = SurrogateLoss(batch.actions, batch.advantages, old_log_probs)
    loss = PenalizedLoss(surrogate, build_terms(policy, drawn, config), drawn.weights)
    return find_direction(policy, loss, old, config.policy_step)


# --- PPO: epochs of Adam on the clipped surrogate (Schulman et al. 2017), penalties included.
# Each minibatch carries its part of the penalty's rows, with the worst directions found anew at the
# parameters of that moment: a stochastic gradient of the same penalised loss that TRPO minimises.


@dataclass(frozen=True)
class PPOReport(StepReport):
    ppo_epochs_done: int = 0
    """Fewer than asked for when the KL passed its target"""
    clipped_fraction: float = 0.0
    """Of the states, whose probability ratio ended outside the clip range"""


class ClippedStep(PolicyStep):
    """A few epochs of Adam on shuffled minibatches, until the KL passes its target."""

    report = PPOReport

    def __init__(self, policy: GaussianPolicy, config: TrainConfig) -> None:
        super().__init__(policy, config)
        self.optimizer = Adam(policy, config.policy_step.ppo_learning_rate)

    def take(
        self,
        batch: PolicyBatch,
        draw_penalties: DrawPenalties,
        streams: Streams,
        recorder: Recorder,
    ) -> PPOReport:
        settings, device = self.config.policy_step, batch.states.device
        old = recorder("old policy", _evaluate, (self.policy, batch))
        lasting = (self.policy, self.optimizer, self.config, batch, old)
        summands: dict[str, float] = {}
        kl = clipped = 0.0
        num_epochs = 0
        while num_epochs < settings.ppo_epochs and kl <= settings.ppo_target_kl:
            (order,) = shuffled_orders(len(batch.states), 1, streams.minibatch)
            drawn, rows = draw_penalties().on(device), []
            for each in drawn.rows:  # in a random order, so that every part is like the whole
                chosen = torch.randperm(len(each.states), generator=streams.subset)
                rows.append(each.pick(chosen.to(device)))
            drawn = replace(drawn, rows=tuple(rows))
            *found, losses = recorder("epoch", _run_epoch, lasting, order.to(device), drawn)
            kl, clipped, is_finite, *values = read_together(*found, *losses.values())
            summands = summands or dict(zip(losses, values, strict=True))
            num_epochs += 1
            if not is_finite or not math.isfinite(kl):
                raise DivergedError(
                    f"policy step: not finite in epoch {num_epochs} (KL {kl}, losses {summands}); "
                    "a smaller --ppo-learning-rate may help"
                )
        return PPOReport(kl, summands, num_epochs, clipped)


@torch.no_grad()
def _evaluate(policy: GaussianPolicy, batch: PolicyBatch) -> tuple[Tensor, Tensor, Tensor]:
    """Mean actions, log std and log likelihoods before the step, on the whole batch."""
    mean, log_std = policy.mean_of_normalized(batch.states), policy.log_std.detach().clone()
    return mean, log_std, log_prob(batch.actions, mean, log_std)


def _run_epoch(
    policy: GaussianPolicy,
    optimizer: Adam,
    config: TrainConfig,
    batch: PolicyBatch,
    old: tuple[Tensor, Tensor, Tensor],
    order: Tensor,
    drawn: DrawnTerms,
) -> tuple[Tensor, Tensor, Tensor, dict[str, Tensor]]:
    """One pass over the batch in a given order: KL, clipped fraction, whether finite, losses."""
    settings, (old_mean, old_log_std, old_log_probs) = config.policy_step, old
    minibatches = order.split(settings.ppo_minibatch)
    sums: dict[str, Tensor] = {}
    for i, rows in enumerate(minibatches):
        parts = []
        for each in drawn.rows:  # every so manieth row of each term, from row i on
            size = len(each.states)
            every = torch.arange(i % max(size, 1), size, len(minibatches), device=rows.device)
            parts.append(replace(each.pick(every), num_meant=each.num_meant or size))
        part = replace(drawn, rows=tuple(parts))
        surrogate = SurrogateLoss(
            batch.actions[rows], batch.advantages[rows], old_log_probs[rows], settings.ppo_clip
        )
        loss = PenalizedLoss(surrogate, build_terms(policy, part, config), part.weights)
        summands = loss(policy.mean_of_normalized(batch.states[rows]), policy.log_std)
        optimizer.zero_grad()
        total(summands).backward()
        optimizer.step()
        for name, value in summands.items():
            sums[name] = sums.get(name, 0) + value.detach() / len(minibatches)
    with torch.no_grad():
        mean = policy.mean_of_normalized(batch.states)
        kl = kl_old_new(old_mean, old_log_std, mean, policy.log_std).mean()
        ratio = (log_prob(batch.actions, mean, policy.log_std) - old_log_probs).exp()
        is_clipped = (ratio - 1).abs() > settings.ppo_clip
        is_finite = optimizer.vector.isfinite().all()
        return kl, is_clipped.float().mean(), is_finite, sums


def shuffled_orders(size: int, count: int, generator: torch.Generator) -> Tensor:
    """Random orders of `size` rows, [count, size]."""
    orders = torch.empty(count, size, dtype=torch.int64)
    for order in orders:
        torch.randperm(size, generator=generator, out=order)
    return orders
