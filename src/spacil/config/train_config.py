"""The config of one run: every setting, in groups, frozen and checked at birth.

A *setting* is one named value (`max_kl`); a *config* is the record of all of them.
"""

import math
from dataclasses import dataclass, field, fields

from spacil.config.checks import require
from spacil.config.general import (
    EvaluationConfig,
    NetsConfig,
    RunConfig,
    SamplingConfig,
)
from spacil.config.learning import (
    AIRLConfig,
    BCConfig,
    DiscriminatorConfig,
    DistilConfig,
    FidelityConfig,
    PolicyStepConfig,
    PPOConfig,
    ReturnsConfig,
    TrustRegionConfig,
    ValueConfig,
    WarmStartConfig,
)
from spacil.config.smoothing import (
    BallConfig,
    CostPenaltyConfig,
    PenaltyStatesConfig,
    PolicyPenaltyConfig,
)
from spacil.config.wishes import WishConfig


@dataclass(frozen=True)
class ConfigGroups:
    """Every group of settings; which of them an algorithm reads is in `algorithms.py`."""

    run: RunConfig = field(default_factory=RunConfig)
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    policy_penalty: PolicyPenaltyConfig = field(default_factory=PolicyPenaltyConfig)
    cost_penalty: CostPenaltyConfig = field(default_factory=CostPenaltyConfig)
    penalty_states: PenaltyStatesConfig = field(default_factory=PenaltyStatesConfig)
    wish: WishConfig = field(default_factory=WishConfig)
    warm_start: WarmStartConfig = field(default_factory=WarmStartConfig)
    fidelity: FidelityConfig = field(default_factory=FidelityConfig)
    discriminator: DiscriminatorConfig = field(default_factory=DiscriminatorConfig)
    airl: AIRLConfig = field(default_factory=AIRLConfig)
    policy_step: PolicyStepConfig = field(default_factory=PolicyStepConfig)
    trust_region: TrustRegionConfig = field(default_factory=TrustRegionConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    returns: ReturnsConfig = field(default_factory=ReturnsConfig)
    value: ValueConfig = field(default_factory=ValueConfig)
    nets: NetsConfig = field(default_factory=NetsConfig)
    bc: BCConfig = field(default_factory=BCConfig)
    distil: DistilConfig = field(default_factory=DistilConfig)
    ball: BallConfig = field(default_factory=BallConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def __post_init__(self) -> None:
        # Infinity passes comparisons such as "0 or more", and neither it nor NaN can be saved.
        for group in fields(ConfigGroups):
            for name, value in vars(getattr(self, group.name)).items():
                is_number = not isinstance(value, float) or math.isfinite(value)
                require(is_number, name, value, "a finite number")


@dataclass(frozen=True, kw_only=True)
class TrainConfig(ConfigGroups):
    """One run."""

    algorithm: str
    """A name of the table in `algorithms.py`"""
    task: str

    def __post_init__(self) -> None:
        super().__post_init__()
        penalty, words = self.policy_penalty, " ".join(self.policy_penalty.penalty) or "none"
        if self.wish.moves_spatial_weight:
            require(
                penalty.first_weight > 0,
                "penalty",
                words,
                "a weight above 0 where one is searched for: the search starts there",
            )
        inputs, lambda_cost = self.discriminator.discriminator_inputs, self.cost_penalty.lambda_cost
        require(
            "next_states" not in inputs or lambda_cost == 0,
            "lambda_cost",
            lambda_cost,
            "0 with next_states among --discriminator-inputs: the cost penalty is on c(s, a)",
        )
        if self.wish.fluctuation_target > 0:
            require(
                penalty.temporal_term.weight > 0,
                "penalty",
                words,
                f"a weight above 0 of {penalty.temporal_term.name}: its search starts there",
            )
            require(
                not self.wish.moves_spatial_weight
                or penalty.temporal_term.name != penalty.terms[0].name,
                "penalty",
                words,
                "a spatial penalty first, e.g. exact=0.1 cats=0.03: two wishes move two weights",
            )
