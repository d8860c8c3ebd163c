"""Dispatch of `spacil <verb> ...`. A verb's module loads when it is called: help stays quick."""

import importlib
import os
import sys
import traceback

from spacil.errors import SpacilError

VERBS = {
    "train": "learn a policy: trpo, gail or spacil",
    "evaluate": "return G and smoothness J of a trained policy",
    "demos": "collect and check demonstrations",
    "tasks": "what is built in, with sizes and the paper's settings",
}

USAGE = "\n".join(
    [
        "usage: spacil <verb> [options]      spacil <verb> --help explains every option",
        "",
        "Learn smooth controllers from demonstrations, and tell how smooth any controller is.",
        "",
        *(f"  {verb:<10} {summary}" for verb, summary in VERBS.items()),
        "",
        "  --version  print the version",
        "  --debug    show the traceback of an error (any verb)",
    ]
)


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the console script; ends the process with the error's exit code."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """Run one verb and return its exit code. A user's mistake never shows a traceback."""
    wants_traceback = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    if arguments[0] == "--version":
        from importlib.metadata import version

        print(f"spacil {version('spacil')}")
        return 0
    verb, *rest = arguments
    if verb not in VERBS:
        print(f"spacil: unknown verb {verb!r}\n\n{USAGE}", file=sys.stderr)
        return 2
    try:
        module = importlib.import_module(f"spacil.cli.{verb}")
        code: int = module.run(rest)
        return code
    except SpacilError as error:
        if wants_traceback:
            traceback.print_exc()
        print(f"spacil: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output went away (`spacil tasks | head`): nothing more to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
