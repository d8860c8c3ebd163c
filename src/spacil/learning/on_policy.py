"""One run of TRPO, GAIL, SPaCIL or AIRL in memory; `iterate` is the paper's Algorithm 2.

Every update goes through the recorder, so that a GPU replays it from the second iteration on.
"""

import copy
import functools
import logging
import pkgutil
from collections.abc import Hashable, Mapping
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from spacil.config.algorithms import ALGORITHMS
from spacil.config.penalty_terms import WeightedTerm, parse_terms, words_of
from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import CommonFrame
from spacil.demos.demonstrations import Demonstrations
from spacil.engine.device import Recorder, one_torch_thread, read_together, resolve_device
from spacil.engine.mlp_passes import Adam
from spacil.envs.episodes import EpisodeTotals, collect
from spacil.envs.vector_env import VectorEnv
from spacil.learning.adversary import Adversary, GailAdversary
from spacil.learning.cloning import start_from_clone
from spacil.learning.critic import (
    RewardTerm,
    compute_rewards_and_advantages,
    fit_value,
)
from spacil.learning.learner import (
    Learner,
    Metrics,
    OpenEpisodes,
    Stopwatch,
    UpdateCounters,
    cost_metrics,
    make_eval_env,
    make_policy,
    make_run_env,
    policy_metrics,
)
from spacil.learning.own_play import REFRESH_INTERVAL, Labels, reads_labels
from spacil.learning.policy_step import ClippedStep, PolicyStep, StepReport, TrustRegionStep
from spacil.learning.searches import WeightSearches
from spacil.measuring.evaluate import Best, Evaluation
from spacil.measuring.frames import frame_of_run
from spacil.measuring.imitation_score import DemonstratedStates
from spacil.nets.mlp import ValueNet
from spacil.nets.policy import EmaPolicy, GaussianPolicy, RunningNormalizer
from spacil.smoothness.cost import cost_constants
from spacil.smoothness.policy_terms import (
    Anchor,
    DrawnTerms,
    draw_terms,
    rows_of_batch,
    terms_at,
    with_weights,
)

ELAPSED = "elapsed_steps"
CRITIC_EPOCH_FACTOR = 5
DISCRIMINATOR_STEP_FACTOR = 10
"""On value epochs and discriminator steps while the policy waits: a critic that starts at zero
explains nothing of the returns after five usual fits, and half of them after five of these."""
NUM_COST_STATES = 1_000
"""Demonstrated states, evenly spaced, on which the cost's smoothness is logged."""

_logger = logging.getLogger(__name__)


