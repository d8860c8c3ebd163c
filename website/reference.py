"""The reference pages: written from docstrings, help texts and tables of the library itself."""

import ast
import contextlib
import functools
import inspect
import io
import itertools
import re
import textwrap
from typing import Any

import spacil
from spacil import errors
from spacil.agents import Agent
from spacil.cli import main as command_line
from spacil.config.algorithms import ALGORITHMS
from spacil.config.defaults import default_config
from spacil.config.flat import settings_of
from spacil.config.penalty_terms import POLICY_PENALTIES

_TASK = "Hopper-v4"
"""Whose defaults the settings page shows"""
_LINE = 88
"""A signature that is longer stands on several lines"""
_OTHER_CODES = {
    0: ("", "done"),
    3: ("", "some runs of a sweep or comparison failed or are missing"),
    130: ("", "interrupted with Ctrl-C; a training has saved itself"),
    143: ("", "ended by SIGTERM; a training has saved itself"),
}


def reference_pages() -> dict[str, str]:
    """Name of the page -> its Markdown."""
    return {
        "api.md": python_page(),
        "commands.md": commands_page(),
        "settings.md": settings_page(),
        "exit_codes.md": exit_codes_page(),
    }


def python_page() -> str:
    """Every public name, with its signature and its docstring."""
    agents: list[tuple[str, type]] = []
    others: list[str] = []
    parts = [
        "# Python",
        "Everything below is `spacil.NAME`; other names may move. "
        "`import spacil` is quick: a name is loaded when it is first used.",
    ]
    for name in spacil.__all__:
        thing = getattr(spacil, name)
        if inspect.isclass(thing) and issubclass(thing, Agent):
            agents.append((name, thing))
        elif not name.startswith("__"):
            others += _entry(name, thing)
    for name, thing in agents:
        parts += [f"## {name}", _signature(f"spacil.{name}", thing), _described(thing)]
    parts += ["## The verbs of every agent", *_members("agent", Agent)]
    return "\n\n".join([*parts, *others]) + "\n"


def _entry(name: str, thing: Any) -> list[str]:
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return [f"## {name}", _described(thing) + " See [exit codes](exit_codes.md)."]
    parts = [f"## {name}", _signature(f"spacil.{name}", thing), _described(thing)]
    return [*parts, *_members(name, thing)] if inspect.isclass(thing) else parts


def _members(owner: str, thing: type) -> list[str]:
    """Its methods and properties that have something to say."""
    parts = []
    for name, member in inspect.getmembers(thing):
        if name.startswith("_") or not inspect.getdoc(member):
            continue
        if isinstance(member, property | functools.cached_property):
            parts += [f"### {owner}.{name}", _described(member)]
        elif inspect.isroutine(member) and not _is_of_python(member):
            parts += [f"### {owner}.{name}", _signature(f"{owner}.{name}", member)]
            parts.append(_described(member))
    return parts


def _is_of_python(function: Any) -> bool:
    """What every object has, and nobody looks for here."""
    return not str(getattr(function, "__module__", None)).startswith("spacil")


def _signature(name: str, thing: Any) -> str:
    """As one would write it, one argument per line where it is long."""
    signature = inspect.signature(thing)
    kept = [p.replace(annotation=_plain(p.annotation)) for p in signature.parameters.values()]
    kept = [parameter for parameter in kept if parameter.name not in ("self", "cls")]
    returned = inspect.Signature.empty if inspect.isclass(thing) else signature.return_annotation
    returned = _plain(returned)
    shown = f"{name}{signature.replace(parameters=kept, return_annotation=returned)}"
    if len(shown) > _LINE:
        arguments = _arguments(kept)
        end = "" if returned is inspect.Signature.empty else f" -> {returned}"
        shown = f"{name}(\n" + "".join(f"    {a},\n" for a in arguments) + f"){end}"
    return f"```python\n{shown}\n```"


