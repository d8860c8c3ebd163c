"""The groups of settings of a run: frozen, and their numbers checked at birth.

A *setting* is one named value (`max_kl`). What only some algorithms read of a group is in a
subclass of it; the group itself holds it as it is elsewhere, without an annotation.
"""

import functools
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from inspect import formatannotation
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from spacil.config.checks import is_number, plain, require
from spacil.config.penalty_terms import (
    COST_FORMS,
    WeightedTerm,
    canonical,
    parse_arguments,
    parse_terms,
)
from spacil.errors import ConfigError


class Range(NamedTuple):
    """The values that a setting of its type may have."""

    expectation: str
    holds: Callable[[Any], object]


Positive = Annotated[float, Range("above 0", lambda value: value > 0)]
NonNegative = Annotated[float, Range("0 or more", lambda value: value >= 0)]
OpenFraction = Annotated[float, Range("in (0, 1)", lambda value: 0 < value < 1)]
Fraction = Annotated[float, Range("in (0, 1]", lambda value: 0 < value <= 1)]
FractionBelow1 = Annotated[float, Range("in [0, 1)", lambda value: 0 <= value < 1)]
Share = Annotated[float, Range("in [0, 1]", lambda value: 0 <= value <= 1)]
CountFrom0 = Annotated[int, Range("0 or more", lambda value: value >= 0)]
Count = Annotated[int, Range("1 or more", lambda value: value >= 1)]
Device = Annotated[
    str, Range("cpu, cuda, cuda:N or auto", re.compile("auto|cpu|cuda(:[0-9]{1,3})?").fullmatch)
]
Steps = Annotated[
    str, Range("steps, as 2, or a range of them, as 0-2", lambda value: _is_range(value))
]
Columns = Annotated[
    str, Range("columns, as 0-7 or 0,2,5-9", lambda value: not value or columns_of(value))
]
_INPUT_NAMES = {"states", "actions", "changes", "next_states"}
_BOTH = {"actions", "changes"}
Inputs = Annotated[
    tuple[str, ...],
    Range(
        "one or more of states, actions or changes, next_states, each once",
        lambda value: len(value) == len({*value} & _INPUT_NAMES) > 0 and not {*value} >= _BOTH,
    ),
]
Widths = Annotated[
    tuple[int, ...],
    Range("one or more positive widths", lambda value: len(value) > 0 and min(value) >= 1),
]


def _is_range(words: str) -> bool:
    """Whether words are "2" or "0-2"."""
    match = re.fullmatch("([0-9]{1,3})(?:-([0-9]{1,3}))?", words)
    return match is not None and int(match[1]) <= int(match[2] or match[1])


