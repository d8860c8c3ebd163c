"""What settings and the arguments of public functions check at birth."""

import operator

from spacil.errors import ConfigError


def require(is_valid: bool, name: str, value: object, expectation: str) -> None:
    """Refuse a value, by the flag a user would change."""
    if not is_valid:
        raise ConfigError(f"--{name.replace('_', '-')} is {value}, expected {expectation}")


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
