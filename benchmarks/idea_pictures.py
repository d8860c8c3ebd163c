"""The two pictures of the idea: what a smooth policy is, and what a smooth cost does for it.

`smooth_policy.png`: two policies of one task on the plane of states through one state s in which
the rougher one reacts most, and where each sends the ball around s. `smooth_cost.png`: an optimal
control problem solved on a grid with a smooth and with a rippled cost, from cost to policy.

    PYTHONPATH=experiments python benchmarks/idea_pictures.py --rough gail.policy.safetensors \\
        --smooth spacil.policy.safetensors
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import theory
from spacil.comparison.figures import plain_style, subplots
from spacil.demos.common_frame import CommonFrame
from spacil.demos.file import load_demos
from spacil.functional.sensitivity import batch_jacobian
from spacil.nets.policy import GaussianPolicy
from spacil.policies.open import load_policy
from spacil.policies.policy import task_of

FIGURES = Path("docs/figures")
ROUGH, SMOOTH = "#c8553d", "#1f6f8b"
GREY = "#e4e6ea"

RADIUS = 0.5
"""Of the ball, in standard deviations of the demonstrations"""
STRIDE = 7
"""Every so many demonstrated states are candidates for s"""
RIPPLE, WAVES = 0.06, 25.0
"""Height and frequency of what makes the second cost rough"""
TRANSITION_LIPSCHITZ = 0.8


@dataclass(frozen=True)
class Plane:
    """Two orthonormal directions through one state, in standard deviations."""

    centre: Tensor
    """[S] raw"""
    directions: Tensor
    """[2, S] raw change of the state for one unit"""

    def states(self, coordinates: Tensor) -> Tensor:
        """[..., 2] -> [..., S]"""
        return self.centre + coordinates @ self.directions


def constants(policy: GaussianPolicy, states: Tensor, std: Tensor) -> Tensor:
    """Local Lipschitz constants of the mean action, [B]."""
    jacobians = batch_jacobian(policy.mean, states) * std
    found: Tensor = torch.linalg.matrix_norm(jacobians, ord=2)
    return found


def typical_plane(rough: GaussianPolicy, smooth: GaussianPolicy, task: str) -> Plane:
    """Through the demonstrated state at which both constants are nearest to their means."""
    demos = load_demos(task)
    std = CommonFrame.of(demos).std.float()
    states = demos.states.float()[::STRIDE]
    found = [constants(policy, states, std) for policy in (rough, smooth)]
    distance = sum((one / one.mean() - 1).abs() for one in found)
    centre = states[int(torch.as_tensor(distance).argmin())]
    jacobian = batch_jacobian(rough.mean, centre[None])[0] * std
    _, _, right = torch.linalg.svd(jacobian, full_matrices=False)
    return Plane(centre, right[:2] * std)


def circle(radius: float, points: int = 361) -> Tensor:
    angles = torch.linspace(0, 2 * torch.pi, points)
    return radius * torch.stack([angles.cos(), angles.sin()], dim=-1)


def farthest(policy: GaussianPolicy, plane: Plane) -> tuple[Tensor, float]:
    """Where on the rim of the ball the action differs most from the centre's, and by how much."""
    rim = circle(RADIUS)
    with torch.no_grad():
        moved = (policy.mean(plane.states(rim)) - policy.mean(plane.centre[None])).norm(dim=-1)
    return rim[int(moved.argmax())], float(moved.max())


def draw_field(
    axis: Any, policy: GaussianPolicy, plane: Plane, motors: list[int], colour: str
) -> float:
    """Arrows: two motors' mean action over the plane. Returns the largest change in the ball."""
    side = torch.linspace(-0.75, 0.75, 7)
    grid = torch.cartesian_prod(side, side)
    worst, change = farthest(policy, plane)
    rim = circle(RADIUS)
    axis.fill(rim[:, 0], rim[:, 1], color=GREY, zorder=0)
    with torch.no_grad():
        field = policy.mean(plane.states(grid))[:, motors]
        two = policy.mean(plane.states(torch.stack([torch.zeros(2), worst])))[:, motors]
    arrows = {"angles": "xy", "scale_units": "xy", "scale": 4.5, "pivot": "tail"}
    axis.quiver(*grid.T, *field.T, color=colour, alpha=0.35, width=0.006, **arrows)
    points = torch.stack([torch.zeros(2), worst])
    axis.quiver(*points.T, *two.T, color=["#222222", colour], width=0.011, zorder=5, **arrows)
    axis.plot(*points.T, "o", color="#3b6fd4", markersize=5, zorder=4)
    for text, point in zip(("s", "s\u0303"), points, strict=True):
        axis.annotate(text, point.tolist(), textcoords="offset points", xytext=(-13, -4))
    axis.set(xlim=(-1.0, 1.0), ylim=(-1.0, 1.0), aspect="equal")
    return change


