"""Play a policy with and without disturbances, and say why it shakes.

for finding in spacil.diagnose(model, "Hopper-v5").findings:
    print(finding.severity, finding.message, finding.remedy)
"""

from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from spacil.config.checks import whole_number
from spacil.demos.common_frame import CommonFrame
from spacil.envs.episodes import Actor, MakeActor, Trajectory, all_states, play
from spacil.envs.registry import built_in_task, task_name
from spacil.envs.vector_env import EnvSpec, VectorEnv
from spacil.errors import DataError
from spacil.functional.spectral import batch_jacobian
from spacil.measuring import findings as checks
from spacil.measuring.evaluate import evaluation_env
from spacil.measuring.findings import Finding
from spacil.measuring.frames import choose_frame
from spacil.measuring.lens import Lens, make_lens
from spacil.measuring.played import played_episodes, policy_actor, reference_actors
from spacil.measuring.report import PlayedEpisodes
from spacil.measuring.robustness import with_action_delay, with_noise
from spacil.policies.file import Which
from spacil.policies.open import open_policy
from spacil.policies.policy import Policy, task_of
from spacil.seeding import stream
from spacil.smoothness.action_signal import amplitude_spectrum

NOISE_LEVEL = 0.1
DELAYS = (1, 2)
_MAX_STATES = 2_000


@dataclass(frozen=True)
class Diagnosis:
    """Every check on one policy."""

    source: str
    kind: str
    task: str
    seed: int
    num_episodes: int
    average_return: float | None
    """None for a model that is no function of the state, and so was not played"""
    findings: tuple[Finding, ...]

    @property
    def warnings(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.severity == "warning"]

    def as_document(self) -> dict[str, Any]:
        """JSON-able."""
        return asdict(self)


def diagnose(
    policy: object,
    env: Any = None,
    *,
    which: Which = "best",
    episodes: int = 10,
    seed: int = 0,
) -> Diagnosis:
    """What makes a policy shake, in an env that it plays in.

    `policy` and `env` are what `spacil.smooth` takes.
    """
    episodes, seed = whole_number("episodes", episodes), whole_number("seed", seed, 0)
    source = open_policy(policy, which)
    if env is None:
        env = task_of(source)
    with evaluation_env(env, episodes, seed) as vector_env:
        known = task_name(env)
        frame = choose_frame(None, source.common_frame, known)
        return _Patient(source, vector_env, frame, episodes, seed).diagnosis()


@dataclass(frozen=True)
class _Patient:
    """A policy in an env."""

    source: Policy
    env: VectorEnv
    frame: CommonFrame | None
    episodes: int
    seed: int

    def diagnosis(self) -> Diagnosis:
        spec = self.env.spec
        self.source.require_env(spec)
        first = self.env.reset()
        try:
            self.source.require_function(first.to(self.source.dtype))
        except DataError as error:
            return self._report(None, (_no_function(error),))
        self.source.fitted_to(spec, first)
        act = policy_actor(self.source, False, stream(self.seed, "sampled-actions"))
        trajectories = play(self.env, lambda: act, self.episodes)
        clean = played_episodes(trajectories, spec)
        states = _some(all_states(trajectories), self.seed)
        frame = self.frame
        if frame is None or frame.num_states != spec.num_states:
            spread = all_states(trajectories).double().std(0, correction=0)
            frame = CommonFrame(spread, "the states it visited")
        names = input_names(spec)
        return self._report(
            clean.average_return,
            (
                self._sampling(clean),
                _saturation(trajectories, spec),
                _inputs(self.source, states, names),
                self._noise(act, clean, frame),
                self._delay(act, clean),
                _frequencies(trajectories, clean, spec),
                _drivers(self.source, states, frame, names),
            ),
        )

    def _report(self, average_return: float | None, found: tuple[Finding, ...]) -> Diagnosis:
        source, task = self.source, self.env.spec.task
        return Diagnosis(
            source.name, source.kind, task, self.seed, self.episodes, average_return, found
        )

    def _played(self, make_actor: MakeActor) -> PlayedEpisodes:
        return played_episodes(play(self.env, make_actor, self.episodes), self.env.spec)

    def _sampling(self, clean: PlayedEpisodes) -> Finding:
        change = clean.action_signal.action_fluctuation
        if self.source.std is None:
            return checks.about_sampling(change, None, clean.average_return, 0.0)
        act = policy_actor(self.source, True, stream(self.seed, "sampled-actions"))
        found = self._played(lambda: act)
        moved = found.action_signal.action_fluctuation
        return checks.about_sampling(change, moved, clean.average_return, found.average_return)

    def _noise(self, act: Actor, clean: PlayedEpisodes, frame: CommonFrame) -> Finding:
        shaken = with_noise(act, NOISE_LEVEL * frame.std, stream(self.seed, "observation-noise"))
        moved = self._played(lambda: shaken).action_signal.action_fluctuation
        half = torch.from_numpy(self.env.spec.action_high - self.env.spec.action_low).double() / 2
        size = float(torch.linalg.vector_norm(torch.where(half.isfinite(), half, 1.0)))
        change = clean.action_signal.action_fluctuation
        return checks.about_noise(change, moved, NOISE_LEVEL, size, frame.source)

    def _delay(self, act: Actor, clean: PlayedEpisodes) -> Finding:
        random = reference_actors(self.env.spec, stream(self.seed, "random-policy"))["random"]
        lowest = self._played(lambda: random).average_return
        returns = {
            steps: self._played(partial(with_action_delay, act, steps)).average_return
            for steps in DELAYS
        }
        return checks.about_delay(returns, clean.average_return, lowest)


