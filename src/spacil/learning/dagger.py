"""Distil a policy in closed loop (DAgger): the student acts, the teacher labels, the fit follows.

A student fitted on the teacher's own states alone is smooth and falls: its small errors lead to
states it has never seen. So only the first round is the teacher's, for the states it lives in and
their normaliser; in all others the student acts and the teacher says what it would have done.
No reward is read: which student is handed out, and what the weights do, follows from the states
it visits (`smoothing_goal.py`), unless a user asks for a share of the return.

What is evaluated and handed out is the mean of the newest students' parameters. Each fit ends in a
minimum of its own, near the others, and fails on episodes of its own; their mean fails more rarely
(docs/results/smooth.md).
"""

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from spacil.config.penalty_terms import WeightedTerm
from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import CommonFrame
from spacil.engine.device import resolve_device, torch_threads
from spacil.envs.episodes import EpisodeTotals, collect, collect_around
from spacil.envs.vector_env import ResetSeeds, VectorEnv
from spacil.errors import ConfigError, StorageError
from spacil.learning.late_labels import Rows, Witness, late_rows, rows_of_wave, teachers_rows
from spacil.learning.learner import (
    Counters,
    Learner,
    Metrics,
    Stopwatch,
    make_eval_env,
    make_policy,
    make_run_env,
)
from spacil.learning.regression import LabelledRows, Regression
from spacil.learning.smoothing_goal import (
    LATE_REQUIRED_SHARE,
    REQUIRED_SHARE,
    PenaltySearches,
    ReturnGoal,
    ScoreGoal,
    StudentEvaluation,
    first_weights,
)
from spacil.learning.teacher import profile_of
from spacil.learning.weight_search import select
from spacil.measuring.evaluate import Best, Evaluation
from spacil.measuring.frames import frame_of_run
from spacil.nets.policy import EmaPolicy, GaussianPolicy
from spacil.policies.policy import Policy
from spacil.seeding import stream
from spacil.smoothness.policy_penalty import rows_with_successor
from spacil.smoothness.policy_terms import PenaltyRows

RESTART_INTERVAL = 2
"""Rounds between two new starts of all envs."""
FIRST_OF_MEAN = 6
"""The round whose student begins the mean; younger ones are much worse than the next, and stand
for themselves."""
KEPT_OF_MEAN = 0.7
"""What the mean of the students keeps of itself with each round: about six rounds are in it."""
PENALTY_INTERVAL = 4
"""Minibatches from one that carries the penalties to the next."""
LAST_RATE = 0.02
"""Size of a fit's last step over that of its first: the student that acts next has settled."""
SPREAD_CEILING = 0.3
"""Largest fitted spread, in half ranges: a bad fit's noise would show nothing but falls."""
LATE_SPREAD_CEILING, LATE_WEIGHTS = 0.1, 0.1
"""The same ceiling and a factor on the first weights, where commands are late: what noise does then
is seen too late, and following the teacher through a delay needs slopes that it has not."""
NUM_COMPARED = 64
"""Labels by which a resumed run recognises its teacher."""
TERMS = {"exact": "linear", "cats": "cats"}
"""Penalties of `smooth` by their flag: the slope is not squared, since where one switch is needed
a steep one costs no more than a slow one."""


@dataclass(frozen=True)
class VisitedStates:
    """B states of all rounds, the oldest first, with the teacher's action in each."""

    states: Tensor
    """[B, S] float32, raw"""
    labels: Tensor
    """[B, A] float32"""
    ahead: Tensor
    """[B] int64, how many rows further on the successor is; 0 where there is none"""

    def __add__(self, newer: "VisitedStates") -> "VisitedStates":
        pairs = zip(vars(self).values(), vars(newer).values(), strict=True)
        return VisitedStates(*(torch.cat(pair) for pair in pairs))

    def to(self, device: torch.device) -> "VisitedStates":
        return VisitedStates(*(tensor.to(device) for tensor in vars(self).values()))

    def for_fit(self, student: GaussianPolicy) -> LabelledRows:
        """All rows, normalised. A teacher that switches between its bounds has means far beyond
        them: any mean beyond the same bound is executed alike, and the student need not climb."""
        states, labels = student.normalize(self.states), self.labels
        low, high = student.action_low, student.action_high
        successors = states[torch.arange(len(states), device=states.device) + self.ahead]
        return LabelledRows(
            PenaltyRows(states, successors=successors),
            torch.where(labels >= high, high, labels.where(labels > low, -math.inf)),
            torch.where(labels <= low, low, labels.where(labels < high, math.inf)),
            self.ahead > 0,
        )


