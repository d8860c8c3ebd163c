"""Do demonstrations fit the env they are to be used in?

By what they say about themselves (sizes, fingerprint), and by their numbers: actions the env cannot
have executed, starts it never gives, states that were normalised. Statistics alone never refuse;
they warn, and two independent signs together are an error.
"""

import numpy as np
import torch
from torch import Tensor

from spacil.demos.check.findings import Finding, Severity
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.metadata import plain_json
from spacil.demos.selection import episode_of_step, first_steps
from spacil.envs.vector_env import EnvSpec, FloatArray, dims_misfits

MAX_FRACTION_OUT_OF_BOUNDS = 0.5
MAX_FRACTION_AT_BOUNDS = 0.1
"""Beyond it, actions that were clipped before they were stored hide what the expert wanted."""
_BOUND_TOLERANCE = 1e-6
"""Relative: a bound stored in another precision is still that bound."""
_MIN_STEPS_FOR_STATISTICS = 20


def size_findings(demos: Demonstrations, spec: EnvSpec) -> list[Finding]:
    """State and action dims that are not the task's; episodes longer than its time limit."""
    found, expected = (demos.num_states, demos.num_actions), (spec.num_states, spec.num_actions)
    findings = [
        Finding("error", f"{noun}_dims", f"{demos.source}: {misfit}")
        for noun, misfit in dims_misfits(found, expected, spec.task).items()
    ]
    longest = int(demos.episode_lengths.max()) if demos.num_episodes else 0
    if spec.horizon is not None and longest > spec.horizon:
        episode = int(demos.episode_lengths.argmax())
        message = (
            f"{demos.source}: episode {episode} has {longest} steps, {spec.task} ends after "
            f"{spec.horizon}: another time limit, or two episodes joined?"
        )
        findings.append(Finding("warning", "longer_than_horizon", message, episode=episode))
    return findings


def identity_findings(
    demos: Demonstrations, spec: EnvSpec, allow_env_mismatch: bool
) -> list[Finding]:
    """Whether the demonstrations were made in this very env, by what they say about it."""
    stored = {"task": demos.metadata.task, **(demos.metadata.env_fingerprint or {})}
    expected = {"task": spec.task, **plain_json("env_fingerprint", spec.fingerprint)}
    # What one side does not know is no difference; a task's name counts where the id is not known.
    compared = {key for key in expected if None not in (stored.get(key), expected[key])}
    if "gymnasium_id" in compared:
        compared.discard("task")
    differences = [
        f"{key} {_short(stored[key])} there, {_short(expected[key])} here"
        for key in sorted(compared)
        if stored[key] != expected[key]
    ]
    if differences:
        severity: Severity = "warning" if allow_env_mismatch else "error"
        remedy = (
            "used as asked" if allow_env_mismatch else "wrong --task? If not, --allow-env-mismatch"
        )
        message = f"{demos.source}: recorded in another env ({'; '.join(differences)}): {remedy}"
        return [Finding(severity, "env_mismatch", message)]
    if "task" in compared or "gymnasium_id" in compared:
        return []
    message = f"{demos.source}: does not say which env it is from; make sure it is {spec.task}"
    return [Finding("warning", "unknown_env", message)]


def bounds_findings(demos: Demonstrations, spec: EnvSpec) -> list[Finding]:
    """Executed actions that the env cannot have executed. Raw ones may lie anywhere."""
    fraction = fraction_out_of_bounds(demos, spec)
    if fraction == 0.0:
        return []
    step, column = torch.nonzero(_is_out_of_bounds(demos, spec))[0].tolist()
    episode = int(episode_of_step(demos.episode_lengths)[step])
    step_in_episode = step - int(first_steps(demos.episode_lengths)[episode])
    is_error = fraction > MAX_FRACTION_OUT_OF_BOUNDS
    message = (
        f"{demos.source}: {fraction:.1%} of the action entries are outside {spec.task}'s bounds, "
        f"first {float(demos.executed_actions[step, column]):.4g} at episode {episode}, step "
        f"{step_in_episode}, column {column}: "
        + (
            "other units, or another task?"
            if is_error
            else "store the clipped actions as executed_actions, the others as actions"
        )
    )
    return [
        Finding(
            "error" if is_error else "warning",
            "actions_out_of_bounds",
            message,
            episode=episode,
            step=step_in_episode,
            column=column,
        )
    ]