def columns_of(words: str) -> tuple[int, ...]:
    """The columns that `0,2,5-9` names, in order and each once; none of words that name none."""
    if not re.fullmatch(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*", words):
        return ()
    ends = [part.partition("-") for part in words.split(",")]
    return tuple(sorted({k for a, _, b in ends for k in range(int(a), int(b or a) + 1)}))


_WORDS = {int: "a whole number", float: "a finite number", bool: "True or False", str: "text"}


@functools.cache
def _hints_of(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _fits(hint: Any, value: object) -> bool:
    """Whether a value, which may come from a file or a keyword, is of a setting's type."""
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) is tuple:
        return isinstance(value, tuple) and all(_fits(get_args(hint)[0], part) for part in value)
    is_of_type = hint is float or type(value) is hint
    return is_of_type and (is_number(value) or hint not in (int, float))


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
@dataclass(frozen=True)
class Group:
    """Settings that belong together. Every subclass is a frozen dataclass, checked at birth."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)

    def __post_init__(self) -> None:
        group: Any = type(self)
        for name, hint in _hints_of(group).items():
            value = plain(getattr(self, name))
            object.__setattr__(self, name, value)
            if type(None) in get_args(hint):
                if value is None:
                    continue
                hint = get_args(hint)[0]
            kind, *marks = get_args(hint) if get_origin(hint) is Annotated else [hint]
            words = _WORDS.get(kind, formatannotation(kind))
            words = ", ".join(get_args(kind)) if get_origin(kind) is Literal else words
            require(_fits(kind, value), name, repr(value), words)
            for mark in marks:
                if isinstance(mark, Range):
                    require(bool(mark.holds(value)), name, value, mark.expectation)


class RunConfig(Group):
    """How long, on what machine."""

    seed: CountFrom0 = 0
    """Root of every random stream of the run."""
    iterations: Count = 500
    """Number of policy updates (K); of bc, epochs."""
    device: Device = "cpu"
    """Where updates run: cpu, cuda, or auto (cuda if there is one). Simulation is on the CPU."""
    simulation_threads: Count = field(default_factory=lambda: num_cores())
    """Threads that step the simulator. Any number gives the same bits."""
    torch_threads: Count = field(default_factory=lambda: num_cores())
    """Threads of the matrix products. Results repeat bit for bit at one number only."""
    checkpoint_interval: Count = 1
    """Iterations between checkpoints: at most this much is lost when a run is killed."""
    env_timeout: Positive = 300.0
    """Seconds that one step of all envs of your own may take; then the run ends as hung."""


class SamplingConfig(Group):
    """The batch that each iteration plays."""

    steps_per_iteration: Count = 6_000
    """Env steps per update, over all envs; a multiple of num_envs."""
    num_envs: Count = 50
    """Envs stepped side by side. Part of the result: another number is another run."""

    def __post_init__(self) -> None:
        super().__post_init__()
        size = self.steps_per_iteration
        nearest = -(-size // self.num_envs) * self.num_envs
        expectation = f"a multiple of --num-envs {self.num_envs}, e.g. {nearest}"
        require(size == nearest, "steps_per_iteration", size, expectation)


class NetsConfig(Group):
    """The policy's network (the paper's sizes, app:exp_setup_hyper_params) and the start of all."""

    policy_hidden: Widths = (400, 300)
    """Hidden widths of the policy's mean network."""
    init: Literal["fan-in", "paper-numel"] = "fan-in"
    """Uniform start with k = 1/sqrt(fan in), or the literal reading 1/sqrt(number of weights)."""
    initial_log_std = 0.0


class ExploringNetsConfig(NetsConfig):
    __doc__ = NetsConfig.__doc__

    initial_log_std: float = 0.0
    """Start of the policy's learned log standard deviation (r)."""


class ConditionsConfig(Group):
    """What stands between policy and env: late actions, late and noisy observations."""

    action_delay: Steps = "0"
    """Steps after which a command is executed: 2, or 0-2 where it is drawn for each episode."""
    observation_delay: Steps = "0"
    """Steps by which what the policy sees is late; likewise."""
    delay_jitter: bool = False
    """Draw a delay that is a range at every step, and not once per episode."""
    sensor_noise: NonNegative = 0.0
    """Standard deviation of the noise on each observation, in those of the demonstrations."""
    history: Annotated[int, Range("-1 to 999", lambda value: -1 <= value <= 999)] = -1
    """Past commands that the policy sees, and past observations too where a delay is a range. -1:
    as many as may be on their way; 0: none, the policy sees the observation alone."""

    def __post_init__(self) -> None:
        """Take a number of steps for its words."""
        for name in ("action_delay", "observation_delay"):
            if type(steps := getattr(self, name)) is int:
                object.__setattr__(self, name, str(steps))
        super().__post_init__()

    def range_of(self, what: Literal["action", "observation"]) -> tuple[int, int]:
        """Smallest and largest delay of actions or observations."""
        low, _, high = getattr(self, f"{what}_delay").partition("-")
        return int(low), int(high or low)

    @property
    def num_commands(self) -> int:
        """Past commands in the policy's input (H)."""
        longest = self.range_of("action")[1] + self.range_of("observation")[1]
        return longest if self.history < 0 else self.history

    @property
    def num_observations(self) -> int:
        """Past observations in the policy's input (P): where delays are known, none are needed."""
        ranges = self.range_of("action"), self.range_of("observation")
        return 0 if all(low == high for low, high in ranges) else self.num_commands

    @property
    def is_on(self) -> bool:
        """Whether the env is any other with these conditions than without."""
        return self != type(self)()


