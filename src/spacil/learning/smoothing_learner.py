"""Distillation in closed loop as a run: the student acts, the teacher labels, the fit follows.

A student fitted on the teacher's own states alone is smooth and falls: its small errors lead to
states it has never seen. So only the first round is the teacher's, for the states it lives in and
their normaliser; in all others the student acts and the teacher says what it would have done.
No reward is read: which student is handed out, and what the weights do, follows from the states
it visits (`weight_rule.py`), unless a user asks for a share of the return.

What is evaluated and handed out is the mean of the newest students' parameters. Each fit ends in a
minimum of its own, near the others, and fails on episodes of its own; their mean fails more rarely
(docs/results/smooth.md).
"""

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import CommonFrame
from spacil.engine.adam import Adam
from spacil.envs.episodes import EpisodeTotals
from spacil.envs.rollout import collect, collect_around
from spacil.errors import ConfigError
from spacil.learning import smoothing_learner_state as learner_state
from spacil.learning.fit import Units, fit, fit_spread, given_weights
from spacil.learning.kept_policy import KeptPolicy
from spacil.learning.labelled_states import LabelledStates, TrainingRows
from spacil.learning.learner import make_eval_env, make_policy, make_run_env
from spacil.learning.metrics import Counters, Metrics, Stopwatch
from spacil.learning.references import (
    References,
    play_teacher,
    references_of,
    starting_weights,
)
from spacil.learning.smoothing_likeness import Likeness
from spacil.learning.smoothing_weight_rule import RewardFreeRule, confirmed
from spacil.learning.teacher import teacher_for
from spacil.learning.verdict import Goal, Judged, Strengths, Verdict, verdict
from spacil.measuring.evaluate import Best, Evaluation
from spacil.measuring.frames import frame_of_run
from spacil.nets.policy import GaussianPolicy
from spacil.policies.source import PolicySource
from spacil.seeding import Streams
from spacil.types import RolloutBatch

RESTART_INTERVAL = 2
"""Rounds between two new starts of all envs."""
FIRST_OF_MEAN = 6
"""The round whose student begins the mean; younger ones are much worse than the next, and stand
for themselves."""
KEPT_OF_MEAN = 0.7
"""What the mean of the students keeps of itself with each round: about six rounds are in it."""


