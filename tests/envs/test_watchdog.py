"""The watchdog lets quick calls pass, however many, and goes with its env."""

import gc
import os
import threading
import time

from spacil.envs.watchdog import Watchdog


def watchdogs() -> int:
    return sum(thread.name == "watchdog" for thread in threading.enumerate())


def exit_code_of(seconds_per_call: float, num_calls: int) -> int:
    """Of a process whose calls take so long, under a watchdog of one second."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        watchdog = Watchdog(1.0)
        for _ in range(num_calls):
            with watchdog.watch(lambda: "a test"):
                time.sleep(seconds_per_call)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_one_long_call_ends_the_process_and_many_short_ones_do_not() -> None:
    assert exit_code_of(seconds_per_call=30, num_calls=1) == 75
    assert exit_code_of(seconds_per_call=0.05, num_calls=40) == 0


def test_between_calls_there_is_no_limit() -> None:
    watchdog = Watchdog(0.1)
    with watchdog.watch(lambda: "a test"):
        pass
    time.sleep(0.5)
    watchdog.close()
    watchdog.close()


def test_a_watchdog_that_nobody_closed_goes_with_its_env() -> None:
    before = watchdogs()
    watchdog = Watchdog(0.1)
    with watchdog.watch(lambda: "a test"):
        assert watchdogs() == before + 1
    del watchdog
    gc.collect()
    deadline = time.monotonic() + 10
    while watchdogs() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert watchdogs() == before