class EvaluationConfig(Group):
    """Evaluation on a separate env, with mean actions and a frozen normaliser."""

    evaluation_interval: Count = 10
    """Iterations between evaluations; the last iteration is always evaluated."""
    evaluation_steps: Count = 20_000
    """State-action pairs per evaluation (app:deep_rl_tricks), in whole episodes."""


class DemoChoice(Group):
    """The part of the given demonstrations that a run learns from."""

    num_demos: Count | None = None
    """Number of trajectories; all by default."""
    first_demo: CountFrom0 = 0
    """The trajectory to begin with, counted from 0."""
    demo_every: Count = 1
    """Use every n-th step of each trajectory; the GAIL paper uses every 20th."""
    demo_offset: CountFrom0 = 0
    """The step of each trajectory to begin with, below --demo-every."""
    demo_noise: NonNegative = 0.0
    """Add Gaussian noise to the demonstrated states, in units of their standard deviation."""
    ignore_actions: bool = False
    """Learn from the demonstrated states alone, as if the file held no actions."""
    single_states: bool = False
    """The same where rows of the file do not follow each other: no pairs of states are read."""
    demo_columns: str = ""
    """The same where the demonstrations know only these columns of the observation, as 0-7 or
    0,2,5-9, counted from 0: the file holds them alone, or the others too, which are not read."""
    demos_delay: CountFrom0 = 0
    """Steps by which actions were late when the demonstrations were recorded: what they hold are
    commands, each executed so many steps later."""
    drop_nonfinite: bool = False
    """Leave out demonstrated episodes that hold NaN or infinity instead of refusing the file."""
    allow_env_mismatch: bool = False
    """Use demonstrations recorded in another env or version of the same sizes."""


def num_cores() -> int:
    """Cores this process may use, at most 8: small nets gain nothing from more."""
    return min(len(os.sched_getaffinity(0)), 8)


ActionKind = Literal["executed", "raw"]
_EXECUTED: ActionKind = "executed"
_INPUTS: tuple[str, ...] = ("states", "actions")


class PolicyStepConfig(Group):
    """The step that moves the policy: TRPO (eq:TRPO) or, with the settings ppo_..., PPO.

    The smoothness penalties compose with either.
    """

    policy_step: Literal["trpo", "ppo"] = "trpo"
    """The paper's trpo, one natural-gradient step inside a KL bound; or ppo, epochs of Adam on the
    clipped surrogate (Schulman et al. 2017)."""
    max_kl: Positive = 0.01
    """Bound on the mean KL(old, new) of the accepted step (delta)."""
    cg_steps: Count = 10
    """Conjugate gradient steps."""
    cg_damping: NonNegative = 0.01
    """Number added to the curvature's diagonal inside conjugate gradient."""
    fisher_state_fraction: Fraction = 1.0
    """Fraction of the states in the Fisher products; KL is always checked on all of them."""
    line_search_tries: Count = 15
    """Candidates tried before the step is given up and the old parameters are restored."""
    line_search_shrink: OpenFraction = 0.9
    """Factor on the step when the penalised objective did not improve."""
    ppo_clip: OpenFraction = 0.2
    """Bound on how far the probability ratio counts away from 1."""
    ppo_epochs: Count = 10
    """Passes over the batch per iteration, at most."""
    ppo_minibatch: Count = 1_000
    """States per Adam step."""
    ppo_learning_rate: Positive = 3e-4
    """Adam step size of the policy."""
    ppo_target_kl: Positive = 0.02
    """Mean KL(old, new) above which no further epoch begins."""


class ValueConfig(Group):
    """The critic: generalised advantage estimation, the value network and its regression."""

    gamma: Fraction = 0.995
    """Discount (gamma)."""
    gae_lambda: Share = 0.97
    """Weight of longer advantage estimates (tau in the paper's appendix)."""
    value_hidden: Widths = (100, 100)
    """Hidden widths of the value network."""
    value_learning_rate: Positive = 1e-3
    """Adam step size of the value network."""
    value_epochs: CountFrom0 = 5
    """Passes of the value network over the batch per iteration."""
    value_minibatch: Count = 1_000
    """States per Adam step of the value network."""
    value_targets: Literal["raw", "standardized"] = "raw"
    """standardized: the network predicts returns in units of their running mean and spread, which
    a critic that starts near 0 would need tens of iterations to grow to (PopArt)."""


