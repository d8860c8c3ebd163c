"""How large a file really is: a sparse one claims any size and takes no room."""

import os

MAX_UNSUSPICIOUS_BYTES = 64 * 2**20
MAX_INFLATION = 100
"""Beyond `MAX_UNSUSPICIOUS_BYTES`, content may be this many times as large as its file on disk."""

_BLOCK_BYTES = 512  # the unit of st_blocks everywhere
_MIN_BYTES = 2**20
"""Some file systems count the blocks of a new file late; below this nobody asks for them."""


def bytes_on_disk(status: os.stat_result) -> int:
    """What the file takes on disk, and not what it claims: holes do not count."""
    return min(status.st_size, max(_BLOCK_BYTES * status.st_blocks, _MIN_BYTES))


def is_inflated(num_bytes: int, on_disk: int) -> bool:
    """Whether so much content is suspicious in a file that takes so little room."""
    return num_bytes > max(MAX_UNSUSPICIOUS_BYTES, MAX_INFLATION * on_disk)
