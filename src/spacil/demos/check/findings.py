"""What can be wrong with demonstrations on their own, whatever env they are for.

Each function looks at one subject and returns what it found: no finding, no problem. Errors make
demonstrations unusable; warnings are for what may be right but often is not; notes inform.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.selection import episode_of_step, first_steps
from spacil.errors import DataError
from spacil.nets.normalizer import STD_FLOOR

Severity = Literal["error", "warning", "note"]

FEW_EPISODES = 3
"""Three demonstrations must train; with fewer the result depends on luck."""
FEW_PAIRS = 100
"""So many state-action pairs a discriminator can learn by heart."""
_ROUNDING = 1e-7
"""Of numbers near 1 in float32: a dim that varies no more is constant"""
_MOST_DIMS_NAMED = 8


@dataclass(frozen=True)
class Finding:
    """One thing about the demonstrations that a user should know."""

    severity: Severity
    check: str
    """A stable key, one per kind of finding."""
    message: str
    """What, where, and what to do."""
    episode: int | None = None
    step: int | None = None
    column: int | None = None


def episode_findings(demos: Demonstrations) -> list[Finding]:
    """No, few, empty, repeated or unfinished episodes."""
    if demos.num_episodes == 0:
        return [Finding("error", "no_episodes", f"{demos.source}: holds no episodes")]
    findings = []
    if demos.num_episodes < FEW_EPISODES:
        findings.append(
            Finding(
                "warning",
                "few_episodes",
                f"{demos.source}: {count(demos.num_episodes, 'episode')} only; the result will "
                f"depend on luck, bring {FEW_EPISODES} or more",
            )
        )
    empty = torch.nonzero(demos.episode_lengths == 0).flatten().tolist()
    if empty:
        findings.append(
            Finding(
                "error",
                "empty_episode",
                f"{demos.source}: {_episodes(empty)} without a single step; remove them",
                episode=empty[0],
            )
        )
    unflagged = _episodes_without_end_flag(demos)
    if unflagged:
        findings.append(
            Finding(
                "note",
                "unflagged_end",
                f"{demos.source}: {_episodes(unflagged)} neither terminated nor truncated at the "
                "end; treated as cut off",
                episode=unflagged[0],
            )
        )
    return findings + _duplicate_findings(demos)


def scarcity_findings(demos: Demonstrations) -> list[Finding]:
    """Too few pairs to generalise from; steps whose successors were lost in thinning."""
    findings = []
    if 0 < demos.num_steps <= FEW_PAIRS:
        message = (
            f"{demos.source}: {count(demos.num_steps, 'state-action pair')} only; a discriminator "
            "can learn so few by heart, and its reward then says little. Use more trajectories, or "
            "more steps of each"
        )
        findings.append(Finding("warning", "few_pairs", message))
    if not demos.has_true_successors:
        message = (
            f"{demos.source}: was thinned and does not hold the states that followed its steps; "
            "airl, cats and caps would read later ones. Thin the whole record again"
        )
        findings.append(Finding("warning", "lost_successors", message))
    return findings


def scale_findings(demos: Demonstrations) -> list[Finding]:
    """State dims that vary too little to be read: a policy sees zeros in their place."""
    if demos.num_steps == 0:
        return []
    std, floor = demos.state_std, STD_FLOOR
    if bool((std <= floor).all()):
        message = (
            f"{demos.source}: no state dim varies by more than {floor:g} (standard deviations up "
            f"to {float(std.max()):.3g}), and dims that vary less are masked: a policy would see "
            "nothing. Rescale the observations, of demonstrations and env alike"
        )
        return [Finding("error", "no_live_state", message)]
    is_small = (std <= floor) & (std > _ROUNDING * (1 + demos.state_mean.abs()))
    dims = torch.nonzero(is_small).flatten().tolist()
    if not dims:
        return []
    shown = ", ".join(f"{dim} ({float(std[dim]):.2g})" for dim in dims[:_MOST_DIMS_NAMED])
    rest = f", ... ({len(dims)} in all)" if len(dims) > _MOST_DIMS_NAMED else ""
    message = (
        f"{demos.source}: state {'dim' if len(dims) == 1 else 'dims'} {shown}{rest} vary, with a "
        f"standard deviation of at most {floor:g}, and are masked: neither policy nor J sees them. "
        "If they matter, rescale them, in demonstrations and env alike"
    )
    return [Finding("warning", "small_scale", message, column=dims[0])]


def nonfinite_findings(demos: Demonstrations) -> list[Finding]:
    """NaN and infinities, counted, with the place of the first one, per tensor."""
    lengths, raw, following = demos.episode_lengths, demos.actions, demos.next_observations
    # In float32, which networks read: a double may be finite and too large.
    subjects: tuple[tuple[str, Tensor | None, Tensor, Severity], ...] = (
        ("observations", demos.observations.float(), lengths + 1, "error"),
        ("executed_actions", demos.executed_actions.float(), lengths, "error"),
        ("actions", None if raw is None else raw.float(), lengths, "error"),
        ("next_observations", None if following is None else following.float(), lengths, "error"),
        ("rewards", demos.rewards, lengths, "warning"),
    )
    return [
        _nonfinite_finding(demos.source, name, tensor, rows_per_episode, severity)
        for name, tensor, rows_per_episode, severity in subjects
        if tensor is not None and not tensor.isfinite().all()
    ]


def require_finite(demos: Demonstrations) -> None:
    """Refuse observations or actions with NaN or infinity, in the words of training."""
    errors = [found.message for found in nonfinite_findings(demos) if found.severity == "error"]
    if errors:
        raise DataError("\n".join(errors))


def _nonfinite_finding(
    source: str, name: str, tensor: Tensor, rows_per_episode: Tensor, severity: Severity
) -> Finding:
    table = tensor if tensor.ndim == 2 else tensor.unsqueeze(1)
    places = torch.nonzero(~table.isfinite())
    row, column = places[0].tolist()
    episode = int(episode_of_step(rows_per_episode)[row])
    step = row - int(first_steps(rows_per_episode)[episode])
    remedy = (
        "repair the source, or drop whole episodes with --drop-nonfinite"
        if severity == "error"
        else "returns are not known"
    )
    message = (
        f"{source}: {count(len(places), 'non-finite value')} in {name}, first "
        f"{float(table[row, column])} at episode {episode}, step {step}, column {column}: {remedy}"
    )
    return Finding(severity, "non_finite", message, episode=episode, step=step, column=column)


def _duplicate_findings(demos: Demonstrations) -> list[Finding]:
    first_seen: dict[tuple[bytes, bytes], int] = {}
    copies: list[int] = []
    for index in range(demos.num_episodes):
        episode = demos.episode(index)
        content = (_bytes(episode.observations), _bytes(episode.executed_actions))
        if first_seen.setdefault(content, index) != index:
            copies.append(index)
    if not copies:
        return []
    message = (
        f"{demos.source}: {_episodes(copies)} repeat an earlier episode exactly, so there are "
        f"{demos.num_episodes - len(copies)} different demonstrations; remove the copies"
    )
    return [Finding("warning", "duplicate_episode", message, episode=copies[0])]


def _episodes_without_end_flag(demos: Demonstrations) -> list[int]:
    has_flag = demos.terminations | demos.truncations
    flagged = torch.zeros(demos.num_episodes, dtype=torch.bool)
    flagged[episode_of_step(demos.episode_lengths)[has_flag]] = True
    return torch.nonzero(~flagged & (demos.episode_lengths > 0)).flatten().tolist()


def _bytes(tensor: Tensor) -> bytes:
    return bytes(tensor.numpy().tobytes())


def count(number: int, noun: str) -> str:
    """ "1 episode", "3 episodes"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _episodes(indices: list[int]) -> str:
    """ "episode 4" or "episodes 1, 2, 5, ... (12 in all)"."""
    if len(indices) == 1:
        return f"episode {indices[0]}"
    shown = ", ".join(str(index) for index in indices[:6])
    return f"episodes {shown}" + (f", ... ({len(indices)} in all)" if len(indices) > 6 else "")