class DiscriminatorConfig(Group):
    """The adversary: D -> 1 on the agent, cost c = log D, reward -log D (eq:cost_opti)."""

    imitation_reward: Literal["positive", "negative", "logit"] = "positive"
    """What the policy is paid, with D high on the agent: positive: -log D, the paper's, which pays
    for staying alive; negative: log(1 - D), which charges for it; logit: log(1 - D) - log D, the
    form of AIRL."""
    discriminator_learning_rate: Positive = 0.003
    """Adam step size of the discriminator; the paper's is 0.01."""
    discriminator_steps: CountFrom0 = 1
    """Full-batch Adam steps per iteration."""
    discriminator_hidden: Widths = (100, 100)
    """Hidden widths of the discriminator."""
    discriminator_activation: Literal["relu", "tanh"] = "relu"
    """Non-linearity of the discriminator; the paper's is tanh."""
    standardize_actions: bool = True
    """Give it actions in units of the demonstrations' standard deviation; the paper does not."""
    discriminator_actions = _EXECUTED
    discriminator_inputs = _INPUTS
    discriminator_columns = ""


class GAILDiscriminatorConfig(DiscriminatorConfig):
    __doc__ = DiscriminatorConfig.__doc__

    discriminator_actions: ActionKind = "executed"
    """Which actions it compares, on both sides: as executed (clipped to the bounds), or raw."""
    discriminator_inputs: Inputs = _INPUTS
    """What it reads of states, actions and next_states: `states next_states` or `states` for a
    demonstrator whose actions mean something else than ours. changes: how the state changes, in the
    place of the action; implied by demonstrations without actions."""
    discriminator_columns: Columns = ""
    """Columns of states and changes that it reads, as 0-7 or 0,2,5-9; all by default."""


class AIRLRewardConfig(Group):
    """The structure of AIRL's discriminator (Fu et al. 2018)."""

    airl_reward: Literal["state-action", "state"] = "state-action"
    """What the learned reward g reads. state: the form whose reward transfers to other dynamics.
    The shaping term h(s) reads states alone in either form."""


class CloningConfig(Group):
    """Behaviour cloning; an iteration is one pass over the demonstrations."""

    clone_learning_rate: Positive = 1e-3
    """Adam step size of behaviour cloning."""
    clone_minibatch: Count = 128
    """State-action pairs per Adam step of behaviour cloning."""
    holdout_fraction: FractionBelow1 = 0.2
    """Fraction of the demonstrated episodes that cloning is tested on instead of learning from
    them; 0: learn from all, and never stop early."""
    clone_patience: Count = 20
    """Epochs without a lower loss on the held-out episodes after which cloning ends."""


class WarmStartConfig(Group):
    """A start from a clone of the demonstrator instead of from an untrained policy."""

    warm_start_steps: CountFrom0 = 0
    """Adam steps of behaviour cloning before the first iteration; 0: start untrained, or go by
    warm_start_epochs. The policy then keeps the normaliser of the demonstrations, and starts at
    initial_log_std."""
    warm_start_epochs: CountFrom0 = 0
    """The same counted in epochs, of which few demonstrations need many; 0: go by
    warm_start_steps."""
    warm_start_iterations: CountFrom0 = 5
    """First iterations in which only critic and discriminator train, on what the clone does."""

    @property
    def is_on(self) -> bool:
        return self.warm_start_epochs > 0 or self.warm_start_steps > 0


