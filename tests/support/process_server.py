"""Runs `spacil` commands, each in a process forked from this one, which has imported everything.

Starting Python and importing torch takes seconds, forking milliseconds; what is forked is a process
like any other, to be killed at any moment. One JSON request per line of stdin, one answer each:

    {"arguments": [...], "environment": {...}, "folder": "...", "out": "...", "err": "..."}
        ->  process id
    {"wait": process id, "seconds": 60}  ->  exit code, negative for a signal; null if still running

With --no-pictures the commands draw no learning curve, which takes longer than a tiny run itself.
"""

import gc
import importlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from typing import Any

from spacil.cli.main import main

LOADED_LATER = (
    "spacil.cli.train",
    "spacil.envs.gymnasium_env",
    "spacil.envs.threaded_mujoco",
    "spacil.comparison.pictures",
    "spacil.learning.intake",
    "spacil.learning.run",
    "torch._dynamo",  # by the first optimiser
    "torch.utils.tensorboard",
)


def become_command(request: dict[str, Any]) -> None:
    """In the forked process: its own streams, folder, environment and limits; then the command."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    os.chdir(request["folder"])
    os.environ.update(request["environment"])
    if request["user"] is not None:
        os.setuid(request["user"])
    for limit, value in request["limits"].items():
        resource.setrlimit(getattr(resource, limit), (value, value))
    code: Any = 1
    try:
        main(request["arguments"])
    except SystemExit as ending:
        code = ending.code
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    # Not the interpreter's own end, which frees one by one what the fork has only borrowed.
    os._exit(code or 0)


def exit_code(process: int, seconds: float) -> int | None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        finished, status = os.waitpid(process, os.WNOHANG)
        if finished:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    return None


for name in LOADED_LATER:
    importlib.import_module(name)
if "--no-pictures" in sys.argv:
    importlib.import_module("spacil.comparison.pictures").draw_learning_curve = lambda *_: None
# A shell that started us in the background had it ignored, and so would every command have it.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # likewise, by nohup
gc.freeze()  # a collection in the fork would touch, and so copy, every page of what is loaded
print("ready", flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if "wait" in asked:
        answer = exit_code(asked["wait"], asked["seconds"])
    else:
        answer = os.fork()
        if answer == 0:
            become_command(asked)
    print(json.dumps(answer), flush=True)
