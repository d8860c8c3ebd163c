"""The parts of an on-policy run: networks, optimisers, live envs, streams, counters.

Everything that changes during a run is made here, and named for its checkpoints.
"""

import copy
import logging
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from spacil.config.algorithms import ALGORITHMS, from_table
from spacil.config.penalty_terms import parse_terms, words_of
from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import CommonFrame
from spacil.demos.demonstrations import Demonstrations
from spacil.engine.adam import Adam
from spacil.engine.device import resolve_device
from spacil.engine.recorder import Recorder
from spacil.learning.advantages import (
    RewardTerm,
)
from spacil.learning.adversary import Adversary
from spacil.learning.learner import make_eval_env, make_policy, make_run_env
from spacil.learning.metrics import (
    Counters,
    OpenEpisodes,
)
from spacil.learning.policy_step import PolicyStep
from spacil.learning.ppo import ClippedStep
from spacil.learning.searches import WeightSearches
from spacil.learning.trust_region import TrustRegionStep
from spacil.measuring.evaluate import Best
from spacil.measuring.frames import frame_of_run
from spacil.measuring.imitation_score import DemonstratedStates
from spacil.nets.policy import EmaPolicy, GaussianPolicy
from spacil.nets.value import ValueNet
from spacil.runs.state import State
from spacil.seeding import Streams
from spacil.smoothness.policy_terms import (
    Anchor,
    refuse_undiscounted,
)

ELAPSED = "elapsed_steps"

_logger = logging.getLogger(__name__)