class SmoothingLearner(Learner):
    """A student, what it has learned from, and the best mean of students so far."""

    env: VectorEnv
    common_frame: CommonFrame

    def __init__(
        self,
        config: TrainConfig,
        env_source: Any,
        teacher: Policy,
        common_frame: CommonFrame | None = None,
    ) -> None:
        weights = {term.name: term.weight for term in config.policy_penalty.terms}
        if others := sorted(weights.keys() - TERMS.keys()):
            raise ConfigError(
                f"--penalty {others[0]}: smooth takes exact, for all directions, and cats, along "
                "time"
            )
        super().__init__(config, Counters())
        # The teacher plays where it was made for: that is what students are compared with.
        as_made = replace(config, conditions=teacher.conditions)
        self.is_late = config.conditions != teacher.conditions
        """Whether commands are executed later than the teacher is used to"""
        num_envs, on_host = config.sampling.num_envs, self.is_late
        self.env = make_run_env(as_made, env_source, num_envs, "env", is_on_host=on_host)
        self.device = self.env.device
        """Where the student acts and learns: where the env is"""
        if resolve_device(config.run.device).type not in ("cpu", self.device.type):
            raise ConfigError(
                f"--device {config.run.device}: smooth learns where its env is, and that of "
                f"{config.task} is on the {self.device.type}; leave it out"
            )
        spec = self.env.spec
        self.env_states = self.env.reset()
        self.teacher = teacher.fitted_to(spec, self.env_states.cpu())
        self.eval_env = make_eval_env(as_made, env_source, spec)
        frame = common_frame or teacher.common_frame or frame_of_run(None, None, spec)
        with torch_threads(config.run.torch_threads):
            self.profile = profile_of(self.teacher, self.eval_env, frame, config.run.seed)
            """What students are compared with. Not in a checkpoint: the teacher plays it again."""
        self.common_frame = self.profile.frame
        self.asked = torch.empty(0, spec.num_states)
        """The first states in which the teacher was asked, where the student saw others"""
        if self.is_late:
            self._begin_late(config, teacher)
            spec = self.env.spec
        low, high = spec.bounds_on(self.env.device)
        half_range = (high - low) / 2
        unit = half_range.where(half_range.isfinite() & (half_range > 0), 1.0)
        """[A], what counts as 1 in each action, so that weights mean the same in any env"""
        self.student = make_policy(spec, config.nets, self.streams.init).to(self.device)
        self.ema = EmaPolicy(self.student, KEPT_OF_MEAN)
        self.policy = copy.deepcopy(self.student).requires_grad_(False)
        """The best student so far, by what was asked for"""
        rate, size = config.distil.fit_learning_rate, config.distil.fit_minibatch
        self.regression = Regression(config, self.student, self.streams, rate, size, unit=unit)
        none = torch.empty(0, spec.num_states), torch.empty(0, spec.num_actions)
        self.visited = VisitedStates(*none, torch.empty(0, dtype=torch.int64)).to(self.device)
        self.wanted = ReturnGoal(
            config.wish, LATE_REQUIRED_SHARE if self.is_late else REQUIRED_SHARE
        )
        """What the verdict goes by"""
        self.goal: ReturnGoal | ScoreGoal = self.wanted
        self.first_weights = {name: weights.get(name, 0.0) for name in TERMS}
        if config.policy_penalty.penalty_weight == "auto" and config.wish.fluctuation_target == 0:
            # A user names no weights or targets: they follow from the states visited.
            self.goal = ScoreGoal(self.profile)
            factor = LATE_WEIGHTS if self.is_late else 1.0
            for name, weight in first_weights(self.profile, float(unit.mean())).items():
                self.first_weights[name] = factor * weight
        self.searches = PenaltySearches.starting(self.goal.highest)
        self.chosen: StudentEvaluation | None = None
        """The evaluation of `policy`, the student handed out"""
        self.latest: StudentEvaluation | None = None
        """The newest evaluation"""
        state = self.state
        if self.is_late:
            state.register_tensors(
                "asked", lambda: {"states": self.asked}, self._load_asked, grows=True
            )
        state.register_tensors(
            "labelled", lambda: vars(self.visited), self._load_visited, grows=True
        )
        policies = {"policy": self.policy, "student": self.student, "kept": self.ema.policy}
        for name, policy in policies.items():
            state.register(name, policy)
            state.after_restore(policy.normalizer.refresh)
        state.register("optimizer.student", self.regression.optimizer.state)
        state.register_tensors(
            "env",
            self.env.save_state,
            lambda saved: setattr(self, "env_states", self.env.load_state(saved)),
        )
        state.register_record("searches", self, PenaltySearches)
        state.register_record("chosen", self, StudentEvaluation, optional=True)
        state.register_record("latest", self, StudentEvaluation, optional=True)

    def _begin_late(self, config: TrainConfig, teacher: Policy) -> None:
        """Go on in envs under the conditions; J and its slopes are those in what sensors say."""
        if teacher.conditions.is_on:
            raise ConfigError(
                f"{teacher.name} was made for conditions of its own ({teacher.conditions}): leave "
                "out --action-delay and the like, or smooth a policy that was made without any"
            )
        frame, seed = self.profile.frame, config.run.seed
        self.env, self.eval_env = (
            Witness(env, config.conditions, ResetSeeds(seed, name), frame.std)
            for env, name in ((self.env, "env"), (self.eval_env, "eval"))
        )
        self.common_frame = frame.with_history(self.env.spec.num_states)

    def _load_asked(self, saved: Mapping[str, Tensor]) -> None:
        self.asked = saved["states"].clone()

    def _load_visited(self, saved: Mapping[str, Tensor]) -> None:
        if len({len(tensor) for tensor in saved.values()}) > 1:
            raise StorageError("the labelled states in the checkpoint have unequal lengths")
        visited = VisitedStates(**{name: tensor.clone() for name, tensor in saved.items()})
        self.visited = visited.to(self.device)
        if not self.teacher_answers_as_before():
            raise ConfigError(
                f"cannot resume with another teacher: {self.teacher.name} does not answer as "
                "that of the run; name that one, or start a new run"
            )

    def teacher_answers_as_before(self) -> bool:
        """Ask it again in the first states; one that remembers may have changed since."""
        asked = self.asked if self.is_late else self.visited.states
        states, labels = asked[:NUM_COMPARED], self.visited.labels[:NUM_COMPARED]
        return not len(states) or torch.allclose(self._label(states), labels, rtol=1e-3, atol=1e-4)

    @property
    def evaluated_policy(self) -> GaussianPolicy:
        """The mean of the newest students."""
        return self.ema.policy

    def iterate(self) -> Metrics:
        """One round: play, label, fit."""
        clock = Stopwatch()
        weights = {
            name: first * vars(self.searches)[name].weight
            for name, first in self.first_weights.items()
        }
        with clock("simulation"):
            new = self._play()
            self.visited += new
        labelled = self.visited.for_fit(self.student)
        self.counters.iteration += 1
        with clock("fit"):
            losses = self.regression.fit(
                labelled,
                [WeightedTerm(TERMS[name], weight) for name, weight in weights.items() if weight],
                # There is more to fit in later rounds, and what is left of the error are details.
                round(self.config.distil.fit_steps * math.sqrt(self.counters.iteration)),
                penalty_interval=PENALTY_INTERVAL,
                last_rate=LAST_RATE,
            )
        # The student explores as far as it errs: noise shows it the states its errors lead to.
        first_new = len(labelled) - len(new.labels)
        newest = torch.arange(first_new, len(labelled), device=self.device)
        ceiling = LATE_SPREAD_CEILING if self.is_late else SPREAD_CEILING
        self.regression.fit_spread(labelled.pick(newest), ceiling)
        self.ema.update(self.student, max(1, self.counters.iteration + 1 - FIRST_OF_MEAN))
        self.counters.env_steps += self.config.sampling.steps_per_iteration
        return {
            "iteration": self.counters.iteration,
            "env_steps": self.counters.env_steps,
            "loss_imitation": losses["imitation"],
            **{f"loss_penalty_{k}": losses.get(f"penalty_{v}", 0.0) for k, v in TERMS.items()},
            **{f"weight_{name}": weight for name, weight in weights.items()},
            "policy_std": float(self.student.log_std.exp().mean()),
            **clock.seconds,
        }

    def _play(self) -> VisitedStates:
        """The first round is the teacher's, and its states are the normaliser's.

        Every other round starts new episodes, and the next one goes on with them: live envs would
        rarely show a student's own first steps, since all of them restart at the same time.
        """
        env, num_steps = self.env, self.config.sampling.steps_per_iteration
        num_rounds = self.counters.iteration
        if isinstance(env, Witness) and not num_rounds:
            delays = stream(self.config.run.seed, "delays of the teacher's play")
            new = self._labelled(teachers_rows(env, self._label, num_steps, delays))
            self.student.normalizer.merge(new.states)
            return new
        if num_rounds:
            if num_rounds % RESTART_INTERVAL == 1:
                self.env_states = env.reset(num_rounds)
            played, self.env_states = collect(
                env, self.student, self.env_states, num_steps, self.streams.action
            )
        else:
            shape = num_steps // env.num_envs, env.num_envs, env.spec.num_actions
            no_noise = torch.zeros(shape, device=self.device)
            played, self.env_states = collect_around(env, self._label, no_noise, self.env_states)
            self.student.normalizer.merge(played.states)
        is_cut = played.terminated | played.truncated
        if isinstance(env, Witness):
            return self._labelled(late_rows(played.states, *env.testimony(), is_cut))
        ahead = torch.zeros(played.num_steps, dtype=torch.int64, device=self.device)
        ahead[rows_with_successor(is_cut)] = env.num_envs
        states = played.flat_states
        return VisitedStates(states, self._label(states), ahead)

    def _labelled(self, rows: Rows) -> VisitedStates:
        inputs, targets, ahead = rows
        if not len(self.asked):
            self.asked = targets[:NUM_COMPARED].clone()
        return VisitedStates(inputs, self._label(targets), ahead)

    def _label(self, states: Tensor) -> Tensor:
        """What the teacher would do in raw states [B, S]: actions [B, A]."""
        return self.teacher.act(states.cpu()).float().to(states.device)

    def after_evaluation(self, evaluation: Evaluation, episodes: EpisodeTotals) -> Metrics:
        """Hand out this student if it is the better one, and update the weights.

        Its episodes are labelled too: they show what goes wrong with the student as it is.
        """
        assert evaluation.smoothness_j is not None
        profile, change = self.profile, evaluation.action_fluctuation
        if isinstance(self.eval_env, Witness):
            rows, true_states = rows_of_wave(self.eval_env, episodes)
            self.visited += self._labelled(rows)
            episodes = replace(episodes, states=true_states)
        else:
            states, ahead = episodes.states, ahead_in_wave(torch.from_numpy(episodes.lengths))
            self.visited += VisitedStates(states, self._label(states), ahead).to(self.device)
        new = StudentEvaluation(
            self.counters.iteration,
            profile.share(evaluation.average_return),
            evaluation.smoothness_j,
            change,
            *profile.score(episodes),
        )
        candidate = new.averaged_with(self.latest)
        is_chosen = select(candidate, self.chosen, self.goal.rank)
        if is_chosen:
            self.chosen = candidate
            self.best = Best(evaluation.average_return, self.counters.iteration)
            self.policy.load_state_dict(self.ema.policy.state_dict())
            self.policy.normalizer.refresh()
        self.searches = self.goal.next_searches(self.searches, new, self.latest)
        self.latest = new
        return {
            "is_best": is_chosen,
            "imitation_score": new.score,
            "score_threshold": profile.threshold,
            "return_share": new.share,
            "teacher_j_ratio": new.j / profile.j if profile.j > 0 else None,
            "teacher_fluctuation_ratio": change / profile.action_change
            if change is not None and profile.action_change > 0
            else None,
        }


def ahead_in_wave(lengths: Tensor) -> Tensor:
    """How far ahead each row's successor is, for episodes [N] that start together.

    Rows go step by step through the episodes still going on; 0 where nothing follows.
    """
    is_going_on = torch.arange(int(lengths.max()) + 1).unsqueeze(1) < lengths
    rows = is_going_on.flatten().cumsum(0).view_as(is_going_on)
    ahead = (rows[1:] - rows[:-1]) * is_going_on[1:]
    return ahead[is_going_on[:-1]]
