"""The algorithms: the settings that each reads, with their defaults, what learns, its presets.

To add one, add a class; an adversary of its own is one file in `spacil/learning`
(docs/extending.md).
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from spacil.config.settings import (
    AIRLRewardConfig,
    CloningConfig,
    CostPenaltyConfig,
    DiscriminatorConfig,
    DistilConfig,
    EvaluationConfig,
    ExploringNetsConfig,
    GAILDiscriminatorConfig,
    ImitationConfig,
    NetsConfig,
    PenaltyStatesConfig,
    PolicyPenaltyConfig,
    PolicyStepConfig,
    RunConfig,
    SamplingConfig,
    ScheduledPenaltyConfig,
    TrainingWishConfig,
    ValueConfig,
    WarmStartConfig,
    WishConfig,
)
from spacil.config.train_config import ALGORITHMS as ALGORITHMS
from spacil.config.train_config import TrainConfig

Preset = Literal["none", "fast", "gail-like", "plain", "paper-mean", "paper-sum"]

FAST_MAX_KL = 0.03
"""Trust region of `--preset fast`, three times the paper's: docs/results/fast.md"""

QUICK_ITERATIONS = 60
"""Iterations of `--preset fast` of spacil, which is its rule cut short: docs/results/recipe.md"""

_FAST_IMITATION: Mapping[str, Any] = {
    "max_kl": FAST_MAX_KL,
    "warm_start_epochs": 40,
    "initial_log_std": -1.5,
    "fisher_state_fraction": 0.2,
}

_RULE: Mapping[str, Any] = {
    "iterations": 200,
    "warm_start_steps": 1_500,
    "initial_log_std": -1.5,
    "max_kl": FAST_MAX_KL,
    "fisher_state_fraction": 0.2,
    "value_targets": "standardized",
    "discriminator_steps": 3,
    "cost_penalty_form": "r1",
    "lambda_cost": 0.4,
    "cost_weight": "by-pairs",
    "penalty": ("exact=0.1",),
    "penalty_weight": "auto",
    "anchor_weight": 0.3,
    "staggered_starts": True,
    "kept_policy_decay": 0.95,
    "evaluation_steps": 8_000,
    "select": "last",
}
"""The rule of spacil, for all tasks and any number of demonstrations: docs/results/recipe.md"""


class OnPolicyConfig(TrainConfig):
    """Settings of what learns from the batches it plays."""

    learner = "spacil.learning.on_policy:OnPolicy"

    sampling: SamplingConfig = SamplingConfig()
    policy_step: PolicyStepConfig = PolicyStepConfig()
    value: ValueConfig = ValueConfig()
    nets: ExploringNetsConfig = ExploringNetsConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    penalty_states: PenaltyStatesConfig = PenaltyStatesConfig()


class AdversarialConfig(OnPolicyConfig):
    """Settings of what learns from demonstrations against a discriminator."""

    warm_start: WarmStartConfig = WarmStartConfig()
    imitation: ImitationConfig = ImitationConfig()
    discriminator: DiscriminatorConfig = GAILDiscriminatorConfig()
    bc: CloningConfig = CloningConfig()


class SPaCILConfig(AdversarialConfig):
    algorithm = "spacil"
    summary = "Learn a smooth policy from demonstrations: GAIL with penalties on policy and cost."
    adversary = "spacil.learning.adversary:GailAdversary"
    presets = {
        "none": _RULE,
        "fast": {**_RULE, "iterations": QUICK_ITERATIONS},
        # The GAIL of ratios: the rule's start, critic, discriminator and mean, no penalties.
        "gail-like": {**_RULE, "penalty": (), "penalty_weight": "fixed", "anchor_weight": 0.0},
        "plain": {},
        "paper-mean": {},
        "paper-sum": {},
    }

    discriminator: GAILDiscriminatorConfig = GAILDiscriminatorConfig()
    policy_penalty: ScheduledPenaltyConfig = ScheduledPenaltyConfig(("exact=0.03",))
    cost_penalty: CostPenaltyConfig = CostPenaltyConfig(0.01, cost_penalty_form="response")
    wish: TrainingWishConfig = TrainingWishConfig()


class GAILConfig(AdversarialConfig):
    algorithm = "gail"
    summary = (
        "Learn from demonstrations against a discriminator; with a policy penalty it is spacil."
    )
    adversary = "spacil.learning.adversary:GailAdversary"
    presets = {"none": {}, "fast": _FAST_IMITATION, "paper-mean": {}, "paper-sum": {}}

    discriminator: GAILDiscriminatorConfig = GAILDiscriminatorConfig()
    cost_penalty: CostPenaltyConfig = CostPenaltyConfig()


class AIRLConfig(AdversarialConfig):
    algorithm = "airl"
    summary = "Learn a reward and a policy from demonstrations (adversarial inverse RL)."
    adversary = "spacil.learning.adversary:AirlAdversary"
    presets = {"none": {}, "fast": _FAST_IMITATION}

    # AIRL's own reward, logit, may be negative: where episodes can end early, it teaches a policy
    # to end them. Steps and rate: docs/results/airl_ppo.md.
    discriminator: DiscriminatorConfig = DiscriminatorConfig(
        discriminator_steps=5, discriminator_learning_rate=0.001
    )
    airl: AIRLRewardConfig = AIRLRewardConfig()
    policy_penalty: ScheduledPenaltyConfig = ScheduledPenaltyConfig()
    wish: TrainingWishConfig = TrainingWishConfig()


class TRPOConfig(OnPolicyConfig):
    algorithm = "trpo"
    summary = "Learn from the env's reward: how demonstrators are made (eq:TRPO)."
    needs_demonstrations = False
    presets = {"none": {}, "fast": {"max_kl": FAST_MAX_KL}}

    policy_penalty: ScheduledPenaltyConfig = ScheduledPenaltyConfig()


class BCConfig(TrainConfig):
    algorithm = "bc"
    summary = "Clone the demonstrations by regression, without env steps; --lambda-policy smooths."
    learner = "spacil.learning.cloning:CloningLearner"

    # An epoch takes less time than its checkpoint is worth.
    run: RunConfig = field(
        default_factory=lambda: RunConfig(iterations=100, checkpoint_interval=10)
    )
    bc: CloningConfig = CloningConfig()
    policy_penalty: ScheduledPenaltyConfig = ScheduledPenaltyConfig()
    penalty_states: PenaltyStatesConfig = PenaltyStatesConfig()
    nets: NetsConfig = NetsConfig()
    evaluation: EvaluationConfig = EvaluationConfig()


class SmoothConfig(TrainConfig):
    algorithm = "smooth"
    summary = "Distil a given policy into a smooth one: the student acts, the teacher labels."
    learner = "spacil.learning.dagger:SmoothingLearner"
    verb = "smooth"
    needs_demonstrations = False

    # Weights and sizes: docs/results/smooth.md.
    run: RunConfig = field(default_factory=lambda: RunConfig(iterations=12))
    policy_penalty: PolicyPenaltyConfig = PolicyPenaltyConfig(("exact=0.05", "cats=0.3"), "auto")
    distil: DistilConfig = DistilConfig()
    wish: WishConfig = WishConfig()
    sampling: SamplingConfig = SamplingConfig(4_000, 20)
    nets: NetsConfig = NetsConfig((128, 128))
    evaluation: EvaluationConfig = EvaluationConfig(1, 15_000)
