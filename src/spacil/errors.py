"""The typed errors of spacil and their exit codes.

Every fault that a user can cause or meet has one class here. A message says what is wrong,
where (file, episode, index), and what to do about it. The command line prints the message
without a traceback and ends with `exit_code`.
"""


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