class ImitationConfig(Group):
    """What holds an imitator to its demonstrations, and which policy is handed out."""

    select: Literal["return", "imitation", "last", "smoothest"] = "return"
    """Which evaluated policy is kept as the best: the one of the highest return; of the lowest
    imitation score, which needs no reward; the last one; or, with --smoothest and implied by it,
    the one of the lowest J among those that keep what is asked."""
    anchor_weight: NonNegative = 0.0
    """Weight, inside the policy step, of the fraction of the demonstrated actions' variance that
    the mean action misses (beta); below 300 demonstrated pairs in proportion to their number."""
    staggered_starts: bool = False
    """Env i begins its first episode with i / num_envs of the time limit gone, so that a batch
    holds all phases of an episode and not the same window in every env."""
    kept_policy_decay: FractionBelow1 = 0.0
    """Decay of the exponential mean of the policies of all iterations (EMA policy) that is
    evaluated, saved and handed out; 0: the newest policy. The mean never acts in training."""


class DistilConfig(Group):
    """Distilling a policy in closed loop; an iteration is one round of play and of fitting."""

    fit_steps: Count = 500
    """Adam steps of the first round, on everything labelled so far; later ones take more, by the
    root of the number of the round."""
    fit_minibatch: Count = 256
    """Labelled states per Adam step."""
    fit_learning_rate: Positive = 1e-3
    """Adam step size of the first step; it falls to a fiftieth along a half cosine."""


FIRST_TEMPORAL_WEIGHT = 0.03
"""Weight of cats where a target of the action change starts its search: a tenth of it moved
HalfCheetah's action change by 4 %, and all of it cost a quarter of the return
(docs/results/recipe.md)."""


class PolicyPenaltyConfig(Group):
    """The smoothness penalties on the policy (eq:policy_reg), each with its own weight."""

    penalty: tuple[str, ...] = ()
    """One or more NAME=WEIGHT, e.g. `exact=0.1 cats=1`. A NAME alone has the weight of its own
    paper; arguments follow a colon, e.g. `caps=1:noise=0.2`. --lambda-policy W (lambda_1) is short
    for `exact=W`."""
    penalty_weight: Literal["fixed", "auto"] = "fixed"
    """fixed: the weight that --penalty says, or that a target finds. auto: it starts there, or up
    to ten times as high where an unpenalised clone has a J below 1.8, and rises to at most five
    times its start while the states that the policy visits stay like the demonstrated ones and J is
    above a share of the clone's (0.38 of it with 300 demonstrated pairs, 0.3 with 6,000); it falls
    when they do not. The env's reward is not read."""
    penalty_ramp_iterations = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        # One spelling per term, so that equal runs have equal settings: exact=.10 is exact=0.1.
        object.__setattr__(self, "penalty", tuple(map(str, parse_terms(self.penalty))))

    @property
    def terms(self) -> tuple[WeightedTerm, ...]:
        return parse_terms(self.penalty)

    @property
    def first_weight(self) -> float:
        """Weight of the term that a search moves; 0 without one."""
        return self.terms[0].weight if self.terms else 0.0

    def first_weight_among(self, terms: Sequence[WeightedTerm]) -> float:
        """Weight of the same term among `terms`, those of an iteration; 0 where it has none."""
        first = self.terms[0].name if self.terms else None
        return next((term.weight for term in terms if term.name == first), 0.0)

    @property
    def temporal_term(self) -> WeightedTerm:
        """Term whose weight a target of the action change moves: the first one along time."""
        found = [term for term in self.terms if term.kind.is_temporal]
        return found[0] if found else WeightedTerm("cats", FIRST_TEMPORAL_WEIGHT)


class ScheduledPenaltyConfig(PolicyPenaltyConfig):
    __doc__ = PolicyPenaltyConfig.__doc__

    penalty_ramp_iterations: CountFrom0 = 0
    """Iterations over which the weights grow linearly from 0."""


class PenaltyStatesConfig(Group):
    """Where both penalties are measured."""

    penalty_state_fraction: Fraction = 0.25
    """Fraction of the states, drawn anew each iteration, that carry the penalties: an unbiased
    estimate of all of them at that fraction of the time."""


