"""`spacil completion`: what the shell offers is what the verbs take."""

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from spacil.cli.completion import script_for, words_of_verbs
from spacil.cli.main import VERBS

Spacil = Callable[..., Any]


def offered(line: str) -> list[str]:
    """What bash offers at the end of a line."""
    words = line.split(" ")
    quoted = " ".join(f'"{word}"' for word in words)
    script = (
        f"{script_for('bash')}\nCOMP_WORDS=({quoted})\nCOMP_CWORD={len(words) - 1}\n"
        '_spacil\nprintf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script], check=True, capture_output=True, text=True
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("spacil tr", ["train"]),
        ("spacil train sp", ["spacil"]),
        ("spacil train spacil --max-k", ["--max-kl"]),
        ("spacil train spacil --task Hop", ["Hopper-v4", "Hopper-v5"]),
        ("spacil resume run --iter", ["--iterations"]),
        ("spacil smoothness run --rob", ["--robustness"]),
        ("spacil demos coll", ["collect"]),
        ("spacil demos collect run --nois", ["--noise"]),
        ("spacil completion f", ["fish"]),
    ],
)
def test_bash_offers_what_fits(line: str, expected: list[str]) -> None:
    assert offered(line) == expected


def test_every_verb_is_offered_with_its_flags() -> None:
    words = words_of_verbs()
    assert words.keys() == VERBS.keys()
    for verb in ("train", "resume", "evaluate", "smoothness", "demos", "tasks", "doctor"):
        assert "--json" in words[verb], verb
    assert "--source" not in words["evaluate"]


def test_zsh_and_fish_get_scripts_of_their_own(spacil: Spacil) -> None:
    assert "bashcompinit" in spacil("completion", "zsh").out
    fish = spacil("completion", "fish").out
    assert "complete -c spacil -n '__fish_seen_subcommand_from train' -l max-kl\n" in fish
    assert fish.count("__fish_use_subcommand") == len(VERBS)


def test_another_shell_is_refused(spacil: Spacil) -> None:
    refused = spacil("completion", "tcsh")
    assert refused.code == 2
    assert "expected bash, zsh, fish" in refused.err
    assert "eval" in spacil("completion").out