class OnPolicy(Learner):
    """A policy that learns from what it plays, and all that its next iteration depends on."""

    env: VectorEnv
    counters: UpdateCounters

    def __init__(
        self,
        config: TrainConfig,
        env_source: Any,
        demonstrations: Demonstrations | None,
        common_frame: CommonFrame | None = None,
    ) -> None:
        super().__init__(config, UpdateCounters(), demonstrations)
        num_envs, self.env_source = config.sampling.num_envs, env_source
        self.device = resolve_device(config.run.device)
        self.recorder = Recorder(self.device)
        self.env = make_run_env(config, env_source, num_envs, "env", common_frame)
        spec = self.env.spec
        self.eval_env = make_eval_env(config, env_source, spec, demonstrations, common_frame)
        self.common_frame = frame_of_run(common_frame, demonstrations, spec)
        self.env_states: Tensor = self.env.reset()
        self.open_episodes = OpenEpisodes(num_envs, self.env.device)
        if config.imitation.staggered_starts:
            self._stagger()
        are_labels = reads_labels(config, demonstrations)
        self.searches = WeightSearches(config, are_labels=are_labels)
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
        if self.policy.log_std.device != self.env_states.device:  # cuda is cuda:0
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
        self.labels: Labels | None = None
        """Actions in the place of those that the demonstrations do not hold"""
        if demonstrations is not None:
            if are_labels:
                self.labels = Labels(config, spec, demonstrations)
            self._read_demonstrations(demonstrations)
        self._register_state()

    def _read_demonstrations(self, demonstrations: Demonstrations) -> None:
        """Make what compares with demonstrations: anchor, adversary, imitation score."""
        config = self.config
        if beta := config.imitation.anchor_weight:
            labelled = demonstrations if self.labels is None else self.labels.demonstrations
            expert = labelled.expert_batch("executed").to(self.device)
            self.anchor = Anchor(expert, self.policy, beta, config.run.seed)
        if adversary := ALGORITHMS[config.algorithm].adversary:
            kind = config.discriminator.discriminator_actions
            expert = demonstrations.expert_batch(kind).to(self.device)
            self.adversary = pkgutil.resolve_name(adversary)(
                config, self.policy, expert, self.streams.init
            )
        self.demonstrated = DemonstratedStates.by(demonstrations)

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
        state = self.state
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
        if self.anchor is not None:
            state.register("stream.anchor", self.anchor.generator)
        if self.labels is not None:
            self.labels.register(state)
            state.after_restore(self._hold_to_labels)
        state.register("episode", vars(self.open_episodes))

        def load_env(saved: Mapping[str, Tensor]) -> None:
            self.env_states = self.env.load_state(saved)
            if not self.env.spec.restores_exactly:
                _logger.warning(
                    "%s cannot be saved within an episode: the run continues with new episodes, "
                    "not bit for bit",
                    self.env.spec.task,
                )
                self.open_episodes.returns.zero_()
                self.open_episodes.lengths.zero_()

        def refresh() -> None:
            self.recorder.forget()
            self.sync_rollout_policy()
            for policy in (self.policy, self.evaluated_policy, self.final_policy):
                policy.normalizer.refresh()

        state.register_tensors("env", self.env.save_state, load_env)
        state.register_value(
            "penalty_weights",
            lambda: list(words_of(self.penalty_weights)),
            lambda words: {term.name: term.weight for term in parse_terms(words or ())},
            lambda weights: setattr(self, "penalty_weights", weights),
        )
        self.searches.register(state)
        state.after_restore(refresh)

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

    def prepare(self) -> None:
        """Find labels where no actions were demonstrated, and what weight searches start from."""
        demonstrations, labels = self.demonstrations, self.labels
        if labels is not None:
            if not labels.is_found:
                self.counters.env_steps += labels.play(self.env_source, self.common_frame)
                if demonstrations is not None and demonstrations.columns and self.common_frame:
                    self.common_frame = self.common_frame.with_columns_of(labels.demonstrations)
                self._hold_to_labels()
                adversary = self.adversary
                if isinstance(adversary, GailAdversary) and adversary.network.reads_changes:
                    adversary.read_changes_in(labels.model.change_std)
                if self.anchor is None:  # labels are not refreshed: checkpoints need no own steps
                    labels.own = labels.own.newest(1)
            demonstrations = labels.demonstrations
        self.searches.begin(demonstrations, self.common_frame, self.eval_env)

    def _hold_to_labels(self) -> None:
        if self.anchor is not None and self.labels is not None:
            self.anchor.relabel(**self.labels.found)

    # --- the paper's iteration

    def iterate(self) -> Metrics:
        """Sample, smooth policy step, value fit, smooth cost step (algo:Safe-FW)."""
        self.prepare()
        config, policy, streams, recorder = self.config, self.policy, self.streams, self.recorder
        is_waiting, terms, clock = self.is_waiting, self.penalty_terms, Stopwatch()
        if config.warm_start.is_on and self.counters.iteration == 0:
            with clock("warm_start"):
                assert self.demonstrations is not None
                data = self.demonstrations if self.labels is None else self.labels.demonstrations
                weight = self.searches.weights.spatial
                start_from_clone(policy, config, self.env.spec, data, weight)
                self.sync_rollout_policy()
        with clock("simulation"):
            size, actor = config.sampling.steps_per_iteration, self.rollout_policy
            played, self.env_states = collect(
                self.env, actor, self.env_states, size, streams.action
            )
        is_due = self.counters.iteration % REFRESH_INTERVAL == 1
        if self.labels is not None and self.anchor is not None and is_due:
            with clock("labels"):
                self.labels.refresh(played, actor.mean)
                self._hold_to_labels()
        with clock("advantages"):  # -log D of eq:cost_opti
            # What decides the shapes and branches of an update. Pairs of successive states come
            # in any number, and a user's own function may do what cannot be replayed.
            kind: Hashable = object()
            if is_waiting or all(term.kind.is_replayable for term in terms):
                names = tuple(term.name for term in terms)
                kind = (*played.actions.shape, names, is_waiting, bool(self.reward_terms))
            recorder.begin_round(kind)
            nets = (policy, self.value, self.adversary)
            scored = compute_rewards_and_advantages(
                played.to(self.device), *nets, config, recorder, self.reward_terms
            )
        with clock("policy"):  # eq:final_policy_opti, with eq:policy_reg on rows drawn for it
            rows_for = functools.partial(rows_of_batch, scored.rollout, scored.for_policy.states)

            def draw() -> DrawnTerms:
                drawn = draw_terms(terms, rows_for, policy, config, streams)
                return drawn if self.anchor is None else drawn + self.anchor.draw(policy)

            step: StepReport = self.policy_step.report()
            if not is_waiting:
                step = self.policy_step.take(scored.for_policy, draw, streams, recorder)
        # Minibatches are small: a second thread would be waited for longer than it helps.
        with clock("value"), one_torch_thread():
            num_epochs = config.value.value_epochs * (CRITIC_EPOCH_FACTOR if is_waiting else 1)
            critic = (self.value, self.value_optimizer, config.value, num_epochs)
            fit = fit_value(*critic, scored.for_value, streams.minibatch, recorder)
        cost = None
        with clock("discriminator"):  # eq:final_cost_opti
            num_steps = config.discriminator.discriminator_steps
            num_steps *= DISCRIMINATOR_STEP_FACTOR if is_waiting else 1
            if self.adversary is not None:
                cost = self.adversary.train(scored.for_adversary, num_steps, streams, recorder)
        with clock("normalizer"):
            # A clone is a function of the states as the demonstrations normalise them.
            if not config.warm_start.is_on:
                merge = RunningNormalizer.merge
                recorder("normalizer", merge, (policy.normalizer, scored.rollout.states))
            reward, std = read_together(scored.rewards.mean(), policy.log_std.exp().mean())
        penalty = config.policy_penalty
        weights: Metrics = {"lambda_policy": penalty.first_weight_among(terms)}
        if self.searches.weights.temporal is not None:
            of_term = {term.name: term.weight for term in terms}
            weights["lambda_temporal"] = of_term.get(penalty.temporal_term.name, 0.0)
        if not is_waiting:
            known = (self.common_frame, streams.target, self.counters.iteration)
            weights |= self.searches.after_batch(policy, played, *known)
        self.sync_rollout_policy()
        num_own = 0 if self.labels is None else self.labels.num_played
        steps_before_batch = (self.counters.env_steps - num_own) // self.env.num_envs
        self.counters.iteration += 1
        self.counters.env_steps += played.num_steps
        episodes = self.open_episodes.count(played, steps_before_batch)
        if self.ema is not None:
            self.ema.update(self.rollout_policy, self.num_moves)
        return {
            "iteration": self.counters.iteration,
            "env_steps": self.counters.env_steps,
            **episodes,
            "reward_mean": reward,
            "policy_std": std,
            **weights,
            **({} if self.labels is None else self.labels.metrics),
            **policy_metrics(self.counters, step),
            **asdict(fit),
            **cost_metrics(self.counters, cost),
            **clock.seconds,
        }

    @property
    def is_waiting(self) -> bool:
        """Whether only critic and discriminator train, on what a clone does."""
        start = self.config.warm_start
        return start.is_on and self.counters.iteration < start.warm_start_iterations

    @property
    def num_moves(self) -> int:
        """Iterations so far that moved the policy."""
        start = self.config.warm_start
        num_waited = start.warm_start_iterations if start.is_on else 0
        return max(0, self.counters.iteration - num_waited)

    @property
    def penalty_terms(self) -> tuple[WeightedTerm, ...]:
        """The policy penalties that have weight in the next iteration."""
        penalty, found = self.config.policy_penalty, self.searches.weights
        terms = terms_at(penalty, self.counters.iteration, found)
        return with_weights(terms, self.penalty_weights)

    # --- what the loop asks

    def after_evaluation(self, evaluation: Evaluation, episodes: EpisodeTotals) -> Metrics:
        """Let the weight searches hear of it; how alike, and how smooth the cost is."""
        num_done, score = self.counters.iteration, evaluation.imitation_score
        found = Best(evaluation.average_return, num_done, score, evaluation.smoothness_j)
        is_regular = num_done % self.config.evaluation.evaluation_interval == 0
        metrics = self.searches.after_evaluation(
            evaluation, found, is_regular=is_regular and self.num_moves > 0
        )
        if self.selected is not None:
            metrics["is_best"] = metrics["is_smoothest"]
            if metrics["is_best"]:
                self.best = self.searches.chosen
                self.selected.load_state_dict(self.evaluated_policy.state_dict())
                self.selected.normalizer.refresh()
        if self.adversary is not None and (cost := self.adversary.cost) is not None:
            expert = self.adversary.expert.states
            stride = max(1, len(expert) // NUM_COST_STATES)
            states = self.policy.normalize(expert[::stride])
            mean_action = self.policy.mean_of_normalized
            metrics |= cost_constants(cost, mean_action, states)
        return metrics
