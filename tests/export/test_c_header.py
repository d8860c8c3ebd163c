"""Numbers in C source read back as the same float32, and no name can break out of it."""

import numpy as np
import pytest

from spacil.export.c_header import c_float, c_header
from spacil.nets.policy import GaussianPolicy


def test_every_float32_is_printed_so_that_it_reads_back() -> None:
    bits = np.random.default_rng(0).integers(0, 2**32, 20_000, dtype=np.uint32)
    values = bits.view(np.float32)
    values = values[np.isfinite(values)]
    for value in values.tolist():
        text = c_float(value)
        assert text.endswith("f") and set(text) & set(".e")
        assert np.float32(text[:-1]).tobytes() == np.float32(value).tobytes()


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1.0f"), (-0.0, "-0.0f"), (1e20, "1e+20f"), (float("-inf"), "-INFINITY")],
)
def test_round_numbers_are_floats_too(value: float, text: str) -> None:
    assert c_float(value) == text


def test_the_name_of_a_task_stays_inside_its_quotes_and_comments() -> None:
    zeros, golden = np.zeros(1, np.float32), np.zeros((1, 1), np.float32)
    hostile = '*/ "; system("x"); /* \\ ??/ \n#include </etc/passwd> \u202e'
    text = c_header(
        GaussianPolicy(1, zeros, zeros, ()),
        golden,
        golden,
        {"task": hostile, "note": "a note", "policy_sha256": "0"},
        1e-5,
    )
    assert text.isascii() and "??" not in text and "\n#include </etc" not in text
    comment = text[: text.index("*/")]  # which ends where it should, and begins once
    assert "#include </etc" in comment and comment.count("/*") == 1
    (line,) = [line for line in text.splitlines() if "define SPACIL_POLICY_TASK" in line]
    assert line.count('"') - line.count('\\"') == 2