def fraction_out_of_bounds(demos: Demonstrations, spec: EnvSpec) -> float:
    """The share of executed action entries outside the env's bounds."""
    if demos.num_steps == 0:
        return 0.0
    return float(_is_out_of_bounds(demos, spec).double().mean())


def clipping_findings(demos: Demonstrations, spec: EnvSpec) -> list[Finding]:
    """Actions known only as the env's bounds left them, where they often lie on a bound."""
    executed, raw = demos.executed_actions, demos.actions
    if demos.num_steps == 0 or not (raw is None or torch.equal(raw, executed)):
        return []
    low, high = torch.from_numpy(spec.action_low), torch.from_numpy(spec.action_high)
    fraction = float(((executed <= low) | (executed >= high)).double().mean())
    if fraction <= MAX_FRACTION_AT_BOUNDS:
        return []
    message = (
        f"{demos.source}: {fraction:.0%} of the action entries lie on {spec.task}'s bounds, and "
        "what the expert asked for beyond them is not known: a clone learns to stop at the bound. "
        "Store the unclipped actions too, where you have them"
    )
    return [Finding("warning", "clipped_actions", message)]


def state_findings(
    demos: Demonstrations, task: str, reset_states: FloatArray | None
) -> list[Finding]:
    """States that are not raw states of the task, by their statistics.

    `reset_states` [K, S] are starts of the task: episodes begin in their range, unless they come
    from another task, were cut, or were normalised or scaled.
    """
    findings: list[Finding] = []
    starts_fit = False
    if reset_states is not None and not demos.metadata.has_cut_starts:
        findings = _start_findings(demos, task, reset_states)
        starts_fit = not findings
    if not starts_fit and looks_normalised(demos.states):
        message = (
            f"{demos.source}: every state column has mean 0 and standard deviation 1, so the "
            "states look normalised; store raw ones, the policy carries its own normaliser"
        )
        # Alone a suspicion; together with starts that no reset gives, certain enough to refuse.
        findings.append(Finding("error" if findings else "warning", "normalised_states", message))
    return findings


def looks_normalised(states: Tensor) -> bool:
    """Whether all columns that vary have mean ~0 and standard deviation ~1. States [M, S]."""
    states = states[states.isfinite().all(dim=1)].double()
    if len(states) < _MIN_STEPS_FOR_STATISTICS:
        return False
    mean, std = states.mean(dim=0), states.std(dim=0, correction=0)
    varies = std > 1e-6
    is_standard = (mean.abs() < 0.2) & ((std - 1).abs() < 0.25)
    # One column may be standard by chance; two or more, all of them, hardly.
    return int(varies.sum()) >= 2 and bool(is_standard[varies].all())


def _is_out_of_bounds(demos: Demonstrations, spec: EnvSpec) -> Tensor:
    low, high = torch.from_numpy(spec.action_low), torch.from_numpy(spec.action_high)
    # Each bound has its own slack: one of them may be infinite.
    low_slack, high_slack = (_BOUND_TOLERANCE * bound.abs().clamp(min=1.0) for bound in (low, high))
    actions = demos.executed_actions
    return (actions < low - low_slack) | (actions > high + high_slack)


def _starts(demos: Demonstrations) -> Tensor:
    """[E, S] float64, the first observation of every episode."""
    return demos.observations[first_steps(demos.episode_lengths + 1)].double()


def _start_findings(demos: Demonstrations, task: str, reset_states: FloatArray) -> list[Finding]:
    low, high = reset_states.min(axis=0), reset_states.max(axis=0)
    # The range of a few resets is short of the true one; the constant absorbs float32 rounding.
    slack = (high - low) + 1e-3 * np.maximum(1.0, np.maximum(np.abs(low), np.abs(high)))
    starts = _starts(demos).numpy()
    excess = np.nan_to_num(np.maximum(low - starts, starts - high) / slack, nan=np.inf)
    strangers = np.flatnonzero((excess > 1.0).any(axis=1))
    if 2 * len(strangers) <= demos.num_episodes:
        return []
    episode = int(strangers[0])
    column = int(excess[episode].argmax())
    message = (
        f"{demos.source}: {len(strangers)} of {demos.num_episodes} episodes do not begin like "
        f"{task} (column {column} is {starts[episode, column]:.4g} in episode {episode}, resets "
        f"give {low[column]:.4g} to {high[column]:.4g}): another task, scaled states, cut starts?"
    )
    return [Finding("warning", "strange_starts", message, episode=episode, step=0, column=column)]


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:36]} ..."
