"""Dispatch of `spacil <verb> ...`. A verb's module is imported on use, so help stays fast.

Exit code 0 means done, and nothing else does: not code of others that calls `sys.exit`, not output
that could not be written. Whatever reaches the terminal is printable.
"""

import contextlib
import importlib
import io
import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from typing import Any

from spacil.errors import EnvError, RetryableError, SpacilError, StorageError
from spacil.plain_text import printable

VERBS = {
    "demo": "a first look: learn a smooth Hopper, and see it live beside its demonstrator",
    "train": "learn a policy: spacil, gail, airl, trpo or bc",
    "resume": "go on with a run; its folder knows everything else",
    "evaluate": "return G and smoothness J of a trained policy",
    "smoothness": "how smooth any policy is: a run, a torch module, ONNX, a function",
    "sweep": "every combination of algorithms, tasks, settings and seeds; goes on where it stopped",
    "compare": "runs side by side, over seeds, with intervals and the paper's numbers",
    "report": "a page that opens offline: tables, curves, fronts and videos of runs",
    "smooth": "any policy in, a smooth one out: distilled in closed loop",
    "diagnose": "why does my robot shake? findings, evidence, remedies",
    "export": "a policy as files for a robot: ONNX, a C header, a self-test",
    "video": "policies side by side, their actions beneath: mp4 or GIF",
    "page": "policies live in a browser page that opens offline, with sliders for noise and delay",
    "watch": "a policy in a window, where there is a display",
    "demos": "demonstrations: collect, import, export, check, show",
    "experiment": "an experiment of an installed package; the paper's are in experiments/",
    "tasks": "the built-in tasks, with sizes and the paper's settings",
    "doctor": "is this machine fit to train on? versions, cores, disk, GPU, and a short self-test",
    "completion": "a script that completes the command in your shell",
}
"""Verb, which is a module here (class `Arguments`, function `run`) -> its summary."""

USAGE = "\n".join(
    [
        "usage: spacil <verb> [options]      spacil <verb> --help explains every option",
        "",
        "Learn smooth controllers from demonstrations, and measure how smooth any controller is.",
        "",
        *(f"  {verb:<10} {summary}" for verb, summary in VERBS.items()),
        "",
        "  --version  print the version",
        "  --debug    show the traceback of an error (any verb)",
    ]
)


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the console script; ends the process with the error's exit code."""
    # Threads that wait without spinning: otherwise two runs on the same cores slow each other
    # down. torch reads this when it is first imported, so it is set here.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # A process started with `>&-` would use the first files it opens as its output.
    while (spare := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(spare)
    sys.stdout, sys.stderr = sys.stdout or io.StringIO(), sys.stderr or io.StringIO()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show a character shows a question mark, not a traceback.
        sys.stdout.reconfigure(errors="replace")
    threading.excepthook = _quiet_threads_of_tensorboard
    words = sys.argv[1:] if arguments is None else arguments
    try:
        with _log_on_stderr():
            code = run([word for word in words if word != "--debug"])
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output went away (`spacil tasks | head`): nothing more to print.
        _give_up_stdout()
        code = 0
    except BaseException as error:
        message, code = _message_and_code(error)
        if "--debug" in words:
            traceback.print_exc()
        with contextlib.suppress(OSError):  # nobody there to read it; the exit code says it too
            print(printable(f"spacil: {message}"), file=sys.stderr)
    sys.exit(code)


def _quiet_threads_of_tensorboard(report: threading.ExceptHookArgs) -> None:
    """Its writer fails in a thread of its own; the run has said so, and goes on without it."""
    if not type(report.thread).__module__.startswith("tensorboard."):
        threading.__excepthook__(report)


def run(arguments: list[str]) -> int:
    """Run one verb and return its exit code."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    if arguments[0] == "--version":
        from spacil.version import __version__

        print(f"spacil {__version__}")
        return 0
    verb, *rest = arguments
    if verb not in VERBS:
        print(f"spacil: unknown verb {verb!r}\n\n{USAGE}", file=sys.stderr)
        return 2
    from spacil.cli.arguments import parse

    module = importlib.import_module(f"spacil.cli.{verb}")
    flags: Any = getattr(module, "Arguments", None)  # none: the module reads its own words
    if flags is not None and not isinstance(flags, type):  # a union: verbs of its own
        rest = rest or ["--help"]
    code: int = module.run(parse(flags, rest, f"spacil {verb}") if flags else rest)
    return code


def _message_and_code(error: BaseException) -> tuple[str, int]:
    """Message and exit code of an end that is no bug; a bug is raised again."""
    match error:
        case SpacilError():
            return str(error), error.exit_code
        case KeyboardInterrupt():
            # Training handles Ctrl-C itself, by saving; this is for everything around it.
            return "interrupted", 128 + signal.SIGINT
        case MemoryError():
            return "out of memory: close other programs and try again", RetryableError.exit_code
        case ImportError():
            message = f"a package cannot be loaded: {error}; see spacil doctor"
            return message, StorageError.exit_code
        case OSError():
            _give_up_stdout()
            message = f"the system refused: {error}; what was saved is intact"
            return message, StorageError.exit_code
        case SystemExit() if type(error) is SystemExit:  # not `ArgumentsEnd`, which is our own
            message = (
                f"code that spacil called ended with sys.exit({error.code!r}): nothing is done"
            )
            return message, EnvError.exit_code
    raise error


def _give_up_stdout() -> None:
    """Without it the interpreter would try to write what is left, and fail, once more."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _PrintableFormatter(logging.Formatter):
    """Log lines with whatever came from a file or an env escaped."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


@contextlib.contextmanager
def _log_on_stderr() -> Iterator[None]:
    """Show the library's warnings, and what a run reports about itself.

    Not everything: the simulator's remarks on its model files belong in a log, not on a terminal.
    """
    library, handler = logging.getLogger("spacil"), logging.StreamHandler()
    handler.setFormatter(_PrintableFormatter("spacil: %(message)s"))
    library.addHandler(handler)
    for room in ("learning", "runs", "engine"):
        logging.getLogger(f"spacil.{room}").setLevel(logging.INFO)
    try:
        yield
    finally:
        library.removeHandler(handler)
