"""What settings and the arguments of public functions check at birth."""

from numbers import Integral

from spacil.errors import ConfigError


def require(is_valid: bool, name: str, value: object, expectation: str) -> None:
    """Refuse a value, by the flag a user would change."""
    if not is_valid:
        raise ConfigError(f"--{name.replace('_', '-')} is {value}, expected {expectation}")


def whole_number(name: str, value: object, least: int = 1) -> int:
    """The argument as an int, from any integer type (numpy's too); bool, float and text are none.

    An int, because whatever else comes in would be kept in a file that nothing can read.
    """
    number = least - 1 if isinstance(value, bool) or not isinstance(value, Integral) else int(value)
    require(number >= least, name, repr(value), f"{least} or more, a whole number")
    return number
