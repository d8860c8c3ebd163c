"""Looks of rows: by place, and by the part a row has in the comparison."""

from spacil.comparison.looks import Part, looks_of


def test_a_variant_looks_like_what_it_varies_but_hollow_and_takes_no_colour() -> None:
    parts = {"a, held": Part(variant_of="a")}
    looks = looks_of(["a", "a, held", "b"], parts)
    assert looks["a, held"].colour == looks["a"].colour
    assert (looks["a"].is_hollow, looks["a, held"].is_hollow) == (False, True)
    assert looks["b"] == looks_of(["a", "b"])["b"]


def test_a_variant_of_what_is_not_shown_has_a_colour_of_its_own() -> None:
    look = looks_of(["b", "a, held"], {"a, held": Part(variant_of="a")})["a, held"]
    assert not look.is_hollow
    assert look == looks_of(["b", "c"])["c"]


def test_rows_with_a_part_take_no_colour_from_the_others() -> None:
    parts = {"ours": Part("subject"), "ours too": Part("subject"), "level": Part("backdrop")}
    looks = looks_of(["level", "ours", "a", "ours too", "b"], parts)
    assert [looks[name] for name in "ab"] == list(looks_of("ab").values())
    assert looks["ours"].colour == looks["ours too"].colour
    assert looks["ours"].mark != looks["ours too"].mark
    assert looks["ours"].size > looks["a"].size
    assert len({looks[name].colour for name in ("level", "ours", "a")}) == 3


def test_variants_of_each_other_have_looks_of_their_own() -> None:
    parts = {"a": Part(variant_of="b"), "b": Part(variant_of="a"), "c": Part(variant_of="c")}
    assert list(looks_of("abc", parts).values()) == list(looks_of("abc").values())
