"""What the importer's child gives up before it reads a file, and which of it holds here.

The kernel refuses it, for good, the calls that a reader has no use for: to reach the network, to
write, create, rename or delete anything, to start a program or a process, to signal or inspect
another one. It may still read every file that the user may read. A refused call fails with "not
permitted", so a library that only tries carries on.

seccomp is installed through `prctl`, on Linux on x86-64. Elsewhere the child keeps its limits on
memory, time and file size, and these rights; `spacil doctor` says which it is.
"""

import ctypes
import errno
import os
import platform
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# --- numbers of the kernel's interface (linux/seccomp.h, linux/filter.h, x86-64 system calls)

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_LOAD, _IF_EQUAL, _IF_ANY_BIT, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_X86_64, _FIRST_X32_CALL = 0xC000003E, 0x40000000

_REFUSED = {
    "network": (41, 42, 43, 44, 46, 49, 50, 53, 288, 307),
    "processes": (57, 58, 59, 62, 101, 129, 200, 297, 310, 311, 322, 424, 434),
    "files": (
        *(76, 77, 82, 83, 84, 85, 86, 87, 88, 90, 91, 92, 93, 94, 132, 133, 188, 189, 190, 197),
        *(198, 199, 235, 258, 259, 260, 261, 263, 264, 265, 266, 268, 280, 285, 316, 452, 463, 466),
    ),
    "system": (
        *(29, 135, 155, 161, 165, 166, 167, 169, 170, 172, 173, 175, 176, 246, 248, 249, 250, 272),
        *(298, 304, 308, 313, 321, 323, 428, 429, 430, 431, 432),
    ),
}
_UNKNOWN = (425, 435, 437)
"""io_uring_setup, clone3, openat2: missing, as on older kernels; their forerunners are checked."""
_OPEN, _OPENAT, _CLONE, _TGKILL, _PRLIMIT = 2, 257, 56, 234, 302
_CLONE_THREAD, _TEMPORARY_FILE = 0x10000, 0o20000000
_ANY_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | _TEMPORARY_FILE


class _Instruction(ctypes.Structure):
    """struct sock_filter"""

    _fields_ = (
        ("code", ctypes.c_ushort),
        ("if_true", ctypes.c_ubyte),
        ("if_false", ctypes.c_ubyte),
        ("value", ctypes.c_uint),
    )


class _Program(ctypes.Structure):
    """struct sock_fprog"""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.POINTER(_Instruction)))


def restrict() -> None:
    """Give up everything that a reader does not need, as far as this system can."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if platform.machine() != "x86_64" or sys.maxsize < 2**32:
        return
    steps = [_Instruction(*step) for step in _program(os.getpid())]
    filters = (_Instruction * len(steps))(*steps)
    program = _Program(len(steps), filters)
    libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0)


def _program(process: int) -> Iterator[tuple[int, int, int, int]]:
    """The filter: runs at every system call of the child, and says what becomes of it."""
    refuse, unknown = _FAIL | errno.EPERM, _FAIL | errno.ENOSYS
    yield _LOAD, 0, 0, _ARCHITECTURE_AT
    yield _IF_EQUAL, 1, 0, _X86_64
    yield _RETURN, 0, 0, _KILL
    yield _LOAD, 0, 0, _NUMBER_AT
    yield _IF_AT_LEAST, 0, 1, _FIRST_X32_CALL
    yield _RETURN, 0, 0, _KILL
    for numbers, answer in ((sum(_REFUSED.values(), ()), refuse), (_UNKNOWN, unknown)):
        for number in numbers:
            yield _IF_EQUAL, 0, 1, number
            yield _RETURN, 0, 0, answer
    # Calls that one argument decides: number, argument, test, value, whether passing it is allowed.
    for number, argument, test, value, is_allowed in (
        (_OPEN, 1, _IF_ANY_BIT, _ANY_WRITING, False),
        (_OPENAT, 2, _IF_ANY_BIT, _ANY_WRITING, False),
        (_CLONE, 0, _IF_ANY_BIT, _CLONE_THREAD, True),
        (_TGKILL, 0, _IF_EQUAL, process, True),
        (_PRLIMIT, 0, _IF_EQUAL, 0, True),
    ):
        yield _IF_EQUAL, 0, 4, number
        yield _LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument
        yield (test, 0, 1, value) if is_allowed else (test, 1, 0, value)
        yield _RETURN, 0, 0, _ALLOW
        yield _RETURN, 0, 0, refuse
    yield _RETURN, 0, 0, _ALLOW


# --- which of it holds, found by trying


def report(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """A reader that reads nothing: what the child it runs in is refused, by name."""
    attempts: dict[str, Callable[[], object]] = {
        "network": lambda: socket.socket().close(),
        "writing": lambda: os.close(os.open(path, os.O_RDWR)),
        "creating": lambda: _create(path.parent / f"spacil-doctor-{os.getpid()}"),
        "deleting": (path.parent / "there-is-no-such-file").unlink,
        "starting processes": _fork,
    }
    return {}, {"refused": [name for name, attempt in attempts.items() if _is_refused(attempt)]}


def _is_refused(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except PermissionError as error:
        return error.errno == errno.EPERM  # EACCES would be the rights of a file
    except OSError:
        return False
    return False


def _create(path: Path) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    path.unlink()


def _fork() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
