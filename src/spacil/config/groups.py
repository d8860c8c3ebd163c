"""Every setting of a training run: one place for a default, its help and its check.

Frozen dataclasses, one per concern. A field's docstring is its help on the command line and
names the paper's symbol. Defaults that depend on the task are in `settings.py`. Neither module
imports torch or numpy.
"""

import math
import os
import re
from dataclasses import dataclass, field, fields
from typing import Literal

from spacil import paper
from spacil.errors import ConfigError

Algorithm = Literal["trpo", "gail", "spacil", "bc"]
Preset = Literal["none", "paper-mean", "paper-sum", "fast"]


@dataclass(frozen=True)
class RunConfig:
    """What is trained, for how long, on what."""

    seed: int = 0
    """Root of every random stream of the run."""
    iterations: int = 500
    """Number of policy updates (K)."""
    steps_per_iteration: int = 6_000
    """Env steps per update, over all envs; a multiple of num_envs."""
    num_envs: int = 50
    """Envs stepped side by side. Part of the result: another number is another run."""
    simulation_threads: int = field(default_factory=lambda: _num_cores())
    """Threads that step the simulator. Any number gives the same bits."""
    torch_threads: int = field(default_factory=lambda: _num_cores())
    """Threads of the matrix products. Results repeat bit for bit at one number only."""
    device: str = "cpu"
    """Where updates run: cpu, cuda, or auto (cuda if there is one). Simulation is on the CPU."""
    checkpoint_interval: int = 1
    """Iterations between checkpoints: at most this much is lost when a run is killed."""
    env_timeout: float = 300.0
    """Seconds that one reset or step of an env of your own may take; then the run ends as hung."""

    def __post_init__(self) -> None:
        _require(self.seed >= 0, "seed", self.seed, "0 or more")
        for name in (
            "iterations",
            "steps_per_iteration",
            "num_envs",
            "simulation_threads",
            "torch_threads",
            "checkpoint_interval",
        ):
            _require(getattr(self, name) >= 1, name, getattr(self, name), "1 or more")
        _require(self.env_timeout > 0, "env_timeout", self.env_timeout, "above 0")
        if not re.fullmatch("auto|(cpu|cuda)(:[0-9]{1,3})?", self.device):
            raise ConfigError(f"--device {self.device}: expected cpu, cuda, cuda:N or auto")
        if self.steps_per_iteration % self.num_envs:
            next_multiple = math.ceil(self.steps_per_iteration / self.num_envs) * self.num_envs
            raise ConfigError(
                f"--steps-per-iteration {self.steps_per_iteration} is not a multiple of "
                f"--num-envs {self.num_envs}: try --steps-per-iteration {next_multiple} or "
                f"--num-envs {math.gcd(self.steps_per_iteration, self.num_envs)}"
            )


@dataclass(frozen=True)
class NetsConfig:
    """Network sizes (the paper's, app:exp_setup_hyper_params) and their start."""

    policy_hidden: tuple[int, ...] = (400, 300)
    """Hidden widths of the policy's mean network."""
    value_hidden: tuple[int, ...] = (100, 100)
    """Hidden widths of the value network."""
    discriminator_hidden: tuple[int, ...] = (100, 100)
    """Hidden widths of the discriminator."""
    init: Literal["fan-in", "paper-numel"] = "fan-in"
    """Uniform start with k = 1/sqrt(fan in), or the literal reading 1/sqrt(number of weights)."""
    initial_log_std: float = 0.0
    """Start of the policy's learned log standard deviation (r)."""

    def __post_init__(self) -> None:
        for name in ("policy_hidden", "value_hidden", "discriminator_hidden"):
            widths = getattr(self, name)
            _require(bool(widths) and min(widths) >= 1, name, widths, "one or more positive widths")


