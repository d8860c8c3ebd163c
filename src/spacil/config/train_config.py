"""The config of one run, by algorithm: groups of settings, frozen and checked at birth.

A *setting* is one named value (`max_kl`); a *config* is the record of all of them. What an
algorithm does not read is no field of its config. Code that several algorithms share may still ask
for it: `TrainConfig` holds each such group as it is when it is off.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from spacil.config.checks import require
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
    PPOConfig,
    ReturnsConfig,
    RunConfig,
    SamplingConfig,
    ScheduledPenaltyConfig,
    TrainingWishConfig,
    TrustRegionConfig,
    ValueConfig,
    WarmStartConfig,
    WishConfig,
)
from spacil.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Settings of one run; those of an algorithm are a subclass."""

    algorithm: ClassVar[str]
    task: str
    """Name of a built-in task, a Gymnasium id, or `module:Env-v0`"""
    run: RunConfig = field(default_factory=RunConfig)

    # Without an annotation a group is no field: here it is off.
    sampling = SamplingConfig()
    nets = NetsConfig()
    evaluation = EvaluationConfig()
    policy_step = PolicyStepConfig()
    trust_region = TrustRegionConfig()
    ppo = PPOConfig()
    returns = ReturnsConfig()
    value = ValueConfig()
    policy_penalty = PolicyPenaltyConfig()
    penalty_states = PenaltyStatesConfig()
    cost_penalty = CostPenaltyConfig()
    wish = WishConfig()
    warm_start = WarmStartConfig()
    imitation = ImitationConfig()
    discriminator = DiscriminatorConfig()
    airl = AIRLRewardConfig()
    bc = CloningConfig()
    distil = DistilConfig()

    def __post_init__(self) -> None:
        """Refuse settings that contradict each other."""
        wish, penalty, start = self.wish, self.policy_penalty, self.warm_start
        words, is_auto = " ".join(penalty.penalty) or "none", penalty.penalty_weight == "auto"
        require(
            not (start.warm_start_epochs and start.warm_start_steps),
            "warm_start_steps",
            start.warm_start_steps,
            "0 with --warm-start-epochs: count cloning in one of the two",
        )
        searches = {
            "--penalty-weight auto": is_auto,
            "--smoothness-target": wish.smoothness_target > 0,
            "--smoothest": wish.smoothest,
            "--keep-return": wish.keep_return > 0 and not wish.smoothest,
        }
        asked = [flag for flag, is_asked in searches.items() if is_asked]
        if len(asked) > 1 and not (isinstance(self, SmoothConfig) and not is_auto):
            raise ConfigError(f"{asked[0]} finds the weight, and so does {asked[1]}: give one")
        inputs, lambda_cost = self.discriminator.discriminator_inputs, self.cost_penalty.lambda_cost
        require(
            "next_states" not in inputs or lambda_cost == 0,
            "lambda_cost",
            lambda_cost,
            "0 with next_states among --discriminator-inputs: the cost penalty is on c(s, a)",
        )
        if self.imitation.select == "smoothest" and not wish.wants_smoothest:
            raise ConfigError("--select smoothest: give --smoothest or --keep-return with it")
        start_above_0 = "a weight above 0 where one is searched for: the search starts there"
        require(not asked or penalty.first_weight > 0, "penalty", words, start_above_0)
        if wish.fluctuation_target > 0:
            temporal = penalty.temporal_term
            require(temporal.weight > 0, "penalty", words, start_above_0)
            require(
                not asked or temporal.name != penalty.terms[0].name,
                "penalty",
                words,
                "a spatial penalty first, e.g. exact=0.1 cats=0.03: two targets move two weights",
            )


