"""Named places where a test can kill the process, as a power loss or `kill -9` would.

`failpoint("checkpoint.after-manifest")` does nothing unless the environment variable
SPACIL_FAILPOINT holds that name, or `name:3` for the third pass. Then the process kills itself
with SIGKILL: no handler, no `finally`, no flushed buffer. There is no other action, on purpose:
faults that raise are tested with the real fault.
"""

import os
import signal
from collections import Counter

VARIABLE = "SPACIL_FAILPOINT"

_passes: Counter[str] = Counter()


def failpoint(name: str) -> None:
    """Kill the process here if SPACIL_FAILPOINT says so."""
    armed = os.environ.get(VARIABLE)
    if armed is None:
        return
    armed_name, _, count = armed.partition(":")
    if name != armed_name:
        return
    _passes[name] += 1
    if _passes[name] == int(count or 1):
        os.kill(os.getpid(), signal.SIGKILL)
