"""File errors, typed and in plain words: what, where, why, and what to do about it."""

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from spacil.errors import SpacilError, StorageError


class DamagedFileError(StorageError):
    """A file is missing, truncated, altered or of another kind: reading it again will not help."""


def describe(error: OSError, action: str, path: Path, num_bytes: int | None = None) -> str:
    """What could not be done, where, why, and what to do about it."""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            needed = "" if num_bytes is None else f" ({num_bytes:,} bytes needed)"
            reason = f"the disk is full{needed}; free some space and run the command again"
        case errno.EFBIG:
            needed = "" if num_bytes is None else f" of {num_bytes:,} bytes"
            reason = f"a file{needed} exceeds the limit of this system; see `ulimit -f`"
        case errno.EACCES | errno.EPERM:
            reason = "permission denied; change its permissions or choose another path"
        case errno.EROFS:
            reason = "the file system is read-only; choose another path"
        case errno.ENAMETOOLONG:
            reason = "a name in it is too long (255 bytes at most); choose a shorter one"
        case errno.EEXIST:
            reason = "something with that name already exists; choose another path"
        case errno.ENOTDIR:
            reason = "part of the path is a file, not a folder; choose another path"
        case errno.EISDIR:
            reason = "it is a folder, not a file; check the path"
        case errno.ENOENT:
            reason = "there is no such file or folder; check the path"
        case errno.ELOOP:
            reason = "it is a symbolic link, which is not followed here"
        case _:
            reason = f"{error.strerror or error}; check the disk and run the command again"
    return f"cannot {action} {str(path)!r}: {reason}"


@contextlib.contextmanager
def os_errors_as(
    kind: type[SpacilError], action: str, path: Path, num_bytes: int | None = None
) -> Iterator[None]:
    """Turn an `OSError` of the block into the typed error `kind`."""
    try:
        yield
    except OSError as error:
        raise kind(describe(error, action, path, num_bytes)) from error
