"""One run of TRPO, GAIL, SPaCIL or AIRL in memory; `iterate` is the paper's Algorithm 2.

Every update goes through the recorder, so that a GPU replays it from the second iteration on.
"""

import functools
from collections.abc import Hashable, Sequence
from dataclasses import asdict

from spacil.config.penalty_terms import WeightedTerm
from spacil.engine.host_reads import read_together
from spacil.engine.torch_threads import one_torch_thread
from spacil.envs.episodes import EpisodeTotals
from spacil.envs.rollout import collect
from spacil.learning.advantages import ScoredBatch, compute_rewards_and_advantages
from spacil.learning.cloning import start_from_clone
from spacil.learning.metrics import Metrics, Stopwatch, cost_metrics, policy_metrics
from spacil.learning.on_policy_parts import OnPolicyParts
from spacil.learning.value_fit import fit_value
from spacil.measuring.evaluate import Best, Evaluation
from spacil.measuring.imitation_score import imitation_score
from spacil.nets.normalizer import RunningNormalizer
from spacil.smoothness.cost import cost_constants
from spacil.smoothness.policy_terms import DrawnTerms, draw_terms, rows_of_batch
from spacil.smoothness.weights import terms_at, with_weights
from spacil.types import RolloutBatch

CRITIC_EPOCH_FACTOR = 5
DISCRIMINATOR_STEP_FACTOR = 10
"""On value epochs and discriminator steps while the policy waits: a critic that starts at zero
explains nothing of the returns after five usual fits, and half of them after five of these."""
NUM_COST_STATES = 1_000
"""Demonstrated states, evenly spaced, on which the cost's smoothness is logged."""


class OnPolicy(OnPolicyParts):
    """A policy that learns from what it plays."""

    def prepare(self) -> None:
        """Measure what the run's weight searches start from."""
        self.searches.begin(self.demonstrations, self.common_frame, self.eval_env)

    # --- the paper's iteration

    def iterate(self) -> Metrics:
        """Sample, smooth policy step, value fit, smooth cost step (algo:Safe-FW)."""
        self.prepare()
        config, policy, streams, recorder = self.config, self.policy, self.streams, self.recorder
        is_waiting, terms, clock = self.is_waiting, self.penalty_terms, Stopwatch()
        if config.warm_start.is_on and self.counters.iteration == 0:
            with clock("warm_start"):
                assert self.demonstrations is not None
                data, weight = self.demonstrations, self.searches.weights.spatial
                start_from_clone(policy, config, self.env.spec, data, weight)
                self.sync_rollout_policy()
        with clock("simulation"):
            size, actor = config.sampling.steps_per_iteration, self.rollout_policy
            played, self.env_states = collect(
                self.env, actor, self.env_states, size, streams.action
            )
        with clock("advantages"):  # -log D of eq:cost_opti
            recorder.begin_round(self._round_kind(played, terms))
            nets = (policy, self.value, self.adversary)
            scored = compute_rewards_and_advantages(
                played.to(self.device), *nets, config, recorder, self.reward_terms
            )
        with clock("policy"):  # eq:final_policy_opti, with eq:policy_reg on rows drawn for it
            draw = functools.partial(self._draw_penalties, terms, scored)
            step = self.policy_step.stay()
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
        weights = self._weights_of(terms)
        if not is_waiting:
            known = (self.common_frame, streams.target, self.counters.iteration)
            weights |= self.searches.after_batch(policy, played, *known)
        self.sync_rollout_policy()
        progress = self._count(played)
        if self.ema is not None:
            self.ema.update(self.rollout_policy, self.num_moves)
        return {
            **progress,
            "reward_mean": reward,
            "policy_std": std,
            **weights,
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

    def _weights_of(self, terms: Sequence[WeightedTerm]) -> Metrics:
        """The weights that a search moves, or would move."""
        penalty = self.config.policy_penalty
        weights = {"lambda_policy": penalty.first_weight_among(terms)}
        if self.searches.weights.temporal is not None:
            of_term = {term.name: term.weight for term in terms}
            weights["lambda_temporal"] = of_term.get(penalty.temporal_term.name, 0.0)
        return weights

    def _round_kind(self, played: RolloutBatch, terms: Sequence[WeightedTerm]) -> Hashable:
        """What decides the shapes and branches of an update, for the recorder.

        Pairs of successive states come in any number, so no two such rounds are alike; and a
        user's own function may do what cannot be replayed.
        """
        if not self.is_waiting and not all(term.kind.is_replayable for term in terms):
            return object()
        names = tuple(term.name for term in terms)
        return (*played.actions.shape, names, self.is_waiting, bool(self.reward_terms))

    def _draw_penalties(self, terms: Sequence[WeightedTerm], scored: ScoredBatch) -> DrawnTerms:
        steps_before, states = self.open_episodes.lengths, scored.for_policy.states
        rows_for = rows_of_batch(scored.rollout, states, steps_before, self.config)
        drawn = draw_terms(terms, rows_for, self.policy, self.config, self.streams)
        return drawn if self.anchor is None else drawn + self.anchor.draw(self.policy)

    def _count(self, played: RolloutBatch) -> Metrics:
        """Count iterations, steps and finished episodes."""
        steps_before = self.counters.env_steps // self.env.num_envs
        self.counters.iteration += 1
        self.counters.env_steps += played.num_steps
        progress = {"iteration": self.counters.iteration, "env_steps": self.counters.env_steps}
        return progress | self.open_episodes.count(played, steps_before)

    # --- what the loop asks

    @property
    def is_done(self) -> bool:
        """All iterations done."""
        return self.counters.iteration >= self.config.run.iterations

    def where(self) -> str:
        """The iteration under way, and its batch."""
        first = self.counters.env_steps + 1
        last = self.counters.env_steps + self.config.sampling.steps_per_iteration
        return f"iteration {self.counters.iteration + 1} (batch: env steps {first:,} to {last:,})"

    def after_evaluation(self, evaluation: Evaluation, episodes: EpisodeTotals) -> Metrics:
        """Let the weight searches hear of it; how alike, and how smooth the cost is."""
        score, num_done = None, self.counters.iteration
        if self.demonstrated is not None:
            # Terminations are compared with demonstrated ones: a length says how an episode ended
            # only where the time limit is known.
            early_fraction = float(episodes.is_terminated.mean())
            score = imitation_score(episodes.states, early_fraction, self.demonstrated)
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
            metrics |= asdict(cost_constants(cost, mean_action, states))
        return metrics