@dataclass(frozen=True, kw_only=True)
class OnPolicyConfig(TrainConfig):
    """Settings of what learns from the batches it plays."""

    sampling: SamplingConfig = SamplingConfig()
    policy_step: PolicyStepConfig = PolicyStepConfig()
    trust_region: TrustRegionConfig = TrustRegionConfig()
    ppo: PPOConfig = PPOConfig()
    returns: ReturnsConfig = ReturnsConfig()
    value: ValueConfig = ValueConfig()
    nets: ExploringNetsConfig = ExploringNetsConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    penalty_states: PenaltyStatesConfig = PenaltyStatesConfig()


@dataclass(frozen=True, kw_only=True)
class AdversarialConfig(OnPolicyConfig):
    """Settings of what learns from demonstrations against a discriminator."""

    warm_start: WarmStartConfig = WarmStartConfig()
    imitation: ImitationConfig = ImitationConfig()
    discriminator: DiscriminatorConfig = GAILDiscriminatorConfig()
    bc: CloningConfig = CloningConfig()


@dataclass(frozen=True, kw_only=True)
class GAILConfig(AdversarialConfig):
    algorithm = "gail"
    discriminator: GAILDiscriminatorConfig = GAILDiscriminatorConfig()
    cost_penalty: CostPenaltyConfig = CostPenaltyConfig()

    def __post_init__(self) -> None:
        super().__post_init__()
        form = self.cost_penalty.form
        require(form in ("gp", "r1"), "cost_penalty_form", form, "gp or r1; others are spacil's")


@dataclass(frozen=True, kw_only=True)
class SPaCILConfig(AdversarialConfig):
    algorithm = "spacil"
    discriminator: GAILDiscriminatorConfig = GAILDiscriminatorConfig()
    policy_penalty: ScheduledPenaltyConfig = ScheduledPenaltyConfig(("exact=0.03",))
    cost_penalty: CostPenaltyConfig = CostPenaltyConfig(0.01, cost_penalty_form="response")
    wish: TrainingWishConfig = TrainingWishConfig()


@dataclass(frozen=True, kw_only=True)
class AIRLConfig(AdversarialConfig):
    algorithm = "airl"
    # AIRL's own reward, logit, may be negative: where episodes can end early, it teaches a policy
    # to end them. Steps and rate: docs/results/airl_ppo.md.
    discriminator: DiscriminatorConfig = DiscriminatorConfig(
        discriminator_steps=5, discriminator_learning_rate=0.001
    )
    airl: AIRLRewardConfig = AIRLRewardConfig()
    policy_penalty: ScheduledPenaltyConfig = ScheduledPenaltyConfig()
    wish: TrainingWishConfig = TrainingWishConfig()


@dataclass(frozen=True, kw_only=True)
class TRPOConfig(OnPolicyConfig):
    algorithm = "trpo"
    policy_penalty: ScheduledPenaltyConfig = ScheduledPenaltyConfig()


@dataclass(frozen=True, kw_only=True)
class BCConfig(TrainConfig):
    algorithm = "bc"
    # An epoch takes less time than its checkpoint is worth.
    run: RunConfig = field(
        default_factory=lambda: RunConfig(iterations=100, checkpoint_interval=10)
    )
    bc: CloningConfig = CloningConfig()
    policy_penalty: ScheduledPenaltyConfig = ScheduledPenaltyConfig()
    penalty_states: PenaltyStatesConfig = PenaltyStatesConfig()
    nets: NetsConfig = NetsConfig()
    evaluation: EvaluationConfig = EvaluationConfig()


@dataclass(frozen=True, kw_only=True)
class SmoothConfig(TrainConfig):
    algorithm = "smooth"
    # Weights and sizes: docs/results/smooth.md.
    run: RunConfig = field(default_factory=lambda: RunConfig(iterations=12))
    policy_penalty: PolicyPenaltyConfig = PolicyPenaltyConfig(("exact=0.05", "cats=0.3"), "auto")
    distil: DistilConfig = DistilConfig()
    wish: WishConfig = WishConfig()
    sampling: SamplingConfig = SamplingConfig(4_000, 20)
    nets: NetsConfig = NetsConfig((128, 128))
    evaluation: EvaluationConfig = EvaluationConfig(1, 15_000)