@plain_style()
def draw_smooth_policy(rough_file: Path, smooth_file: Path, output: Path) -> None:
    rough, smooth = load_policy(rough_file), load_policy(smooth_file)
    plane = typical_plane(rough.policy, smooth.policy, task_of(rough))
    _, changes = _image(rough.policy, plane)
    motors = sorted(changes.var(dim=0).argsort(descending=True)[:2].tolist())
    figure, axes = subplots(1, 3, figsize=(11.4, 3.9))
    sides = (("rough: GAIL", rough.policy, ROUGH), ("smooth: SPaCIL", smooth.policy, SMOOTH))
    for axis, (label, policy, colour) in zip(axes[:2], sides, strict=True):
        change = draw_field(axis, policy, plane, motors, colour)
        axis.set_title(f"{label}, action moves by up to {change:.2f}", fontsize=10)
        axis.set_xlabel("state, first direction [std]")
    axes[0].set_ylabel("state, second direction [std]")
    for label, policy, colour in sides:
        rim, disc = _image(policy, plane)
        axes[2].scatter(*disc[:, motors].T, color=colour, s=3, alpha=0.25, linewidths=0)
        axes[2].plot(*rim[:, motors].T, color=colour, linewidth=2, label=label)
    axes[2].plot(0, 0, "o", color="#222222", markersize=5)
    axes[2].set(
        xlabel=f"change of motor {motors[0]}",
        ylabel=f"change of motor {motors[1]}",
        aspect="equal",
    )
    axes[2].set_title("Where each sends the ball", fontsize=10)
    axes[2].margins(y=0.3)
    axes[2].legend(frameon=False, fontsize=8, loc="upper left")
    figure.tight_layout()
    figure.savefig(output, dpi=140)


def _image(policy: GaussianPolicy, plane: Plane) -> tuple[Tensor, Tensor]:
    """Changes of the action on the rim of the ball and inside it, [.., A]."""
    rim = circle(RADIUS)
    inside = torch.cat([circle(RADIUS * share, 73) for share in (0.2, 0.4, 0.6, 0.8)])
    with torch.no_grad():
        here = policy.mean(plane.centre[None])
        return policy.mean(plane.states(rim)) - here, policy.mean(plane.states(inside)) - here


def smooth_cost(states: theory.Array, actions: theory.Array) -> theory.Array:
    return states**2 + 0.3 * actions**2


def rippled_cost(states: theory.Array, actions: theory.Array) -> theory.Array:
    return smooth_cost(states, actions) + RIPPLE * np.sin(WAVES * states)


def slope_text(values: theory.Array, states: theory.Array) -> str:
    """Over ten grid steps: between neighbours a greedy action moves by steps of its own grid."""
    if np.abs(np.diff(values)).max() > 0.05:
        return "jumps"
    return f"steepest slope {theory.steepest(values[::10], states[::10]):.1f}"


@plain_style()
def draw_smooth_cost(output: Path) -> None:
    figure, axes = subplots(1, 3, figsize=(11.4, 3.6))
    for label, cost, colour in (
        ("rippled cost", rippled_cost, ROUGH),
        ("smooth cost", smooth_cost, SMOOTH),
    ):
        solved = theory.solve(TRANSITION_LIPSCHITZ, 801, 801, cost_of=cost)
        greedy = solved.actions[solved.action_value.argmin(axis=1)]
        here = cost(solved.states, np.zeros(1))
        for axis, values in zip(axes, (here, solved.value, greedy), strict=True):
            text = f"{label}: {slope_text(values, solved.states)}"
            axis.plot(solved.states, values, color=colour, linewidth=1.8, label=text)
    titles = ("cost of a state, no action", "optimal value V*", "greedy action")
    for axis, title in zip(axes, titles, strict=True):
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("state")
        axis.spines[["top", "right"]].set_visible(False)
        axis.margins(y=0.2)
        axis.legend(frameon=False, fontsize=8, loc="upper center")
    figure.tight_layout()
    figure.savefig(output, dpi=140)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rough", type=Path, required=True, help="policy file of GAIL")
    parser.add_argument("--smooth", type=Path, required=True, help="policy file of SPaCIL")
    parser.add_argument("--output", type=Path, default=FIGURES, help="folder of the pictures")
    options = parser.parse_args()
    torch.set_num_threads(1)
    draw_smooth_policy(options.rough, options.smooth, options.output / "smooth_policy.png")
    draw_smooth_cost(options.output / "smooth_cost.png")


if __name__ == "__main__":
    main()
