"""The numbers of short runs are those that were written down for this platform."""

import json

import pytest
from golden_traces import AGENTS, known_traces, platform_key, trace_of


@pytest.mark.parametrize("algorithm", AGENTS)
def test_a_short_run_gives_the_numbers_that_were_written_down(algorithm: str) -> None:
    known = known_traces().get(platform_key())
    if known is None:
        pytest.skip(f"no golden traces for {platform_key()}: `make golden` adds them")
    trace = json.loads(json.dumps(trace_of(algorithm)))
    for ours, expected in zip(trace, known[algorithm], strict=True):
        changed = {
            key for key in ours.keys() | expected.keys() if ours.get(key) != expected.get(key)
        }
        assert not changed, (
            f"iteration {expected['iteration']} of {algorithm}: {changed} changed. If that "
            "is meant, `make golden` writes the new numbers down"
        )