@dataclass(frozen=True)
class ReturnsConfig:
    """Generalised advantage estimation."""

    gamma: float = 0.995
    """Discount (gamma)."""
    gae_lambda: float = 0.97
    """Weight of longer advantage estimates (tau in the paper's appendix)."""

    def __post_init__(self) -> None:
        _require(0 < self.gamma <= 1, "gamma", self.gamma, "in (0, 1]")
        _require(0 <= self.gae_lambda <= 1, "gae_lambda", self.gae_lambda, "in [0, 1]")


@dataclass(frozen=True)
class TrustRegionConfig:
    """The TRPO step (eq:TRPO)."""

    max_kl: float = 0.01
    """Bound on the mean KL(old, new) of the accepted step (delta)."""
    cg_steps: int = 10
    """Conjugate gradient steps."""
    cg_damping: float = 0.01
    """Added to the curvature's diagonal inside conjugate gradient."""
    fisher_state_fraction: float = 1.0
    """Share of the states in the Fisher products; KL is always checked on all of them."""
    line_search_tries: int = 15
    """Candidates tried before the step is given up and the old parameters are restored."""
    line_search_shrink: float = 0.9
    """Factor on the step when the penalised objective did not improve."""

    def __post_init__(self) -> None:
        _require(self.max_kl > 0, "max_kl", self.max_kl, "above 0")
        _require(self.cg_steps >= 1, "cg_steps", self.cg_steps, "1 or more")
        _require(self.cg_damping >= 0, "cg_damping", self.cg_damping, "0 or more")
        fraction = self.fisher_state_fraction
        _require(0 < fraction <= 1, "fisher_state_fraction", fraction, "in (0, 1]")
        _require(self.line_search_tries >= 1, "line_search_tries", self.line_search_tries, ">= 1")
        shrink = self.line_search_shrink
        _require(0 < shrink < 1, "line_search_shrink", shrink, "in (0, 1)")


@dataclass(frozen=True)
class ValueConfig:
    """The value network's regression."""

    value_learning_rate: float = 1e-3
    """Adam step size."""
    value_epochs: int = 5
    """Passes over the batch per iteration."""
    value_minibatch: int = 1_000
    """States per Adam step."""

    def __post_init__(self) -> None:
        rate = self.value_learning_rate
        _require(rate > 0, "value_learning_rate", rate, "above 0")
        _require(self.value_epochs >= 0, "value_epochs", self.value_epochs, "0 or more")
        _require(self.value_minibatch >= 1, "value_minibatch", self.value_minibatch, "1 or more")


@dataclass(frozen=True)
class DiscriminatorConfig:
    """The adversary: D -> 1 on the agent, cost c = log D, reward -log D (eq:cost_opti)."""

    discriminator_learning_rate: float = 0.003
    """Adam step size; the paper's is 0.01."""
    discriminator_steps: int = 1
    """Full-batch Adam steps per iteration."""
    discriminator_activation: Literal["relu", "tanh"] = "relu"
    """Non-linearity; the paper's is tanh."""
    discriminator_actions: Literal["executed", "raw"] = "executed"
    """Which actions it compares, on both sides: as executed (clipped to the bounds), or raw."""
    standardize_actions: bool = True
    """Give it actions in units of the demonstrations' standard deviation; the paper does not."""

    def __post_init__(self) -> None:
        rate = self.discriminator_learning_rate
        _require(rate > 0, "discriminator_learning_rate", rate, "above 0")
        steps = self.discriminator_steps
        _require(steps >= 0, "discriminator_steps", steps, "0 or more")


@dataclass(frozen=True)
class BCConfig:
    """Behaviour cloning; an iteration is one pass over the demonstrations."""

    clone_learning_rate: float = 1e-3
    """Adam step size of behaviour cloning."""
    clone_minibatch: int = 128
    """State-action pairs per Adam step of behaviour cloning."""
    holdout_fraction: float = 0.2
    """Share of the demonstrated episodes that cloning does not learn from but is judged on; 0:
    learn from all, and never stop early."""
    clone_patience: int = 20
    """Cloning ends after so many epochs without a lower loss on the held-out episodes."""

    def __post_init__(self) -> None:
        rate = self.clone_learning_rate
        _require(rate > 0, "clone_learning_rate", rate, "above 0")
        _require(self.clone_minibatch >= 1, "clone_minibatch", self.clone_minibatch, "1 or more")
        fraction = self.holdout_fraction
        _require(0 <= fraction < 1, "holdout_fraction", fraction, "in [0, 1)")
        _require(self.clone_patience >= 1, "clone_patience", self.clone_patience, "1 or more")


