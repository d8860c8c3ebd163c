"""What settings and the arguments of public functions check at birth."""

import sys
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

from spacil.errors import ConfigError


def require(is_valid: bool, name: str, value: object, expectation: str) -> None:
    """Refuse a value, by the flag a user would change."""
    if not is_valid:
        raise ConfigError(f"--{name.replace('_', '-')} is {value}, expected {expectation}")


def plain(value: Any) -> Any:
    """Numbers of other libraries, numpy's above all, as Python's; anything else unchanged.

    Whatever else comes in would be kept in a file that nothing can read.
    """
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def is_number(value: object) -> bool:
    """Whether a plain value is a number; NaN, infinity, bool and what no float can hold are not."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max  # type: ignore[arg-type]  # a number by now


def number(name: str, value: object, expectation: str, holds: Callable[[float], bool]) -> float:
    """The argument as a number for which the expectation holds."""
    found = plain(value)
    require(is_number(found) and holds(found), name, repr(value), expectation)
    return float(found)


def whole_number(name: str, value: object, least: int = 1) -> int:
    """The argument as an int, from any integer type; bool, float and text are none."""
    found = plain(value)
    is_whole = type(found) is int and is_number(found) and found >= least
    require(is_whole, name, repr(value), f"{least} or more, a whole number")
    return int(found)
