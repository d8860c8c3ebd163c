"""A task's name becomes one safe folder name, and no two tasks share one."""

import pytest

from spacil.runs.location import safe_folder_name


@pytest.mark.parametrize(
    ("task", "name"),
    [("Hopper-v4", "Hopper-v4"), ("my_env.v1", "my_env.v1")],
)
def test_a_plain_task_name_is_its_folder_name(task: str, name: str) -> None:
    assert safe_folder_name(task) == name


ODD_TASKS = ["ALE/Pong-v5", "ALE:Pong-v5", "module:Env-v0", "..", ".", "", "/", "-rf", ".git",
             "a b", "a'b\"c", "a\nb", "Läufer-v0", "走る", "x" * 300, "a\0b", "\ud800"]  # fmt: skip


def test_odd_task_names_become_distinct_safe_folder_names() -> None:
    names = [safe_folder_name(task) for task in ODD_TASKS]
    assert len(set(names)) == len(names)
    for name in names:
        assert name.isascii() and len(name) <= 128
        assert set("/:\0\n '\"").isdisjoint(name) and name[0] not in ".-"
