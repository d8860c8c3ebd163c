"""Everything that changes during a run: networks, optimisers, live envs, streams, counters.

A learner can be built from a config, taken apart into named tensors and a JSON document, and
put together again bit for bit. TRPO, GAIL, SPaCIL and AIRL are settings of this one.
"""

import copy
import logging
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from torch import Tensor

from spacil.config.algorithms import ALGORITHMS, from_table
from spacil.config.penalty_terms import parse_terms, words_of
from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import CommonFrame
from spacil.demos.demonstrations import Demonstrations
from spacil.engine.adam import Adam
from spacil.engine.device import resolve_device
from spacil.engine.recorder import Recorder
from spacil.envs.episodes import EpisodeTotals
from spacil.envs.rollout import collect
from spacil.envs.vector_env import EnvSpec
from spacil.learning.adversary import Adversary
from spacil.learning.fidelity import make_anchor, stagger
from spacil.learning.judge import RewardTerm
from spacil.learning.kept_policy import KeptPolicy
from spacil.learning.learner import make_eval_env, make_policy, make_run_env
from spacil.learning.likeness import demonstrated_states, score_of
from spacil.learning.metrics import Counters, Metrics, OpenEpisodes, Stopwatch
from spacil.learning.plan import IterationPlan, plan_iteration
from spacil.learning.policy_step import PolicyStep
from spacil.learning.ppo import ClippedStep
from spacil.learning.searches import WeightSearches
from spacil.learning.trpo import TrustRegionStep
from spacil.learning.update import update
from spacil.learning.warm_start import start_from_clone
from spacil.measuring.evaluate import Best, Evaluation
from spacil.measuring.frames import frame_of_run
from spacil.nets.policy import GaussianPolicy
from spacil.nets.value import ValueNet
from spacil.runs.state import State
from spacil.seeding import Streams
from spacil.smoothness.cost_metric import cost_constants
from spacil.smoothness.policy_terms import refuse_undiscounted

_logger = logging.getLogger(__name__)

NUM_COST_STATES = 1_000
"""Demonstrated states, evenly spaced, on which the cost's smoothness is logged."""


