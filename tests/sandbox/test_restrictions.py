"""What the importer's child may not do: tried for real, in a process that has given it up."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from spacil.sandbox.parent import _shared, refused_to_the_child

pytestmark = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"),
    reason="seccomp is installed on Linux on x86-64 only",
)

ATTEMPTS = """
import ctypes, os, signal, socket, subprocess, sys, threading
from pathlib import Path
from spacil.sandbox.restrictions import restrict

folder, precious = Path(sys.argv[1]), Path(sys.argv[1]) / "precious"
reading = os.open(precious, os.O_RDONLY)
restrict()

def attempt(name, action):
    try:
        action()
        print(name, "done")
    except OSError as error:
        print(name, "refused" if error.errno in (1, 38) else f"failed: {error}")

attempt("read", lambda: precious.read_bytes() == b"mine" or 1 / 0)
attempt("list", lambda: list(folder.iterdir()))
threads = []
def run_thread():
    thread = threading.Thread(target=threads.append, args=(1,))
    thread.start()
    thread.join()
attempt("thread", run_thread)
assert threads == [1]
attempt("socket", socket.socket)
attempt("unix socket", lambda: socket.socket(socket.AF_UNIX))
attempt("socket pair", socket.socketpair)
attempt("overwrite", lambda: precious.write_bytes(b"yours"))
attempt("append", lambda: os.open(precious, os.O_RDONLY | os.O_APPEND))
attempt("truncate", lambda: os.truncate(precious, 0))
attempt("truncate by descriptor", lambda: os.ftruncate(reading, 0))
attempt("create", lambda: (folder / "new").touch())
attempt("nameless file", lambda: os.open(folder, os.O_RDWR | os.O_TMPFILE))
attempt("folder", lambda: (folder / "new").mkdir())
attempt("link", lambda: (folder / "new").symlink_to("x"))
attempt("hard link", lambda: (folder / "new").hardlink_to(precious))
attempt("pipe", lambda: os.mkfifo(folder / "new"))
attempt("rename", lambda: precious.rename(folder / "gone"))
attempt("delete", precious.unlink)
attempt("chmod", lambda: precious.chmod(0))
attempt("fork", os.fork)
attempt("exec", lambda: os.execv("/bin/true", ["true"]))
attempt("program", lambda: subprocess.run(["/bin/true"]))
attempt("signal", lambda: os.kill(os.getppid(), signal.SIGTERM))
attempt("memory of another", lambda: open(f"/proc/{os.getppid()}/mem", "r+b"))
libc = ctypes.CDLL(None, use_errno=True)
def ptrace():
    if libc.ptrace(16, os.getppid(), None, None):
        raise OSError(ctypes.get_errno(), "ptrace")
attempt("ptrace", ptrace)
status = Path("/proc/self/status").read_text()
print("NoNewPrivs", "done" if "NoNewPrivs:\\t1" in status else "missing")
sys.stdout.flush()
os.abort()  # a crash still is one, and says so
"""

ALLOWED = {"read", "list", "thread", "NoNewPrivs"}


def test_a_restricted_process_reads_and_does_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"mine")
    done = subprocess.run(
        [sys.executable, "-c", ATTEMPTS, str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    lines = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    assert len(lines) == 26, done.stderr
    assert {name for name, outcome in lines.items() if outcome == "done"} == ALLOWED
    refused = {name for name, outcome in lines.items() if outcome == "refused"}
    assert refused == lines.keys() - ALLOWED, lines
    assert done.returncode == -6
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]
    assert (tmp_path / "precious").read_bytes() == b"mine"


def test_the_importers_child_is_restricted_and_doctor_can_tell() -> None:
    expected = ["network", "writing", "creating", "deleting", "starting processes"]
    assert refused_to_the_child() == expected
    status = Path(f"/proc/{_shared.process_id}/status").read_text()
    assert "NoNewPrivs:\t1" in status and "Seccomp:\t2" in status
    assert os.access(__file__, os.R_OK)  # and this process is not
    assert "NoNewPrivs:\t0" in Path("/proc/self/status").read_text()
