"""Dispatch of `spacil <verb> ...`. A verb's module is imported on use, so help stays fast."""

import contextlib
import importlib
import io
import logging
import os
import signal
import sys
import traceback
from collections.abc import Iterator

from spacil.errors import SpacilError

VERBS = {
    "train": ("training.train", "learn a policy: trpo, gail, spacil or bc"),
    "evaluate": ("measuring.evaluate", "return G and smoothness J of a trained policy"),
    "smoothness": (
        "measuring.smoothness",
        "how smooth any policy is: a run, a torch module, ONNX, a function",
    ),
    "smooth": ("smoothing.smooth", "any policy in, a smooth one out: distilled in closed loop"),
    "diagnose": ("smoothing.diagnose", "why does my robot shake? findings, evidence, remedies"),
    "demos": ("demos.main", "demonstrations: collect, import, export, check, show"),
    "experiment": ("machine.experiment", "measure a claim of the paper: theory"),
    "tasks": ("machine.tasks", "the built-in tasks, with sizes and the paper's settings"),
    "doctor": (
        "machine.doctor",
        "is this machine fit to train on? versions, cores, disk, GPU, and a short self-test",
    ),
}
"""Verb -> the module below `spacil.cli` whose `run` it is, and what `spacil --help` says."""

USAGE = "\n".join(
    [
        "usage: spacil <verb> [options]      spacil <verb> --help explains every option",
        "",
        "Learn smooth controllers from demonstrations, and measure how smooth any controller is.",
        "",
        *(f"  {verb:<10} {summary}" for verb, (_, summary) in VERBS.items()),
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
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show a character shows a question mark, not a traceback.
        sys.stdout.reconfigure(errors="replace")
    try:
        with _log_on_stderr():
            code = run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output went away (`spacil tasks | head`): nothing more to print.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run one verb and return its exit code. A user's mistake never shows a traceback."""
    wants_traceback = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
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
    try:
        module = importlib.import_module(f"spacil.cli.{VERBS[verb][0]}")
        code: int = module.run(rest)
        return code
    except SpacilError as error:
        if wants_traceback:
            traceback.print_exc()
        print(f"spacil: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        # Training handles Ctrl-C itself, by saving; this is for everything around it.
        if wants_traceback:
            traceback.print_exc()
        print("spacil: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT


@contextlib.contextmanager
def _log_on_stderr() -> Iterator[None]:
    """Show the library's warnings, and what a run reports about itself.

    Not everything: the simulator's remarks on its model files belong in a log, not on a terminal.
    """
    library = logging.getLogger("spacil")
    rooms = [logging.getLogger(f"spacil.{room}") for room in ("training", "runs", "engine")]
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("spacil: %(message)s"))
    former_levels = [room.level for room in rooms]
    library.addHandler(handler)
    for room in rooms:
        room.setLevel(logging.INFO)
    try:
        yield
    finally:
        library.removeHandler(handler)
        for room, level in zip(rooms, former_levels, strict=True):
            room.setLevel(level)
