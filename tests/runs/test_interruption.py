"""Real signals, sent to real processes."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from spacil.runs.interruption import EXIT_CODES, Interruption

CASES = """
import os, signal, sys, time
from spacil.runs.interruption import Interruption

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # and nohup this one

def saves_after_the_iteration(number):
    with Interruption() as interruption:
        for iteration in range(100):
            if iteration == 1:
                os.kill(os.getpid(), number)
            time.sleep(0.001)
            finished = iteration
            if interruption.requested is not None:
                assert interruption.requested == number and finished == 1
                return interruption.exit_code
    return 1

def second_signal_ends_it_at_once(number):
    with Interruption():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.001)
        os.kill(os.getpid(), number)
        time.sleep(0.1)
    return 2

def ignored_signals_stay_ignored(number):
    signal.signal(number, signal.SIG_IGN)
    with Interruption() as interruption:
        os.kill(os.getpid(), number)
        time.sleep(0.001)
        return 3 if interruption.requested is None else 4

def forked_child_obeys(number):
    with Interruption():
        child = os.fork()
        if child == 0:
            os.kill(os.getpid(), number)
            time.sleep(10)
            os._exit(5)
        return 6 if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -number else 7

def standard_error_may_be_gone(number):
    os.close(2)
    return saves_after_the_iteration(number)

for case in (saves_after_the_iteration, second_signal_ends_it_at_once,
             ignored_signals_stay_ignored, forked_child_obeys, standard_error_may_be_gone):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP, signal.SIGXCPU):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = case(number)
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(case.__name__, number.name, code)
"""


@pytest.fixture(scope="module")
def outcome() -> subprocess.CompletedProcess[str]:
    finished = subprocess.run(
        [sys.executable, "-c", CASES], capture_output=True, text=True, timeout=60, check=False
    )
    assert finished.returncode == 0, finished.stderr
    return finished


SAVED = {"SIGINT": 130, "SIGTERM": 143, "SIGUSR1": 75, "SIGHUP": 129, "SIGXCPU": 152}


@pytest.mark.parametrize("name", SAVED)
@pytest.mark.parametrize(
    ("case", "codes"),
    [
        ("saves_after_the_iteration", SAVED),
        # SIGXCPU repeats every second by itself: the run goes on saving.
        ("second_signal_ends_it_at_once", dict.fromkeys(SAVED, 75) | {"SIGXCPU": 2}),
        ("ignored_signals_stay_ignored", dict.fromkeys(SAVED, 3)),
        ("forked_child_obeys", dict.fromkeys(SAVED, 6)),
        ("standard_error_may_be_gone", SAVED),
    ],
)
def test_a_signal_in_a_process_of_its_own(
    outcome: subprocess.CompletedProcess[str], case: str, codes: dict[str, int], name: str
) -> None:
    assert f"{case} {name} {codes[name]}\n" in outcome.stdout


def test_the_user_is_told_what_happens(outcome: subprocess.CompletedProcess[str]) -> None:
    assert "SIGINT: saving after this iteration; send it again to stop" in outcome.stderr
    assert "SIGUSR1 again: stopping immediately; the iteration under way is not" in outcome.stderr


def test_former_handlers_are_called_and_put_back_after_an_error_too() -> None:
    calls: list[int] = []
    before = {number: signal.getsignal(number) for number in EXIT_CODES}
    signal.signal(signal.SIGUSR1, lambda number, frame: calls.append(number))
    try:
        with pytest.raises(ZeroDivisionError, match="division"), Interruption() as interruption:
            os.kill(os.getpid(), signal.SIGUSR1)
            assert interruption.requested == signal.SIGUSR1
            assert interruption.exit_code == 75
            _ = 1 / 0
        assert calls == [signal.SIGUSR1]
        os.kill(os.getpid(), signal.SIGUSR1)
        assert calls == [signal.SIGUSR1] * 2
    finally:
        signal.signal(signal.SIGUSR1, before[signal.SIGUSR1])
    assert {number: signal.getsignal(number) for number in EXIT_CODES} == before


def test_outside_the_main_thread_nothing_happens() -> None:
    before = {number: signal.getsignal(number) for number in EXIT_CODES}
    seen: list[object] = []

    def train() -> None:
        with Interruption() as interruption:
            seen.extend([interruption.requested, interruption.exit_code])
            seen.append({number: signal.getsignal(number) for number in EXIT_CODES} == before)

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    assert seen == [None, 0, True]
