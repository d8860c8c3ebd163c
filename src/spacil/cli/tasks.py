"""`spacil tasks`: the built-in tasks."""

from dataclasses import dataclass

from spacil.cli.arguments import Json
from spacil.cli.output import identity, print_records, show

_SHOWN = (
    *("num_states", "num_actions", "horizon", "paper_demonstrations"),
    *("paper_steps_per_iteration", "paper_expert_return", "has_bundled_demonstrations"),
)


@dataclass(frozen=True, kw_only=True)
class Arguments(Json):
    """Built-in tasks, with the paper's settings."""


def run(parsed: Arguments) -> int:
    from spacil import paper
    from spacil.comparison.published import RETURNS
    from spacil.demos.file import bundled_demos
    from spacil.envs.registry import TASKS

    rows = {}
    for name, task in TASKS.items():
        column = paper.TASKS.get(name)
        rows[name] = {
            "task": name,
            "num_states": task.num_states,
            "num_actions": task.num_actions,
            "horizon": task.horizon,
            "paper_demonstrations": column and column.num_trajectories,
            "paper_steps_per_iteration": column and column.imitation_steps_per_iteration,
            "paper_lambda_policy": column and column.lambda_policy,
            "paper_lambda_cost": column and column.lambda_cost,
            "paper_expert_return": column and RETURNS[name]["trpo"].mean,
            "has_bundled_demonstrations": name in bundled_demos(),
        }

    def show_table() -> None:
        print_records(rows, _SHOWN)
        print("Any other Gymnasium env with Box observations and actions works too: --task ENV-ID")

    show(identity() | {"tasks": [*rows.values()]}, parsed.json, show_table)
    return 0
