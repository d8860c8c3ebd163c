"""Settings of what learns: policy step, value network, adversary, cloning."""

from dataclasses import dataclass
from typing import Literal

from spacil.config.checks import require, require_ranges, require_widths

ActionKind = Literal["executed", "raw"]
_EXECUTED: ActionKind = "executed"
_INPUTS: tuple[str, ...] = ("states", "actions")


@dataclass(frozen=True)
class ReturnsConfig:
    """Generalised advantage estimation."""

    gamma: float = 0.995
    """Discount (gamma)."""
    gae_lambda: float = 0.97
    """Weight of longer advantage estimates (tau in the paper's appendix)."""

    def __post_init__(self) -> None:
        require_ranges(self, {"in (0, 1]": "gamma", "in [0, 1]": "gae_lambda"})


@dataclass(frozen=True)
class PolicyStepConfig:
    """The step that moves the policy; the smoothness penalties compose with either."""

    policy_step: Literal["trpo", "ppo"] = "trpo"
    """The paper's trpo, one natural-gradient step inside a KL bound; or ppo, epochs of Adam on the
    clipped surrogate (Schulman et al. 2017)."""


@dataclass(frozen=True)
class TrustRegionConfig:
    """The TRPO step (eq:TRPO)."""

    max_kl: float = 0.01
    """Bound on the mean KL(old, new) of the accepted step (delta)."""
    cg_steps: int = 10
    """Conjugate gradient steps."""
    cg_damping: float = 0.01
    """Number added to the curvature's diagonal inside conjugate gradient."""
    fisher_state_fraction: float = 1.0
    """Fraction of the states in the Fisher products; KL is always checked on all of them."""
    line_search_tries: int = 15
    """Candidates tried before the step is given up and the old parameters are restored."""
    line_search_shrink: float = 0.9
    """Factor on the step when the penalised objective did not improve."""

    def __post_init__(self) -> None:
        require_ranges(
            self,
            {
                "above 0": "max_kl",
                "1 or more": "cg_steps line_search_tries",
                "0 or more": "cg_damping",
                "in (0, 1]": "fisher_state_fraction",
                "in (0, 1)": "line_search_shrink",
            },
        )


@dataclass(frozen=True)
class PPOConfig:
    """The PPO step, taken with --policy-step ppo."""

    ppo_clip: float = 0.2
    """Bound on how far the probability ratio counts away from 1."""
    ppo_epochs: int = 10
    """Passes over the batch per iteration, at most."""
    ppo_minibatch: int = 1_000
    """States per Adam step."""
    ppo_learning_rate: float = 3e-4
    """Adam step size of the policy."""
    ppo_target_kl: float = 0.02
    """Mean KL(old, new) above which no further epoch begins."""

    def __post_init__(self) -> None:
        require_ranges(
            self,
            {
                "in (0, 1)": "ppo_clip",
                "1 or more": "ppo_epochs ppo_minibatch",
                "above 0": "ppo_learning_rate ppo_target_kl",
            },
        )


@dataclass(frozen=True)
class ValueConfig:
    """The value network and its regression."""

    value_hidden: tuple[int, ...] = (100, 100)
    """Hidden widths of the value network."""
    value_learning_rate: float = 1e-3
    """Adam step size of the value network."""
    value_epochs: int = 5
    """Passes of the value network over the batch per iteration."""
    value_minibatch: int = 1_000
    """States per Adam step of the value network."""
    value_targets: Literal["raw", "standardized"] = "raw"
    """standardized: the network predicts returns in units of their running mean and spread, which
    a critic that starts near 0 would need tens of iterations to grow to (PopArt)."""

    def __post_init__(self) -> None:
        require_widths("value_hidden", self.value_hidden)
        require_ranges(
            self,
            {
                "above 0": "value_learning_rate",
                "0 or more": "value_epochs",
                "1 or more": "value_minibatch",
            },
        )


DISCRIMINATOR_INPUTS = {"states", "actions", "next_states"}


@dataclass(frozen=True)
class DiscriminatorConfig:
    """The adversary: D -> 1 on the agent, cost c = log D, reward -log D (eq:cost_opti)."""

    imitation_reward: Literal["positive", "negative", "logit"] = "positive"
    """What the policy is paid, with D high on the agent: positive: -log D, the paper's, which pays
    for staying alive; negative: log(1 - D), which charges for it; logit: log(1 - D) - log D, the
    form of AIRL."""
    discriminator_learning_rate: float = 0.003
    """Adam step size of the discriminator; the paper's is 0.01."""
    discriminator_steps: int = 1
    """Full-batch Adam steps per iteration."""
    discriminator_hidden: tuple[int, ...] = (100, 100)
    """Hidden widths of the discriminator."""
    discriminator_activation: Literal["relu", "tanh"] = "relu"
    """Non-linearity of the discriminator; the paper's is tanh."""
    standardize_actions: bool = True
    """Give it actions in units of the demonstrations' standard deviation; the paper does not."""
    discriminator_actions = _EXECUTED
    discriminator_inputs = _INPUTS

    def __post_init__(self) -> None:
        require_widths("discriminator_hidden", self.discriminator_hidden)
        require_ranges(
            self, {"above 0": "discriminator_learning_rate", "0 or more": "discriminator_steps"}
        )


