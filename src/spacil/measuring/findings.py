"""The checks: numbers of played episodes in, findings out. Nothing is played here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["fine", "note", "warning"]

SATURATED_SHARE = 0.2
SAMPLED_FACTOR = 1.2
NOISE_FACTOR, NOISE_CHANGE = 1.5, 0.02
DELAY_LOSS = 0.1
FAST_POWER = 0.25
FAR_STDS, FAR_SHARE = 5.0, 0.01
RAW_SPREAD = 10.0
FEW_INPUTS, FEW_INPUTS_SHARE = 3, 0.5

_TOO_SHORT = "not known: the episodes are too short"
_SMOOTH = "`spacil smooth` makes a smooth policy of this one in minutes"


@dataclass(frozen=True)
class Finding:
    """One check."""

    check: str
    severity: Severity
    message: str
    remedy: str | None = None
    """What to do; None where nothing is wrong"""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    is_measured: bool = True
    """False where nothing could be measured, so that nothing is known: a note, never fine"""


def _decided(
    check: str, is_fine: bool, message: str, remedy: str, evidence: Mapping[str, Any], why: str = ""
) -> Finding:
    """A warning with its remedy, `why` after the message; or that all is fine."""
    if is_fine:
        return Finding(check, "fine", message, evidence=evidence)
    return Finding(check, "warning", message + why, remedy, evidence)


def _not_measured(check: str, why: str, evidence: Mapping[str, Any]) -> Finding:
    return Finding(check, "note", why, evidence=evidence, is_measured=False)


def about_saturation(at_bound: float, switches: float) -> Finding:
    """`at_bound`: share of the executed actions on a bound; `switches`: share of the steps that go
    from one bound to the other."""
    return _decided(
        "saturation",
        at_bound <= SATURATED_SHARE,
        f"{at_bound:.0%} of the executed actions lie on a bound",
        "The policy works as a switch. Charge for squared actions in training, or smooth it: "
        f"{_SMOOTH}. A filter here costs return, because the policy needs the full range",
        {"share_at_bound": at_bound, "share_switching": switches},
        f", and {switches:.0%} of all steps jump from one bound to the other",
    )


def about_sampling(
    mean_change: float | None, sampled_change: float | None, mean_return: float, sampled: float
) -> Finding:
    """What acting with samples instead of means does to motion and return."""
    check = "sampled_actions"
    if sampled_change is None:
        return Finding(check, "fine", "no Gaussian of a known spread: nothing is sampled")
    evidence = {
        "fluctuation_mean": mean_change,
        "fluctuation_sampled": sampled_change,
        "return_mean": mean_return,
        "return_sampled": sampled,
    }
    if not mean_change:
        words = "its mean action does not move: whatever moves in samples is its Gaussian"
        return Finding(check, "note", words, evidence=evidence)
    factor = sampled_change / mean_change
    return _decided(
        check,
        factor < SAMPLED_FACTOR,
        f"samples of its Gaussian move the actions {factor:.1f} times as much as its mean",
        "Act with the mean action: deterministic=True in `predict`, here and in "
        "Stable-Baselines3; `act_inference` in rsl_rl",
        evidence,
        f" (return {sampled:.0f} against {mean_return:.0f})",
    )


def about_noise(
    clean: float | None, noisy: float | None, level: float, half_range: float, frame: str
) -> Finding:
    """How much of a sensor's noise arrives at the motors; `half_range` of all of them together.

    A policy that hardly moves may move twice as much and still hardly move. `frame` says whose
    standard deviations the noise is measured in.
    """
    evidence = {"level": level, "fluctuation": clean, "fluctuation_noisy": noisy, "frame": frame}
    if clean is None or noisy is None:
        return _not_measured("sensor_noise", _TOO_SHORT, evidence)
    if not clean:
        return Finding("sensor_noise", "fine", "the actions do not move", evidence=evidence)
    return _decided(
        "sensor_noise",
        noisy / clean < NOISE_FACTOR or noisy < NOISE_CHANGE * half_range,
        f"noise of {level:g} standard deviations (of {frame}) on every input multiplies the "
        f"action change by {noisy / clean:.1f}",
        f"The policy has steep slopes, so sensor noise becomes motor noise: {_SMOOTH}, or train "
        "with a penalty on slopes (`--penalty exact`, `spacil.attach_penalty`)",
        evidence,
    )


def about_delay(returns: Mapping[int, float], clean: float, lowest: float) -> Finding:
    """`returns` by steps of delay; `lowest` is what random actions earn."""
    evidence = {"return": clean, "return_by_delay": {str(k): v for k, v in returns.items()}}
    span = clean - lowest
    if span <= 0:
        text = "not known: the policy earns no more than random actions, so it has none to lose"
        return _not_measured("delay", text, evidence)
    shares = {steps: (found - lowest) / span for steps, found in returns.items()}
    words = ", ".join(f"{steps} steps {share:.0%}" for steps, share in shares.items())
    return _decided(
        "delay",
        1 - shares[min(shares)] <= DELAY_LOSS,
        f"return kept when actions arrive late: {words}",
        "A robot's bus and filters add a step or two, and a tight loop with delay oscillates. "
        "Train with that delay, give the policy its last action as an input, or lower its slopes",
        evidence,
    )


def about_frequencies(fast: float | None, hertz: float | None, rate: float | None) -> Finding:
    """`fast`: share of the action's power above a quarter of Nyquist; `hertz`: where most of it
    is; `rate`: control steps per second."""
    evidence = {"share_above_quarter_nyquist": fast, "strongest_hz": hertz, "control_hz": rate}
    if fast is None:
        return _not_measured("frequency", _TOO_SHORT, evidence)
    where = "" if rate is None else f" ({rate / 8:.3g} Hz at a control rate of {rate:.3g} Hz)"
    return _decided(
        "frequency",
        fast < FAST_POWER,
        f"{fast:.0%} of the actions' power lies above a quarter of Nyquist{where}",
        "Few motors follow that fast: it becomes heat and noise. Charge for the change of actions "
        f"in training (`--penalty cats`), filter, or distil: {_SMOOTH}",
        evidence,
    )


def about_inputs(
    has_normalizer: bool, far_share: float, spreads: Mapping[str, float], worst: str
) -> Finding:
    """`far_share`: share of the inputs beyond `FAR_STDS` of what the network's normaliser knows;
    `spreads`: root mean square of each raw input."""
    evidence = {"has_normalizer": has_normalizer, "far_share": far_share, "worst_input": worst}
    if has_normalizer:
        return _decided(
            "inputs",
            far_share <= FAR_SHARE,
            f"{far_share:.1%} of the inputs lie beyond {FAR_STDS:g} standard deviations",
            "The statistics are those of another env or of too short a run. Load the normaliser "
            "that was saved with this policy (VecNormalize.load), or train on",
            evidence,
            f" of what the policy's normaliser has seen, most often: {worst}",
        )
    largest = max(spreads.values(), default=0.0)
    return _decided(
        "inputs",
        largest <= RAW_SPREAD,
        f"no normaliser was found; inputs are up to {largest:.3g} in size",
        "If it was trained behind a normaliser, that is missing here: pass the whole model, or a "
        "function that normalises first. If not, large inputs make steep and saturated networks",
        evidence,
        f" ({worst})",
    )


def about_drivers(shares: Mapping[str, float], mean_j: float, frame: str) -> Finding:
    """`shares`: share of each input in the squared slopes, largest first; `frame`: J's units."""
    top = dict(list(shares.items())[:FEW_INPUTS])
    words = ", ".join(f"{name} {share:.0%}" for name, share in top.items())
    evidence = {"mean_j": mean_j, "frame": frame, "share_by_input": dict(shares)}
    j = f"J is {mean_j:.3g} (per standard deviation of {frame})"
    if sum(top.values()) < FEW_INPUTS_SHARE or len(shares) <= FEW_INPUTS:
        text, remedy = f"{j}; the steepest inputs are {words}", None
    else:
        text = f"{j}, and most of it comes from a few inputs: {words}"
        remedy = "Look at these sensors first: filter them, or give the policy a smoother estimate"
    return Finding("inputs_that_drive", "note", text, remedy, evidence)
