"""`spacil tasks`: the built-in tasks."""

from dataclasses import dataclass
from typing import Any

from spacil.cli.arguments import parse
from spacil.cli.output import JsonTarget, identity, show


@dataclass(frozen=True)
class TasksArguments:
    json: JsonTarget = None


def run(arguments: list[str]) -> int:
    parsed = parse(
        TasksArguments, arguments, "spacil tasks", "Built-in tasks, with the paper's settings."
    )
    from spacil import paper
    from spacil.demos.file import bundled_demos
    from spacil.envs.registry import TASKS

    bundled = bundled_demos()
    rows = []
    for name, task in TASKS.items():
        column = paper.TASKS.get(name)
        rows.append(
            {
                "task": name,
                "num_states": task.num_states,
                "num_actions": task.num_actions,
                "horizon": task.horizon,
                "paper_demonstrations": column.num_trajectories if column else None,
                "paper_steps_per_iteration": column.imitation_steps_per_iteration
                if column
                else None,
                "paper_lambda_policy": column.lambda_policy if column else None,
                "paper_lambda_cost": column.lambda_cost if column else None,
                "paper_expert_return": column.expert_return if column else None,
                "has_bundled_demonstrations": name in bundled,
            }
        )
    show(identity() | {"tasks": rows}, parsed.json, lambda: _print(rows))
    return 0


def _print(rows: list[dict[str, Any]]) -> None:
    from spacil.cli.table import print_table

    print_table(
        [
            "task",
            "states",
            "actions",
            "horizon",
            "demos (paper)",
            "steps/iter",
            "expert G",
            "bundled",
        ],
        [
            [
                row["task"],
                row["num_states"],
                row["num_actions"],
                row["horizon"],
                row["paper_demonstrations"],
                row["paper_steps_per_iteration"],
                row["paper_expert_return"],
                "yes" if row["has_bundled_demonstrations"] else None,
            ]
            for row in rows
        ],
    )
    print("Any other Gymnasium env with Box observations and actions works too: --task ENV-ID")
