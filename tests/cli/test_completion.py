"""`spacil completion`: what the shell offers is what the verbs take."""

import subprocess
import sys

import pytest
from fixture_types import Spacil


@pytest.fixture(scope="module")
def script() -> str:
    command = [sys.executable, "-m", "spacil", "completion", "bash"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("spacil tr", ["train"]),
        ("spacil train sp", ["spacil"]),
        ("spacil train spacil --max-k", ["--max-kl"]),
        ("spacil resume --iter", ["--iterations"]),
        ("spacil demos coll", ["collect"]),
    ],
)
def test_bash_offers_what_fits(script: str, line: str, expected: list[str]) -> None:
    words = line.split(" ")
    quoted = " ".join(f'"{word}"' for word in words)
    program = (
        f"{script}\nCOMP_WORDS=({quoted})\nCOMP_CWORD={len(words) - 1}\n"
        '_tyro_spacil\nprintf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc"], input=program, check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == expected


def test_another_shell_is_refused(spacil: Spacil) -> None:
    assert "#compdef spacil" in spacil("completion", "zsh").out
    refused = spacil("completion", "fish")
    assert refused.code == 2 and "bash" in refused.err
