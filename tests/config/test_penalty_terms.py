"""Policy penalties by name and weight, as words, as mappings, and as functions of one's own."""

import functools
from typing import Any

import numpy as np
import pytest

from spacil.config.defaults import default_config
from spacil.config.flat import flat_settings, from_flat_settings, with_user_settings
from spacil.config.penalty_terms import (
    POLICY_PENALTIES,
    WeightedTerm,
    parse_terms,
    register_penalty,
    words_of,
)
from spacil.config.settings import PolicyPenaltyConfig
from spacil.errors import ConfigError


def magnitude(mean_action: Any, states: Any) -> Any:
    return mean_action(states).square().mean()


def change(mean_action: Any, states: Any, next_states: Any) -> Any:
    return (mean_action(next_states) - mean_action(states)).square().mean()


DEFAULTS = {
    "exact": 0.03,
    "linear": 0.1,
    "pgd": 0.03,
    "frobenius": 0.01,
    "lcp": 0.002,
    "cats": 1.0,
    "caps": 1.0,
    "l2c2": 1.0,
}


def test_words_become_terms_in_their_order_and_a_name_alone_has_its_own_weight() -> None:
    terms = parse_terms(("cats=2", "exact=0.1", "lcp"))
    assert terms == (WeightedTerm("cats", 2), WeightedTerm("exact", 0.1), WeightedTerm("lcp", 2e-3))
    assert {term.name: term.weight for term in parse_terms(tuple(POLICY_PENALTIES))} == DEFAULTS
    assert parse_terms(()) == ()


@pytest.mark.parametrize("spelling", ["0.1", ".1", "1e-1", "0.10", "+0.1", " 0.1 "])
def test_one_weight_has_one_spelling(spelling: str) -> None:
    assert PolicyPenaltyConfig((f"exact={spelling}", "cats=1")).penalty == ("exact=0.1", "cats=1.0")


def test_a_penalty_has_one_weight() -> None:
    with pytest.raises(ConfigError, match="--penalty names cats twice"):
        parse_terms(("cats=1", "exact", "cats=2"))


def test_an_unknown_name_is_met_with_the_known_ones() -> None:
    with pytest.raises(ConfigError) as refusal:
        parse_terms(("kats=1",))
    message = str(refusal.value)
    assert "--penalty kats=1: there is no penalty 'kats'" in message
    assert all(name in message for name in POLICY_PENALTIES)
    assert "register_penalty" in message


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "-inf", "", "one", "1=2"])
def test_a_weight_is_a_number_of_0_or_more(text: str) -> None:
    with pytest.raises(ConfigError, match="expected NAME=WEIGHT with a weight of 0 or more"):
        parse_terms((f"exact={text}",))


def test_python_passes_words_mappings_or_sequences_alike() -> None:
    expected = ("exact=0.1", "cats=1.0")
    for given in ("exact=0.1 cats", ["exact=.1", "cats=1"], {"exact": 0.1, "cats": 1}):
        config = with_user_settings(default_config("spacil", "Reacher-v4"), {"penalty": given})
        assert config.policy_penalty.penalty == expected


@pytest.mark.parametrize("weight", [np.float32(0.5), np.float64(0.5), np.array(0.5)[()], 0.5])
def test_numpy_s_numbers_are_weights_too(weight: Any) -> None:
    assert words_of({"exact": weight, "cats": np.int64(2)}) == ("exact=0.5", "cats=2")


@pytest.mark.parametrize("weight", [None, "much", True, [1.0], -0.5, float("nan")])
def test_a_mapping_s_weight_is_a_number_of_0_or_more(weight: Any) -> None:
    with pytest.raises(ConfigError, match="expected NAME=WEIGHT with a weight of 0 or more"):
        parse_terms(words_of({"exact": weight}))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        *[(given, "expected a mapping such as") for given in (1.0, None, magnitude, {"exact"})],
        ({3: 0.1}, "penalty 3: expected a name or a function"),
    ],
)
def test_what_names_no_penalties_is_refused(given: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        words_of(given)


def test_a_function_of_one_s_own_is_a_row_under_its_name() -> None:
    settings = {"penalty": {"exact": 0.1, magnitude: 0.5}}
    config = with_user_settings(default_config("trpo", "Reacher-v4"), settings)
    assert config.policy_penalty.penalty == ("exact=0.1", "magnitude=0.5")
    assert POLICY_PENALTIES["magnitude"].build is magnitude
    assert from_flat_settings(flat_settings(config)).policy_penalty == config.policy_penalty


def test_the_arguments_say_which_states_it_reads() -> None:
    functions = {"one": magnitude, "two": change}
    kinds = [POLICY_PENALTIES[register_penalty(f, name)] for name, f in functions.items()]
    assert [kind.is_temporal for kind in kinds] == [False, True]


@pytest.mark.parametrize("function", [lambda: 0, lambda m: 0, lambda m, s, n, x: 0])
def test_a_function_of_other_arguments_is_refused(function: Any) -> None:
    with pytest.raises(ConfigError, match=r"expected \(mean_action, states\) or"):
        register_penalty(function)


def test_a_function_may_be_registered_again_but_not_replaced() -> None:
    assert register_penalty(magnitude) == register_penalty(magnitude) == "magnitude"
    with pytest.raises(ConfigError, match="a penalty named 'magnitude' exists already"):
        register_penalty(change, "magnitude")
    with pytest.raises(ConfigError, match="a penalty named 'exact' exists already"):
        register_penalty(magnitude, "exact")


def test_what_has_no_name_takes_that_of_its_type_or_the_one_given() -> None:
    halved = functools.partial(magnitude)
    assert register_penalty(halved) == "partial"
    assert register_penalty(functools.partial(change), "jump") == "jump"
    assert parse_terms(("jump",)) == (WeightedTerm("jump", 1.0),)


@pytest.mark.parametrize(
    ("word", "kept", "argument"),
    [
        ("caps=1:noise=.3:temporal=0.1", "caps=1.0:noise=0.3", ("noise", 0.3)),
        ("pgd=1:rule=raw:steps=20", "pgd=1.0:steps=20:rule=raw", ("steps", 20)),
        ("pgd:scale=lipschitz", "pgd=0.03", ("scale", "lipschitz")),
    ],
)
def test_a_term_keeps_the_arguments_that_differ_from_their_defaults(
    word: str, kept: str, argument: tuple[str, object]
) -> None:
    config = PolicyPenaltyConfig((word,))
    assert config.penalty == (kept,) and parse_terms(config.penalty) == config.terms
    assert argument in config.terms[0].arguments.items()


@pytest.mark.parametrize("name", ["a=b", "a b", "a:b", "", "\n"])
def test_a_name_has_no_spaces_and_no_equals_sign(name: str) -> None:
    with pytest.raises(
        ConfigError, match="expected a name without spaces, colons and equals signs"
    ):
        register_penalty(magnitude, name)