class CostPenaltyConfig(Group):
    """The smoothness penalty on the learned cost (eq:cost_reg)."""

    lambda_cost: NonNegative = 0.0
    """Weight of the cost penalty (lambda_2)."""
    cost_weight: Literal["fixed", "by-pairs"] = "fixed"
    """fixed: lambda_cost. by-pairs: lambda_cost, but at most 7.5 M^-0.75 with M demonstrated
    pairs: a discriminator memorises few of them, and many need little penalty."""
    cost_penalty_form: str = "r1"
    """What may change little when the state moves to s~: response: c(s, pi(s~)), as in eq:cost_reg;
    both: c(s~, pi(s~)); state: c(s~, a). Or a gradient penalty on the logits in (s, a): gp: keep
    the gradient's length near 1 (WGAN-GP); r1: keep it small on the demonstrations (its mean
    square, without the usual 1/2; along actions per unit of the env, so that a weight does not
    carry over to another scale of actions). Arguments follow a colon, e.g.
    `response:estimator=pgd`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        name, *words = self.cost_penalty_form.split(":")
        require(name in COST_FORMS, "cost_penalty_form", name, ", ".join(COST_FORMS))
        given = canonical(words, COST_FORMS[name], f"--cost-penalty-form {name}")
        unread = [word for word in given if not word.startswith(("mixing=", "estimator="))]
        if unread and "estimator=pgd" not in given:
            raise ConfigError(
                f"--cost-penalty-form {name}: {unread[0]} is read with estimator=pgd only"
            )
        object.__setattr__(self, "cost_penalty_form", ":".join([name, *given]))

    @property
    def form(self) -> str:
        """Name of the form, without its arguments."""
        return self.cost_penalty_form.partition(":")[0]

    @property
    def arguments(self) -> dict[str, Any]:
        """Every argument of the form by name."""
        words = self.cost_penalty_form.split(":")[1:]
        return parse_arguments(words, COST_FORMS[self.form], "--cost-penalty-form")


TargetReference = Literal["none", "demonstrator"]


class WishConfig(Group):
    """Targets instead of weights: the paper's constrained problem (eq:main_problem).

    The weights of the policy penalties are then found during training.
    """

    keep_return: FractionBelow1 = 0.0
    """--smoothest with this share of the return kept, e.g. 0.98. A share counts from what random
    actions earn. In training it is of the demonstrator's return, by the rewards that its
    demonstrations hold; in smooth of the teacher's. 0: the return is not read (smooth: 98 % is
    kept)."""
    smoothness_target: NonNegative = 0.0
    """J to end at, at most (epsilon' of eq:main_problem). In the common frame: per standard
    deviation of the demonstrations' states. With a reference, a fraction of its J. 0: none."""
    fluctuation_target: NonNegative = 0.0
    """Action change per step to end at, at most. In units of the actions, E |a_{t+1} - a_t|; found
    by the weight of a temporal penalty (cats, or the one that --penalty names) beside the spatial
    one. With --smoothest or --keep-return, only as far as what they keep allows, and before J. With
    a reference, a fraction of its change. 0: none."""
    smoothest = False
    smoothness_target_reference = "none"
    fluctuation_target_reference = "none"
    smoothness_target_states = 500

    @property
    def wants_smoothest(self) -> bool:
        """Whether a constraint is what holds the weight back."""
        return self.smoothest or (self.keep_return > 0 and self.smoothness_target == 0)


class TrainingWishConfig(WishConfig):
    __doc__ = WishConfig.__doc__

    smoothest: bool = False
    """As smooth as the imitation allows. The weight rises while it is good and falls back when it
    is not. Good: --keep-return where given, else the states that the policy visits are like the
    demonstrated ones, for which no reward is read. Handed out is the smoothest good policy."""
    smoothness_target_reference: TargetReference = "none"
    """none: the target is J itself. demonstrator: a fraction of the J of whoever gave the
    demonstrations, as recorded with them or else as cloned from them."""
    fluctuation_target_reference: TargetReference = "none"
    """none: the target is the change itself. demonstrator: a fraction of the change in whole
    demonstrations, or of a clone's where steps were left out."""
    smoothness_target_states: Count = 500
    """States of each batch on which J and the action change are measured, drawn anew each
    iteration."""
