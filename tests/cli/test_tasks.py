"""`spacil tasks`: what is built in."""

from fixture_types import Spacil

from spacil.envs.registry import TASKS


def test_json_has_one_row_per_task_with_stable_keys(spacil: Spacil) -> None:
    rows = spacil("tasks", "--json").result["tasks"]
    assert [row["task"] for row in rows] == list(TASKS)
    assert all(row.keys() == rows[0].keys() for row in rows)
    reacher = next(row for row in rows if row["task"] == "Reacher-v4")
    assert reacher == {
        "task": "Reacher-v4",
        "num_states": 11,
        "num_actions": 2,
        "horizon": 50,
        "paper_demonstrations": 50,
        "paper_steps_per_iteration": 2500,
        "paper_lambda_policy": 0.01,
        "paper_lambda_cost": 0.001,
        "paper_expert_return": -4.18,
        "has_bundled_demonstrations": True,
    }


def test_the_table_names_every_task(spacil: Spacil) -> None:
    shown = spacil("tasks")
    assert (shown.code, shown.err) == (0, "")
    first_words = [line.split()[0] for line in shown.out.splitlines()]
    assert first_words[1 : 1 + len(TASKS)] == list(TASKS)
    assert "Any other Gymnasium env" in shown.out


def test_anything_more_is_refused(spacil: Spacil) -> None:
    refusal = spacil("tasks", "extra")
    assert (refusal.code, refusal.out) == (2, "")
    assert "extra" in refusal.err