def _no_function(error: DataError) -> Finding:
    return Finding(
        "one_answer",
        "warning",
        str(error),
        "A policy that samples or remembers does not answer a state in one way, and no other "
        "check can be made on it: pass its mean action (deterministic=True), without filters",
    )


def _saturation(trajectories: list[Trajectory], spec: EnvSpec) -> Finding:
    low, high = torch.from_numpy(spec.action_low), torch.from_numpy(spec.action_high)
    sides = [(t.actions >= high).int() - (t.actions <= low).int() for t in trajectories]
    at_bound = float(torch.cat(sides).abs().double().mean())
    jumps = [side.diff(dim=0).abs() == 2 for side in sides]
    return checks.about_saturation(at_bound, float(torch.cat(jumps).double().mean()))


def _inputs(source: Policy, states: Tensor, names: list[str]) -> Finding:
    sizes = states.double().square().mean(0).sqrt()
    if source.own is None:
        worst = names[int(sizes.argmax())]
        spreads = dict(zip(names, sizes.tolist(), strict=True))
        return checks.about_inputs(False, 0.0, spreads, worst)
    scaled = source.own.normalize(states.to(source.dtype))
    far = (scaled.abs() > checks.FAR_STDS).double().mean(0)
    return checks.about_inputs(True, float(far.mean()), {}, names[int(far.argmax())])


def _frequencies(trajectories: list[Trajectory], clean: PlayedEpisodes, spec: EnvSpec) -> Finding:
    rate = None if spec.dt is None else 1 / spec.dt
    longest = max(trajectories, key=len)
    strongest = None
    if rate is not None and len(longest) >= 4:
        frequencies, amplitudes = amplitude_spectrum(longest.actions)
        strongest = rate * float(frequencies[1 + int(amplitudes[1:].mean(-1).argmax())])
    return checks.about_frequencies(clean.action_signal.high_frequency_ratio, strongest, rate)


def _drivers(source: Policy, states: Tensor, frame: CommonFrame, names: list[str]) -> Finding:
    """Which inputs the action follows most: columns of its Jacobian, per standard deviation."""
    lens = make_lens(source, frame.std.to(source.dtype), frame, source.action_bounds)
    shares, mean_j = slope_shares(lens, states)
    ranked = sorted(zip(names, shares.tolist(), strict=True), key=lambda pair: -pair[1])
    return checks.about_drivers(dict(ranked), mean_j, frame.source)


def slope_shares(lens: Lens, raw_states: Tensor) -> tuple[Tensor, float]:
    """[S] share of each input in the mean squared Frobenius norm, and the mean J, common frame."""
    assert lens.frames.common_std is not None
    inputs = lens.normalize(raw_states.to(lens.frames.own_scale.dtype))
    jacobian = batch_jacobian(lens.mean, inputs)
    columns = (jacobian * (lens.frames.own_scale * lens.frames.common_std)).square().sum(1).mean(0)
    mean_j = lens.constants(raw_states).common
    assert mean_j is not None
    return columns / columns.sum().clamp_min(torch.finfo(columns.dtype).tiny), float(mean_j.mean())


def input_names(spec: EnvSpec) -> list[str]:
    """What the inputs are called; numbers where nobody says."""
    task = built_in_task(spec)
    if task is not None:
        from spacil.envs.state_names import state_names  # loads the simulator

        if (names := state_names(task)) is not None:
            return [f"{name} [{i}]" for i, name in enumerate(names)]
    return [f"observation {i}" for i in range(spec.num_states)]


def _some(states: Tensor, seed: int) -> Tensor:
    rows = torch.randperm(len(states), generator=stream(seed, "subset"))[:_MAX_STATES]
    return states[rows]
