"""The rate of a play that has no end. Plain Python: other people's venvs use it too."""

import time
from collections.abc import Callable, Iterator

Rate = Callable[[float], float]
"""Seconds to measure for -> env steps per second, going on where the last call stopped"""


def steps_per_second(play: Iterator[int], seconds: float) -> float:
    """`play` makes some env steps each time it is asked, and says how many."""
    num_steps, began = 0, time.perf_counter()
    for count in play:
        num_steps += count
        elapsed = time.perf_counter() - began
        if elapsed >= seconds:
            return num_steps / elapsed
    raise AssertionError("a play has no end")