@dataclass(frozen=True)
class WarmStartConfig:
    """A start from a clone of the demonstrator instead of from an untrained policy."""

    warm_start_epochs: int = 0
    """Epochs of behaviour cloning before the first iteration of gail or spacil; 0: start untrained.
    The policy then keeps the normaliser of the demonstrations, and starts at initial_log_std."""
    warm_start_iterations: int = 5
    """First iterations that leave the clone as it is, while critic and discriminator learn on what
    it does."""

    def __post_init__(self) -> None:
        for name in ("warm_start_epochs", "warm_start_iterations"):
            _require(getattr(self, name) >= 0, name, getattr(self, name), "0 or more")


@dataclass(frozen=True)
class BallConfig:
    """Projected gradient ascent in a small ball around each state (algo:reg_maximization)."""

    ball_radius: float = paper.PENALTY_RADIUS
    """Radius of the ball, in normalised state units (epsilon)."""
    ball_num_steps: int = 10
    """Ascent steps (N of algo:reg_maximization, not given in the paper)."""
    ball_step_size: float = paper.PENALTY_STEP_SIZE
    """Step size of the raw rule (eta_delta, nu)."""
    ball_step_rule: Literal["raw", "normalized", "power"] = "power"
    """raw: step_size * gradient, as printed; normalized: steps of length 2 * radius / num_steps;
    power: jump to the sphere along the gradient."""
    ball_start: Literal["sphere", "ball", "gauss"] = "sphere"
    """Where ascent starts: on the sphere, inside the ball, or 1e-5 Gaussian noise."""

    def __post_init__(self) -> None:
        _require(self.ball_radius > 0, "ball_radius", self.ball_radius, "above 0")
        _require(self.ball_num_steps >= 1, "ball_num_steps", self.ball_num_steps, "1 or more")
        _require(self.ball_step_size > 0, "ball_step_size", self.ball_step_size, "above 0")


@dataclass(frozen=True)
class PolicyPenaltyConfig:
    """The smoothness penalty on the policy (eq:policy_reg)."""

    lambda_policy: float = 0.03
    """Weight of the policy penalty (lambda_1), in the units of policy_penalty_scale."""
    policy_penalty_scale: Literal["lipschitz", "paper-mean", "paper-sum"] = "lipschitz"
    """lipschitz: weight on E[sigma_max^2]; paper-mean: on E[|dmu|^2] as printed, which is
    epsilon^2 smaller; paper-sum: summed over the states of the batch."""
    policy_penalty_estimator: Literal["exact", "pgd", "frobenius", "lcp", "cats", "caps"] = "exact"
    """exact: squared largest singular value of the mean action's Jacobian; pgd: the paper's ascent
    (algo:reg_maximization); frobenius: its squared Frobenius norm; lcp: |grad_s log pi(a | s)|^2 at
    the sampled actions; cats: squared change of the mean action from one step to the next; caps:
    the same, and its squared change under Gaussian noise."""
    penalty_ramp_iterations: int = 0
    """The weight grows linearly from 0 over this many iterations."""
    penalty_state_fraction: float = 0.25
    """Share of the states, drawn anew each iteration, that carry the penalties: an unbiased
    estimate of all of them at that share of the time."""
    penalty_sigma: Literal["fixed", "policy"] = "fixed"
    """Spread of the policies compared (sigma): fixed to 1, as in app:algo_hyper_params, or the
    policy's own, so that a wider policy counts as smoother."""
    penalty_discount: bool = False
    """Weight the states of the policy penalty by gamma^t, t counted from the start of their
    episode, as the text below eq:policy_reg says; weights average 1."""
    caps_noise_std: float = 0.2
    """Standard deviation of the noise of caps, in normalised state units (its sigma)."""
    caps_temporal_weight: float = 0.1
    """Weight of the temporal term of caps (its lambda_T); lambda_policy multiplies it too."""
    caps_spatial_weight: float = 0.5
    """Weight of the noise term of caps (its lambda_S); lambda_policy multiplies it too."""

    def __post_init__(self) -> None:
        _require(self.lambda_policy >= 0, "lambda_policy", self.lambda_policy, "0 or more")
        ramp = self.penalty_ramp_iterations
        _require(ramp >= 0, "penalty_ramp_iterations", ramp, "0 or more")
        fraction = self.penalty_state_fraction
        _require(0 < fraction <= 1, "penalty_state_fraction", fraction, "in (0, 1]")
        _require(self.caps_noise_std > 0, "caps_noise_std", self.caps_noise_std, "above 0")
        for name in ("caps_temporal_weight", "caps_spatial_weight"):
            _require(getattr(self, name) >= 0, name, getattr(self, name), "0 or more")
        _require(
            self.policy_penalty_scale == "lipschitz"
            or self.policy_penalty_estimator in ("exact", "pgd"),
            "policy_penalty_scale",
            self.policy_penalty_scale,
            f"lipschitz with --policy-penalty-estimator {self.policy_penalty_estimator}: "
            "the printed scales belong to the paper's penalty (exact, pgd)",
        )


