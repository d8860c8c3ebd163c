"""What settings and the arguments of public functions check at birth."""

import math
import operator
from collections.abc import Callable, Mapping

from spacil.errors import ConfigError

_RANGES: Mapping[str, Callable[[float], bool]] = {
    "above 0": lambda value: value > 0,
    "0 or more": lambda value: value >= 0,
    "1 or more": lambda value: value >= 1,
    "in (0, 1)": lambda value: 0 < value < 1,
    "in (0, 1]": lambda value: 0 < value <= 1,
    "in [0, 1)": lambda value: 0 <= value < 1,
    "in [0, 1]": lambda value: 0 <= value <= 1,
}


def require(is_valid: bool, name: str, value: object, expectation: str) -> None:
    """Refuse a value, by the flag a user would change."""
    if not is_valid:
        raise ConfigError(f"--{name.replace('_', '-')} is {value}, expected {expectation}")


def require_ranges(group: object, names_by_range: Mapping[str, str]) -> None:
    """Refuse numbers of a group that are outside their range, or not finite.

    Infinity passes comparisons such as "0 or more", and neither it nor NaN can be saved.
    """
    for name, value in vars(group).items():
        require(not isinstance(value, float) or math.isfinite(value), name, value, "finite")
    for expectation, names in names_by_range.items():
        for name in names.split():
            value = getattr(group, name)
            require(_RANGES[expectation](value), name, value, expectation)


def require_widths(name: str, widths: tuple[int, ...]) -> None:
    """Refuse a network without hidden layers, or with an empty one."""
    require(bool(widths) and min(widths) >= 1, name, widths, "one or more positive widths")


def whole_number(name: str, value: object, least: int = 1) -> int:
    """The argument as an int, from any integer type (numpy's too); bool, float and text are none.

    An int, because whatever else comes in would be kept in a file that nothing can read.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]  # the TypeError says whether
    except TypeError:
        number = least - 1
    require(number >= least, name, repr(value), f"{least} or more, a whole number")
    return number
