"""Where in a task's observation the velocities of the driven joints are, action by action."""

from collections.abc import Mapping
from types import MappingProxyType

_BY_FAMILY: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "Reacher": (6, 7),
        "Hopper": (8, 9, 10),
        "Walker2d": (11, 12, 13, 14, 15, 16),
        "HalfCheetah": (11, 12, 13, 14, 15, 16),
        # Its motors begin with the fourth leg, its joints with the first.
        "Ant": (25, 26, 19, 20, 21, 22, 23, 24),
    }
)

_MOVEMENTS = ("Reacher",)
"""Tasks whose episode is one movement from rest to rest."""


def joint_velocity_columns(task: str | None) -> tuple[int, ...] | None:
    """Columns of the observation, one per action; None for tasks not known here."""
    return _BY_FAMILY.get(_family(task))


def is_movement(task: str | None) -> bool:
    """Whether the spectral arc length of the joint speed means anything."""
    return _family(task) in _MOVEMENTS


def _family(task: str | None) -> str:
    """The name without its version: `Ant` for Ant-v4, Ant-v4-no-contact and Ant-v5."""
    return (task or "").split("-v")[0]
