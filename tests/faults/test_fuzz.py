"""A slice of `tests/support/fuzz.py`: spoilt files of every kind that spacil reads."""

import fuzz


def test_no_spoilt_file_ends_in_a_traceback() -> None:
    codes, faults = fuzz.campaign(60, seed=0)
    assert not faults, "\n\n".join(faults)
    assert codes.total() == 60 and len(codes) > 3