def _arguments(parameters: list[inspect.Parameter]) -> list[str]:
    """With the star before those that have to be named."""
    named = [p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
    takes_rest = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
    words = []
    for parameter in parameters:
        if named and parameter is named[0] and not takes_rest:
            words.append("*")
        words.append(str(parameter))
    return words


class _Words(str):
    """An annotation that prints as its words, without quotes."""

    def __repr__(self) -> str:
        return str(self)


def _plain(annotation: Any) -> Any:
    """`spacil.demos.demonstrations.Demonstrations` -> `Demonstrations`."""
    if annotation is inspect.Signature.empty:
        return annotation
    words = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return _Words(re.sub(r"\b(?:\w+\.)+(?=\w)", "", words))


def _described(thing: Any) -> str:
    return as_markdown(inspect.getdoc(thing) or "")


def as_markdown(docstring: str) -> str:
    """Indented lines are code; a line that starts with `name`: is an item; the rest is prose."""
    lines, is_code = [], False
    for line in docstring.splitlines():
        indented = line.startswith("    ")
        if indented and not is_code:
            lines += ["", "```text"]
        elif is_code and not indented and line:
            lines += ["```", ""]
        is_code = indented or (is_code and not line)
        if not is_code and re.match(r"`\w+`( \[[^]]*\])?: ", line):
            line = f"\n- {line}"
        lines.append(line.removeprefix("    ") if is_code else line)
    return "\n".join([*lines, "```"] if is_code else lines)


def commands_page() -> str:
    """What each verb's --help says."""
    parts = ["# Commands", "```text\n" + command_line.USAGE + "\n```"]
    for verb, summary in command_line.VERBS.items():
        parts += [f"## spacil {verb}", f"{summary[0].upper()}{summary[1:]}."]
        parts.append(f"```text\n{_help_of(verb)}\n```")
    return "\n\n".join(parts) + "\n"


def _help_of(verb: str) -> str:
    words = io.StringIO()
    with contextlib.redirect_stdout(words), contextlib.suppress(SystemExit):
        command_line.run([verb, "--help"])
    return textwrap.dedent(re.sub(r"\x1b\[[0-9;]*m", "", words.getvalue())).strip("\n")


def settings_page() -> str:
    """Every setting, with its default, what it means and which algorithms read it."""
    groups: dict[str, dict[str, list[str]]] = {}  # group -> setting -> algorithms
    for algorithm in ALGORITHMS:
        for name, group in settings_of(algorithm).items():
            groups.setdefault(group, {}).setdefault(name, []).append(algorithm)
    parts = [
        "# Settings",
        f"As flags of `spacil train` and as keywords in Python: `--max-kl` is `max_kl`. "
        f"Defaults are those of `spacil` on {_TASK}; `spacil train ALGORITHM --task NAME --help` "
        "shows those of another. An algorithm has no setting that it does not read.",
    ]
    for group, settings in groups.items():
        rows = ["| setting | default | meaning | read by |", "|---|---|---|---|"]
        for name, readers in settings.items():
            values = getattr(default_config(readers[0], _TASK), group)
            title = _one_line((inspect.getdoc(type(values)) or group).split("\n\n")[0])
            read_by = "all" if len(readers) == len(ALGORITHMS) else ", ".join(readers)
            meaning = _one_line(docs_of(type(values))[name])
            rows.append(f"| `{name}` | {_shown(getattr(values, name))} | {meaning} | {read_by} |")
        parts += [f"## {group.replace('_', ' ')}", title, "\n".join(rows)]
    rows = ["| penalty | default weight | what it charges for |", "|---|---|---|"]
    for name, penalty in POLICY_PENALTIES.items():
        rows.append(f"| `{name}` | {penalty.default_weight:g} | {_one_line(penalty.summary)} |")
    parts += [
        "## policy penalties",
        "`--penalty NAME=WEIGHT ...`, several at once.",
        "\n".join(rows),
    ]
    return "\n\n".join(parts) + "\n"


def docs_of(kind: type) -> dict[str, str]:
    """The docstring below each field of a dataclass and of those it extends."""
    docs: dict[str, str] = {}
    for part in reversed(kind.__mro__[:-1]):
        tree = ast.parse(textwrap.dedent(inspect.getsource(part))).body[0]
        assert isinstance(tree, ast.ClassDef)
        for statement, following in itertools.pairwise(tree.body):
            match statement, following:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    docs[name] = text
    return docs


def _shown(value: Any) -> str:
    shown = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return f"`{shown}`" if shown else "none"


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def exit_codes_page() -> str:
    """The errors with their codes, and the codes that no error has."""
    kinds: list[type[errors.SpacilError]] = [
        errors.SpacilError,
        *errors.SpacilError.__subclasses__(),
    ]
    codes = {kind.exit_code: (kind.__name__, inspect.getdoc(kind) or "") for kind in kinds}
    rows = ["| code | error in Python | meaning |", "|---|---|---|"]
    for code, (name, meaning) in sorted((codes | _OTHER_CODES).items()):
        rows.append(f"| {code} | {f'`{name}`' if name else ''} | {_one_line(meaning)} |")
    return "\n\n".join(
        [
            "# Exit codes",
            "Exit code 0 means done, and nothing else does. Every error that spacil raises on "
            "purpose is a `spacil.SpacilError`; its message says what is wrong, where, and what to "
            "do. `--debug` shows the traceback.",
            "\n".join(rows),
            "A scheduler may run a command again after 75 (docs: [Sweep](../sweeps.md)).",
        ]
    )