class SmoothingLearner:
    """A student, what it has learned from, and the best mean of students so far."""

    demonstrations = None

    def __init__(
        self,
        config: TrainConfig,
        env_source: Any,
        teacher: PolicySource,
        common_frame: CommonFrame | None = None,
    ) -> None:
        run, nets, num_envs = config.run, config.nets, config.sampling.num_envs
        if run.device != "cpu":
            raise ConfigError(f"--device {run.device}: smooth fits small nets, on the CPU")
        self.config = config
        self.weights = given_weights(config.policy_penalty)
        self.goal = Goal.of(config)
        self.streams = Streams.from_seed(run.seed)
        self.env = make_run_env(config, env_source, num_envs, "env")
        spec = self.env.spec
        self.env_states: Tensor = self.env.reset()
        self.teacher = teacher_for(teacher, spec, self.env_states)
        self.eval_env = make_eval_env(config, env_source, spec)
        self.common_frame = (
            common_frame or teacher.common_frame or frame_of_run(None, spec.task, spec.num_states)
        )
        self.units = Units.of(spec)
        self.student = make_policy(spec, nets, self.streams.init)
        self.student.log_std.requires_grad_(False)  # it has a closed form
        self.kept = KeptPolicy(self.student, KEPT_OF_MEAN)
        self.policy = copy.deepcopy(self.student).requires_grad_(False)
        self.optimizer = Adam(self.student.mean_net, config.distil.fit_learning_rate)
        self.nothing = LabelledStates.none(spec.num_states, spec.num_actions)
        self.labelled = self.nothing
        self.counters = Counters()
        self.strengths = Strengths()
        self.best: Best | None = None
        self.chosen: Judged | None = None
        """The evaluation of `policy`, the student handed out"""
        self.latest: Judged | None = None
        """The newest evaluation"""
        self.references: References | None = None
        self.likeness: Likeness | None = None
        """Not in a checkpoint: the teacher plays the same episodes again"""

    @property
    def kept_policy(self) -> GaussianPolicy:
        """What is evaluated: a mean of the newest rounds' students."""
        return self.kept.policy

    @property
    def handed_out_policy(self) -> GaussianPolicy:
        """The best student so far, by what was asked for."""
        return self.policy

    @property
    def is_done(self) -> bool:
        """All rounds done."""
        return self.counters.iteration >= self.config.run.iterations

    def where(self) -> str:
        """The round under way."""
        return f"round {self.counters.iteration + 1}"

    def prepare(self) -> None:
        """Nothing: the teacher has been opened, and wishes are plain numbers."""

    def iterate(self) -> Metrics:
        """One round: play, label, fit."""
        clock = Stopwatch()
        if self.likeness is None:
            with clock("references"):
                self._watch_teacher()
        with clock("simulation"):
            played = self._play()
            labels = self._labels(played.flat_states)
        self.labelled = self.labelled.with_round(played, labels)
        weights = self.weights.times(**vars(self.strengths))
        with clock("fit"):
            losses = fit(
                self.student,
                self.optimizer,
                TrainingRows(self.labelled, self.student),
                weights,
                self.units,
                self.config.distil,
                self.counters.iteration + 1,
                self.streams,
            )
        fit_spread(self.student, played.flat_states, labels, self.units)
        self.counters.iteration += 1
        self.kept.follow(self.student, max(1, self.counters.iteration + 1 - FIRST_OF_MEAN))
        self.counters.env_steps += played.num_steps
        return {
            "iteration": self.counters.iteration,
            "env_steps": self.counters.env_steps,
            **{f"loss_{name}": value for name, value in losses.items()},
            "weight_exact": weights.exact,
            "weight_cats": weights.cats,
            "policy_std": float(self.student.log_std.exp().mean()),
            **clock.seconds,
        }

    @property
    def _reads_no_reward(self) -> bool:
        """The default; the return is read where a user names weights or wishes."""
        wish = self.config.wish
        return wish.penalty_weight == "auto" and wish.fluctuation_target == 0

    def _watch_teacher(self) -> None:
        """What students are compared with; a resumed run has the numbers already."""
        seed, played = self.config.run.seed, play_teacher(self.teacher, self.eval_env)
        self.likeness = Likeness.of(played, self.teacher, self.env.spec, seed)
        if self.references is None:
            self.references, self.common_frame = references_of(
                played, self.teacher, self.eval_env, self.common_frame, seed
            )
        if self._reads_no_reward:
            self.weights = starting_weights(self.likeness, self.references, self.units)

    def _play(self) -> RolloutBatch:
        """The first round is the teacher's, and its states are the normaliser's.

        Every other round starts new episodes, and the next one goes on with them: live envs would
        rarely show a student's own first steps, since all of them restart at the same time.
        """
        sampling, num_rounds = self.config.sampling, self.counters.iteration
        if num_rounds:
            if num_rounds % RESTART_INTERVAL == 1:
                self.env_states = self.env.reset(num_rounds)
            played, self.env_states = collect(
                self.env,
                self.student,
                self.env_states,
                sampling.steps_per_iteration,
                self.streams.action,
            )
            return played
        played, self.env_states = collect_around(
            self.env,
            self._labels,
            torch.zeros(
                sampling.steps_per_iteration // sampling.num_envs,
                sampling.num_envs,
                self.env.spec.num_actions,
            ),
            self.env_states,
        )
        self.student.normalizer.merge(played.states)
        return played

    def _labels(self, states: Tensor) -> Tensor:
        """What the teacher would have done in raw states [B, S], [B, A]."""
        return self.teacher.mean(states.to(self.teacher.dtype)).detach().float()

    def after_evaluation(self, evaluation: Evaluation, episodes: EpisodeTotals) -> Metrics:
        """Hand out this student if it is the better one, and move the weights as a wish asks.

        Its episodes are labelled too: they show what goes wrong with the student as it is.
        """
        assert self.references is not None and self.likeness is not None
        assert evaluation.smoothness_j is not None
        self.labelled = self.labelled.with_episodes(episodes, self._labels(episodes.states))
        score = self.likeness.score(episodes)
        judged = Judged(
            self.counters.iteration,
            self.references.share(evaluation.average_return),
            evaluation.smoothness_j,
            evaluation.action_fluctuation,
            score.value,
            score.chance,
        )
        steering = self._steering(self.references, self.likeness)
        candidate = confirmed(judged, self.latest)
        is_chosen = steering.prefers(candidate, self.chosen)
        if is_chosen:
            self.chosen = candidate
            self.best = Best(evaluation.average_return, self.counters.iteration)
            self.policy.load_state_dict(self.kept.policy.state_dict())
            self.policy.normalizer.refresh()
        self.strengths = steering.next_strengths(self.strengths, judged, self.latest)
        self.latest = judged
        return {
            "is_best": is_chosen,
            "imitation_score": judged.score,
            "score_threshold": self.likeness.threshold,
            "return_share": judged.share,
            **self.references.ratios(judged.j, judged.change),
        }

    def _steering(self, references: References, likeness: Likeness) -> "Goal | RewardFreeRule":
        if not self._reads_no_reward:
            return self.goal
        return RewardFreeRule.beside(
            likeness.threshold, references.teacher_j, references.teacher_fluctuation
        )

    def verdict(self) -> Verdict:
        """On the student handed out."""
        assert self.chosen is not None and self.references is not None
        references = self.references
        return verdict(self.goal, self.chosen, references.teacher_j, references.teacher_fluctuation)

    def close(self) -> None:
        self.env.close()
        self.eval_env.close()

    # --- taking it apart, and putting it together again

    def tensors(self) -> dict[str, Tensor]:
        """Every number of the run, by name, on the CPU."""
        return learner_state.tensors_of(self)

    def document(self) -> dict[str, Any]:
        """What is not a tensor, JSON-able and free of wall-clock time."""
        return learner_state.document_of(self)

    def restore(self, tensors: Mapping[str, Tensor], document: Mapping[str, Any]) -> None:
        """Continue exactly where `tensors()` and `document()` were taken, with the same teacher."""
        learner_state.restore(self, tensors, document)
