"""A picture of demonstrations: returns, lengths, and where the actions lie."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spacil.comparison.figures import plain_style, require_picture_name, save_figure, subplots
from spacil.comparison.learning_curve import RETURN_COLOUR, SMOOTHNESS_COLOUR

if TYPE_CHECKING:
    from spacil.demos.demonstrations import Demonstrations

MAX_ACTIONS_DRAWN = 12
_COLUMNS = 3


@plain_style()
def draw_demonstrations(demos: "Demonstrations", path: Path) -> None:
    """Returns and lengths over the episodes, then one histogram per action."""
    require_picture_name(path)
    num_drawn = min(demos.num_actions, MAX_ACTIONS_DRAWN)
    num_rows = 1 + -(-num_drawn // _COLUMNS)
    figure, axes = subplots(num_rows, _COLUMNS, figsize=(11, 2.6 * num_rows), squeeze=False)
    flat: list[Any] = list(axes.flat)
    _draw_episodes(flat[:_COLUMNS], demos)
    for column, axis in enumerate(flat[_COLUMNS:]):
        if column < num_drawn:
            _draw_action(axis, demos, column)
        else:
            axis.set_visible(False)
    task = demos.metadata.task or "an unnamed task"
    figure.suptitle(f"{demos.num_episodes} demonstrations of {task}")
    figure.tight_layout()
    save_figure(figure, path, dpi=130)


def _draw_episodes(axes: list[Any], demos: "Demonstrations") -> None:
    returns, lengths, changes = axes
    episodes = np.arange(demos.num_episodes)
    if demos.returns is not None:
        returns.bar(episodes, demos.returns.numpy(), color=RETURN_COLOUR)
    returns.set_title("return", fontsize=10)
    lengths.bar(episodes, demos.episode_lengths.numpy(), color=RETURN_COLOUR)
    lengths.set_title("steps", fontsize=10)
    means = [
        episode.executed_actions.double().diff(dim=0).abs().mean() for episode in demos.episodes
    ]
    changes.bar(episodes, np.nan_to_num(np.array(means)), color=SMOOTHNESS_COLOUR)
    changes.set_title("mean action change per step", fontsize=10)
    for axis in axes:
        axis.set_xlabel("episode")


def _draw_action(axis: Any, demos: "Demonstrations", column: int) -> None:
    subjects = [
        ("raw", demos.actions, SMOOTHNESS_COLOUR),
        ("executed", demos.executed_actions, RETURN_COLOUR),
    ]
    for label, actions, colour in subjects:
        if actions is not None:
            values = actions[:, column].double().numpy()
            axis.hist(values[np.isfinite(values)], bins=60, color=colour, alpha=0.6, label=label)
    axis.set_title(f"a{column}", fontsize=10)
    axis.set_yscale("log")
    if column == 0:
        axis.legend(frameon=False, fontsize=8)
