"""The config of one run, by algorithm: groups of settings, frozen and checked at birth.

A *setting* is one named value (`max_kl`); a *config* is the record of all of them. What an
algorithm does not read is no field of its config. Code that several algorithms share may still ask
for it: `TrainConfig` holds each such group as it is when it is off.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, dataclass_transform

from spacil.config.checks import require
from spacil.config.settings import (
    AIRLRewardConfig,
    CloningConfig,
    ConditionsConfig,
    CostPenaltyConfig,
    DiscriminatorConfig,
    DistilConfig,
    EvaluationConfig,
    ImitationConfig,
    NetsConfig,
    PenaltyStatesConfig,
    PolicyPenaltyConfig,
    PolicyStepConfig,
    RunConfig,
    SamplingConfig,
    ValueConfig,
    WarmStartConfig,
    WishConfig,
)
from spacil.errors import ConfigError

ALGORITHMS: dict[str, type["TrainConfig"]] = {}
"""Name of each algorithm -> its config; those of the package are in `algorithms.py`"""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Settings of one run. Those of an algorithm are a subclass, a frozen dataclass as well."""

    algorithm: ClassVar[str]
    summary: ClassVar[str]
    learner: ClassVar[str]
    """`module:class` of what learns"""
    adversary: ClassVar[str | None] = None
    """`module:function` that makes what rewards the policy; None: the env's own reward"""
    verb: ClassVar[str] = "train"
    """The command that runs it: `spacil <verb>`"""
    needs_demonstrations: ClassVar[bool] = True
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"none": {}}
    """Settings that each preset changes"""

    task: str
    """Name of a built-in task, a Gymnasium id, or `module:Env-v0`"""
    run: RunConfig = field(default_factory=RunConfig)
    conditions: ConditionsConfig = field(default_factory=ConditionsConfig)

    # Without an annotation a group is no field: here it is off.
    sampling = SamplingConfig()
    nets = NetsConfig()
    evaluation = EvaluationConfig()
    policy_step = PolicyStepConfig()
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

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)
        if "algorithm" in vars(cls):
            ALGORITHMS[cls.algorithm] = cls

    def __post_init__(self) -> None:
        """Refuse settings that contradict each other."""
        wish, penalty, start = self.wish, self.policy_penalty, self.warm_start
        is_auto = penalty.penalty_weight == "auto"
        reads_next = "next_states" in self.discriminator.discriminator_inputs
        searches = {
            "--penalty-weight auto": is_auto,
            "--smoothness-target": wish.smoothness_target > 0,
            "--smoothest": wish.smoothest,
            "--keep-return": wish.keep_return > 0 and not wish.smoothest,
        }
        asked = [flag for flag, is_asked in searches.items() if is_asked]
        if start.warm_start_epochs and start.warm_start_steps:
            raise ConfigError("--warm-start-steps and --warm-start-epochs: count cloning in one")
        if len(asked) > 1 and (is_auto or self.algorithm != "smooth"):
            raise ConfigError(f"{asked[0]} finds the weight, and so does {asked[1]}: give one")
        if reads_next and self.cost_penalty.lambda_cost > 0:
            raise ConfigError(
                "--discriminator-inputs with next_states: the cost penalty is on c(s, a), give "
                "--lambda-cost 0"
            )
        reads_changes = "changes" in self.discriminator.discriminator_inputs
        of_actions = self.cost_penalty.form not in ("r1", "gp")
        if reads_changes and of_actions and self.cost_penalty.lambda_cost > 0:
            raise ConfigError(
                f"--cost-penalty-form {self.cost_penalty.form} is on c(s, a), and here a change of "
                "state stands in the place of the action: give --cost-penalty-form r1"
            )
        if self.imitation.select == "smoothest" and not wish.wants_smoothest:
            raise ConfigError("--select smoothest: give --smoothest or --keep-return with it")
        for name in ("smoothness_target", "fluctuation_target"):
            is_read = getattr(wish, name) > 0 or getattr(wish, f"{name}_reference") == "none"
            flag = f"--{name.replace('_', '-')}-reference"
            require(is_read, name, getattr(wish, name), f"above 0 when {flag} is given")
        words, weights = " ".join(penalty.penalty) or "none", [penalty.first_weight] * bool(asked)
        temporal = penalty.temporal_term if wish.fluctuation_target > 0 else None
        if temporal is not None:
            weights.append(temporal.weight)
        start_above_0 = "a weight above 0 where one is searched for: the search starts there"
        require(all(weights), "penalty", words, start_above_0)
        if asked and temporal is not None and temporal.name == penalty.terms[0].name:
            raise ConfigError(
                f"--penalty is {words}, expected a spatial penalty first, e.g. exact=0.1 "
                "cats=0.03: two targets move two weights"
            )