class OnPolicyParts:
    """What an iteration works with."""

    def __init__(
        self,
        config: TrainConfig,
        env_source: Any,
        demonstrations: Demonstrations | None,
        common_frame: CommonFrame | None = None,
    ) -> None:
        refuse_undiscounted(config.policy_penalty)
        run, num_envs = config.run, config.sampling.num_envs
        self.config, self.demonstrations = config, demonstrations
        self.device = resolve_device(run.device)
        self.recorder = Recorder(self.device)
        self.streams = Streams.from_seed(run.seed)
        self.env = make_run_env(config, env_source, num_envs, "env")
        self.eval_env = make_eval_env(config, env_source, self.env.spec, demonstrations)
        spec = self.env.spec
        self.common_frame = common_frame or frame_of_run(
            demonstrations, config.task, spec.num_states
        )
        self.env_states: Tensor = self.env.reset()
        self.open_episodes = OpenEpisodes(num_envs, self.env.device)
        if config.imitation.staggered_starts:
            self._stagger()
        self.counters = Counters()
        self.best: Best | None = None
        self.searches = WeightSearches(config)
        self.penalty_weights: dict[Any, float] = {}
        """Weights by name that a callback sets instead of the config's"""
        self.reward_terms: list[RewardTerm] = []
        """Functions whose rewards are added to the adversary's"""
        nets, value, start = config.nets, config.value, self.streams.init
        self.policy = make_policy(spec, nets, start).to(self.device)
        self.value = ValueNet(
            spec.num_states,
            value.value_hidden,
            nets.init,
            start,
            standardizes=value.value_targets == "standardized",
        ).to(self.device)
        self.value_optimizer = Adam(self.value, value.value_learning_rate)
        # Where the envs are on another device, a copy of the policy acts there.
        self.rollout_policy = self.policy
        if self.device != self.env_states.device:
            self.rollout_policy = copy.deepcopy(self.policy).to(self.env.device)
        decay = config.imitation.kept_policy_decay
        self.ema = EmaPolicy(self.rollout_policy, decay) if decay > 0 else None
        self.selected: GaussianPolicy | None = None
        """A copy of the evaluated policy to hand out, where that need not be the newest"""
        if config.wish.wants_smoothest and config.imitation.select == "smoothest":
            self.selected = copy.deepcopy(self.rollout_policy).cpu().requires_grad_(False)
        self.anchor: Anchor | None = None
        is_ppo = config.policy_step.policy_step == "ppo"
        self.policy_step: PolicyStep = (ClippedStep if is_ppo else TrustRegionStep)(
            self.policy, config
        )
        self.adversary: Adversary | None = None
        self.demonstrated: DemonstratedStates | None = None
        if demonstrations is not None:
            self._read_demonstrations(demonstrations)
        self._register_state()

    def _read_demonstrations(self, demonstrations: Demonstrations) -> None:
        """Make what compares with demonstrations: anchor, adversary, imitation score."""
        config = self.config
        if beta := config.imitation.anchor_weight:
            expert = demonstrations.expert_batch("executed").to(self.device)
            self.anchor = Anchor(expert, self.policy, beta, config.run.seed)
        if adversary := ALGORITHMS[config.algorithm].adversary:
            kind = config.discriminator.discriminator_actions
            expert = demonstrations.expert_batch(kind).to(self.device)
            self.adversary = from_table(adversary)(config, self.policy, expert, self.streams.init)
        wish, by_score = config.wish, config.imitation.select == "imitation"
        if config.policy_penalty.penalty_weight == "auto" or wish.wants_smoothest or by_score:
            num_ended = float(demonstrations.terminations.float().sum())
            fraction = num_ended / demonstrations.num_episodes
            self.demonstrated = DemonstratedStates.of(demonstrations.states, fraction)

    def _stagger(self) -> None:
        """Let env i of N begin with i / N of the time limit gone.

        All envs would otherwise pass the same window of an episode in the same iteration, wherever
        episodes do not end early. An env that keeps its own clock stays as it is.
        """
        env, saved = self.env, self.env.save_state()
        if ELAPSED not in saved or not env.spec.horizon:
            _logger.debug("%s keeps its own clock: episodes start together", env.spec.task)
            return
        steps = torch.arange(env.num_envs) * env.spec.horizon // env.num_envs
        self.open_episodes.lengths.copy_(steps)
        self.env_states = env.load_state(saved | {ELAPSED: steps.to(saved[ELAPSED])})

    def _register_state(self) -> None:
        """Name all that the next iteration depends on; `policy` is what is handed out."""
        state = self.state = State()
        if self.ema is None:
            state.register("policy", self.policy)
        else:
            state.register("policy", self.ema.policy)
            state.register("student", self.policy)
        state.register("value", self.value)
        state.register("optimizer.value", self.value_optimizer.state)
        if self.selected is not None:
            state.register("chosen", self.selected)
        if self.policy_step.optimizer is not None:
            state.register("optimizer.policy", self.policy_step.optimizer.state)
        if self.adversary is not None:
            state.register("discriminator", self.adversary.network)
            state.register("optimizer.discriminator", self.adversary.optimizer.state)
        for name, generator in vars(self.streams).items():
            state.register(f"stream.{name}", generator)
        if self.anchor is not None:
            state.register("stream.anchor", self.anchor.generator)
        state.register("episode", vars(self.open_episodes))
        state.register_tensors("env", self.env.save_state, self._load_env)
        state.register_record("counters", self, Counters)
        state.register_record("best", self, Best, optional=True)
        state.register_value(
            "penalty_weights",
            lambda: list(words_of(self.penalty_weights)),
            lambda words: {term.name: term.weight for term in parse_terms(words or ())},
            lambda weights: setattr(self, "penalty_weights", weights),
        )
        self.searches.register(state)
        state.after_restore(self._refresh)

    def _load_env(self, saved: Mapping[str, Tensor]) -> None:
        self.env_states = self.env.load_state(saved)
        if not self.env.spec.restores_exactly:
            _logger.warning(
                "%s cannot be saved within an episode: the run continues with new episodes, "
                "not bit for bit",
                self.env.spec.task,
            )
            self.open_episodes.returns.zero_()
            self.open_episodes.lengths.zero_()

    def _refresh(self) -> None:
        """Bring up to date what follows from the restored parts."""
        self.recorder.forget()
        self.sync_rollout_policy()
        for policy in (self.policy, self.evaluated_policy, self.final_policy):
            policy.normalizer.refresh()

    @property
    def evaluated_policy(self) -> GaussianPolicy:
        """The mean over iterations, or the newest policy."""
        return self.rollout_policy if self.ema is None else self.ema.policy

    @property
    def final_policy(self) -> GaussianPolicy:
        """The policy that a user gets: the evaluated one, or the one that --smoothest selected."""
        if self.selected is None or self.searches.chosen is None:
            return self.evaluated_policy
        return self.selected

    def sync_rollout_policy(self) -> None:
        """Copy the policy to where the envs are."""
        if self.rollout_policy is not self.policy:
            self.rollout_policy.load_state_dict(self.policy.state_dict())
            self.rollout_policy.normalizer.refresh()

    def close(self) -> None:
        self.env.close()
        self.eval_env.close()