@dataclass(frozen=True)
class GAILDiscriminatorConfig(DiscriminatorConfig):
    __doc__ = DiscriminatorConfig.__doc__

    discriminator_actions: ActionKind = "executed"
    """Which actions it compares, on both sides: as executed (clipped to the bounds), or raw."""
    discriminator_inputs: tuple[str, ...] = _INPUTS
    """What it reads of states, actions and next_states: `states next_states` or `states` for a
    demonstrator whose actions mean something else than ours."""

    def __post_init__(self) -> None:
        super().__post_init__()
        inputs = self.discriminator_inputs
        require(
            len(inputs) == len(set(inputs)) > 0 and set(inputs) <= DISCRIMINATOR_INPUTS,
            "discriminator_inputs",
            " ".join(inputs),
            "one or more of states, actions, next_states, each once",
        )


@dataclass(frozen=True)
class AIRLRewardConfig:
    """The structure of AIRL's discriminator (Fu et al. 2018)."""

    airl_reward: Literal["state-action", "state"] = "state-action"
    """What the learned reward g reads. state: the form whose reward transfers to other dynamics.
    The shaping term h(s) reads states alone in either form."""


@dataclass(frozen=True)
class CloningConfig:
    """Behaviour cloning; an iteration is one pass over the demonstrations."""

    clone_learning_rate: float = 1e-3
    """Adam step size of behaviour cloning."""
    clone_minibatch: int = 128
    """State-action pairs per Adam step of behaviour cloning."""
    holdout_fraction: float = 0.2
    """Fraction of the demonstrated episodes that cloning is tested on instead of learning from
    them; 0: learn from all, and never stop early."""
    clone_patience: int = 20
    """Epochs without a lower loss on the held-out episodes after which cloning ends."""

    def __post_init__(self) -> None:
        require_ranges(
            self,
            {
                "above 0": "clone_learning_rate",
                "1 or more": "clone_minibatch clone_patience",
                "in [0, 1)": "holdout_fraction",
            },
        )


@dataclass(frozen=True)
class WarmStartConfig:
    """A start from a clone of the demonstrator instead of from an untrained policy."""

    warm_start_steps: int = 0
    """Adam steps of behaviour cloning before the first iteration; 0: start untrained, or go by
    warm_start_epochs. The policy then keeps the normaliser of the demonstrations, and starts at
    initial_log_std."""
    warm_start_epochs: int = 0
    """The same counted in epochs, of which few demonstrations need many; 0: go by
    warm_start_steps."""
    warm_start_iterations: int = 5
    """First iterations in which only critic and discriminator train, on what the clone does."""

    def __post_init__(self) -> None:
        names = "warm_start_epochs warm_start_steps warm_start_iterations"
        require_ranges(self, {"0 or more": names})

    @property
    def is_on(self) -> bool:
        return self.warm_start_epochs > 0 or self.warm_start_steps > 0


@dataclass(frozen=True)
class ImitationConfig:
    """What holds an imitator to its demonstrations, and which policy is handed out."""

    select: Literal["return", "imitation", "last", "smoothest"] = "return"
    """Which evaluated policy is kept as the best: the one of the highest return; of the lowest
    imitation score, which needs no reward; the last one; or, with --smoothest and implied by it,
    the one of the lowest J among those that keep what is asked."""
    anchor_weight: float = 0.0
    """Weight, inside the policy step, of the fraction of the demonstrated actions' variance that
    the mean action misses (beta); below 300 demonstrated pairs in proportion to their number."""
    staggered_starts: bool = False
    """Env i begins its first episode with i / num_envs of the time limit gone, so that a batch
    holds all phases of an episode and not the same window in every env."""
    kept_policy_decay: float = 0.0
    """Decay of the exponential mean of the policies of all iterations (EMA policy) that is
    evaluated, saved and handed out; 0: the newest policy. The mean never acts in training."""

    def __post_init__(self) -> None:
        require_ranges(self, {"0 or more": "anchor_weight", "in [0, 1)": "kept_policy_decay"})


@dataclass(frozen=True)
class DistilConfig:
    """Distilling a policy in closed loop; an iteration is one round of play and of fitting."""

    fit_steps: int = 500
    """Adam steps of the first round, on everything labelled so far; later ones take more, by the
    root of the number of the round."""
    fit_minibatch: int = 256
    """Labelled states per Adam step."""
    fit_learning_rate: float = 1e-3
    """Adam step size of the first step; it falls to a fiftieth along a half cosine."""

    def __post_init__(self) -> None:
        require_ranges(
            self, {"1 or more": "fit_steps fit_minibatch", "above 0": "fit_learning_rate"}
        )
