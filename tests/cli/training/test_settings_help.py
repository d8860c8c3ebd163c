"""`train ALGORITHM --help` fits on two screens; `--help-all` explains every setting once."""

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any, get_type_hints

import pytest

from spacil.cli.training.settings_help import docs_of
from spacil.config.algorithms import ALGORITHMS, Preset
from spacil.config.defaults import default_config
from spacil.config.flat import (
    flat_settings,
    group_of_setting,
    settings_read,
    with_user_settings,
)
from spacil.config.penalty_terms import POLICY_PENALTIES
from spacil.config.train_config import ConfigGroups
from spacil.errors import ConfigError

Spacil = Callable[..., Any]

NAMES = [name for name, row in ALGORITHMS.items() if row.verb == "train"]
WITH_PENALTY = [name for name in NAMES if "policy_penalty" in ALGORITHMS[name].reads]
DEMONSTRATION_FLAGS = {"--demos", "--num-demos", "--demo-every", "--drop-nonfinite"}


def flags_in(text: str) -> list[str]:
    """The flags that have an entry of their own, in order."""
    return re.findall(r"^  (--[a-z-]+)", text, flags=re.MULTILINE)


def entries_in(text: str) -> dict[str, str]:
    """Setting -> its entry in `--help-all`, on one line."""
    entries = re.findall(r"^  --([a-z-]+)(.*(?:\n {8}.*)*)", text, flags=re.MULTILINE)
    return {flag.replace("-", "_"): on_one_line(words) for flag, words in entries}


def as_flags(names: list[str]) -> list[str]:
    return [f"--{name.replace('_', '-')}" for name in names]


def on_one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("flag", ["--help", "--help-all", "-h"])
@pytest.mark.parametrize("task", [[], ["--task", "Hopper-v4"], ["--task=Nowhere-v0"]])
@pytest.mark.parametrize("algorithm", NAMES)
def test_help_works_with_and_without_a_task(
    spacil: Spacil, algorithm: str, task: list[str], flag: str
) -> None:
    done = spacil("train", algorithm, *task, flag)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"usage: spacil train {algorithm} --task NAME")


@pytest.mark.parametrize("algorithm", NAMES)
def test_help_fits_on_two_screens(spacil: Spacil, algorithm: str) -> None:
    lines = spacil("train", algorithm, "--help").out.splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("algorithm", NAMES)
@pytest.mark.parametrize("flag", ["--help", "--help-all"])
def test_help_shows_nothing_the_algorithm_does_not_read(
    spacil: Spacil, algorithm: str, flag: str
) -> None:
    shown = flags_in(spacil("train", algorithm, flag).out)
    unread = as_flags([n for n in group_of_setting() if n not in settings_read(algorithm)])
    assert not set(shown) & set(unread)
    assert ("--lambda-policy" in shown) == (algorithm in WITH_PENALTY)
    assert ("--preset" in shown) == (len(ALGORITHMS[algorithm].presets) > 1)
    found = DEMONSTRATION_FLAGS & set(shown)
    assert found == (DEMONSTRATION_FLAGS if ALGORITHMS[algorithm].needs_demonstrations else set())


@pytest.mark.parametrize("algorithm", NAMES)
def test_help_counts_what_it_leaves_to_help_all(spacil: Spacil, algorithm: str) -> None:
    text = spacil("train", algorithm, "--help").out
    read = as_flags(settings_read(algorithm))
    num_left = len(set(read) - set(flags_in(text)))
    assert 0 < num_left < len(read)
    assert f"{num_left} more settings: --help-all" in text


@pytest.mark.parametrize("algorithm", WITH_PENALTY)
def test_the_policy_penalty_comes_before_the_machine(spacil: Spacil, algorithm: str) -> None:
    shown = flags_in(spacil("train", algorithm, "--help").out)
    settings = [flag for flag in shown if flag in as_flags(settings_read(algorithm))]
    assert settings[0] == "--penalty"
    assert settings.index("--iterations") < settings.index("--policy-hidden")
    assert settings[-1] == "--device"


@pytest.mark.parametrize("algorithm", NAMES)
def test_a_line_of_help_says_more_than_one_word(spacil: Spacil, algorithm: str) -> None:
    text = spacil("train", algorithm, "--help").out
    entries = re.findall(r"^  --[a-z-]+(?: \([^)]*\))? +(.*)$", text, flags=re.MULTILINE)
    assert len(entries) == len(flags_in(text))
    assert [entry for entry in entries if len(entry.split()) < 3] == []
    assert [entry for entry in entries if entry.endswith("e.g")] == []


