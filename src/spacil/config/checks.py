"""What every group of settings checks at birth."""

from spacil.errors import ConfigError


def require(is_valid: bool, name: str, value: object, expectation: str) -> None:
    """Refuse a value, by the flag a user would change."""
    if not is_valid:
        raise ConfigError(f"--{name.replace('_', '-')} is {value}, expected {expectation}")