@dataclass(frozen=True)
class SmoothnessTargetConfig:
    """A wanted smoothness instead of a weight: the paper's constrained problem (eq:main_problem).

    A dual variable then finds the weight of the policy penalty during training, from
    lambda_policy on.
    """

    smoothness_target: float = 0.0
    """J to end at (epsilon' of eq:main_problem), in the common frame: per standard deviation of the
    demonstrations' states. With a reference, a fraction of its J. 0: no target, a fixed weight."""
    smoothness_target_reference: str = "none"
    """none: the target is J itself. demonstrator: a fraction of the J of whoever gave the
    demonstrations, as recorded with them or else as cloned from them. Or a fraction of the J of a
    policy: a run folder (its last policy) or a policy file."""
    smoothness_target_states: int = 500
    """States of each batch on which J is measured, drawn anew each iteration."""

    def __post_init__(self) -> None:
        target = self.smoothness_target
        _require(target >= 0, "smoothness_target", target, "above 0, or 0 for none")
        _require(
            target > 0 or self.smoothness_target_reference == "none",
            "smoothness_target",
            target,
            "above 0 when --smoothness-target-reference is given",
        )
        states = self.smoothness_target_states
        _require(states >= 1, "smoothness_target_states", states, "1 or more")


@dataclass(frozen=True)
class CostPenaltyConfig:
    """The smoothness penalty on the learned cost (eq:cost_reg)."""

    lambda_cost: float = 0.01
    """Weight of the cost penalty (lambda_2), in the units of cost_penalty_scale."""
    cost_penalty_form: Literal["response", "both", "state", "gp", "r1"] = "response"
    """What may change little when the state moves to s~: response: c(s, pi(s~)), as in eq:cost_reg;
    both: c(s~, pi(s~)); state: c(s~, a). Or a gradient penalty on the logits in (s, a): gp: keep
    the gradient's length near 1 (WGAN-GP); r1: keep it small on the demonstrations."""
    cost_penalty_scale: Literal["lipschitz", "paper-mean", "paper-sum"] = "lipschitz"
    """lipschitz: weight on E[max |dc|] / epsilon; paper-mean, paper-sum: as printed."""
    cost_penalty_estimator: Literal["exact", "pgd"] = "exact"
    """exact: gradient norm of the cost along its form, e.g. of c(s0, mu(s)) in s at s0; pgd: the
    paper's ascent. Not read by gp and r1."""
    cost_penalty_mixing: Literal["interpolate", "per_batch", "bernoulli", "none"] = "interpolate"
    """Where the penalty is measured, zeta ~ U[0, 1): between agent and demonstrations at a zeta for
    each pair; at one zeta per batch; at demonstrated states with probability zeta; or on the
    agent's alone. r1 is always measured on the demonstrations."""

    def __post_init__(self) -> None:
        _require(self.lambda_cost >= 0, "lambda_cost", self.lambda_cost, "0 or more")
        _require(
            self.cost_penalty_scale == "lipschitz" or self.cost_penalty_form not in ("gp", "r1"),
            "cost_penalty_scale",
            self.cost_penalty_scale,
            f"lipschitz with --cost-penalty-form {self.cost_penalty_form}: "
            "the printed scales belong to a change inside a ball",
        )


