"""`spacil` itself: help, version, dispatch, and what is not loaded to get there."""

import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest
from fixture_types import Spacil

import spacil as library
from spacil.cli.main import VERBS, main


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_names_every_verb(spacil: Spacil, arguments: list[str]) -> None:
    shown = spacil(*arguments)
    assert (shown.code, shown.err) == (0, "")
    for verb, summary in VERBS.items():
        assert f"  {verb:<10} {summary}\n" in shown.out


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(spacil: Spacil, verb: str) -> None:
    shown = spacil(verb, "--help")
    assert shown.code == 0
    assert f"usage: spacil {verb}" in shown.out


def test_the_version_is_the_packages(spacil: Spacil) -> None:
    assert spacil("--version").out == f"spacil {version('spacil')}\n"
    assert library.__version__ == version("spacil")


def test_python_dash_m_and_the_installed_script_are_the_command() -> None:
    (command,) = entry_points(group="console_scripts", name="spacil")
    assert command.load() is main
    finished = subprocess.run(
        [sys.executable, "-m", "spacil", "trian"], capture_output=True, text=True, timeout=60
    )
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.startswith("spacil: unknown verb 'trian'\n")


@pytest.mark.parametrize("word", ["trian", "--verbose", "", "main", "../evil"])
def test_an_unknown_verb_shows_the_usage(spacil: Spacil, word: str) -> None:
    refusal = spacil(word)
    assert (refusal.code, refusal.out) == (2, "")
    assert refusal.err.startswith(f"spacil: unknown verb {word!r}\n")
    assert "usage: spacil <verb>" in refusal.err


def test_a_mistake_shows_its_traceback_only_on_request(spacil: Spacil, tmp_path: Path) -> None:
    mistake = ("evaluate", tmp_path / "missing")
    plain, debug = spacil(*mistake), spacil(*mistake, "--debug")
    assert plain.code == debug.code == 65
    assert plain.err.count("\n") == 1
    assert debug.err.startswith("Traceback (most recent call last):\n")
    assert debug.err.endswith(plain.err)


def test_every_public_name_can_be_had() -> None:
    assert sorted(dir(library)) == sorted(library.__all__)
    for name in library.__all__:
        assert getattr(library, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'PPO'"):
        _ = library.PPO
