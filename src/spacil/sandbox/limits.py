"""How much a third-party file may unpack to, checked by what it declares before allocating."""

from pathlib import Path

from spacil.errors import DataError
from spacil.file_sizes import bytes_on_disk, is_inflated

MAX_TOTAL_BYTES = 4 * 2**30
"""Demonstrations are small: a file that declares more than this is refused."""


def check_declared_bytes(declared: int, path: Path) -> None:
    """Refuse too much, and bombs: small files that would unpack to huge ones."""
    if declared > MAX_TOTAL_BYTES:
        raise DataError(
            f"{path}: declares {megabytes(declared)} of arrays, more than "
            f"{megabytes(MAX_TOTAL_BYTES)}; import it in parts"
        )
    on_disk = bytes_on_disk(path.stat())
    if is_inflated(declared, on_disk):
        raise DataError(
            f"{path}: {megabytes(on_disk)} on disk would unpack to {megabytes(declared)}: "
            "refused as a zip bomb; save it uncompressed if it is genuine"
        )


def megabytes(num_bytes: int) -> str:
    return f"{num_bytes / 2**20:,.1f} MiB"
