"""`spacil completion bash|zsh|fish`: a script that completes verbs, algorithms and flags."""

import importlib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import ModuleType
from typing import Any, get_type_hints

from spacil.config.algorithms import ALGORITHMS
from spacil.config.flat import all_settings
from spacil.envs.registry import TASKS
from spacil.errors import ConfigError

SHELLS = ("bash", "zsh", "fish")

USAGE = """usage: spacil completion {bash,zsh,fish}

  bash   add to ~/.bashrc:   eval "$(spacil completion bash)"
  zsh    add to ~/.zshrc:    eval "$(spacil completion zsh)"
  fish   spacil completion fish > ~/.config/fish/completions/spacil.fish"""

_BASH = """_spacil() {
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words=""
    case "$before" in
        --task) COMPREPLY=($(compgen -W "@TASKS" -- "$word")); return ;;
    esac
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="@VERBS"
    else
        case "${COMP_WORDS[1]}" in
@CASES
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _spacil spacil
"""
_ZSH = "autoload -Uz compinit bashcompinit && compinit && bashcompinit\n"


def run(arguments: list[str]) -> int:
    if arguments in ([], ["-h"], ["--help"]):
        print(USAGE)
        return 0
    if len(arguments) > 1 or arguments[0] not in SHELLS:
        raise ConfigError(f"completion {' '.join(arguments)}: expected {', '.join(SHELLS)}")
    print(script_for(arguments[0]), end="")
    return 0


def script_for(shell: str) -> str:
    """The whole script, from the same tables that the verbs are parsed with."""
    words = words_of_verbs()
    if shell == "fish":
        return _fish(words)
    script = _bash(words)
    return script if shell == "bash" else _ZSH + script


def words_of_verbs() -> dict[str, list[str]]:
    """Verb -> what may follow it: names first, then flags."""
    from spacil.cli.main import VERBS

    found = {}
    for verb, (home, _) in VERBS.items():
        module = importlib.import_module(f"spacil.cli.{home}")
        names, modules = _names_after(verb, module)
        flags = {flag for part in modules for flag in _flags_in(part)}
        if verb == "train":
            flags |= {f"--{name.replace('_', '-')}" for name in all_settings()}
        found[verb] = [*names, *sorted(flags), "--help"]
    return found


def _names_after(verb: str, module: ModuleType) -> tuple[list[str], list[ModuleType]]:
    """What a verb takes before any flag, and the modules that hold its flags."""
    own: dict[str, tuple[str, str]] | None = getattr(module, "VERBS", None)
    if own is not None:
        package = module.__name__.rpartition(".")[0]
        homes = sorted({home for home, _ in own.values()})
        return [*own], [importlib.import_module(f"{package}.{home}") for home in homes]
    names = {"train": [*ALGORITHMS], "completion": [*SHELLS], "evaluate": [*TASKS]}
    return names.get(verb, []), [module]


def _flags_in(module: ModuleType) -> Iterator[str]:
    """The flags of every record of arguments that a verb's module defines."""
    for kind in vars(module).values():
        if not isinstance(kind, type) or kind.__module__ != module.__name__:
            continue
        if kind.__name__.endswith("Arguments") and is_dataclass(kind):
            yield from _flags_of(kind)


def _flags_of(kind: type[Any]) -> Iterator[str]:
    hints = get_type_hints(kind, include_extras=True)
    for member in fields(kind):
        hint = hints[member.name]
        if is_dataclass(hint) and isinstance(hint, type):
            yield from _flags_of(hint)
        elif "Positional" not in repr(hint):
            yield f"--{member.name.replace('_', '-')}"


def _bash(words: dict[str, list[str]]) -> str:
    cases = "\n".join(
        f'            {verb}) words="{" ".join(after)}" ;;' for verb, after in words.items()
    )
    parts = {"@TASKS": " ".join(TASKS), "@VERBS": " ".join(words), "@CASES": cases}
    script = _BASH
    for mark, text in parts.items():
        script = script.replace(mark, text)
    return script


def _fish(words: dict[str, list[str]]) -> str:
    from spacil.cli.main import VERBS

    lines = [f"complete -c spacil -l task -x -a '{' '.join(TASKS)}'"]
    for verb, after in words.items():
        summary = VERBS[verb][1].replace("'", "")
        lines.append(f"complete -c spacil -f -n __fish_use_subcommand -a {verb} -d '{summary}'")
        chosen = f"-n '__fish_seen_subcommand_from {verb}'"
        names = [word for word in after if not word.startswith("--")]
        if names:
            lines.append(f"complete -c spacil {chosen} -a '{' '.join(names)}'")
        flags = [word for word in after if word.startswith("--") and word != "--task"]
        lines += [f"complete -c spacil {chosen} -l {flag[2:]}" for flag in flags]
    return "\n".join(lines) + "\n"
