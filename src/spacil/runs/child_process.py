"""A command in a process of its own, which notices when the process that started it is gone.

It holds one end of a pipe as its stdin. That pipe ends with the process at the other end, however
that ends, and the command then saves and stops (`cli/experiments/job.py`).
"""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from spacil import storage
from spacil.errors import RunDirError
from spacil.runs.location import make_folder


def spawn(command: Sequence[str], log: Path, num_threads: int) -> "subprocess.Popen[bytes]":
    """Start it in a session of its own, so that Ctrl-C reaches it through this process, once."""
    make_folder(log.parent)
    environment = os.environ | {"OMP_NUM_THREADS": str(num_threads)}
    with storage.os_errors_as(RunDirError, "open", log), log.open("ab") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )


def wait_for(process: "subprocess.Popen[bytes]") -> int:
    """Its exit code, with this side's end of the pipe closed."""
    code = process.wait()
    assert process.stdin is not None
    process.stdin.close()
    return code
