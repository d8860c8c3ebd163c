"""Reading arrays from an `.npz` file that may come from anyone; runs in the importer's child.

Every size is known and checked before memory is taken, and nothing is ever unpickled. `numpy.load`
would allocate whatever shape a file declares and inflate whatever a zip contains.
"""

import io
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from spacil.demos.formats.flat_layout import ALIASES
from spacil.errors import DataError
from spacil.sandbox.limits import MAX_TOTAL_BYTES, check_declared_bytes

SEAL = "metadata_json"
"""Our own exports carry their document as JSON text in an array of bytes."""

_MAX_HEADER_BYTES = 4096
_HEADER = re.compile(
    r"\{\s*'descr':\s*'(?P<order>[<>|=]?)(?P<type>[^']{1,32})',"
    r"\s*'fortran_order':\s*(?P<fortran>True|False),"
    r"\s*'shape':\s*\((?P<shape>[0-9, ]*)\),?\s*\}\s*"
)
_END_RECORD = struct.Struct("<4s4H2LH")
"""The last bytes of a zip before its comment; the fifth field is the number of members."""
_NUMBERS = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"}
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    ValueError,
)
"""What the standard library raises on damaged zip files."""


def read_npz(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays whose names mean something to us; the others are left unread, and listed."""
    arrays, ignored = read_arrays(path, {*ALIASES, SEAL})
    return arrays, {"ignored": list(ignored)}


def read_arrays(
    path: Path, wanted: Collection[str]
) -> tuple[dict[str, NDArray[Any]], tuple[str, ...]]:
    """The wanted arrays that the file has, by name, and the names of all others, left unread."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members_by_name(archive, path)
            _check_names(archive, path)
            found = {name: member for name, member in members.items() if name in wanted}
            _check_sizes(list(found.values()), path)
            arrays = {name: _read_array(archive, member, path) for name, member in found.items()}
    except _DAMAGE as error:
        raise DataError(f"{path}: damaged, or not an npz file: {error}") from None
    except RuntimeError as error:  # what zipfile raises for an encrypted member
        raise DataError(f"{path}: {error}; save it without a password") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
    return arrays, tuple(sorted(set(members) - set(found)))


def _members_by_name(archive: zipfile.ZipFile, path: Path) -> dict[str, zipfile.ZipInfo]:
    members: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        name = member.filename.removesuffix(".npy")
        if name in members:
            raise DataError(f"{path}: holds two arrays named '{name}'; keep one")
        members[name] = member
    return members


def _check_names(archive: zipfile.ZipFile, path: Path) -> None:
    """Refuse a damaged table of contents: an array must not vanish, or take another's name."""
    with path.open("rb") as file:
        file.seek(-_END_RECORD.size - len(archive.comment), io.SEEK_END)
        num_members = _END_RECORD.unpack(file.read(_END_RECORD.size))[4]
    if num_members != len(archive.infolist()):
        raise DataError(
            f"{path}: damaged: {num_members} arrays announced, {len(archive.infolist())} found"
        )
    for member in archive.infolist():
        archive.open(member).close()  # compares the two places that hold its name


def _check_sizes(members: list[zipfile.ZipInfo], path: Path) -> None:
    """Refuse a zip bomb by what it declares; reading never goes beyond what is declared."""
    check_declared_bytes(sum(member.file_size for member in members), path)
    for member in members:
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DataError(
                f"{path}: '{member.filename}' uses zip method {member.compress_type}, which numpy "
                "never writes; save it with np.savez"
            )


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> NDArray[Any]:
    with archive.open(member) as stream:
        header = _read_header(stream, f"{path}: '{member.filename}'")
        if header.num_bytes != member.file_size:
            raise DataError(
                f"{path}: '{member.filename}' declares shape {header.shape} of {header.dtype}, "
                f"{header.num_bytes} bytes, but holds {member.file_size}"
            )
        data = stream.read(header.num_bytes - header.num_header_bytes)
        # Reading past the end makes zipfile compare the checksum.
        if stream.read(1) or len(data) != header.num_bytes - header.num_header_bytes:
            raise DataError(f"{path}: '{member.filename}' is shorter or longer than declared")
    flat: NDArray[Any] = np.frombuffer(data, dtype=header.dtype)
    return flat.reshape(header.shape, order="F" if header.is_fortran else "C")


@dataclass(frozen=True)
class _NpyHeader:
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    is_fortran: bool
    num_header_bytes: int

    @property
    def num_bytes(self) -> int:
        return self.num_header_bytes + math.prod(self.shape) * self.dtype.itemsize


def _read_header(stream: IO[bytes], where: str) -> _NpyHeader:
    """The header of one array, by a pattern that admits plain numbers and nothing else."""
    magic = stream.read(8)
    if len(magic) != 8 or magic[:6] != b"\x93NUMPY" or magic[6] not in (1, 2, 3):
        raise DataError(f"{where} is not a numpy array")
    width, layout = (2, "<H") if magic[6] == 1 else (4, "<I")
    (num_text_bytes,) = struct.unpack(layout, stream.read(width))
    if num_text_bytes > _MAX_HEADER_BYTES:
        raise DataError(f"{where} has a header of {num_text_bytes} bytes; numpy's are short")
    match = _HEADER.fullmatch(stream.read(num_text_bytes).decode("latin-1"))
    if match is None:
        raise DataError(f"{where} is not an array of plain numbers, or its header is damaged")
    if match["type"] == "O":
        raise DataError(
            f"{where} is an object array, which only pickle can read, and pickle is never read; "
            "save plain numbers: np.asarray(values, dtype=np.float32)"
        )
    if match["type"] not in _NUMBERS:
        raise DataError(f"{where} is of type '{match['type']}', expected numbers or flags")
    shape = tuple(int(size) for size in match["shape"].split(",") if size.strip())
    if any(size > MAX_TOTAL_BYTES for size in shape):
        raise DataError(f"{where} declares shape {shape}: too large")
    return _NpyHeader(
        dtype=np.dtype(match["order"] + match["type"]),
        shape=shape,
        is_fortran=match["fortran"] == "True",
        num_header_bytes=len(magic) + width + num_text_bytes,
    )
