"""The numbers of short runs are those that were written down for this platform."""

import json

import pytest
from golden_traces import RUNS, known_traces, platform_key, trace_of


@pytest.mark.parametrize("run", RUNS)
def test_a_short_run_gives_the_numbers_that_were_written_down(run: str) -> None:
    known = known_traces().get(platform_key())
    if known is None:
        pytest.skip(f"no golden traces for {platform_key()}: `make golden` adds them")
    trace = json.loads(json.dumps(trace_of(run)))
    for ours, expected in zip(trace, known[run], strict=True):
        # A metric that is new since then is no change of results.
        changed = {key for key in expected if ours.get(key) != expected[key]}
        assert not changed, (
            f"iteration {expected['iteration']} of {run}: {changed} changed. If that "
            "is meant, `make golden` writes the new numbers down"
        )
