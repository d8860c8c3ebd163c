"""`spacil completion bash|zsh|tcsh`: a script that completes verbs, algorithms and flags."""

import contextlib
import functools
import importlib
import operator
from dataclasses import dataclass, make_dataclass
from typing import Annotated, Any, Literal

import tyro


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Print a script that completes the command in your shell.

    bash and zsh: add eval "$(spacil completion SHELL)" to the shell's start-up file.
    """

    shell: Annotated[Literal["bash", "zsh", "tcsh"], tyro.conf.Positional]


def run(parsed: Arguments) -> int:
    from spacil.cli.main import VERBS
    from spacil.cli.train import flags_of
    from spacil.config.algorithms import ALGORITHMS
    from spacil.config.defaults import default_config

    verbs: list[Any] = []
    for verb in VERBS:
        kind: Any = getattr(importlib.import_module(f"spacil.cli.{verb}"), "Arguments", None)
        if verb == "train":
            trained = [name for name, row in ALGORITHMS.items() if row.verb == "train"]
            kind = _either(
                "algorithm", {name: type(flags_of(default_config(name, "T"))) for name in trained}
            )
        elif not isinstance(kind, type):  # the verb has verbs of its own
            kind = _either("verb", kind) if kind is not None else make_dataclass(verb, [])
        verbs.append(Annotated[kind, tyro.conf.subcommand(verb)])
    command: Any = functools.reduce(operator.or_, verbs)
    with contextlib.suppress(SystemExit):  # how tyro ends what it has printed
        tyro.cli(
            command,
            args=["--tyro-print-completion", parsed.shell],
            prog="spacil",
            config=(tyro.conf.OmitArgPrefixes, tyro.conf.OmitSubcommandPrefixes),
        )
    return 0


def _either(name: str, kinds: Any) -> type:
    """A record with one of several subcommands."""
    if isinstance(kinds, dict):
        named = [Annotated[kind, tyro.conf.subcommand(word)] for word, kind in kinds.items()]
        kinds = functools.reduce(operator.or_, named)
    return make_dataclass(name, [(name, kinds)])