@dataclass(frozen=True)
class EvaluationConfig:
    """Evaluation on a separate env, with mean actions and a frozen normaliser."""

    evaluation_interval: int = 10
    """Iterations between evaluations; the last iteration is always evaluated."""
    evaluation_steps: int = 20_000
    """State-action pairs per evaluation (app:deep_rl_tricks), in whole episodes."""

    def __post_init__(self) -> None:
        interval = self.evaluation_interval
        _require(interval >= 1, "evaluation_interval", interval, "1 or more")
        _require(self.evaluation_steps >= 1, "evaluation_steps", self.evaluation_steps, ">= 1")


@dataclass(frozen=True)
class Settings:
    """The groups of settings a run has, whatever it trains."""

    run: RunConfig = field(default_factory=RunConfig)
    nets: NetsConfig = field(default_factory=NetsConfig)
    returns: ReturnsConfig = field(default_factory=ReturnsConfig)
    trust_region: TrustRegionConfig = field(default_factory=TrustRegionConfig)
    value: ValueConfig = field(default_factory=ValueConfig)
    discriminator: DiscriminatorConfig = field(default_factory=DiscriminatorConfig)
    bc: BCConfig = field(default_factory=BCConfig)
    warm_start: WarmStartConfig = field(default_factory=WarmStartConfig)
    policy_penalty: PolicyPenaltyConfig = field(default_factory=PolicyPenaltyConfig)
    cost_penalty: CostPenaltyConfig = field(default_factory=CostPenaltyConfig)
    ball: BallConfig = field(default_factory=BallConfig)
    target: SmoothnessTargetConfig = field(default_factory=SmoothnessTargetConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def __post_init__(self) -> None:
        # Infinity passes comparisons such as "0 or more", and neither it nor NaN can be saved.
        for group in fields(Settings):
            for name, value in vars(getattr(self, group.name)).items():
                is_number = not isinstance(value, float) or math.isfinite(value)
                _require(is_number, name, value, "a finite number")


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Settings):
    """One run. TRPO learns from the env's reward; GAIL, SPaCIL and BC from demonstrations."""

    algorithm: Algorithm
    task: str

    def __post_init__(self) -> None:
        super().__post_init__()
        epochs = self.warm_start.warm_start_epochs
        _require(
            epochs == 0 or self.algorithm in ("gail", "spacil"),
            "warm_start_epochs",
            epochs,
            f"0 with {self.algorithm}: gail and spacil are what can start from a clone",
        )
        if self.target.smoothness_target == 0:
            return
        target, weight = self.target.smoothness_target, self.policy_penalty.lambda_policy
        _require(
            self.algorithm == "spacil",
            "smoothness_target",
            target,
            f"0 with {self.algorithm}: spacil is what finds a weight for it",
        )
        _require(
            weight > 0,
            "lambda_policy",
            weight,
            "above 0 with --smoothness-target: the search for a weight starts there",
        )


def _require(is_valid: bool, name: str, value: object, expectation: str) -> None:
    if not is_valid:
        raise ConfigError(f"--{name.replace('_', '-')} is {value}, expected {expectation}")


def _num_cores() -> int:
    return min(len(os.sched_getaffinity(0)), 8)
