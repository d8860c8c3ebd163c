"""Turning a dataclass into a command line, the same way for every verb."""

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import tyro

from spacil.cli.arguments_end import ArgumentsEnd
from spacil.cli.output import STDOUT, check_target, with_json_target

T = TypeVar("T")

_FLAT = (tyro.conf.OmitArgPrefixes,)


def parse(
    arguments_type: type[T],
    arguments: list[str],
    prog: str,
    description: str,
    default: T | None = None,
) -> T:
    """Flags are the field names, flattened; a field's docstring is its help. Exits 2 on misuse."""
    command: Callable[..., T] = functools.partial(
        tyro.cli,
        arguments_type,
        args=with_json_target(arguments),
        prog=prog,
        description=description,
        config=_FLAT,
    )
    try:
        parsed = command() if default is None else command(default=default)
    except SystemExit as ending:
        raise ArgumentsEnd(ending.code) from None
    target: Path | None = getattr(parsed, "json", None)
    if target is None or target == STDOUT:
        return parsed
    check_target(target)
    # Absolute from the start: an env may change the working folder.
    return dataclasses.replace(parsed, json=target.absolute())  # type: ignore[type-var]


def value_of(flag: str, arguments: list[str]) -> str | None:
    """The value of `--flag value` or `--flag=value`, read before the full parse."""
    for i, argument in enumerate(arguments):
        if argument == flag and i + 1 < len(arguments):
            return arguments[i + 1]
        if argument.startswith(f"{flag}="):
            return argument.removeprefix(f"{flag}=")
    return None
