"""The typed errors of spacil and their exit codes.

Every fault that a user can cause or meet has one class here. A message says what is wrong,
where (file, episode, index), and what to do about it. The command line prints the message
without a traceback and ends with `exit_code`. Messages speak of flags; the Python face turns them
into keywords.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager


class SpacilError(Exception):
    """Base of all errors that spacil raises on purpose."""

    exit_code = 1


class ConfigError(SpacilError):
    """A setting or flag is not valid, or does not fit the others."""

    exit_code = 2


class DataError(SpacilError):
    """Demonstrations or an imported file cannot be used."""

    exit_code = 65


class EnvError(SpacilError):
    """An environment raised, or returned something no training may see."""

    exit_code = 69


class DivergedError(SpacilError):
    """Training left the valid range: non-finite actions, losses or parameters."""

    exit_code = 70


class RunDirError(SpacilError):
    """A run folder cannot be created, exists already, or belongs to another process."""

    exit_code = 73


class StorageError(SpacilError):
    """Reading or writing failed: disk full, no valid checkpoint, a damaged file."""

    exit_code = 74


class RetryableError(SpacilError):
    """The same command may succeed when it is run again: out of memory, a lost worker."""

    exit_code = 75


_KEYWORDS = {"task": "env", "demos": "demonstrations"}
"""Flags whose keyword has another name"""


@contextmanager
def keywords_for_flags() -> Iterator[None]:
    """Reword errors for somebody who typed no flag: `--max-kl is -1` becomes `max_kl is -1`."""
    try:
        yield
    except SpacilError as error:
        error.args = (_with_keywords(str(error)),)
        raise


def _with_keywords(message: str) -> str:
    def keyword(match: re.Match[str]) -> str:
        name = match[1].replace("-", "_")
        return _KEYWORDS.get(name, name) + ("=" if match[2] else "")

    # `pass --demos FILE` asks for a value: `pass demonstrations=FILE`; `--task module:name` too.
    return re.sub(r"(?<![\w-])--([a-z][a-z0-9-]*)( (?=[A-Z]+\b|[\w.]+:\w))?", keyword, message)