class PolicyLearner:
    """A policy that learns from what it plays."""

    def __init__(
        self,
        config: TrainConfig,
        env_source: Any,
        demonstrations: Demonstrations | None,
        common_frame: CommonFrame | None = None,
    ) -> None:
        refuse_undiscounted(config.policy_penalty)
        run, num_envs = config.run, config.sampling.num_envs
        self.config = config
        self.device = resolve_device(run.device)
        self.recorder = Recorder(self.device)
        self.streams = Streams.from_seed(run.seed)
        self.demonstrations = demonstrations
        self.env = make_run_env(config, env_source, num_envs, "env")
        self.eval_env = make_eval_env(config, env_source, self.env.spec, demonstrations)
        self.common_frame = common_frame or frame_of_run(
            demonstrations, config.task, self.env.spec.num_states
        )
        self.env_states: Tensor = self.env.reset()
        self.counters = Counters()
        self.best: Best | None = None
        self.searches = WeightSearches(config)
        self.penalty_weights: dict[Any, float] = {}
        """Weights by name that a callback sets instead of the config's"""
        self.reward_terms: list[RewardTerm] = []
        """Functions whose rewards are added to the adversary's"""
        self.demonstrated = demonstrated_states(config, demonstrations)
        self.open_episodes = OpenEpisodes(num_envs, self.env.device)
        if config.fidelity.staggered_starts:
            self.env_states = stagger(self.env, self.env_states, self.open_episodes)
        self._build_networks(self.env.spec)
        self._register_state()

    def _build_networks(self, spec: EnvSpec) -> None:
        nets, start = self.config.nets, self.streams.init
        self.policy = make_policy(spec, nets, start).to(self.device)
        value = self.config.value
        self.value = ValueNet(
            spec.num_states,
            value.value_hidden,
            nets.init,
            start,
            standardizes=value.value_targets == "standardized",
        ).to(self.device)
        self.value_optimizer = Adam(self.value, value.value_learning_rate)
        # Where the envs are on another device, a copy of the policy acts there.
        self.acting_policy = self.policy
        if self.policy.log_std.device != self.env_states.device:
            self.acting_policy = copy.deepcopy(self.policy).to(self.env.device)
        decay = self.config.fidelity.kept_policy_decay
        self.kept = KeptPolicy(self.acting_policy, decay) if decay > 0 else None
        self.chosen: GaussianPolicy | None = None
        """A copy of the evaluated policy to hand out, where that need not be the newest"""
        if self.config.wish.wants_smoothest and self.config.evaluation.select == "smoothest":
            self.chosen = copy.deepcopy(self.acting_policy).cpu().requires_grad_(False)
        self.anchor = make_anchor(self.config, self.demonstrations, self.policy)
        is_ppo = self.config.policy_step.policy_step == "ppo"
        make_step = ClippedStep if is_ppo else TrustRegionStep
        self.policy_step: PolicyStep = make_step(self.policy, self.config)
        self.adversary: Adversary | None = None
        adversary = ALGORITHMS[self.config.algorithm].adversary
        if adversary is not None:
            assert self.demonstrations is not None
            kind = self.config.discriminator.discriminator_actions
            expert = self.demonstrations.expert_batch(kind).to(self.device)
            self.adversary = from_table(adversary)(self.config, self.policy, expert, start)

    def _register_state(self) -> None:
        """Name all that the next iteration depends on; `policy` is what is handed out."""
        state = self.state = State()
        if self.kept is None:
            state.register("policy", self.policy)
        else:
            state.register("policy", self.kept.policy)
            state.register("student", self.policy)
        state.register("value", self.value)
        state.register("optimizer.value", self.value_optimizer.state)
        if self.chosen is not None:
            state.register("chosen", self.chosen)
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
        self.sync_acting_policy()
        for policy in (self.policy, self.kept_policy, self.handed_out_policy):
            policy.normalizer.refresh()

    # --- the paper's iteration

    def prepare(self) -> None:
        """Measure what the run's weight searches start from."""
        self.searches.begin(self.demonstrations, self.common_frame, self.eval_env)

    def iterate(self) -> Metrics:
        """Sample, smooth policy update, value fit, smooth cost update (algo:Safe-FW)."""
        clock = Stopwatch()
        plan = self._plan()
        if plan.begins_with_clone:
            assert self.demonstrations is not None
            with clock("warm_start"):
                start_from_clone(
                    self.policy,
                    self.config,
                    self.env.spec,
                    self.demonstrations,
                    self.searches.weights.spatial,
                )
                self.sync_acting_policy()
        with clock("simulation"):
            rollout, self.env_states = collect(
                self.env,
                self.acting_policy,
                self.env_states,
                self.config.sampling.steps_per_iteration,
                self.streams.action,
            )
        metrics = update(self, plan, rollout, clock)
        if plan.moves_policy:
            metrics |= self.searches.after_batch(
                self.policy,
                rollout,
                self.common_frame,
                self.streams.target,
                self.counters.iteration,
            )
        self.sync_acting_policy()
        self.counters.iteration += 1
        self._keep_policy()
        steps_before = self.counters.env_steps // self.env.num_envs
        self.counters.env_steps += rollout.num_steps
        progress = {"iteration": self.counters.iteration, "env_steps": self.counters.env_steps}
        finished = self.open_episodes.count(rollout, steps_before)
        return progress | finished | metrics | clock.seconds

    def _plan(self) -> IterationPlan:
        """What the next iteration does; a search for the weight begins with the first."""
        demos = self.demonstrations
        self.searches.begin(demos, self.common_frame, self.eval_env)
        num_pairs = 0 if demos is None else demos.num_steps
        return plan_iteration(
            self.config,
            self.counters.iteration,
            self.searches.weights,
            num_pairs,
            self.penalty_weights,
        )

    @property
    def num_moves(self) -> int:
        """Iterations so far that moved the policy."""
        start = self.config.warm_start
        num_waited = start.warm_start_iterations if start.is_on else 0
        return max(0, self.counters.iteration - num_waited)

    def _keep_policy(self) -> None:
        if self.kept is None:
            return
        if self.num_moves == 0:
            self.kept.become(self.acting_policy)
        else:
            self.kept.follow(self.acting_policy, self.num_moves)

    @property
    def kept_policy(self) -> GaussianPolicy:
        """What is evaluated and handed out: the mean over iterations, or the newest policy."""
        return self.acting_policy if self.kept is None else self.kept.policy

    @property
    def handed_out_policy(self) -> GaussianPolicy:
        """What a user gets: the kept policy, or the evaluated one that --smoothest chose."""
        is_chosen = self.chosen is not None and self.searches.chosen is not None
        return self.chosen if is_chosen and self.chosen is not None else self.kept_policy

    def where(self) -> str:
        """The iteration under way, and its batch."""
        first = self.counters.env_steps + 1
        last = self.counters.env_steps + self.config.sampling.steps_per_iteration
        return f"iteration {self.counters.iteration + 1} (batch: env steps {first:,} to {last:,})"

    def after_evaluation(self, evaluation: Evaluation, episodes: EpisodeTotals) -> Metrics:
        """Let what searches for a weight hear of it; how alike, and how smooth the cost is."""
        score = None
        if self.demonstrated is not None:
            score = score_of(episodes, self.demonstrated)
        num_done = self.counters.iteration
        is_regular = num_done % self.config.evaluation.evaluation_interval == 0
        found = Best(evaluation.average_return, num_done, score, evaluation.smoothness_j)
        metrics = self.searches.after_evaluation(
            evaluation, found, is_regular=is_regular and self.num_moves > 0
        )
        if self.chosen is not None:
            metrics["is_best"] = metrics["is_smoothest"]
            if metrics["is_best"]:
                self.best = self.searches.chosen
                self.chosen.load_state_dict(self.kept_policy.state_dict())
                self.chosen.normalizer.refresh()
        if self.adversary is not None:
            expert = self.adversary.expert.states
            stride = max(1, len(expert) // NUM_COST_STATES)
            states = self.policy.normalize(expert[::stride])
            mean_action = self.policy.mean_of_normalized
            metrics |= asdict(cost_constants(self.adversary.cost, mean_action, states))
        return metrics

    @property
    def is_done(self) -> bool:
        """All iterations done."""
        return self.counters.iteration >= self.config.run.iterations

    def sync_acting_policy(self) -> None:
        if self.acting_policy is not self.policy:
            self.acting_policy.load_state_dict(self.policy.state_dict())
            self.acting_policy.normalizer.refresh()

    def close(self) -> None:
        self.env.close()
        self.eval_env.close()
