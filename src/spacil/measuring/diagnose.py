"""Play a policy with and without disturbances, and say why it shakes.

for finding in spacil.diagnose(model, "Hopper-v5").findings:
    print(finding.severity, finding.message, finding.remedy)
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor

from spacil.config.checks import whole_number
from spacil.demos.common_frame import CommonFrame
from spacil.envs.episodes import MakeActor, Trajectory, all_states, play
from spacil.envs.registry import built_in_task, task_name
from spacil.envs.vector_env import EnvSpec, VectorEnv
from spacil.functional.sensitivity import batch_jacobian
from spacil.measuring.evaluate import evaluation_env
from spacil.measuring.frames import choose_frame, mean_j
from spacil.measuring.played import (
    PlayedEpisodes,
    played_episodes,
    policy_actor,
    reference_actors,
    share_of_return,
)
from spacil.measuring.robustness import play_delayed, with_noise
from spacil.nets.policy import moving_std
from spacil.plain_text import Shown, count
from spacil.policies.file import Which
from spacil.policies.open import open_policy
from spacil.policies.policy import NoFunctionError, Policy, task_of
from spacil.seeding import stream
from spacil.smoothness.action_signal import amplitude_spectrum

NOISE_LEVEL = 0.1
NOISE_CHANGE = 0.02
"""Action change under noise, in half ranges, below which a policy still hardly moves"""
DELAYS = (1, 2)
FAR_STDS = 5.0
FEW_INPUTS = 3
_MAX_STATES = 2_000
_STILL = 1e-9
"""Action change of a policy that holds still"""
_UNKNOWN = "not known: the actions do not move, or the episodes are too short"
_SMOOTH = "`spacil smooth` makes a smooth policy of this one in minutes"

Evidence = Mapping[str, Any]


@dataclass(frozen=True)
class Check:
    """What a check measures, as a number to be small, and what to do where it is not."""

    limit: float
    """Largest number that is fine"""
    message: str
    """Template for the evidence"""
    remedy: str


CHECKS = {
    "saturation": Check(
        0.2,
        "{share_at_bound:.0%} of the executed actions lie on a bound, and {share_switching:.0%} of "
        "all steps jump from one bound to the other",
        "The policy works as a switch. Charge for squared actions in training, or smooth it: "
        f"{_SMOOTH}. A filter here costs return, because the policy needs the full range",
    ),
    "sampled_actions": Check(
        1.2,
        "samples of its Gaussian move the actions {number:.1f} times as much as its mean "
        "(return {return_sampled:.0f} against {return_mean:.0f})",
        "Act with the mean action: deterministic=True in `predict`, here and in "
        "Stable-Baselines3; `act_inference` in rsl_rl",
    ),
    "sensor_noise": Check(
        1.5,
        "noise of {level:g} standard deviations (of {frame}) on every input multiplies the "
        "action change by {factor:.1f}",
        f"The policy has steep slopes, so sensor noise becomes motor noise: {_SMOOTH}, or train "
        "with a penalty on slopes (`--penalty exact`, `spacil.attach_penalty`)",
    ),
    "delay": Check(
        0.1,
        "return kept when actions arrive late: {shares}",
        "A robot's bus and filters add a step or two, and a tight loop with delay oscillates. "
        "Make it for that delay: `spacil smooth MODEL --action-delay 1`",
    ),
    "frequency": Check(
        0.25,
        "{share_above_quarter_nyquist:.0%} of the actions' power lies above a quarter of Nyquist"
        "{where}",
        "Few motors follow that fast: it becomes heat and noise. Charge for the change of actions "
        f"in training (`--penalty cats`), filter, or distil: {_SMOOTH}",
    ),
    "inputs": Check(
        0.05,
        f"{{far_share:.1%}} of the inputs lie beyond {FAR_STDS:g} standard deviations of what the "
        "policy's normaliser has seen, most often: {worst_input}",
        "The statistics are those of another env or of too short a run. Take the normaliser "
        "that was saved with this policy (--vecnormalize), or train on",
    ),
    "raw inputs": Check(
        10.0,
        "no normaliser was found; inputs are up to {number:.3g} in size ({worst_input})",
        "If it was trained behind a normaliser, that is missing here: pass the whole model, or a "
        "function that normalises first. If not, large inputs make steep and saturated networks",
    ),
}
"""What is fine up to its limit, and a warning beyond"""


@dataclass(frozen=True)
class Finding:
    """One check."""

    check: str
    severity: Literal["fine", "note", "warning"]
    message: str
    remedy: str | None = None
    """What to do; None where nothing is wrong"""
    evidence: Evidence = field(default_factory=dict)
    is_measured: bool = True
    """False where nothing could be measured, so that nothing is known: a note, never fine"""


@dataclass(frozen=True)
class Diagnosis(Shown):
    """Every check on one policy."""

    printed_by = "spacil.cli.diagnose:print_diagnosis"

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
    opened = open_policy(policy, which)
    if env is None:
        env = task_of(opened)
    frame = choose_frame(None, opened.common_frame, task_name(env))
    with evaluation_env(env, episodes, seed, None, opened.conditions, frame=frame) as vector_env:
        spec, first = vector_env.spec, vector_env.reset()
        opened.require_env(spec)
        opened.act(first)  # what gives no actions at all is refused
        try:
            opened.fitted_to(spec, first)
            answered = opened.require_function(first)
            earned, found = _checked(opened, vector_env, frame, episodes, seed)
            opened.require_function(first, answered)  # it may remember, and change late
        except NoFunctionError as error:
            remedy = (
                "A policy that samples or remembers does not answer a state in one way, and no "
                "other check can be made on it: pass its mean action (deterministic=True), without "
                "filters"
            )
            earned, found = None, [Finding("one_answer", "warning", str(error), remedy)]
    return Diagnosis(opened.name, opened.kind, spec.task, seed, episodes, earned, tuple(found))


def _checked(
    policy: Policy, env: VectorEnv, frame: CommonFrame | None, episodes: int, seed: int
) -> tuple[float, list[Finding]]:
    """The undisturbed return, and every finding."""
    trajectories = play(env, lambda: policy.act, episodes)
    clean, visited = played_episodes(trajectories, env.spec), all_states(trajectories)
    if frame is None or frame.num_states != env.spec.num_states:
        frame = CommonFrame(moving_std(visited), "the states it visited")
    rows = torch.randperm(len(visited), generator=stream(seed, "subset"))[:_MAX_STATES]
    return clean.average_return, [
        *_about_actions(trajectories, clean, env.spec),
        *_about_disturbances(policy, env, clean, frame, seed),
        *_about_inputs(policy, visited[rows], frame, env.spec),
    ]


def _about_actions(
    trajectories: list[Trajectory], clean: PlayedEpisodes, spec: EnvSpec
) -> list[Finding]:
    """Whether the actions executed are those of a switch, or fast."""
    low, high = torch.from_numpy(spec.action_low), torch.from_numpy(spec.action_high)
    sides = [(t.actions >= high).int() - (t.actions <= low).int() for t in trajectories]
    at_bound = float(torch.cat(sides).abs().double().mean())
    jumps = torch.cat([side.diff(dim=0).abs() == 2 for side in sides]).double().mean()
    saturation = {"share_at_bound": at_bound, "share_switching": float(jumps)}
    ratio, rate = clean.action_signal.high_frequency_ratio, spec.dt and 1 / spec.dt
    longest, strongest = max(trajectories, key=len), None
    if rate is not None and len(longest) >= 4:
        frequencies, amplitudes = amplitude_spectrum(longest.actions)
        strongest = rate * float(frequencies[1 + int(amplitudes[1:].mean(-1).argmax())])
    speed = {"share_above_quarter_nyquist": ratio, "strongest_hz": strongest, "control_hz": rate}
    where = "" if rate is None else f" ({rate / 8:.3g} Hz at a control rate of {rate:.3g} Hz)"
    return [
        judged("saturation", at_bound, saturation),
        judged("frequency", ratio, speed, where=where),
    ]


def _about_disturbances(
    policy: Policy, env: VectorEnv, clean: PlayedEpisodes, frame: CommonFrame, seed: int
) -> Iterator[Finding]:
    """What samples, noise and delay do to motion and return."""
    spec, g = env.spec, clean.average_return
    change = clean.action_signal.action_fluctuation

    def played(make_actor: MakeActor) -> tuple[float, float | None]:
        """Return and action change."""
        found = played_episodes(play(env, make_actor, clean.num_episodes), spec)
        return found.average_return, found.action_signal.action_fluctuation

    if policy.std is None:
        text = "no Gaussian of a known spread: nothing is sampled"
        yield Finding("sampled_actions", "fine", text)
    else:
        samples = policy_actor(policy, True, stream(seed, "sampled-actions"))
        earned, moved = played(lambda: samples)
        evidence: Evidence = {
            "fluctuation_mean": change,
            "fluctuation_sampled": moved,
            "return_mean": g,
            "return_sampled": earned,
        }
        found = judged("sampled_actions", moved / change if moved and change else None, evidence)
        # Its mean is what is given: samples shake only where somebody draws them.
        yield replace(found, severity="note") if found.severity == "warning" else found
    shaken = with_noise(policy.act, NOISE_LEVEL * frame.std, stream(seed, "observation-noise"))
    _, moved = played(lambda: shaken)
    factor = None if moved is None or change is None else moved / max(change, _STILL)
    # A policy that hardly moves may move twice as much and still hardly move.
    half = torch.from_numpy(spec.action_high - spec.action_low).double() / 2
    size = float(torch.linalg.vector_norm(torch.where(half.isfinite(), half, 1.0)))
    is_small = factor is not None and (moved or 0.0) < NOISE_CHANGE * size
    evidence = {"level": NOISE_LEVEL, "fluctuation": change, "fluctuation_noisy": moved}
    evidence = {**evidence, "frame": frame.source}
    yield judged("sensor_noise", 0.0 if is_small else factor, evidence, factor=factor)
    random = reference_actors(spec, stream(seed, "random-policy"))["random"]
    lowest, _ = played(lambda: random)
    late = {
        n: played_episodes(
            play_delayed(env, lambda: policy.act, n, clean.num_episodes), spec
        ).average_return
        for n in DELAYS
    }
    shares = {n: share_of_return(earned, lowest, g) for n, earned in late.items()}
    texts = ", ".join(
        f"{count(n, 'step')} {share:.0%}" for n, share in shares.items() if share is not None
    )
    first = shares[min(DELAYS)]
    evidence = {"return": g, "return_by_delay": {str(n): earned for n, earned in late.items()}}
    unknown = "not known: the policy earns no more than random actions, so it has none to lose"
    lost = None if first is None else 1 - first
    yield judged("delay", lost, evidence, unknown, shares=texts)


def judged(
    check: str, number: float | None, evidence: Evidence, unknown: str = _UNKNOWN, **texts: object
) -> Finding:
    """Fine up to the limit of a check, a warning with its remedy beyond; a note if not known."""
    row, name = CHECKS[check], check.removeprefix("raw ")
    if number is None:
        return Finding(name, "note", unknown, evidence=evidence, is_measured=False)
    known = {**evidence, **texts, "number": number}
    message = row.message.format(**known)
    if number <= row.limit:
        return Finding(name, "fine", message, evidence=evidence)
    return Finding(name, "warning", message, row.remedy, evidence)


def _input_names(policy: Policy, spec: EnvSpec) -> list[str]:
    """Names of the numbers that a policy reads: of the state, then of what it sees of the past."""
    num_past, ago = policy.conditions.num_observations, range(1, policy.conditions.num_commands + 1)
    commands = [f"command {i}, {n} back" for n in ago for i in range(spec.num_actions)]
    num_sensors = spec.num_sensors or spec.num_states
    names = [f"observation {i}" for i in range(num_sensors)]
    if (task := built_in_task(replace(spec, num_states=num_sensors))) is not None:
        from spacil.envs.mujoco_model import state_units  # loads the simulator

        if (known := state_units(task)) is not None:
            names = [f"{name} [{i}]" for i, name in enumerate(known)]
    past = [f"{name}, {n} back" for n in range(1, num_past + 1) for name in names]
    return names + commands + past


def _about_inputs(
    policy: Policy, states: Tensor, frame: CommonFrame, spec: EnvSpec
) -> list[Finding]:
    """Whether inputs are what the normaliser knows, or small; and which the action follows most."""
    names = _input_names(policy, spec)
    if policy.own is None:
        sizes = states.double().square().mean(0).sqrt()
        check, number = "raw inputs", float(sizes.max())
    else:
        sizes = (policy.own.normalize(states.to(policy.dtype)).abs() > FAR_STDS).double().mean(0)
        check, number = "inputs", float(sizes.mean())
    evidence = {
        "has_normalizer": policy.own is not None,
        "far_share": 0.0 if policy.own is None else number,
        "worst_input": names[int(sizes.argmax())],
    }
    # Columns of the Jacobian, per standard deviation: their share in the squared slopes.
    own = policy.with_derivatives(frame.std.to(policy.dtype)).own_frame
    inputs = own.normalize(states.to(own.scale.dtype))
    columns = batch_jacobian(own.mean, inputs) * (own.scale * frame.std.to(own.scale))
    squares = columns.square().sum(1).mean(0)
    shares = squares / squares.sum().clamp_min(torch.finfo(squares.dtype).tiny)
    ranked = sorted(zip(names, shares.tolist(), strict=True), key=lambda pair: -pair[1])
    top, j = ranked[:FEW_INPUTS], mean_j(policy, states, frame)
    texts = ", ".join(f"{name} {share:.0%}" for name, share in top)
    message, remedy = f"J is {j:.3g} (per standard deviation of {frame.source})", None
    if len(ranked) > FEW_INPUTS and sum(share for _, share in top) >= 0.5:
        message = f"{message}, and most of it comes from a few inputs: {texts}"
        remedy = "Look at these sensors first: filter them, or give the policy a smoother estimate"
    else:
        message = f"{message}; the steepest inputs are {texts}"
    slopes = {"mean_j": j, "frame": frame.source, "share_by_input": dict(ranked)}
    drivers = Finding("inputs_that_drive", "note", message, remedy, slopes)
    return [judged(check, number, evidence), drivers]
