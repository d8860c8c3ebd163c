"""`spacil tasks`: the built-in tasks."""

from dataclasses import dataclass
from typing import Any

from spacil.cli.arguments import Json
from spacil.cli.output import identity, print_table, show

_COLUMNS = {
    "task": "task",
    "num_states": "states",
    "num_actions": "actions",
    "horizon": "horizon",
    "paper_demonstrations": "demos (paper)",
    "paper_steps_per_iteration": "steps/iter",
    "paper_expert_return": "expert G",
}


@dataclass(frozen=True, kw_only=True)
class Arguments(Json):
    """Built-in tasks, with the paper's settings."""


def run(parsed: Arguments) -> int:
    from spacil import paper
    from spacil.comparison.published import RETURNS
    from spacil.demos.file import bundled_demos
    from spacil.envs.registry import TASKS

    bundled, rows = bundled_demos(), []
    for name, task in TASKS.items():
        column = paper.TASKS.get(name)
        printed: dict[str, Any] = {
            "paper_demonstrations": column and column.num_trajectories,
            "paper_steps_per_iteration": column and column.imitation_steps_per_iteration,
            "paper_lambda_policy": column and column.lambda_policy,
            "paper_lambda_cost": column and column.lambda_cost,
            "paper_expert_return": column and RETURNS[name]["trpo"].mean,
        }
        rows.append(
            {
                "task": name,
                "num_states": task.num_states,
                "num_actions": task.num_actions,
                "horizon": task.horizon,
                **printed,
                "has_bundled_demonstrations": name in bundled,
            }
        )

    def show_table() -> None:
        cells = [
            [*(row[key] for key in _COLUMNS), "yes" if row["has_bundled_demonstrations"] else None]
            for row in rows
        ]
        print_table([*_COLUMNS.values(), "bundled"], cells)
        print("Any other Gymnasium env with Box observations and actions works too: --task ENV-ID")

    show(identity() | {"tasks": rows}, parsed.json, show_table)
    return 0