@pytest.mark.parametrize("algorithm", NAMES)
def test_help_all_explains_every_setting_once_and_whole(spacil: Spacil, algorithm: str) -> None:
    text = spacil("train", algorithm, "--help-all").out
    assert max(map(len, text.splitlines())) <= 100
    shown = flags_in(text)
    for name in settings_read(algorithm):
        assert shown.count(f"--{name.replace('_', '-')}") == 1
        docs = docs_of(get_type_hints(ConfigGroups)[group_of_setting()[name]])
        assert on_one_line(docs[name]) in on_one_line(text)


@pytest.mark.parametrize("algorithm", NAMES)
def test_help_all_names_the_penalties_where_there_are_any(spacil: Spacil, algorithm: str) -> None:
    text = on_one_line(spacil("train", algorithm, "--help-all").out)
    for name, kind in POLICY_PENALTIES.items():
        is_named = f"{name}={kind.default_weight:g} {kind.summary}" in text
        assert is_named == (algorithm in WITH_PENALTY)


def test_help_shows_the_defaults_of_task_and_preset(spacil: Spacil) -> None:
    assert "--iterations (400)" in spacil("train", "gail", "--task", "Reacher-v4", "-h").out
    assert "--max-kl (0.01)" in spacil("train", "gail", "--task", "Hopper-v4", "-h").out
    fast = spacil("train", "gail", "--task", "Hopper-v4", "--preset", "fast", "-h").out
    assert "--max-kl (0.03)" in fast
    assert "--penalty (none)" in spacil("train", "trpo", "--help").out
    printed = ("--preset", "paper-mean", "--help")
    assert "--penalty (pgd=0.001)" in spacil("train", "spacil", "--task", "Hopper-v4", *printed).out
    assert "--penalty (exact=0.1)" in spacil("train", "spacil", *printed).out


@pytest.mark.parametrize(
    ("algorithm", "preset"), [(name, p) for name in NAMES for p in ALGORITHMS[name].presets]
)
def test_giving_a_default_changes_nothing_unless_the_help_says_what(
    spacil: Spacil, algorithm: str, preset: Preset
) -> None:
    choice = ("--task", "Hopper-v4", "--preset", preset)
    entries = entries_in(spacil("train", algorithm, *choice, "--help-all").out)
    config = default_config(algorithm, "Hopper-v4", preset)
    before = flat_settings(config)
    for name in settings_read(algorithm):
        try:
            after = flat_settings(with_user_settings(config, {name: before[name]}))
        except ConfigError:  # whoever gives it is told
            continue
        told = re.findall(r"(--[a-z-]+) is (\S+) and not (\S+?)\.?$", entries[name])
        changed = [other for other in before if before[other] != after[other]]
        assert told == [
            (flag, str(after[other]), str(before[other]))
            for flag, other in zip(as_flags(changed), changed, strict=True)
        ]


def test_the_short_help_says_which_weights_the_default_finds(spacil: Spacil) -> None:
    text = spacil("train", "spacil", "--help").out
    assert text.count("Given, even as shown, ") == 2
    assert "Given, even as shown, --penalty-weight is fixed and not auto\n" in text
    assert "Given, even as shown, --cost-weight is fixed and not by-pairs\n" in text
    fixed = spacil("train", "spacil", "--preset", "plain", "--task", "Hopper-v4", "--help").out
    assert "Given, even as shown" not in fixed


def test_every_setting_has_a_text_that_ends_as_a_sentence() -> None:
    for kind in get_type_hints(ConfigGroups).values():
        docs = docs_of(kind)
        fields = kind.__dataclass_fields__
        assert set(docs) == set(fields)
        assert [name for name, text in docs.items() if not text.rstrip().endswith(".")] == []


def test_usage_names_every_algorithm(spacil: Spacil) -> None:
    text = spacil("train", "--help").out
    for name in NAMES:
        assert f"{name:<8} {ALGORITHMS[name].summary}" in text


def test_help_loads_no_torch() -> None:
    code = (
        "import sys; from spacil.cli.main import run; "
        "codes = [run(['train', name, flag]) for name in %r for flag in ('--help', '--help-all')]; "
        "heavy = {'torch', 'mujoco', 'gymnasium', 'matplotlib'} & set(sys.modules); "
        "print(sum(codes), sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code % NAMES], capture_output=True, text=True, check=True
    )
    assert done.stderr == "0 []\n"
